#include "cli/run/wiring.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <utility>

#include <plimsoll/join.hpp>

#include "cli/line/running_calls.hpp"
#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "framework/base/signal_stack.hpp"
#include "framework/metrics/rest_client_metrics.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::cli {

namespace fs = std::filesystem;

std::vector<fs::path> plugin_directories(const std::vector<std::string>& given) {
  std::vector<fs::path> all(given.begin(), given.end());
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  // Without /proc it is taken for installed: never a folder beneath the one it happens to run in.
  const fs::path bin = error ? fs::path("/usr/bin") : program.parent_path();
  // build/<preset>/bin and build/<preset>/plugins; /usr/bin and /usr/lib/plimsoll/plugins.
  for (const fs::path& candidate :
       {bin.parent_path() / "plugins", bin.parent_path() / "lib/plimsoll/plugins"}) {
    if (!fs::is_directory(candidate, error)) continue;
    const bool known = std::ranges::any_of(
        given, [&](const std::string& each) { return fs::equivalent(each, candidate, error); });
    if (!known) all.push_back(candidate);
    break;
  }
  return all;
}

Result<Modules> load_modules(const std::vector<std::string>& given_directories,
                             std::span<const StaticModule> instead) {
  Modules modules;
  modules.add_builtin(instead);
  modules.add_builtin(builtin_modules());
  size_t position = 0;
  for (const fs::path& directory : plugin_directories(given_directories)) {
    auto loaded = modules.load_directory(directory, instead);
    const bool named = position++ < given_directories.size();
    if (!loaded && named) return fail(loaded.error());
    if (!loaded) log_warn("plugin folder left out", {{"error", loaded.error().message}});
  }
  for (const auto& record : modules.records()) {
    if (!record->loaded)
      log_warn("plugin refused", {{"file", record->path}, {"reason", record->refusal}});
  }
  return modules;
}

namespace {

// With the step that is under way then the loop does nothing else for 5 ms.
constexpr std::chrono::milliseconds kGroupSlice{4};

// Calls `check` with the plugins that there are and a function that makes them.
template <typename Check>
config::Validation checked(const Modules& modules, PreparedPlugins* keep, const Check& check) {
  SymbolTable symbols;
  PreparedPlugins own(symbols);
  PreparedPlugins& plugins = keep != nullptr ? *keep : own;
  config::PluginRegistry registry;
  for (const auto& record : modules.records()) {
    if (record->loaded) registry.emplace(record->name, config::ExtensionPoints{});
  }
  for (const fs::path& folder : modules.folders()) {
    registry.folders += (registry.folders.empty() ? "" : ", ") + folder.string();
  }
  return check(registry, [&](const std::string& scheduler_name, const std::string& plugin,
                             const std::string& args) {
    config::MadePlugin answer;
    std::vector<std::string> warnings;
    const auto points = plugins.make(modules, scheduler_name, plugin, args, &warnings);
    for (const std::string& warning : warnings) {
      const auto split = config::split_args_errors(warning);
      answer.warnings.insert(answer.warnings.end(), split.begin(), split.end());
    }
    if (!points) answer.errors = config::split_args_errors(points.error().message);
    answer.default_args = modules.find(plugin)->default_args;
    for (const ExtensionPoint point : points.value_or(std::vector<ExtensionPoint>{})) {
      answer.points.add(point);
    }
    return answer;
  });
}

}  // namespace

config::Validation validate(const std::string& file, const Modules& modules,
                            PreparedPlugins* keep) {
  return checked(modules, keep, [&](const auto& registry, const auto& ask) {
    return config::validate_file(file, registry, ask);
  });
}

config::Validation validate_all_plugins(const Modules& modules) {
  std::string text = "apiVersion: " + std::string(config::kConfigApiVersion) +
                     "\nkind: KubeSchedulerConfiguration\n"
                     "profiles: [{plugins: {multiPoint: {enabled: [";
  for (const auto& record : modules.records()) {
    if (record->loaded && !record->path.empty()) text += "{name: \"" + record->name + "\"}, ";
  }
  return checked(modules, nullptr, [&](const auto& registry, const auto& ask) {
    return config::validate_text(text + "]}}}]\n", "all plugins", registry, ask);
  });
}

