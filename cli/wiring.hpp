#pragma once
// Puts the parts together; the only place that knows all of them.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cli/inspection.hpp"
#include "cli/leadership.hpp"
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
// `instead`: these come first, and files with plugins of the same names are not loaded.
[[nodiscard]] Result<Modules> load_modules(const std::vector<std::string>& given_directories,
                                           std::span<const StaticModule> instead = {});

// What exists and at which extension points, for the configuration.
[[nodiscard]] config::PluginRegistry registry_of(const Modules& modules);

// Loads and checks a profile file against the modules; the plugins check their own args.
[[nodiscard]] config::Validation validate(const std::string& file, const Modules& modules);

// The same as a Result; warnings are logged.
[[nodiscard]] Result<config::Validation> load_configuration(const std::string& file,
                                                            const Modules& modules);

[[nodiscard]] SchedulerOptions scheduler_options(const config::Validation& configuration);

// A scheduler connected to an API server, on threads of its own.
//
// With leader election it watches from the start (unless delayCacheUntilActive) but schedules and
// writes nothing before it leads. What it watched until then may lag behind the last binding of the
// one that led before, so all pods are read afresh first.
class Session {
 public:
  enum class Mode { kSchedule, kObserve };  // kObserve: reads the cluster and decides nothing

  // `registry`: where metrics go, it outlives the session; null: nothing is measured. Connects
  // nothing yet; fails on credentials that cannot be read and plugins that cannot be made. `clock`:
  // see SchedulerOptions.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(
      const config::Validation& configuration, const Modules& modules,
      const informer::ServerAccess& access, metrics::Registry* registry = nullptr,
      Mode mode = Mode::kSchedule, std::function<int64_t()> clock = {},
      const ClassCacheOptions& classes = {});
  ~Session();  // stop()
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // `on_lost`: this process led and leads no more; not one more write leaves it. It cannot go on:
  // what it has promised is no longer its own. Called on another thread; it should end the process.
  void start(Leadership::OnLost on_lost = {});
  void stop();  // waits for binds in flight, then gives the lease away; idempotent
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  // How the watched kinds are doing; any thread.
  [[nodiscard]] std::vector<informer::KindStatus> kinds() const { return informer_->status(); }
  // Answers questions from start() to stop().
  [[nodiscard]] Inspection& inspection() { return *inspection_; }
  [[nodiscard]] const informer::WriteStats& writes() const { return writer_->stats(); }
  [[nodiscard]] informer::WriteLoad write_load(informer::WriteClass write_class) const {
    return writer_->load(write_class);
  }
  // Null without leader election: then this process always leads.
  [[nodiscard]] const Leadership* leadership() const { return leadership_.get(); }

 private:
  Session() = default;
  void lead();

  bool delay_cache_ = false;  // delayCacheUntilActive
  bool stopped_ = false;
  std::string scheduler_name_;  // of the first profile: who reports that it leads
  std::string lease_namespace_;
  std::string lease_name_;
  SymbolTable symbols_;
  std::unique_ptr<Leadership> leadership_;        // outlives the writer that it bars
  std::unique_ptr<informer::HttpClient> reads_;   // lists and watches
  std::unique_ptr<informer::HttpClient> binds_;   // a connection pool of their own
  std::unique_ptr<informer::HttpClient> others_;  // events, conditions
  std::unique_ptr<informer::ServerWriter> writer_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<informer::ApiServerInformer> informer_;
  std::unique_ptr<Inspection> inspection_;
  std::thread loop_;
};

}  // namespace plimsoll::cli
