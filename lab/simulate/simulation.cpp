#include "lab/simulate/simulation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <plimsoll/note.hpp>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "cli/line/running_calls.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "lab/sandbox/controllers/controllers.hpp"
#include "lab/sandbox/controllers/not_simulated.hpp"
#include "lab/sandbox/kubelet/machine_nodes.hpp"
#include "lab/sandbox/kubelet/oracle.hpp"
#include "lab/simulate/arrivals.hpp"
#include "lab/simulate/ask_session.hpp"
#include "lab/simulate/pace.hpp"
#include "lab/simulate/pod_watcher.hpp"
#include "lab/simulate/simulation_notes.hpp"

namespace plimsoll::cli {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using namespace std::chrono_literals;

// The run ends after so many seconds of the simulated clock without changes: longer than the
// queue's first backoff, after which a pod is retried.
constexpr double kQuiet = 1.5;
// And after so many while pods are in backoff, as after a write that failed: longer than the
// queue's longest backoff, so that a pod that fails every time ends the run too.
constexpr double kQuietInBackoff = 12;

constexpr const char* kNodesExplained = "10";
constexpr const char* kTextsExplained = "3";

std::set<std::string> scheduler_names(const config::Validation& configuration) {
  std::set<std::string> names;
  for (const auto& profile : configuration.profiles) names.insert(profile.scheduler_name);
  return names;
}

// Waiting pods of the cluster count as arriving when the scheduler starts.
void expect_waiting_pods(const sandbox::ObjectStore& store, const std::set<std::string>& names,
                         PodWatcher& watcher) {
  const auto pods = store.list(sandbox::kPods);
  if (!pods) return;
  for (const sandbox::ObjectPtr& object : pods->objects) {
    if (!object->field("spec.nodeName").empty()) continue;
    if (!names.contains(object->field("spec.schedulerName"))) continue;
    const bool over =
        sandbox::is_terminal(*object) || object->parse()["metadata"].contains("deletionTimestamp");
    if (!over) watcher.expect(*object);
  }
}

// The objects, with those pods ours that wait for other schedulers:
// SimulationOptions::as_schedulers.
std::vector<std::string> with_pods_taken(const std::vector<std::string>& objects,
                                         const config::Validation& configuration,
                                         const std::vector<std::string>& as_schedulers) {
  std::vector<std::string> texts = objects;
  if (as_schedulers.empty() || configuration.profiles.empty()) return texts;
  const std::set<std::string> ours = scheduler_names(configuration);
  const std::set<std::string> taken(as_schedulers.begin(), as_schedulers.end());
  const auto of_all = std::ranges::find_if(
      as_schedulers, [&ours](const std::string& name) { return ours.contains(name); });
  for (std::string& text : texts) {
    json object = json::parse(text, nullptr, false);
    if (!object.is_object() || object.value("kind", json()) != "Pod") continue;
    json& spec = object["spec"];
    if (!spec.is_object() || spec.value("nodeName", json("")) != "") continue;
    const json wanted = spec.value("schedulerName", json("default-scheduler"));
    if (!wanted.is_string() || ours.contains(wanted.get<std::string>())) continue;
    if (taken.contains(wanted.get<std::string>()))
      spec["schedulerName"] = configuration.profiles.front().scheduler_name;
    else if (of_all != as_schedulers.end())
      spec["schedulerName"] = *of_all;
    else
      continue;
    text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return texts;
}

// When the scheduler tried each pod, by the clock. Attempts are heard of on its loop.
class Tries {
 public:
  struct Of {
    double first = 0;
    double last = 0;
    uint64_t count = 0;
  };
  void add(std::string_view uid, double now) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = tries_.try_emplace(std::string(uid), Of{now, now, 0});
    at->second.last = now;
    ++at->second.count;
  }
  [[nodiscard]] Of of(const std::string& uid) const {
    const std::lock_guard lock(mutex_);
    const auto found = tries_.find(uid);
    return found == tries_.end() ? Of() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Of> tries_;  // by uid
};

void collect(const sandbox::ObjectStore& store, const std::set<std::string>& names,
             const std::set<std::string>& bound_before, const PodWatcher& watcher,
             const Tries& tries, double begin, SimulationResult& result) {
  std::map<std::string_view, double> ends;  // by uid
  for (const sandbox::PodLife& life : result.lives) {
    if (life.ended >= 0) ends[life.uid] = life.ended;
  }
  const auto pods = store.list(sandbox::kPods);
  if (!pods) return;
  for (const sandbox::ObjectPtr& object : pods->objects) {
    if (bound_before.contains(object->uid)) continue;
    if (!names.contains(object->field("spec.schedulerName"))) continue;
    Placement placement = placement_of(object->parse());
    if (const auto times = watcher.times(object->uid)) {
      placement.created = times->created - begin;
      if (times->bound) placement.bound = *times->bound - begin;
    }
    if (const Tries::Of tried = tries.of(object->uid); tried.count > 0) {
      placement.tries = tried.count;
      placement.tried = tried.first - begin;
      placement.last_tried = tried.last - begin;
    }
    if (const auto end = ends.find(object->uid); end != ends.end())
      placement.ended = end->second;
    else if (placement.phase == "Failed")
      placement.ended = placement.bound;  // its kubelet refused it at once
    if (!placement.node.empty()) ++result.bound;
    if (!watcher.decided(object->uid)) result.undecided.push_back(placement.pod);
    result.placements.push_back(std::move(placement));
  }
}

std::set<std::string> bound_pods(const sandbox::ObjectStore& store) {
  std::set<std::string> bound;
  if (const auto pods = store.list(sandbox::kPods)) {
    for (const sandbox::ObjectPtr& object : pods->objects) {
      if (!object->field("spec.nodeName").empty()) bound.insert(object->uid);
    }
  }
  return bound;
}

std::map<std::string, double> resource_seconds(const std::vector<sandbox::PodLife>& lives,
                                               const Window& window) {
  std::map<std::string, double> seconds;
  for (const sandbox::PodLife& life : lives) {
    const double end = life.ended < 0 ? window.to : std::min(life.ended, window.to);
    const double time = end - std::max(life.admitted, window.from);
    if (time <= 0) continue;
    for (const auto& [name, amount] : life.requests)
      seconds[name] += time * static_cast<double>(amount);
  }
  return seconds;
}

StateSnapshot snapshot_of(Scheduler& scheduler) {
  const auto promise = std::make_shared<std::promise<StateSnapshot>>();
  std::future<StateSnapshot> state = promise->get_future();
  scheduler.post(Task{[&scheduler, promise] { promise->set_value(scheduler.snapshot()); }});
  return state.get();
}

// Pods are explained until the answers have this size: at many nodes each is long.
constexpr size_t kMostExplained = size_t{4} << 20;

Result<std::string> explanation_of(Session& session, const std::string& pod) {
  return ask_session(session)(
      question("explain", {{"pod", pod}, {"nodes", kNodesExplained}, {"texts", kTextsExplained}}));
}

// `first`: pods that are explained before all others.
SimulationView view_of(Session& session, const StateSnapshot& state,
                       const std::vector<std::string>& first) {
  SimulationView view;
  const Ask ask = ask_session(session);
  if (auto top = ask(question("top", {{"pods", ""}}))) view.top = std::move(*top);
  if (auto queue = ask(question("queue"))) view.queue = std::move(*queue);
  std::vector<std::string> pods = first;
  for (const auto& queued : state.queued) pods.push_back(full_name(*queued.pod));
  const std::set<std::string_view> ours(state.scheduler_names.begin(), state.scheduler_names.end());
  for (const auto& placed : state.placed) {
    if (ours.contains(plimsoll::view(placed.pod->scheduler_name)))
      pods.push_back(full_name(*placed.pod));
  }
  size_t size = 0;
  std::set<std::string_view> done;
  for (const std::string& pod : pods) {
    if (size > kMostExplained) break;
    if (!done.insert(pod).second) continue;
    auto answer = explanation_of(session, pod);
    if (!answer) continue;
    size += answer->size();
    view.explained.emplace_back(pod, std::move(*answer));
  }
  return view;
}

uint64_t failed_bindings(const sandbox::ApiServer& server) {
  uint64_t failed = 0;
  for (const sandbox::RequestCount& count : server.request_counts()) {
    if (count.resource == "pods/binding") failed += count.requests - count.succeeded;
  }
  return failed;
}

}  // namespace

std::span<const StaticModule> oracle_modules() {
  static const std::array<StaticModule, 1> kModules{
      {{"NodeResourceTopologyMatch", PLIMSOLL_SDK_VERSION, sandbox::oracle_plugin()}}};
  return kModules;
}

Result<SimulationResult> run_simulation(const config::Validation& configuration,
                                        const Modules& modules, const SimulationOptions& options,
                                        const Progress& progress) {
  SimulationResult result;
  const auto deadline = Clock::now() + options.timeout;
  // Names and UIDs that are made up are the same for the same seed, 0 too.
  sandbox::ObjectStore store({.seed = 2 * options.kubelets.seed + 1});
  auto loaded = sandbox::load_cluster(
      store, with_pods_taken(options.cluster, configuration, options.as_schedulers));
  if (!loaded) return fail(loaded.error().within("loading the cluster"));
  SimulationNotes notes;
  notes.add(loaded->notes);
  sandbox::serve_kinds_of(store, options.events);
  sandbox::KubeletOptions kubelet_options = options.kubelets;
  if (!kubelet_options.machines) {
    kubelet_options.machines = std::make_shared<sandbox::MachineLibrary>();
  }
  const auto hidden = sandbox::install_machine_nodes(store, *kubelet_options.machines,
                                                     kubelet_options.reports.kind);
  if (!hidden) return fail(hidden.error());
  note_hidden_amounts(*hidden, notes);
  const auto clock = std::make_shared<sandbox::SimulatedClock>();
  const sandbox::TimestampScope stamps(clock);
  kubelet_options.clock = clock;
  const auto scheduler_ms = std::make_shared<std::atomic<int64_t>>(clock->epoch_ms());
  const std::set<std::string> names = scheduler_names(configuration);
  const std::set<std::string> bound_before = bound_pods(store);

  sandbox::ServerOptions serving;
  serving.handler.graceful_pod_deletion =
      true;  // a victim holds its resources until its kubelet ends it
  auto server = sandbox::ApiServer::start(store, serving);
  if (!server) return fail(server.error());
  if (options.bind_failures > 0) {
    (*server)->inject({.verb = "create",
                       .resource = "pods/binding",
                       .count = std::numeric_limits<int>::max(),
                       .status = {422, "Invalid", "the Binding fails, as --bind-failures asks"},
                       .share = options.bind_failures,
                       .seed = options.kubelets.seed});
  }
  if (options.on_serving) options.on_serving((*server)->url());
  sandbox::SimulatedControllers controllers(store);
  sandbox::SimulatedKubelets kubelets(store, kubelet_options);
  if (!kubelets.wait_handled(options.timeout)) {
    return fail(ErrorCode::kUnavailable, "the simulated kubelets did not start in time");
  }
  informer::ServerAccess access;
  access.server = (*server)->url();
  access.source = "the sandbox";
  config::Validation alone = configuration;
  alone.config.client_connection.content_type = "application/json";  // the only type served
  std::optional<sandbox::OracleScope> oracle;
  if (options.oracle) oracle.emplace(store, kubelets);
  Tries tries;
  SessionChoices choices;
  choices.on_attempt = [&tries, &clock](std::string_view uid) { tries.add(uid, clock->seconds()); };
  auto session = Session::create(
      alone, modules, access, nullptr, Session::Mode::kSimulated,
      [scheduler_ms] { return scheduler_ms->load(); }, choices);
  if (!session) return fail(session.error());

  PodWatcher watcher(store, names, bound_before, [&kubelets] { return kubelets.seconds(); });
  expect_waiting_pods(store, names, watcher);
  (*session)->start();
  const auto hang_after = std::min<std::chrono::nanoseconds>(kLoopHangsAfter, options.timeout / 2);
  const auto look_for_hang = [&] {
    if (!options.on_hang) return;
    if (const auto problem = (*session)->loop_problem(hang_after)) options.on_hang(*problem);
    // These may block, so they have more time.
    const auto calls = hanging_calls(options.timeout / 2);
    if (!calls.empty()) options.on_hang(calls.front());
  };
  // Wait for the sync, so that pods arrive in the order of their file and not in a first list,
  // which is sorted by name.
  while (!(*session)->scheduler().stats().synced && Clock::now() < deadline) {
    look_for_hang();
    std::this_thread::sleep_for(1ms);
  }
  std::vector<std::string> later = options.pods;
  later.insert(later.end(), options.events.begin(), options.events.end());
  std::vector<std::string> without_time;
  Arrivals arrivals(with_pods_taken(later, configuration, options.as_schedulers), without_time);
  notes.add(without_time);
  Pace pace({store, kubelets, controllers, **session, *clock, *scheduler_ms}, options.speed);
  const double begin = clock->seconds();
  double last_change = begin;
  double decided_at = begin;     // since when every pod is bound or was found unschedulable
  std::optional<double> marked;  // the end of the window so far
  uint64_t failed = 0;           // Bindings
  while (!result.settled && Clock::now() < deadline) {
    look_for_hang();
    if (!pace.rests()) continue;
    const double now = clock->seconds();
    while (watcher.follow(0ms)) last_change = now;
    // The pod is tried again, though it may say what it said before.
    if (options.bind_failures > 0 && failed != failed_bindings(**server)) {
      failed = failed_bindings(**server);
      last_change = now;
    }
    if (progress) progress(watcher.arrived(), watcher.bound(), watcher.refused());
    if (watcher.last_created() != marked) {
      marked = watcher.last_created();
      kubelets.mark();
    }
    if (options.until && now - begin >= *options.until) {
      if (marked) kubelets.mark();
      if (marked) marked = begin + *options.until;
      result.until = true;
      result.settled = true;
      break;
    }
    if (pace.decide()) continue;
    if (const Arrivals::Batch batch = arrivals.take(now - begin); !batch.empty()) {
      const auto done = carry_out(store, batch);
      if (!done) return fail(done.error().within("loading the pods"));
      notes.add(*done);
      continue;
    }
    double next = pace.next_due();
    if (const auto arrival = arrivals.next()) next = std::min(next, begin + *arrival);
    if (options.until) next = std::min(next, begin + *options.until);
    if (arrivals.next() || !watcher.all_decided()) {
      decided_at = next;
    } else if (options.until) {
      // The user says when it ends.
    } else if (const sandbox::KubeletStats running = kubelets.stats();
               running.pending_finishes == 0) {
      const SchedulingQueue::Sizes& queue = pace.scheduler().queue;
      const double quiet = queue.active + queue.backoff == 0 ? kQuiet : kQuietInBackoff;
      result.settled = now - last_change >= quiet && kubelets.idle();
    } else if (watcher.refused() == 0) {
      // Pods may still end, but nothing waits for their resources.
      result.settled = now - decided_at >= kQuiet && running.pending_moves == 0;
    }
    if (!result.settled) pace.advance_to(next);
  }
  if (const std::string note = sandbox::not_simulated(store); !note.empty()) notes.add(note);
  result.coming = arrivals.coming();
  result.simulated_seconds = clock->seconds() - begin;
  const StateSnapshot state = snapshot_of((*session)->scheduler());
  for (const std::string& pod : options.explain) {
    result.explanations.push_back(explanation_of(**session, pod));
  }
  if (options.view) result.view = view_of(**session, state, options.explain);
  (*session)->stop();
  result.scheduler = (*session)->scheduler().stats();
  watcher.follow(0ms);
  result.seconds = watcher.seconds();
  result.bindings = (*server)->writes("pods/binding");
  if (options.bind_failures > 0) {
    notes.add(std::to_string(failed_bindings(**server)) +
              " Bindings failed, as --bind-failures asks");
  }
  result.events = (*server)->writes("events");
  result.conditions = (*server)->writes("pods/status");
  result.kubelets = kubelets.stats();
  kubelets.stop();
  result.zone_use = kubelets.zone_use();
  result.nodes = node_use(state, kubelets.zones());
  result.evicted = watcher.evicted();
  result.lives = kubelets.lives();
  for (EvictedPod& pod : result.evicted) {
    pod.ended -= begin;
    if (pod.times) pod.times->created -= begin;
    if (pod.times && pod.times->bound) *pod.times->bound -= begin;
  }
  for (sandbox::PodLife& life : result.lives) {
    life.admitted -= begin;
    if (life.ended >= 0) life.ended -= begin;
  }
  if (marked) {
    result.window = Window{*watcher.first_created() - begin, *marked - begin};
    result.resource_seconds = resource_seconds(result.lives, *result.window);
  }
  result.held_back = held_back_pods(store, kubelets, names);
  (*server)->stop();
  collect(store, names, bound_before, watcher, tries, begin, result);
  note_what_is_left_out(store, kubelets, names, kubelet_options.pessimistic, notes);
  result.notes = notes.all();
  return result;
}

}  // namespace plimsoll::cli
