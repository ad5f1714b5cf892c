#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/queue/scheduling_queue.hpp"
#include "tests/conformance/default_profile.hpp"
#include "tests/conformance/queue_trace.hpp"

namespace plimsoll::conformance {
namespace {

// What plugins of the default profile registered (EventsToRegister), of pods and nodes: traces have
// no other events.
struct Registration {
  std::string_view plugin;
  std::string_view resource;
  uint32_t actions;
};
constexpr Registration kRegistrations[] = {
    {"DefaultPreemption", kResourcePod, PLIMSOLL_ACTION_DELETE},
    {"DynamicResources", kResourceNode,
     PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL |
         PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE},
    {"DynamicResources", kResourcePod, PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM},
};

// The profile's policy, and stand-ins for plugins that do not exist here. They come after all real
// plugins, so the queue asks a stand-in only if no real rejector has said Queue.
class TracePolicy final : public QueuePolicy {
 public:
  explicit TracePolicy(DefaultProfile& profile) : profile_(profile) {}

  PluginIndex index_of(const std::string& plugin) {
    if (const PluginIndex real = profile_.find(plugin); real != kNoPlugin) return real;
    const auto known = std::find(stand_ins_.begin(), stand_ins_.end(), plugin);
    const auto at = static_cast<size_t>(known - stand_ins_.begin());
    if (known == stand_ins_.end()) stand_ins_.push_back(plugin);
    return static_cast<PluginIndex>(kMaxPlugins + at);
  }
  // The plugin whose hint was asked for and is not known, if any.
  [[nodiscard]] const std::string& needed() const { return needed_; }

  ProfileIndex profile(const plimsoll_pod&) override { return 0; }
  std::optional<PluginIndex> gate(const plimsoll_pod& pod) override {
    return profile_.policy().gate(pod);
  }
  SortKey sort_key(const plimsoll_pod& pod, int64_t queued_ms) override {
    return profile_.policy().sort_key(pod, queued_ms);
  }
  std::vector<PluginKey> interested(const ClusterEvent& event) override {
    std::vector<PluginKey> plugins = profile_.policy().interested(event);
    for (size_t i = 0; i < stand_ins_.size(); ++i) {
      if (is_registered(stand_ins_[i], event) || only_by_default(stand_ins_[i], event)) {
        plugins.push_back(plugin_key(0, static_cast<PluginIndex>(kMaxPlugins + i)));
      }
    }
    return plugins;
  }
  QueueHint hint(const plimsoll_pod& pod, PluginKey plugin, const ClusterEvent& event) override {
    if (plugin < kMaxPlugins) {
      const bool missed = profile_.name(static_cast<PluginIndex>(plugin)) == "InterPodAffinity" &&
                          rests_on_namespace_labels(pod);
      const QueueHint real = profile_.policy().hint(pod, plugin, event);
      return missed && event.resource == kResourceAssignedPod ? QueueHint::kSkip : real;
    }
    const std::string& name = stand_ins_[plugin - kMaxPlugins];
    if (name == "DefaultPreemption") return QueueHint::kSkip;  // whatever it is asked
    if (only_by_default(name, event)) return QueueHint::kQueue;
    needed_ = name;
    return QueueHint::kSkip;
  }

 private:
  static bool is_registered(std::string_view plugin, const ClusterEvent& event) {
    bool known = false;
    for (const Registration& each : kRegistrations) {
      if (each.plugin != plugin) continue;
      known = true;
      if (matches({str(each.resource), each.actions, 0}, event)) return true;
    }
    return !known;
  }
  // Node/UpdateNodeTaint, which every plugin gets that registered Node/Add.
  static bool only_by_default(std::string_view plugin, const ClusterEvent& event) {
    if (event.actions != PLIMSOLL_ACTION_UPDATE_NODE_TAINT || is_registered(plugin, event)) {
      return false;
    }
    ClusterEvent added;
    added.resource = kResourceNode;
    added.actions = PLIMSOLL_ACTION_ADD;
    return is_registered(plugin, added);
  }

  DefaultProfile& profile_;
  std::vector<std::string> stand_ins_;
  std::string needed_;
};

class Trace {
 public:
  explicit Trace(const Json& test_case)
      : steps_(test_case.at("steps")),
        start_ms_(test_case.at("startUnixMs").get<int64_t>()),
        policy_(profile_),
        queue_(policy_, config_of(test_case.at("config"))) {
    profile_.add_watched(test_case);
    // Who is interested in an event is noted when it happens, so all rejectors are known before.
    for (const Json& step : steps_) {
      for (const Json& plugin : member(step, "unschedulablePlugins")) policy_.index_of(plugin);
    }
  }

  void run(Findings& findings) {
    size_t number = 0;
    for (const Json& step : steps_) {
      const std::string where =
          "step " + std::to_string(number) + " (" + step.at("op").get<std::string>() + ")";
      take(step, where, findings);
      if (!policy_.needed().empty()) {
        findings.tally("steps of traces not compared", steps_.size() - number);
        findings.skip("needs " + policy_.needed());
        return;
      }
      check_state(step, where, findings);
      if (!findings.empty()) return;
      ++number;
      findings.tally("steps of traces compared");
    }
  }

