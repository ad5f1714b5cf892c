// The life cycle of pods on simulated nodes.

#include "framework/base/log.hpp"
#include "lab/sandbox/admission/pod_amounts.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/kubelet_impl.hpp"
#include "lab/sandbox/kubelet/pod_status.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

namespace {

// Whether the pod's annotation names for every container the zones that it got. Null: it has no
// such annotation.
std::optional<bool> was_predicted(const json& pod, const AdmissionDecision& decision) {
  const json annotations = pod.at("metadata").value("annotations", json::object());
  const std::string text = text_field(annotations, kZonesAnnotation);
  if (text.empty()) return std::nullopt;
  const json predicted = json::parse(text, nullptr, false);
  for (const ContainerZones& container : decision.zones) {
    for (const auto& [resource, zones] : container.zones) {
      if (!predicted.is_object() || !predicted.contains(container.container)) return false;
      const json& resources = predicted[container.container];
      if (!resources.is_object() || !resources.contains(resource)) return false;
      if (resources[resource] != json(zones)) return false;
    }
  }
  return true;
}

bool crosses_zones(const ContainerZones& container) {
  std::set<int> zones;
  for (const auto& [resource, ids] : container.zones) zones.insert(ids.begin(), ids.end());
  return zones.size() > 1;
}

}  // namespace

Seconds SimulatedKubelets::Impl::pod_delay(const ObjectKey& key, std::string_view what,
                                           std::chrono::milliseconds delay) const {
  Dice dice(options.seed, key.ns + "/" + key.name + "/" + std::string(what));
  return Seconds(delay) * dice.vary(options.jitter);
}

void SimulatedKubelets::Impl::look_at_pod(const json& pod) {
  const json& metadata = pod.at("metadata");
  const std::string node_name = text_field(pod.value("spec", json::object()), "nodeName");
  const std::string uid = text_field(metadata, "uid");
  const ObjectKey key{text_field(metadata, "namespace"), text_field(metadata, "name")};
  if (node_name.empty()) return;
  const auto node = nodes.find(node_name);
  if (node == nodes.end()) return;  // handled when the node appears
  const auto known = pods.find(uid);
  const bool over = is_terminal(pod);
  if (known == pods.end()) {
    if (!over) admit(pod, key, uid, node_name, node->second);
    return;
  }
  if (over) return let_go(uid);
  if (metadata.contains("deletionTimestamp") && !known->second.stopping) {
    known->second.stopping = true;
    schedule({after(pod_delay(key, "stop", options.stop_delay)), 0, ActionKind::kRemove, key, uid,
              nullptr});
  }
}

void SimulatedKubelets::Impl::admit(const json& pod, const ObjectKey& key, const std::string& uid,
                                    const std::string& node_name, SimulatedNode& node) {
  PodLife life{key.ns + "/" + key.name, node_name};
  if (text_field(pod.value("status", json::object()), "phase") == "Running") {
    (void)node.admission->restore(pod);  // it was started before this kubelet existed
    node.admission->started(uid);
  } else {
    AdmissionDecision decision = decide(pod, uid, node);
    count_admission(pod, decision);
    if (!decision.admitted) {
      change_pod(key, uid, [&](json& object) { set_rejected(object, decision); });
      return;
    }
    life.exclusive = !decision.zones.empty();
    life.cross_zone = std::any_of(decision.zones.begin(), decision.zones.end(), crosses_zones);
    life.zones = std::move(decision.zones);
    schedule({after(pod_delay(key, "start", options.start_delay)), 0, ActionKind::kRun, key, uid,
              nullptr});
  }
  begin_life(pod, key, uid, std::move(life), node);
  zones_changed(node_name, node);
  if (pod.at("metadata").contains("deletionTimestamp")) look_at_pod(pod);
}

AdmissionDecision SimulatedKubelets::Impl::decide(const json& pod, const std::string& uid,
                                                  SimulatedNode& node) {
  const auto taken = node.ahead.find(uid);
  if (taken == node.ahead.end()) {
    AdmissionDecision decision = node.admission->admit(pod);
    if (decision.admitted) node.version = ++versions;
    return decision;
  }
  AdmissionDecision decision = std::move(taken->second.decision);
  node.ahead.erase(taken);
  return decision;
}

