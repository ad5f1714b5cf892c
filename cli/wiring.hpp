#pragma once
// Puts the parts together; the only place that knows all of them.

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/validate.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/result.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/runtime/modules.hpp"
#include "informer/api_writer.hpp"
#include "informer/http_client.hpp"
#include "informer/informer.hpp"

namespace plimsoll::cli {

// The plugin folders to load: those given, or the folder "plugins" beside the program's own.
[[nodiscard]] std::vector<std::filesystem::path> plugin_directories(
    const std::vector<std::string>& given);

// Built-in plugins and every file of the folders. A file that is refused is logged and left out; a
// folder that cannot be used is an error if it was asked for by name.
[[nodiscard]] Result<Modules> load_modules(const std::vector<std::string>& given_directories);

// What exists and at which extension points, for the configuration.
[[nodiscard]] config::PluginRegistry registry_of(const Modules& modules);

// Loads and checks a profile file against the modules; the plugins check their own args.
[[nodiscard]] config::Validation validate(const std::string& file, const Modules& modules);

// The same as a Result; warnings are logged.
[[nodiscard]] Result<config::Validation> load_configuration(const std::string& file,
                                                            const Modules& modules);

[[nodiscard]] SchedulerOptions scheduler_options(const config::Validation& configuration);

// A scheduler connected to an API server, on threads of its own.
class Session {
 public:
  // Connects nothing yet; fails on credentials that cannot be read and plugins that cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(
      const config::Validation& configuration, const Modules& modules,
      const informer::ServerAccess& access);
  ~Session();  // stop()
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start();
  void stop();  // waits for binds in flight; idempotent
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const informer::WriteStats& writes() const { return writer_->stats(); }

 private:
  Session() = default;

  SymbolTable symbols_;
  std::unique_ptr<informer::HttpClient> reads_;   // lists and watches
  std::unique_ptr<informer::HttpClient> binds_;   // a connection pool of their own
  std::unique_ptr<informer::HttpClient> others_;  // events, conditions
  std::unique_ptr<informer::ServerWriter> writer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<informer::ApiServerInformer> informer_;
  std::thread loop_;
};

}  // namespace plimsoll::cli