Result<config::Validation> load_configuration(const std::string& file, const Modules& modules,
                                              PreparedPlugins* keep) {
  config::Validation configuration = validate(file, modules, keep);
  if (!configuration.ok()) {
    return fail(ErrorCode::kInvalid,
                without_last_newlines(config::to_string(configuration.errors, configuration.file)));
  }
  for (const config::Problem& warning : configuration.warnings) {
    log_warn(config::to_string(warning, configuration.file));
  }
  return configuration;
}

SchedulerOptions scheduler_options(const config::Validation& configuration) {
  SchedulerOptions options;
  options.queue.initial_backoff_ms = configuration.config.pod_initial_backoff_seconds * 1000;
  options.queue.max_backoff_ms = configuration.config.pod_max_backoff_seconds * 1000;
  options.profiles = configuration.profiles;
  return options;
}

// ---- Session

std::function<void(const informer::HttpExchange&)> request_metrics(metrics::Registry& registry,
                                                                   const std::string& server) {
  return [metrics = std::make_shared<metrics::RestClientMetrics>(registry, server)](
             const informer::HttpExchange& exchange) {
    metrics->observe(exchange.method, exchange.status, exchange.watch,
                     std::chrono::duration<double>(exchange.took).count());
  };
}

Result<std::unique_ptr<Session>> Session::create(
    const config::Validation& configuration, const Modules& modules,
    const informer::ServerAccess& access, metrics::Registry* registry, Mode mode,
    std::function<int64_t()> clock, const SessionChoices& choices, SymbolTable* symbols,
    std::unique_ptr<PreparedPlugins> prepared) {
  std::unique_ptr<Session> session(new Session);
  if (symbols == nullptr) symbols = &session->own_symbols_;
  session->server_ = access.server;
  session->choices_ = choices;
  const auto credentials = std::make_shared<informer::CredentialSource>(access);
  const std::array<std::pair<std::unique_ptr<informer::HttpClient>*, const char*>, 3> clients{
      {{&session->reads_, "plimsoll-watch"},
       {&session->binds_, "plimsoll-bind"},
       {&session->others_, "plimsoll-write"}}};
  const auto counted = [&]() -> std::function<void(const informer::HttpExchange&)> {
    if (registry == nullptr) return {};
    return request_metrics(*registry, access.server);
  };
  for (const auto& [client, thread_name] : clients) {
    informer::HttpClientOptions options;
    options.thread_name = thread_name;
    options.on_exchange = counted();
    auto made = informer::HttpClient::create(access, credentials, options);
    if (!made) return fail(made.error());
    *client = std::move(*made);
  }
  const bool protobuf = configuration.config.client_connection.content_type != "application/json";
  const config::LeaderElection& election = configuration.config.leader_election;
  informer::WriteOptions writes;
  writes.protobuf = protobuf;
  SchedulerOptions scheduling = scheduler_options(configuration);
  scheduling.metrics = registry;
  scheduling.clock = std::move(clock);
  scheduling.classes = choices.classes;
  scheduling.scheduled_events = choices.scheduled_events;
  scheduling.on_attempt = choices.on_attempt;
  scheduling.extenders = configuration.config.extenders;
  if (mode == Mode::kSimulated) {
    writes.one_at_a_time = true;
    scheduling.binder_threads = 1;
    scheduling.stepwise = true;
  } else {
    scheduling.group_slice = kGroupSlice;
  }
  const bool observes = mode == Mode::kObserve;
  if (observes) scheduling.standby = true;
  for (const ProfileSpec& profile : configuration.profiles)
    session->scheduler_names_.push_back(profile.scheduler_name);
  session->lease_namespace_ = election.resource_namespace;
  session->lease_name_ = election.leader_elect ? election.resource_name
                                               : "plimsoll-" + session->scheduler_names_.front();
  if (mode == Mode::kSchedule && !election.leader_elect) {
    auto mark = RunningMark::create(session->lease_namespace_, session->lease_name_, access,
                                    credentials, counted());
    if (!mark) return fail(mark.error());
    session->mark_ = std::move(*mark);
    scheduling.standby = true;
  }
  if (mode == Mode::kSchedule && election.leader_elect) {
    auto leadership = Leadership::create(election, access, credentials, counted());
    if (!leadership) return fail(leadership.error());
    session->leadership_ = std::move(*leadership);
    session->delays_cache_ = configuration.config.delay_cache_until_active;
    writes.fence = &session->leadership_->fence();
    scheduling.standby = true;
  }
  session->writer_ =
      std::make_unique<informer::ServerWriter>(*session->binds_, *session->others_, writes);
  if (!scheduling.extenders.empty() && !observes) {
    auto extenders = informer::HttpExtenders::create(scheduling.extenders, writes.fence);
    if (!extenders) return fail(extenders.error());
    session->extenders_ = std::move(*extenders);
    scheduling.extender_client = session->extenders_.get();
  }
  auto scheduler = Scheduler::create(std::move(scheduling), modules, *symbols, *session->writer_,
                                     std::move(prepared));
  if (!scheduler) return fail(scheduler.error());
  session->scheduler_ = std::move(*scheduler);
  session->inspection_ =
      std::make_unique<Inspection>(*session->scheduler_, *symbols, access, credentials);
  informer::InformerOptions kinds;
  kinds.protobuf = protobuf;
  for (const WantedKind& kind : session->scheduler_->wanted_kinds()) {
    kinds.kinds.push_back({kind.group, kind.version, kind.plural});
  }
  session->informer_ = std::make_unique<informer::ApiServerInformer>(
      *session->reads_, *session->scheduler_, *symbols, kinds);
  informer::ApiServerInformer* informer = session->informer_.get();
  session->scheduler_->on_kind_wanted([informer](const WantedKind& kind) {
    informer->watch({kind.group, kind.version, kind.plural});
  });
  return session;
}

