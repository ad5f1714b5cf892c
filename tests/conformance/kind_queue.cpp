// Which events are made of a change, who registered them, and what the plugins' hints say. Traces
// of the queue are in kind_queue_trace.cpp.

#include <algorithm>
#include <set>

#include "framework/api/lists.hpp"
#include "tests/conformance/default_profile.hpp"
#include "tests/conformance/kinds.hpp"
#include "tests/conformance/queue_trace.hpp"
#include "tests/conformance/volume_scene.hpp"

namespace plimsoll::conformance {
namespace {

Json described(const ClusterEvent& event) {
  return {{"resource", event.resource}, {"actionType", event.actions}, {"label", event.label}};
}

// What the plugin registered, with what it is registered for by default.
Json registered(DefaultProfile& profile, PluginIndex plugin) {
  std::set<std::pair<std::string, uint32_t>> events;
  for (const EventInterests& each : profile.framework().events()) {
    if (each.plugin != plugin) continue;
    for (const plimsoll_event_interest& interest : each.interests) {
      events.emplace(view(interest.resource), interest.actions);
    }
  }
  ClusterEvent taints;
  taints.resource = kResourceNode;
  taints.actions = PLIMSOLL_ACTION_UPDATE_NODE_TAINT;
  const auto asked = profile.policy().interested(taints);
  const bool by_itself = std::any_of(events.begin(), events.end(), [&](const auto& event) {
    return event.first == kResourceNode && (event.second & taints.actions) != 0;
  });
  // Named as the recorded profile names them.
  std::set<std::pair<std::string, uint32_t>> named;
  for (auto [resource, actions] : events) {
    if (resource.find("resource.k8s.io") != std::string::npos) continue;
    if (resource == kResourceTargetPod) resource = kResourcePod;
    named.emplace(std::move(resource), actions);
  }
  events = std::move(named);
  const PluginKey key = plugin_key(0, plugin);
  if (!by_itself && std::binary_search(asked.begin(), asked.end(), key)) {
    events.emplace(taints.resource, taints.actions);
  }
  return events;
}

void check_registered_events(const Json& test_case, Findings& findings) {
  DefaultProfile profile;
  std::map<std::string, std::set<std::pair<std::string, uint32_t>>> expected;
  for (const Json& event : test_case.at("events")) {
    const std::string plugin = event.at("plugin");
    std::string resource = event.at("resource");
    if (const std::string stored = storage_resource(resource); !stored.empty()) resource = stored;
    if (profile.find(plugin) == kNoPlugin) {
      findings.tally("events not compared: registered by " + plugin);
    } else if (resource.find('/') != std::string::npos) {
      // Kinds of resource claims: the vectors of dra_plugin have them.
      findings.tally("events not compared: of " + resource);
    } else {
      expected[plugin].emplace(resource, event.at("actionType").get<uint32_t>());
      findings.tally("registered events compared");
    }
  }
  for (const auto& [plugin, events] : expected) {
    findings.expect(plugin, events, registered(profile, profile.find(plugin)));
  }
}

std::vector<ClusterEvent> events_of(const std::string& kind, const Json& test_case,
                                    DefaultProfile& profile) {
  const auto node = [&](const char* key) { return profile.node(test_case.at(key)); };
  const auto pod = [&](const char* key) { return profile.pod(test_case.at(key)); };
  if (kind == "node_add") return {node_added(node("new"))};
  if (kind == "node_update") return node_updated(node("old"), node("new"));
  if (kind == "assigned_pod_add") return {assigned_pod_added(pod("new"))};
  if (kind == "assigned_pod_delete") return {assigned_pod_deleted(pod("old"))};
  const auto resource = kind == "self_update" ? kResourceUnschedulablePod : kResourceAssignedPod;
  return pod_updated(resource, pod("old"), pod("new"));
}

constexpr const char* kNamespaceRule = "hints with a namespaceSelector";

void check_hints(const Json& expected, const ClusterEvent& event, const PodRef& pod,
                 DefaultProfile& profile, Findings& findings) {
  const auto asked = profile.policy().interested(event);
  Json hints = Json::object();
  for (const PluginKey plugin : asked) {
    const QueueHint hint = profile.policy().hint(*pod, plugin, event);
    hints[profile.name(static_cast<PluginIndex>(plugin & 0xffff))] =
        hint == QueueHint::kQueue ? "Queue" : "QueueSkip";
  }
  Json known = Json::object();
  for (const auto& [plugin, hint] : expected.items()) {
    if (profile.find(plugin) == kNoPlugin) {
      findings.tally("hints not compared: of " + plugin);
    } else {
      const bool missed = plugin == "InterPodAffinity" && hint == "QueueSkip" &&
                          hints.value(plugin, "") == "Queue" && rests_on_namespace_labels(*pod);
      findings.decide(missed ? std::set<std::string>{kNamespaceRule} : std::set<std::string>{});
      known[plugin] = missed ? hints.at(plugin) : hint;
    }
  }
  findings.expect(event.label + " hints", known, hints);
}

// The labels of the pod's own updates have another name since 1.37.
Json named_by_1_37(Json event) {
  constexpr std::string_view kBefore = "UnschedulablePod";
  std::string label = event.at("label");
  if (label.starts_with(kBefore)) event["label"] = "TargetPod" + label.substr(kBefore.size());
  return event;
}

void check_events(const std::string& kind, const Json& test_case, Findings& findings) {
  DefaultProfile profile;
  profile.add_watched(test_case);
  // Of an update of the pod itself, the hint is asked for the new one.
  const PodRef pod = profile.pod(test_case.at(kind == "self_update" ? "new" : "pod"));
  const std::vector<ClusterEvent> events = events_of(kind, test_case, profile);
  Json expected_events = Json::array();
  Json actual_events = Json::array();
  const Json& expected = member(test_case, "events");
  for (const Json& each : expected) expected_events.push_back(named_by_1_37(each.at("event")));
  for (const ClusterEvent& event : events) actual_events.push_back(described(event));
  findings.tally("events compared", events.size());
  findings.expect("events", expected_events, actual_events);
  if (!findings.empty()) return;
  for (size_t i = 0; i < events.size(); ++i) {
    check_hints(member(expected[i], "hints"), events[i], pod, profile, findings);
  }
}

}  // namespace

bool rests_on_namespace_labels(const plimsoll_pod& pod) {
  for (const auto* affinity : {pod.pod_affinity, pod.pod_anti_affinity}) {
    if (affinity == nullptr) continue;
    const auto terms = items<plimsoll_pod_affinity_term>(affinity->required);
    if (std::any_of(terms.begin(), terms.end(), [](const plimsoll_pod_affinity_term& term) {
          return term.namespace_selector.match_labels.count != 0 ||
                 term.namespace_selector.expressions.count != 0;
        })) {
      return true;
    }
  }
  return false;
}

void check_queue(const Json& test_case, Findings& findings) {
  findings.know_rule(kNamespaceRule);
  constexpr std::string_view kEvents[] = {
      "node_add",   "node_update", "assigned_pod_add", "assigned_pod_update", "assigned_pod_delete",
      "self_update"};
  const std::string kind = test_case.at("kind");
  if (kind == "registered_events") return check_registered_events(test_case, findings);
  if (kind == "trace") return check_queue_trace(test_case, findings);
  if (std::find(std::begin(kEvents), std::end(kEvents), kind) != std::end(kEvents)) {
    return check_events(kind, test_case, findings);
  }
  findings.add("unknown kind " + kind);
}

}  // namespace plimsoll::conformance
