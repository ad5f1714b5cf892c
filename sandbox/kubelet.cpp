#include "sandbox/kubelet.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <random>
#include <set>
#include <thread>

#include "framework/base/log.hpp"
#include "sandbox/pod_fingerprint.hpp"
#include "sandbox/pod_rules.hpp"
#include "sandbox/pod_status.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kEventsPerRead = 256;
constexpr int kRoundsPerRead = 16;  // then delayed actions get their turn

std::string text_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

enum class ActionKind { kRun, kFinish, kRemove, kReport };

struct Action {
  Clock::time_point due;
  std::uint64_t order;  // ties are resolved in the order of scheduling
  ActionKind kind;
  ObjectKey pod;  // kReport: the name is the node's
  std::string uid;
  bool operator>(const Action& other) const {
    return std::tie(due, order) > std::tie(other.due, other.order);
  }
};

struct Pod {
  ObjectKey key;
  std::string node;
  bool stopping = false;
};

struct Node {
  NodeDescription description;
  std::unique_ptr<NodeAdmission> admission;
  std::set<std::string> pods;  // uids of the pods that the kubelet runs
  bool report_pending = false;
  std::uint64_t reported = 0;  // the resource version of the last report
};

// Replaces or appends a top-level attribute of a NodeResourceTopology.
void set_attribute(json& nrt, const char* name, const std::string& value) {
  json& attributes = nrt["attributes"];
  if (!attributes.is_array()) attributes = json::array();
  for (json& attribute : attributes) {
    if (text_at(attribute, "name") != name) continue;
    attribute["value"] = value;
    return;
  }
  attributes.push_back({{"name", name}, {"value", value}});
}

}  // namespace

struct SimulatedKubelets::Impl {
  Impl(ObjectStore& store_, KubeletOptions options_)
      : store(store_), options(std::move(options_)), random(options.seed) {}

  ObjectStore& store;
  KubeletOptions options;
  std::mt19937_64 random;

  // Shared with other threads, under the mutex.
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool signalled = true;
  bool stopping = false;
  KubeletStats stats;
  std::uint64_t handled = 0;        // every event up to this resource version
  std::uint64_t short_actions = 0;  // starts, stops and reports under way

  // The kubelet thread's own.
  std::map<std::string, Node> nodes;
  std::map<std::string, Pod> pods;  // by uid
  std::priority_queue<Action, std::vector<Action>, std::greater<>> actions;
  std::uint64_t next_order = 0;
  std::map<ResourceName, std::uint64_t> positions;
  std::vector<ObjectStore::Subscription> subscriptions;
  std::thread thread;

  void signal() {
    const std::lock_guard lock(mutex);
    signalled = true;
    changed.notify_all();
  }

  template <typename Update>
  void count(Update update) {
    const std::lock_guard lock(mutex);
    update(stats);
  }

  // --- time ---