Session::~Session() {
  stop();
}

void Session::start(Leadership::OnLost on_lost) {
  loop_ = std::thread([this] {
    add_signal_stack();  // plugins run here
    try {
      scheduler_->run();
    } catch (const std::exception& error) {
      // The loop's state is unknown now: a scheduler that goes on could give something twice.
      log_error("the scheduler loop ended with an exception", {{"error", error.what()}});
      std::abort();
    }
  });
  if (mark_) {
    // The pods are read after the mark: whoever released it had bound its last one.
    mark_->start(
        [this](bool ended_well) {
          informer_->start();
          take_over(ended_well);
        },
        [on_lost = std::move(on_lost)](const std::string& holder) {
          if (on_lost) on_lost("the running mark is held by " + holder);
        });
    return;
  }
  if (watches()) informer_->start();
  if (leadership_) {
    leadership_->start([this] { lead(); }, std::move(on_lost), [this] { return loop_problem(); });
  }
}

std::optional<std::string> Session::loop_problem(std::chrono::nanoseconds limit) const {
  const auto busy = scheduler_->busy_for();
  if (busy < limit) return std::nullopt;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(busy).count();
  return "the scheduler loop hangs, most likely in a plugin: it has been busy with one thing for " +
         std::to_string(seconds) + " s" + running_calls_after_colon();
}

void Session::tell(bool warning, const std::string& reason, const std::string& note) {
  if (leadership_ && !leadership_->elector().status().leading) return;
  EventRecord event;
  event.warning = warning;
  event.api_version = "coordination.k8s.io/v1";
  event.kind = "Lease";
  event.ns = lease_namespace_;
  event.name = lease_name_;
  // Without it `kubectl describe lease` does not find the event.
  if (leadership_ || mark_) event.uid = leadership_ ? leadership_->lease_uid() : mark_->lease_uid();
  event.scheduler_name = scheduler_names_.front();
  event.reason = reason;
  event.action = reason;
  event.note = note;
  writer_->record_event(std::move(event));
}

