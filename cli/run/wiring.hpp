#pragma once
// Connects the parts; the only place that knows all of them.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/ask/inspection.hpp"
#include "cli/run/leadership.hpp"
#include "cli/run/running_mark.hpp"
#include "config/validate.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/result.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/prepared_plugins.hpp"
#include "informer/http/http_client.hpp"
#include "informer/http/http_extenders.hpp"
#include "informer/watch/informer.hpp"
#include "informer/write/api_writer.hpp"

namespace plimsoll::cli {

// The plugin folders to load: the given ones, then the one installed with the program.
[[nodiscard]] std::vector<std::filesystem::path> plugin_directories(
    const std::vector<std::string>& given);

// Loads built-in plugins and every file of the folders. A rejected file is logged and skipped; an
// unusable folder is an error if it was named explicitly. `instead`: these take precedence, and
// files with plugins of the same names are not loaded.
[[nodiscard]] Result<Modules> load_modules(const std::vector<std::string>& given_directories,
                                           std::span<const StaticModule> instead = {});

// Loads a profile file and checks it against the modules. The plugins are created and check their
// own args. `keep`: receives the plugins, to be run later.
[[nodiscard]] config::Validation validate(const std::string& file, const Modules& modules,
                                          PreparedPlugins* keep = nullptr);

// The same for the default profile and every plugin that came from a folder, without args.
[[nodiscard]] config::Validation validate_all_plugins(const Modules& modules);

// Like validate(), but returns a Result; warnings are logged.
[[nodiscard]] Result<config::Validation> load_configuration(const std::string& file,
                                                            const Modules& modules,
                                                            PreparedPlugins* keep = nullptr);

// Counts the requests of one client (rest_client_*); to be called on that client's thread.
[[nodiscard]] std::function<void(const informer::HttpExchange&)> request_metrics(
    metrics::Registry& registry, const std::string& server);

[[nodiscard]] SchedulerOptions scheduler_options(const config::Validation& configuration);

// What the command line says and no profile file.
struct SessionChoices {
  ClassCacheOptions classes;
  ScheduledEvents scheduled_events = ScheduledEvents::kAlways;
  std::function<void(std::string_view uid)> on_attempt = {};  // as of SchedulerOptions
  // "NAMESPACE/NAME" of the ConfigMap that whoever schedules keeps `profile` in; empty: none.
  std::string keep_profile_in;
  std::string profile;  // the text of the file in force; empty: it is not kept
  // Why the profile file is not, and the last good one is; empty: it is.
  std::string profile_refusal;
};

// A scheduler connected to an API server, on threads of its own.
//
// With leader election it watches from the start (unless delayCacheUntilActive) but schedules and
// writes nothing before it leads. Its watches may then still lag behind the last binding of the
// previous leader. So it lists pods and nodes again first, and decides no pod before all other
// kinds that the decision depends on are listed again.
//
// In both cases: if the previous scheduler did not end well, the bindings that it may still have
// under way are made void before anything is decided (informer/write/binding_voider.hpp).
class Session {
 public:
  enum class Mode {
    kSchedule,
    kObserve,  // reads the cluster and decides nothing
    // Schedules in a simulation, one pod at a time (Scheduler::step) and one write after the other.
    // No other process ever did or will: no running mark.
    kSimulated,
  };

  // `registry` receives the metrics and must outlive the session; null: no metrics. Does not
  // connect yet. Fails if credentials cannot be read or plugins cannot be created. `clock`: see
  // SchedulerOptions. `prepared` uses `symbols`, which must outlive the session; null: the session
  // has its own.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(
      const config::Validation& configuration, const Modules& modules,
      const informer::ServerAccess& access, metrics::Registry* registry = nullptr,
      Mode mode = Mode::kSchedule, std::function<int64_t()> clock = {},
      const SessionChoices& choices = {}, SymbolTable* symbols = nullptr,
      std::unique_ptr<PreparedPlugins> prepared = nullptr);
  ~Session();  // calls stop()
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // `on_lost`: this process has lost the leadership or, without election, its running mark; with a
  // lease no further write leaves it. It cannot
  // continue, because another leader may use what it has promised. Called on another thread; it
  // should end the process.
  void start(Leadership::OnLost on_lost = {});
  void stop();  // waits for binds in flight, then releases lease or mark; idempotent
  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  // Writes an event about this scheduler, which stands at its lease or mark. Nothing while another
  // replica leads. Any thread.
  void tell(bool warning, const std::string& reason, const std::string& note);
  // The problem of the scheduler loop, if it hangs: which plugin has not returned from which call
  // for which pod. Any thread.
  [[nodiscard]] std::optional<std::string> loop_problem(
      std::chrono::nanoseconds limit = kLoopHangsAfter) const;
  // Why the last good profile is in force instead of the profile file; empty: it is not.
  [[nodiscard]] const std::string& profile_refusal() const { return choices_.profile_refusal; }
  // False for a standby that watches nothing before it leads (delayCacheUntilActive). Any thread.
  [[nodiscard]] bool watches() const { return !delays_cache_; }
  // The state of the watched kinds; any thread.
  [[nodiscard]] std::vector<informer::KindStatus> kinds() const { return informer_->status(); }
  // Answers questions from start() to stop().
  [[nodiscard]] Inspection& inspection() { return *inspection_; }
  [[nodiscard]] const informer::WriteStats& writes() const { return writer_->stats(); }
  [[nodiscard]] std::optional<std::string> write_refusal() const { return writer_->refusal(); }
  [[nodiscard]] informer::WriteLoad write_load(informer::WriteClass write_class) const {
    return writer_->load(write_class);
  }
  // Null without leader election: this process always leads then.
  [[nodiscard]] const Leadership* leadership() const { return leadership_.get(); }

 private:
  Session() = default;
  void lead();
  void take_over(bool ended_well);
  void void_earlier_bindings(const std::vector<PodRef>& unbound);
  void begin_to_schedule();
  void keep_profile();

  std::string server_;
  std::atomic<bool> delays_cache_ = false;  // until it leads
  bool stopped_ = false;
  std::vector<std::string> scheduler_names_;  // the first one reports that it leads
  std::string lease_namespace_;
  std::string lease_name_;  // the mark's, where no leader is elected
  SessionChoices choices_;
  SymbolTable own_symbols_;
  std::unique_ptr<Leadership> leadership_;  // outlives the writer that its fence limits
  std::unique_ptr<RunningMark> mark_;       // used if no leader is elected
  // Nothing that an earlier scheduler has sent can be carried out any more.
  std::atomic<bool> earlier_ended_{false};
  std::unique_ptr<informer::HttpClient> reads_;   // lists and watches
  std::unique_ptr<informer::HttpClient> binds_;   // a connection pool of their own
  std::unique_ptr<informer::HttpClient> others_;  // events, conditions
  std::unique_ptr<informer::ServerWriter> writer_;
  std::unique_ptr<informer::HttpExtenders> extenders_;  // null: the file has none
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<informer::ApiServerInformer> informer_;
  std::unique_ptr<Inspection> inspection_;
  std::thread loop_;
};

}  // namespace plimsoll::cli