  void schedule(ActionKind kind, const ObjectKey& key, const std::string& uid,
                std::chrono::duration<double> delay) {
    const double spread = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    delay *= (1.0 + options.jitter * spread) / std::max(options.speed, 1e-6);
    const auto due = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::max(delay, std::chrono::duration<double>(0)));
    actions.push({due, next_order++, kind, key, uid});
    const std::lock_guard lock(mutex);
    if (kind != ActionKind::kFinish) ++short_actions;
    stats.pending_actions = actions.size();
  }

  void run_due_actions() {
    while (!actions.empty() && actions.top().due <= Clock::now()) {
      const Action action = actions.top();
      actions.pop();
      perform(action);
      const std::lock_guard lock(mutex);
      if (action.kind != ActionKind::kFinish) --short_actions;
      stats.pending_actions = actions.size();
      if (stopping) return;
    }
  }

  void perform(const Action& action) {
    switch (action.kind) {
      case ActionKind::kRun:
        return start_pod(action);
      case ActionKind::kFinish:
        return finish_pod(action);
      case ActionKind::kRemove:
        return remove_pod(action);
      case ActionKind::kReport:
        return report(action.pod.name);
    }
  }

  // --- nodes ---

  json topology_of(const std::string& name) const {
    const auto nrt = store.get(kNodeResourceTopologies, {"", name});
    return nrt ? (*nrt)->parse() : json();
  }

  // A node came, changed, or its topology did.
  void look_at_node(const std::string& name) {
    const auto stored = store.get(kNodes, {"", name});
    if (!stored) return forget_node(name);
    auto description = describe_node((*stored)->parse(), topology_of(name));
    if (!description) {
      log_warn("the simulated kubelet leaves a malformed node alone",
               {{"node", name}, {"why", description.error().message}});
      return;
    }
    const auto known = nodes.find(name);
    if (known != nodes.end() && known->second.description.same_machine(*description)) return;
    // A machine that changed reads its zones as empty: all its pods are accounted for below.
    if (known != nodes.end()) {
      for (ZoneDescription& zone : description->zones) zone.available = zone.allocatable;
    }
    Node& node = nodes[name];
    node.admission = options.admission(*description);
    node.description = std::move(*description);
    adopt_pods(name, node);
    count([this](KubeletStats& s) { s.nodes = nodes.size(); });
  }

  // The pods already on a node: those that run are taken over, those just bound are admitted.
  void adopt_pods(const std::string& name, Node& node) {
    const auto all = store.list(kPods);
    if (!all) return;
    std::vector<json> bound;
    const bool again = !node.pods.empty();
    for (const ObjectPtr& object : all->objects) {
      const std::string* where = find_field(object->fields, "spec.nodeName");
      if (where == nullptr || *where != name) continue;
      json pod = object->parse();
      if (is_terminal(pod)) continue;
      const bool started = text_at(pod.value("status", json::object()), "phase") == "Running";
      if (started || node.pods.contains(object->uid)) {
        node.admission->restore(pod);
        node.pods.insert(object->uid);
        pods.try_emplace(object->uid, Pod{object->key, name});
        if (started && !again) schedule_end(pod, object->key, object->uid);
      } else {
        bound.push_back(std::move(pod));
      }
    }
    for (const json& pod : bound) look_at_pod(pod);
    if (again) report_later(name, node);
  }

  void forget_node(const std::string& name) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return;
    for (const std::string& uid : found->second.pods) pods.erase(uid);
    nodes.erase(found);
    count([this](KubeletStats& s) { s.nodes = nodes.size(); });
  }

  void report_later(const std::string& name, Node& node) {
    if (node.description.zones.empty() || node.report_pending) return;
    node.report_pending = true;
    schedule(ActionKind::kReport, {"", name}, "", options.report_delay);
  }

  std::string fingerprint_of(const Node& node) const {
    std::vector<std::pair<std::string, std::string>> covered;
    for (const std::string& uid : node.pods) {
      if (options.fingerprint == FingerprintMethod::kWithExclusiveResources &&
          !node.admission->holds_exclusively(uid)) {
        continue;
      }
      const ObjectKey& key = pods.at(uid).key;
      covered.emplace_back(key.ns, key.name);
    }
    return pod_fingerprint(covered);
  }

  void report(const std::string& name) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) return;
    Node& node = found->second;
    node.report_pending = false;
    std::map<std::string, Amounts> by_zone;
    for (ZoneAvailability& zone : node.admission->available()) {
      by_zone["node-" + std::to_string(zone.id)] = std::move(zone.available);
    }
    const std::string fingerprint = fingerprint_of(node);
    const auto written =
        store.modify(kNodeResourceTopologies, {"", name}, {}, [&](json& nrt) -> ApiResult<void> {
          for (json& zone : nrt["zones"]) {
            const auto at = by_zone.find(text_at(zone, "name"));
            if (at == by_zone.end()) continue;
            for (json& resource : zone["resources"]) {
              const std::string resource_name = text_at(resource, "name");
              const std::int64_t amount =
                  std::max<std::int64_t>(0, amount_of(at->second, resource_name));
              // An amount that is the same keeps its spelling ("64Gi").
              const auto old = parse_amount(resource_name, resource.value("available", json()));
              if (!old || *old != amount) {
                resource["available"] = format_amount(resource_name, amount);
              }
            }
          }
          set_attribute(nrt, "nodeTopologyPodsFingerprint", fingerprint);
          set_attribute(
              nrt, "nodeTopologyPodsFingerprintMethod",
              options.fingerprint == FingerprintMethod::kAll ? "all" : "with-exclusive-resources");
          nrt["metadata"]["annotations"]["topology.node.k8s.io/fingerprint"] = fingerprint;
          return {};
        });
    if (!written) return;  // there is no topology object to report to any more
    node.reported = (*written)->resource_version;
    count([](KubeletStats& s) { ++s.reports; });
  }

  // --- pods ---

  void look_at_pod(const json& pod) {
    const json& metadata = pod.at("metadata");
    const std::string node_name = text_at(pod.value("spec", json::object()), "nodeName");
    const std::string uid = text_at(metadata, "uid");
    const ObjectKey key{text_at(metadata, "namespace"), text_at(metadata, "name")};
    if (node_name.empty()) return;
    const auto node = nodes.find(node_name);
    if (node == nodes.end()) return;  // taken up when the node comes
    const auto known = pods.find(uid);
    const bool over = is_terminal(pod);
    if (known == pods.end()) {
      if (!over) admit(pod, key, uid, node_name, node->second);
      return;
    }
    if (over) return let_go(uid);
    if (metadata.contains("deletionTimestamp") && !known->second.stopping) {
      known->second.stopping = true;
      schedule(ActionKind::kRemove, key, uid, options.stop_delay);
    }
  }

  void admit(const json& pod, const ObjectKey& key, const std::string& uid,
             const std::string& node_name, Node& node) {
    if (text_at(pod.value("status", json::object()), "phase") == "Running") {
      node.admission->restore(pod);  // was started before this kubelet was watching
    } else if (const AdmissionDecision decision = node.admission->admit(pod); decision.admitted) {
      count([](KubeletStats& s) { ++s.admitted; });
      schedule(ActionKind::kRun, key, uid, options.start_delay);
    } else {
      count([&](KubeletStats& s) {
        ++s.rejected;
        if (decision.reason == "TopologyAffinityError") ++s.topology_rejections;
      });
      change_pod(key, uid, [&](json& object) { set_rejected(object, decision); });
      return;
    }
    pods[uid] = {key, node_name};
    node.pods.insert(uid);
    report_later(node_name, node);
    if (pod.at("metadata").contains("deletionTimestamp")) look_at_pod(pod);
  }

  // The pod holds nothing any more.
  void let_go(const std::string& uid) {
    const auto found = pods.find(uid);
    if (found == pods.end()) return;
    if (const auto node = nodes.find(found->second.node); node != nodes.end()) {
      node->second.admission->release(uid);
      node->second.pods.erase(uid);
      report_later(found->second.node, node->second);
    }
    pods.erase(found);
  }

  template <typename Change>
  bool change_pod(const ObjectKey& key, const std::string& uid, Change change) {
    const auto changed_pod = store.modify(kPods, key, {uid, ""}, [&](json& pod) -> ApiResult<void> {
      if (is_terminal(pod)) return bad_request("the pod has ended already");
      change(pod);
      return {};
    });
    return changed_pod.has_value();
  }

  void schedule_end(const json& pod, const ObjectKey& key, const std::string& uid) {
    const json annotations = pod.at("metadata").value("annotations", json::object());
    const std::string text = text_at(annotations, kRunSecondsAnnotation);
    if (text.empty()) return;
    char* end = nullptr;
    const double seconds = std::strtod(text.c_str(), &end);
    if (*end != '\0' || !(seconds >= 0 && seconds <= 1e9)) {
      log_warn("run-seconds is not a number of seconds: the pod runs on",
               {{"pod", key.ns + "/" + key.name}, {"value", text}});
      return;
    }
    schedule(ActionKind::kFinish, key, uid, std::chrono::duration<double>(seconds));
  }

  void start_pod(const Action& action) {
    if (!pods.contains(action.uid) || !change_pod(action.pod, action.uid, set_running)) return;
    if (const auto pod = store.get(kPods, action.pod)) {
      schedule_end((*pod)->parse(), action.pod, action.uid);
    }
  }

  void finish_pod(const Action& action) {
    if (!pods.contains(action.uid) || !change_pod(action.pod, action.uid, set_succeeded)) return;
    count([](KubeletStats& s) { ++s.finished; });
    let_go(action.uid);
  }

  void remove_pod(const Action& action) {
    if (store.remove(kPods, action.pod, {action.uid, ""})) {
      count([](KubeletStats& s) { ++s.removed; });
    }
    let_go(action.uid);
  }

  // --- events ---

  void on_event(const ResourceName& resource, const StoreEvent& event) {
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
    // The present state counts: this event may be older than what was done since.
    const auto now = store.get(kPods, event.object->key);
    if (now && (*now)->uid == event.object->uid) look_at_pod((*now)->parse());
  }

  // Everything anew: at the start, and when the history did not reach back to where we were.
  void look_at_everything() {
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
    for (const std::string& name : names) look_at_node(name);
    if (const auto all = store.list(kPods)) {
      for (const ObjectPtr& pod : all->objects) look_at_pod(pod->parse());
    }
  }

  // The three kinds merged by resource version: a node is known before the pods bound to it.
  void read_events() {
    for (int round = 0; round < kRoundsPerRead; ++round) {
      std::vector<std::pair<ResourceName, StoreEvent>> merged;
      // What one kind's read reached and another's did not is left for the next round.
      const std::uint64_t newest = store.resource_version();
      std::uint64_t complete = newest;
      for (const ResourceName& resource : {kNodes, kNodeResourceTopologies, kPods}) {
        auto batch = store.events_after(resource, positions[resource], kEventsPerRead);
        if (!batch && batch.error().code == 410) return look_at_everything();
        if (!batch) continue;  // the kind was taken away
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
    signalled = true;  // come back after what is due
  }

  void run() {
    look_at_everything();
    while (true) {
      read_events();
      run_due_actions();
      std::unique_lock lock(mutex);
      changed.notify_all();
      const auto woken = [this] { return signalled || stopping; };
      if (actions.empty())
        changed.wait(lock, woken);
      else
        changed.wait_until(lock, actions.top().due, woken);
      if (stopping) return;
      signalled = false;
    }
  }
};

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

bool SimulatedKubelets::wait_idle(std::chrono::milliseconds timeout) const {
  const auto deadline = Clock::now() + timeout;
  while (Clock::now() < deadline) {
    const std::uint64_t version = impl_->store.resource_version();
    {
      const std::lock_guard lock(impl_->mutex);
      if (impl_->handled >= version && impl_->short_actions == 0) return true;
    }
    impl_->signal();  // writes of other kinds wake nobody
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace plimsoll::sandbox