 private:
  static QueueConfig config_of(const Json& config) {
    QueueConfig out;
    out.initial_backoff_ms = config.at("podInitialBackoffSeconds").get<int64_t>() * 1000;
    out.max_backoff_ms = config.at("podMaxBackoffSeconds").get<int64_t>() * 1000;
    out.max_in_unschedulable_ms =
        config.at("podMaxInUnschedulablePodsSeconds").get<int64_t>() * 1000;
    return out;
  }

  std::string uid_of(const Json& step) const {
    const std::string name = step.at("name");
    const auto found = uids_.find(name);
    return found == uids_.end() ? "no such pod: " + name : found->second;
  }

  void take(const Json& step, const std::string& where, Findings& findings) {
    const std::string op = step.at("op");
    const int64_t now = start_ms_ + step.at("atMs").get<int64_t>();
    const auto node = [&](const char* key) { return profile_.node(step.at(key)); };
    const auto pod = [&](const char* key) {
      PodRef decoded = profile_.pod(step.at(key));
      return decoded;
    };
    if (op == "add" || op == "update") {
      const PodRef known = pod(op == "add" ? "pod" : "new");
      uids_[std::string(view(known->meta.name))] = view(known->meta.uid);
      if (op == "add") {
        queue_.add(known, now);
      } else {
        queue_.update(known, now);
      }
    } else if (op == "pop") {
      const QueuedPod* popped = queue_.pop();
      findings.expect(where + " popped", member(step, "popped"),
                      popped == nullptr ? Json() : Json(view(popped->pod->meta.name)));
      if (popped != nullptr) {
        findings.expect(where + " attempts", member(step, "attempts"), popped->attempts);
      }
    } else if (op == "fail") {
      std::set<PluginIndex> rejectors;
      for (const Json& plugin : member(step, "unschedulablePlugins")) {
        rejectors.insert(policy_.index_of(plugin));
      }
      queue_.reject(uid_of(step), rejectors, {}, now);
    } else if (op == "scheduled") {
      queue_.done(uid_of(step));
    } else if (op == "delete") {
      queue_.remove(uid_of(step));
    } else if (op == "activate") {
      queue_.activate(uid_of(step), now);
    } else if (op == "step_and_flush_backoff") {
      queue_.flush_backoff(now);
    } else if (op == "step_and_flush_unschedulable") {
      queue_.flush_unschedulable(now);
    } else if (op == "node_add") {
      queue_.move_all(node_added(node("new")), now);
    } else if (op == "node_update") {
      for (const auto& event : node_updated(node("old"), node("new"))) queue_.move_all(event, now);
    } else if (op == "assigned_pod_add") {
      queue_.move_all(assigned_pod_added(pod("new")), now);
    } else if (op == "assigned_pod_update") {
      for (const auto& event : pod_updated(kResourceAssignedPod, pod("old"), pod("new"))) {
        queue_.move_all(event, now);
      }
    } else if (op == "assigned_pod_delete") {
      queue_.move_all(assigned_pod_deleted(pod("old")), now);
    } else {
      findings.add(where + ": unknown operation");
    }
  }

  Json names(std::initializer_list<QueuePlace> places) const {
    std::vector<std::string> found;
    for (const QueuePlace place : places) {
      for (const QueuedPod* pod : queue_.list(place)) {
        found.emplace_back(view(pod->pod->meta.name));
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  void check_state(const Json& step, const std::string& where, Findings& findings) {
    findings.expect(where + " activeQ", member(step, "activeQ"), names({QueuePlace::kActive}));
    findings.expect(where + " backoffQ", member(step, "backoffQ"),
                    names({QueuePlace::kBackoff, QueuePlace::kErrorBackoff}));
    findings.expect(where + " unschedulable", member(step, "unschedulable"),
                    names({QueuePlace::kUnschedulable}));
    const int64_t origin = start_ms_ - start_ms_ % 1000;
    Json expiries = Json::object();
    for (const QueuePlace place : {QueuePlace::kBackoff, QueuePlace::kErrorBackoff}) {
      for (const QueuedPod* pod : queue_.list(place)) {
        expiries[std::string(view(pod->pod->meta.name))] = pod->backoff_expiry_ms - origin;
      }
    }
    findings.expect(where + " backoffExpiryMs", member(step, "backoffExpiryMs"), expiries);
  }

  const Json& steps_;
  const int64_t start_ms_;
  DefaultProfile profile_;
  TracePolicy policy_;
  SchedulingQueue queue_;
  std::map<std::string, std::string> uids_;  // by name
};

}  // namespace

void check_queue_trace(const Json& test_case, Findings& findings) {
  Trace(test_case).run(findings);
}

}  // namespace plimsoll::conformance