// On the election's thread, which must go on renewing.
void Session::lead() {
  tell(false, "LeaderElection", leadership_->identity() + " became leader");
  if (delays_cache_.exchange(false)) informer_->start();
  take_over(leadership_->elector().took_free_lease());
}

// `ended_well`: of the scheduler before this one, whose lease or mark this is now.
void Session::take_over(bool ended_well) {
  if (ended_well && mark_) return begin_to_schedule();  // the first list is of now
  informer_->relist([this, ended_well](const std::vector<PodRef>& unbound) {
    if (ended_well) return begin_to_schedule();
    void_earlier_bindings(unbound);
  });
}

void Session::void_earlier_bindings(const std::vector<PodRef>& unbound) {
  std::vector<informer::PodVersion> pods;
  for (const PodRef& pod : unbound) {
    if (std::ranges::find(scheduler_names_, view(pod->scheduler_name)) == scheduler_names_.end())
      continue;
    pods.push_back({std::string(view(pod->meta.ns)), std::string(view(pod->meta.name)),
                    std::string(view(pod->meta.uid)),
                    std::string(view(pod->meta.resource_version))});
  }
  if (pods.empty()) return begin_to_schedule();
  log_info(
      "no scheduler before this one is known to have stopped cleanly: making void what it may "
      "still have sent",
      {{"pods", pods.size()}});
  const std::string& identity = leadership_ ? leadership_->identity() : mark_->identity();
  writer_->void_bindings(
      std::move(pods), "scheduler " + identity + " started, after one that may have been killed",
      [this] {
        informer_->relist_pods([this](const std::vector<PodRef>&) { begin_to_schedule(); });
      });
}

void Session::begin_to_schedule() {
  log_info("scheduling",
           {{"server", server_}, {"scheduler_names", sdk::join(scheduler_names_, ",")}});
  earlier_ended_ = true;
  scheduler_->lead();
  if (!choices_.profile_refusal.empty()) {
    tell(true, "ProfileRefused", "the last good profile is in force: " + choices_.profile_refusal);
  } else if (!choices_.keep_profile_in.empty()) {
    keep_profile();
  }
}

// For replicas that start while the profile file is broken (--fallback-config).
void Session::keep_profile() {
  const std::string& place = choices_.keep_profile_in;
  const std::size_t slash = place.find('/');
  ApiRequest request;
  request.method = "PATCH";
  request.path = "/api/v1/namespaces/" + informer::url_encode(place.substr(0, slash)) +
                 "/configmaps/" + informer::url_encode(place.substr(slash + 1));
  request.content_type = "application/merge-patch+json";
  request.body = R"({"data":{"profile.yaml":)";
  if (choices_.profile.empty()) {
    request.body += "null";  // an older one would not be the last good one
  } else {
    append_json_string(request.body, choices_.profile);
  }
  request.body += "}}";
  writer_->request(std::move(request), [place](int status, std::string_view answer) {
    if (status >= 200 && status < 300) return;
    log_warn(
        "the profile in force could not be kept: a replica that starts while the profile file is "
        "broken has none to go by",
        {{"config_map", place}, {"status", status}, {"answer", answer.substr(0, 300)}});
  });
}

void Session::stop() {
  if (std::exchange(stopped_, true)) return;
  if (inspection_) inspection_->stop();
  if (informer_) informer_->stop();
  if (scheduler_) scheduler_->stop();
  if (loop_.joinable()) loop_.join();
  if (extenders_) extenders_->stop();
  if (writer_) writer_->drain(std::chrono::seconds(2));  // the last events and conditions
  // A write without an answer may still be carried out: then the lease runs to its end, and the
  // mark stays.
  const bool ended = writer_ && writer_->all_ended();
  if (leadership_) leadership_->stop(ended, earlier_ended_);
  if (mark_) mark_->stop(ended && earlier_ended_);
  if (writer_) writer_->stop();
  for (auto* client : {&reads_, &binds_, &others_}) {
    if (*client) (*client)->stop();
  }
}

}  // namespace plimsoll::cli
