#include "lab/sandbox/kubelet/kubelet.hpp"

#include <algorithm>
#include <cstdlib>

#include "framework/base/log.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/kubelet_impl.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::size_t kEventsPerRead = 256;
constexpr int kRoundsPerRead = 16;  // then delayed actions get their turn
// Longer delays count as infinite; adding them to the clock must not overflow.
constexpr Seconds kLongest = std::chrono::hours(24 * 365 * 100);

bool is_short(ActionKind kind) {
  return kind != ActionKind::kFinish && kind != ActionKind::kReportAgain;
}

bool is_move(ActionKind kind) {
  return kind == ActionKind::kRun || kind == ActionKind::kRemove;
}

}  // namespace

std::string text_field(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

std::optional<double> parse_seconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(seconds >= 0 && seconds <= 1e9)) return std::nullopt;
  return seconds;
}

SimulatedKubelets::Impl::Impl(ObjectStore& store_, KubeletOptions options_)
    : store(store_), options(std::move(options_)) {
  options.speed = std::max(options.speed, 1e-6);
  if (!options.machines) options.machines = std::make_shared<MachineLibrary>();
  if (!options.admission) options.admission = make_admission_factory(options.pessimistic);
}

void SimulatedKubelets::Impl::signal() {
  const std::lock_guard lock(mutex);
  signalled = true;
  changed.notify_all();
}

double SimulatedKubelets::Impl::seconds() const {
  if (options.clock) return options.clock->seconds();
  return Seconds(Clock::now() - begin).count() * options.speed;
}

// Times are of the real clock, or begin + seconds().
Clock::time_point SimulatedKubelets::Impl::now() const {
  if (!options.clock) return Clock::now();
  return begin + std::chrono::duration_cast<Clock::duration>(Seconds(options.clock->seconds()));
}

Clock::time_point SimulatedKubelets::Impl::after(Seconds delay) const {
  const double speed = options.clock ? 1 : options.speed;
  return now() + std::chrono::duration_cast<Clock::duration>(
                     std::clamp(delay / speed, Seconds(0), kLongest));
}

void SimulatedKubelets::Impl::schedule(Action action) {
  action.order = next_order++;
  const ActionKind kind = action.kind;
  actions.push(std::move(action));
  const std::lock_guard lock(mutex);
  if (is_short(kind)) ++short_actions;
  if (kind == ActionKind::kFinish) ++stats.pending_finishes;
  if (is_move(kind)) ++stats.pending_moves;
  stats.pending_actions = actions.size();
}

void SimulatedKubelets::Impl::run_due_actions() {
  const double until = seconds();
  while (!actions.empty() && actions.top().due <= now()) {
    const Action action = actions.top();
    actions.pop();
    perform(action);
    const std::lock_guard lock(mutex);
    if (is_short(action.kind)) --short_actions;
    if (action.kind == ActionKind::kFinish) --stats.pending_finishes;
    if (is_move(action.kind)) --stats.pending_moves;
    stats.pending_actions = actions.size();
    if (stopping) return;
  }
  const std::lock_guard lock(mutex);
  done_until = until;
  next_due.reset();
  if (!actions.empty()) next_due = Seconds(actions.top().due - begin).count();
}

void SimulatedKubelets::Impl::perform(const Action& action) {
  const std::lock_guard lock(acting);
  switch (action.kind) {
    case ActionKind::kRun:
      return start_pod(action);
    case ActionKind::kFinish:
      return finish_pod(action);
    case ActionKind::kRemove:
      return remove_pod(action);
    case ActionKind::kReport:
      return report(action);
    case ActionKind::kReportAgain:
      return report_again(action);
    case ActionKind::kDeliver:
      return deliver(action.pod.name, *action.snapshot, action.look);
  }
}

void SimulatedKubelets::Impl::on_event(const ResourceName& resource, const StoreEvent& event) {
  const std::lock_guard lock(acting);
  const std::string& name = event.object->key.name;
  if (resource == kNodeResourceTopologies) {
    const auto node = nodes.find(name);
    const bool own = node != nodes.end() && node->second.reported == event.resource_version;
    return own ? void() : look_at_node(name);
  }
  if (resource == kNodes) return look_at_node(name);
  if (event.type == EventType::kDeleted) return let_go(event.object->uid);
  const std::string* node = find_field(event.object->fields, "spec.nodeName");
  if (node == nullptr || node->empty()) return;
  // Use the current state: this event may be older than what was already done.
  const auto now = store.get(kPods, event.object->key);
  if (!now || (*now)->uid != event.object->uid) return;
  // For a pod that runs here only its end and its deletion matter, so most events are not parsed.
  const bool goes_on = pods.contains((*now)->uid) && !is_terminal(**now) &&
                       (*now)->text.find("\"deletionTimestamp\"") == std::string::npos;
  if (!goes_on) look_at_pod((*now)->parse());
}

// Reads everything again: at the start, and when the history no longer reaches back to our
// position.
void SimulatedKubelets::Impl::look_at_everything() {
  const std::lock_guard lock(acting);
  for (const ResourceName& resource : {kNodes, kNodeResourceTopologies, kPods}) {
    positions[resource] = store.resource_version();
  }
  std::set<std::string> alive;
  if (const auto all = store.list(kPods)) {
    for (const ObjectPtr& pod : all->objects) alive.insert(pod->uid);
  }
  std::vector<std::string> gone;
  for (const auto& [uid, pod] : pods) {
    if (!alive.contains(uid)) gone.push_back(uid);
  }
  for (const std::string& uid : gone) let_go(uid);
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes) names.push_back(name);
  if (const auto all = store.list(kNodes)) {
    for (const ObjectPtr& node : all->objects) names.push_back(node->key.name);
  }
  auto bound = pods_by_node();
  for (const std::string& name : names) look_at_node(name, &bound[name]);
  if (const auto all = store.list(kPods)) {
    for (const ObjectPtr& pod : all->objects) {
      if (!pod->field("spec.nodeName").empty()) look_at_pod(pod->parse());
    }
  }
}

