#pragma once
// Puts the parts together; the only place that knows all of them.

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cli/inspection.hpp"
#include "cli/leadership.hpp"
#include "cli/running_mark.hpp"
#include "config/validate.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/result.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/runtime/modules.hpp"
#include "framework/runtime/prepared_plugins.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/informer.hpp"
#include "informer/write/api_writer.hpp"

namespace plimsoll::cli {

// The plugin folders to load: those given, or the folder "plugins" beside the program's own.
[[nodiscard]] std::vector<std::filesystem::path> plugin_directories(
    const std::vector<std::string>& given);

// Built-in plugins and every file of the folders. A file that is refused is logged and left out; a
// folder that cannot be used is an error if it was asked for by name.
// `instead`: these come first, and files with plugins of the same names are not loaded.
[[nodiscard]] Result<Modules> load_modules(const std::vector<std::string>& given_directories,
                                           std::span<const StaticModule> instead = {});

// Loads and checks a profile file against the modules; the plugins are made, and so check their own
// args. `keep`: where they are kept to be run.
[[nodiscard]] config::Validation validate(const std::string& file, const Modules& modules,
                                          PreparedPlugins* keep = nullptr);

// The same as a Result; warnings are logged.
[[nodiscard]] Result<config::Validation> load_configuration(const std::string& file,
                                                            const Modules& modules,
                                                            PreparedPlugins* keep = nullptr);

[[nodiscard]] SchedulerOptions scheduler_options(const config::Validation& configuration);

// A scheduler connected to an API server, on threads of its own.
//
// With leader election it watches from the start (unless delayCacheUntilActive) but schedules and
// writes nothing before it leads. What it watched until then may lag behind the last binding of the
// one that led before, so pods and nodes are read afresh first, and no pod is decided on before all
// other kinds that it rests on are.
//
// With or without: where the scheduler before it did not end well, what that one may still have
// under way is made void before anything is decided (informer/write/binding_voider.hpp).
class Session {
 public:
  enum class Mode {
    kSchedule,
    kObserve,  // reads the cluster and decides nothing
    kAlone,    // schedules where no other process ever has, or will: leaves no mark
  };

  // `registry`: where metrics go, it outlives the session; null: nothing is measured. Connects
  // nothing yet; fails on credentials that cannot be read and plugins that cannot be made. `clock`:
  // see SchedulerOptions. `prepared`: of `symbols`, which outlive the session; null: it has its
  // own.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(
      const config::Validation& configuration, const Modules& modules,
      const informer::ServerAccess& access, metrics::Registry* registry = nullptr,
      Mode mode = Mode::kSchedule, std::function<int64_t()> clock = {},
      const ClassCacheOptions& classes = {}, SymbolTable* symbols = nullptr,
      std::unique_ptr<PreparedPlugins> prepared = nullptr);
  ~Session();  // stop()
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // `on_lost`: this process led and leads no more; not one more write leaves it. It cannot go on:
  // what it has promised is no longer its own. Called on another thread; it should end the process.
  void start(Leadership::OnLost on_lost = {});
  void stop();  // waits for binds in flight, then gives lease or mark away; idempotent
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  // What is wrong with the scheduler loop, if anything: it hangs. Any thread.
  [[nodiscard]] std::optional<std::string> loop_problem() const;
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
  void take_over(bool ended_well);
  void void_earlier_bindings(std::vector<PodRef> unbound);
  void begin_to_schedule();

  bool delay_cache_ = false;  // delayCacheUntilActive
  bool stopped_ = false;
  std::vector<std::string> scheduler_names_;  // the first one reports that it leads
  std::string lease_namespace_;
  std::string lease_name_;
  SymbolTable own_symbols_;
  std::unique_ptr<Leadership> leadership_;  // outlives the writer that it bars
  std::unique_ptr<RunningMark> mark_;       // instead of it, if no leader is elected
  // Nothing that an earlier scheduler has sent can be carried out any more.
  std::atomic<bool> earlier_ended_{false};
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
