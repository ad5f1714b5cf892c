#pragma once
// What operators see of a running scheduler: its metrics, and the server of metrics, health and
// configuration.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "config/validate.hpp"
#include "framework/base/result.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/runtime/modules.hpp"
#include "serving/http_server.hpp"

namespace plimsoll::cli {

class Session;

// plimsoll_*: what the session's informers and writer count, the plugins that were loaded and
// refused, who leads. Brought up to date before each scrape until the tokens are gone.
[[nodiscard]] std::vector<metrics::Registry::Collector> add_session_metrics(
    metrics::Registry& registry, const Session& session, const Modules& modules,
    const std::string& lease_name);

// The server, as --bind-address, --port, --tls-cert-file and --tls-private-key-file say. Null if it
// is switched off.
class Observability {
 public:
  // Starts to serve. `session` outlives it. The error says what to do about a port in use.
  [[nodiscard]] static Result<std::unique_ptr<Observability>> start(
      const ServingArguments& arguments, const config::Validation& configuration,
      metrics::Registry& registry, const Session& session, const Modules& modules);

  // /readyz fails from here on: whoever sends requests here should stop.
  void shutting_down() { *stopping_ = true; }

  [[nodiscard]] const serving::HttpServer* server() const { return server_.get(); }

 private:
  Observability() = default;

  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<metrics::Registry::Collector> collectors_;
  std::unique_ptr<serving::HttpServer> server_;  // last: stopped first
};

}  // namespace plimsoll::cli