// Merges the events of the three kinds by resource version, so that a node is known before the pods
// bound to it.
void SimulatedKubelets::Impl::read_events() {
  for (int round = 0; round < kRoundsPerRead; ++round) {
    std::vector<std::pair<ResourceName, StoreEvent>> merged;
    // Events beyond the shortest of the three reads are left for the next round.
    const std::uint64_t newest = store.resource_version();
    std::uint64_t complete = newest;
    for (const ResourceName& resource : {kNodes, kNodeResourceTopologies, kPods}) {
      auto batch = store.events_after(resource, positions[resource], kEventsPerRead);
      if (!batch && batch.error().code == 410) return look_at_everything();
      if (!batch) continue;  // the kind was removed
      complete = std::min(complete, batch->position);
      for (StoreEvent& event : batch->events) merged.emplace_back(resource, std::move(event));
    }
    std::stable_sort(merged.begin(), merged.end(), [](const auto& a, const auto& b) {
      return a.second.resource_version < b.second.resource_version;
    });
    for (const auto& [resource, event] : merged) {
      if (event.resource_version > complete) break;
      on_event(resource, event);
    }
    for (auto& [resource, position] : positions) position = std::max(position, complete);
    const std::lock_guard lock(mutex);
    handled = complete;
    if (complete == newest) return;
  }
  const std::lock_guard lock(mutex);
  signalled = true;  // continue after the due actions
}

void SimulatedKubelets::Impl::run() {
  look_at_everything();
  while (true) {
    read_events();
    run_due_actions();
    std::unique_lock lock(mutex);
    changed.notify_all();
    const auto woken = [this] { return signalled || stopping; };
    if (actions.empty() || options.clock)
      changed.wait(lock, woken);
    else
      changed.wait_until(lock, actions.top().due, woken);
    if (stopping) return;
    signalled = false;
  }
}

SimulatedKubelets::SimulatedKubelets(ObjectStore& store, KubeletOptions options)
    : impl_(std::make_unique<Impl>(store, std::move(options))) {
  for (const ResourceName& resource : {kNodes, kNodeResourceTopologies, kPods}) {
    impl_->subscriptions.push_back(
        store.subscribe(resource, [raw = impl_.get()] { raw->signal(); }));
  }
  impl_->thread = std::thread([raw = impl_.get()] {
    try {
      raw->run();
    } catch (const std::exception& error) {
      log_error("the simulated kubelets have stopped", {{"what", error.what()}});
    }
  });
}

SimulatedKubelets::~SimulatedKubelets() {
  stop();
}

void SimulatedKubelets::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->subscriptions.clear();
}

KubeletStats SimulatedKubelets::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

bool SimulatedKubelets::wait_handled(std::chrono::milliseconds timeout) const {
  const std::uint64_t version = impl_->store.resource_version();
  impl_->signal();
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, timeout, [&] { return impl_->handled >= version; });
}

void SimulatedKubelets::mark() {
  const std::lock_guard lock(impl_->acting);
  impl_->use.mark(impl_->seconds());
}

double SimulatedKubelets::seconds() const {
  return impl_->seconds();
}

void SimulatedKubelets::wake() {
  impl_->signal();
}

bool SimulatedKubelets::quiet() const {
  // Not under the mutex: writers signal while they hold the store's lock.
  const std::uint64_t version = impl_->store.resource_version();
  const std::lock_guard lock(impl_->mutex);
  return impl_->handled >= version && impl_->done_until >= impl_->seconds();
}

bool SimulatedKubelets::idle() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->short_actions == 0 && impl_->nodes_behind == 0;
}

std::optional<double> SimulatedKubelets::next_due() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->next_due;
}

std::vector<PodLife> SimulatedKubelets::lives() const {
  return impl_->lives;
}

std::vector<std::pair<std::string, std::string>> SimulatedKubelets::unknown_zones() const {
  return impl_->unknown_zones;
}

std::map<std::string, ZoneUse> SimulatedKubelets::zone_use() const {
  return impl_->use.result();
}

std::map<std::string, std::vector<node::ZoneReport>> SimulatedKubelets::zones() const {
  std::map<std::string, std::vector<node::ZoneReport>> zones;
  for (const auto& [name, node] : impl_->nodes) zones[name] = node.admission->zones().zones;
  return zones;
}

std::optional<std::string> SimulatedKubelets::first_taker(
    const json& pod, const std::function<bool(const std::string& node)>& allowed) const {
  for (const auto& [name, node] : impl_->nodes) {
    if (allowed(name) && node.admission->try_admit(pod).admitted) return name;
  }
  return std::nullopt;
}

bool SimulatedKubelets::wait_idle(std::chrono::milliseconds timeout) const {
  const auto deadline = Clock::now() + timeout;
  while (Clock::now() < deadline) {
    const std::uint64_t version = impl_->store.resource_version();
    {
      const std::lock_guard lock(impl_->mutex);
      if (impl_->handled >= version && impl_->short_actions == 0 && impl_->nodes_behind == 0) {
        return true;
      }
    }
    impl_->signal();  // writes of other kinds do not wake the thread
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace plimsoll::sandbox