void SimulatedKubelets::Impl::begin_life(const json& pod, const ObjectKey& key,
                                         const std::string& uid, PodLife life,
                                         SimulatedNode& node) {
  pods[uid] = {key, life.node, false, lives.size()};
  life.uid = uid;
  if (auto amounts = pod_amounts(pod)) life.requests = std::move(amounts->requests);
  life.admitted = seconds();
  lives.push_back(std::move(life));
  node.pods.insert(uid);
  count([this](KubeletStats& s) { s.pods = pods.size(); });
}

void SimulatedKubelets::Impl::count_admission(const json& pod, const AdmissionDecision& decision) {
  const auto predicted = was_predicted(pod, decision);
  count([&](KubeletStats& s) {
    if (!decision.admitted) {
      ++s.rejected;
      ++s.rejections[decision.reason];
      if (decision.reason == "TopologyAffinityError") ++s.topology_rejections;
      return;
    }
    ++s.admitted;
    if (decision.zones.empty()) return;
    ++s.exclusive_pods;
    const auto crossing =
        std::count_if(decision.zones.begin(), decision.zones.end(), crosses_zones);
    s.cross_zone_containers += static_cast<std::uint64_t>(crossing);
    s.cross_zone_pods += crossing > 0 ? 1 : 0;
    s.predicted_pods += predicted.has_value() ? 1 : 0;
    s.predictions_right += predicted.value_or(false) ? 1 : 0;
  });
}

// Releases the pod's resources.
void SimulatedKubelets::Impl::let_go(const std::string& uid) {
  const auto found = pods.find(uid);
  if (found == pods.end()) return;
  if (const auto node = nodes.find(found->second.node); node != nodes.end()) {
    node->second.admission->release(uid);
    node->second.pods.erase(uid);
    node->second.version = ++versions;
    zones_changed(found->second.node, node->second);
  }
  lives[found->second.life].ended = seconds();
  pods.erase(found);
  count([this](KubeletStats& s) { s.pods = pods.size(); });
}

bool SimulatedKubelets::Impl::change_pod(const ObjectKey& key, const std::string& uid,
                                         const std::function<void(json&)>& change) {
  const auto changed_pod = store.modify(kPods, key, {uid, ""}, [&](json& pod) -> ApiResult<void> {
    if (is_terminal(pod)) return bad_request("the pod has ended already");
    change(pod);
    return {};
  });
  return changed_pod.has_value();
}

void SimulatedKubelets::Impl::schedule_end(const json& pod, const ObjectKey& key,
                                           const std::string& uid) {
  const json annotations = pod.at("metadata").value("annotations", json::object());
  const std::string text = text_field(annotations, kRunSecondsAnnotation);
  if (text.empty()) return;
  const auto seconds = parse_seconds(text);
  if (!seconds) {
    log_warn("run-seconds is not a number of seconds: the pod runs on",
             {{"pod", key.ns + "/" + key.name}, {"value", text}});
    return;
  }
  schedule({after(Seconds(*seconds)), 0, ActionKind::kFinish, key, uid, nullptr});
}

void SimulatedKubelets::Impl::start_pod(const Action& action) {
  const auto known = pods.find(action.uid);
  if (known == pods.end() || !change_pod(action.pod, action.uid, set_running)) return;
  if (const auto node = nodes.find(known->second.node); node != nodes.end()) {
    // Resources that only init containers held become free.
    if (node->second.admission->started(action.uid)) {
      node->second.version = ++versions;
      zones_changed(node->first, node->second);
    }
  }
  const auto pod = store.get(kPods, action.pod);
  if (pod && (*pod)->text.find(kRunSecondsAnnotation) != std::string::npos) {
    schedule_end((*pod)->parse(), action.pod, action.uid);
  }
}

void SimulatedKubelets::Impl::finish_pod(const Action& action) {
  if (!pods.contains(action.uid) || !change_pod(action.pod, action.uid, set_succeeded)) return;
  count([](KubeletStats& s) { ++s.finished; });
  let_go(action.uid);
}

void SimulatedKubelets::Impl::remove_pod(const Action& action) {
  if (store.remove(kPods, action.pod, {action.uid, ""})) {
    count([](KubeletStats& s) { ++s.removed; });
  }
  let_go(action.uid);
}

}  // namespace plimsoll::sandbox
