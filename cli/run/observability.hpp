#pragma once
// The operators' view of a running scheduler: its metrics, and the server for metrics, health and
// configuration.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/run/commands.hpp"
#include "config/validate.hpp"
#include "framework/base/result.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "informer/http/kubeconfig.hpp"
#include "serving/access.hpp"
#include "serving/http_server.hpp"

namespace plimsoll::cli {

class Session;

// Registers plimsoll_*: counters of the session's informers and writer, loaded and rejected
// plugins, the leader. They are updated before each scrape while the returned tokens exist.
[[nodiscard]] std::vector<metrics::Registry::Collector> add_session_metrics(
    metrics::Registry& registry, const Session& session, const Modules& modules,
    const std::string& lease_name);

// The servers of a scheduler: one for the machine's own users, on a local socket, and one for the
// network, configured by the flags of group "Metrics and health".
//
// On the socket this user and root get everything. The other server, if it is not switched off:
// on loopback it serves everybody over plain HTTP (TLS if there is a certificate). On any other
// address, and with --secure-loopback, it serves over TLS only and asks the API server who may ask;
// there it answers questions too (cli/ask/inspection.hpp).
class Observability {
 public:
  // Starts the servers. `session` and `registry` must outlive them. `access`: the API server to
  // ask. `socket`: the path; empty: the default one, "none": none. The error says how to fix a port
  // in use, or which flag is wrong.
  [[nodiscard]] static Result<std::unique_ptr<Observability>> start(
      const ServingArguments& arguments, const config::Validation& configuration,
      const informer::ServerAccess& access, metrics::Registry& registry, Session& session,
      const Modules& modules, const std::string& socket);

  // /readyz fails from here on, so that clients stop sending requests here.
  void shutting_down() { *stopping_ = true; }

  // Of the network; null: it is switched off.
  [[nodiscard]] const serving::HttpServer* server() const { return server_.get(); }

 private:
  Observability() = default;

  std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::vector<metrics::Registry::Collector> collectors_;
  std::unique_ptr<serving::AccessControl> access_;       // null: everybody may ask
  std::unique_ptr<serving::HttpServer> local_, server_;  // last: stopped first
};

}  // namespace plimsoll::cli
