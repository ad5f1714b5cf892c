// UnsupportedFeatures: keeps a pod pending that asks for something this scheduler cannot honour
// yet, instead of placing it as if it had not asked. It also keeps pods away from existing pods
// whose required anti-affinity is against them (InterPodAffinity, "existing pods anti-affinity"),
// and from nodes with a pod that cannot be read: what that takes is not known.
//
// Where the exact rule needs what is not known here (labels of namespaces), it refuses.
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/api/selectors.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using Terms = List<plimsoll_pod_affinity_term>;

constexpr std::string_view kNoClaims =
    "pod uses persistent volume claims, which this scheduler does not support yet";
constexpr std::string_view kNoEphemeral =
    "pod uses generic ephemeral volumes, which this scheduler does not support yet";
constexpr std::string_view kNoDisks =
    "pod uses in-tree disk volumes, which this scheduler does not support yet";
constexpr std::string_view kNoAffinity =
    "pod requires inter-pod affinity, which this scheduler does not support yet";
constexpr std::string_view kNoAntiAffinity =
    "pod requires inter-pod anti-affinity, which this scheduler does not support yet";
constexpr std::string_view kNoSpread =
    "pod has DoNotSchedule topology spread constraints, which this scheduler does not support yet";
constexpr std::string_view kNoResourceClaims =
    "pod uses resource claims, which this scheduler does not support yet";

constexpr std::string_view kUnreadable =
    "pod has a field that this scheduler cannot read; its log says which";

// Pods are read in part only since 1.3 of the ABI.
bool is_unreadable(const plimsoll_pod& pod) {
  return PLIMSOLL_HAS(&pod, unreadable) && pod.unreadable.len != 0;
}

// The first thing about the pod that cannot be honoured; empty if there is none.
std::string_view unsupported(Pod pod) {
  if (is_unreadable(*pod)) return kUnreadable;
  for (const plimsoll_volume& volume : List<plimsoll_volume>(pod->volumes)) {
    const std::string_view kind = view(volume.kind);
    if (kind == "persistentVolumeClaim") return kNoClaims;
    if (kind == "ephemeral") return kNoEphemeral;
    if (kind == "gcePersistentDisk" || kind == "awsElasticBlockStore" || kind == "iscsi" ||
        kind == "rbd") {
      return kNoDisks;
    }
  }
  if (pod->pod_affinity != nullptr && pod->pod_affinity->required.count != 0) return kNoAffinity;
  if (pod->pod_anti_affinity != nullptr && pod->pod_anti_affinity->required.count != 0) {
    return kNoAntiAffinity;
  }
  for (const auto& constraint : List<plimsoll_spread_constraint>(pod->spread_constraints)) {
    if (constraint.do_not_schedule != 0) return kNoSpread;
  }
  return pod->resource_claims.count != 0 ? kNoResourceClaims : std::string_view();
}

Terms required_anti_affinity(const plimsoll_pod& pod) {
  return pod.pod_anti_affinity != nullptr ? Terms(pod.pod_anti_affinity->required) : Terms();
}

// Whether a term of `owner` is about `pod`. A namespaceSelector is taken to select every namespace.
bool selects(const plimsoll_pod_affinity_term& term, const plimsoll_pod& owner, Pod pod) {
  if (!matches(term.selector, pod->meta.labels)) return false;
  if (term.namespace_selector.present != 0) return true;
  const Strings namespaces = term.namespaces;
  if (namespaces.empty()) return equal(owner.meta.ns, pod->meta.ns);
  return std::any_of(namespaces.begin(), namespaces.end(),
                     [&](const plimsoll_str& ns) { return equal(ns, pod->meta.ns); });
}

struct Forbidden {
  // The labels of nodes that are taken: nodes that have one of them are out.
  std::set<std::pair<std::string, std::string>> labels;
  std::map<std::string, uint32_t> nodes;  // by name: the reason
};

class UnsupportedFeatures {
 public:
  static constexpr const char* kName = "UnsupportedFeatures";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;

  UnsupportedFeatures(Host host, std::string_view)
      : host_(host),
        anti_affinity_(host.reason("node(s) didn't satisfy existing pods anti-affinity rules")) {}

  const auto& events() const { return events_; }
  // Only those it keeps away from other pods can be helped by what happens elsewhere.
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (!unsupported(pod).empty()) return Hint::kSkip;
    if (event.old_pod == nullptr) return Hint::kQueue;  // a node was added or got other labels
    if (is_unreadable(*event.old_pod)) return Hint::kQueue;
    for (const plimsoll_pod_affinity_term& term : required_anti_affinity(*event.old_pod)) {
      if (selects(term, *event.old_pod, pod)) return Hint::kQueue;
    }
    return queue_if(is_about(event, pod));
  }

  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (type == PodEvent::kRemoved || !is_unreadable(*pod)) {
      if (!unreadable_.empty()) unreadable_.erase(std::string(pod.uid()));
    } else {
      const std::string name = std::string(view(pod->meta.ns)) + "/" + std::string(pod.name());
      unreadable_[std::string(pod.uid())] = {
          std::string(node_name), host_.reason("node(s) had a pod that cannot be read: " + name)};
    }
    if (type == PodEvent::kRemoved || required_anti_affinity(*pod).empty()) {
      owners_.erase(std::string(pod.uid()));
    } else {
      owners_[std::string(pod.uid())] = node_name;
    }
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (const std::string_view reason = unsupported(pod); !reason.empty()) {
      return host_.unresolvable(reason);
    }
    Forbidden forbidden;
    for (const auto& [uid, on] : unreadable_) forbidden.nodes.emplace(on.node, on.reason);
    std::set<std::string_view> names;
    for (const auto& [uid, name] : owners_) names.insert(name);
    for (std::string_view name : names) {
      if (const Node node = host_.node(name)) forbid(node, pod, forbidden);
    }
    if (forbidden.labels.empty() && forbidden.nodes.empty()) return Status::skip();
    host_.set_state(cycle, std::move(forbidden));
    return Status::success();
  }

  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* forbidden = host_.state<Forbidden>(cycle);
    if (forbidden == nullptr) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      if (const auto unreadable = forbidden->nodes.find(std::string(nodes[i].name()));
          unreadable != forbidden->nodes.end()) {
        // Nobody is evicted there: it would not be known what that frees.
        verdicts.set(i, Status::unresolvable(unreadable->second));
        continue;
      }
      for (const auto& [key, value] : forbidden->labels) {
        if (nodes[i].label(key) != std::string_view(value)) continue;
        verdicts.set(i, Status::unschedulable(anti_affinity_));
        break;
      }
    }
    return Status::success();
  }

  // Nothing of the verdict is reused, so nothing of the pod has to be told apart.
  Status sign(Pod, Sink&) { return Status::success(); }

 private:
  static void forbid(Node node, Pod pod, Forbidden& forbidden) {
    for (const plimsoll_pod* owner : node.pods()) {
      for (const plimsoll_pod_affinity_term& term : required_anti_affinity(*owner)) {
        if (!selects(term, *owner, pod)) continue;
        const auto value = node.label(view(term.topology_key));
        if (value) forbidden.labels.emplace(view(term.topology_key), *value);
      }
    }
  }

  Host host_;
  uint32_t anti_affinity_;
  std::unordered_map<std::string, std::string> owners_;  // pods with required anti-affinity: node
  struct Unreadable {
    std::string node;
    uint32_t reason;
  };
  std::unordered_map<std::string, Unreadable> unreadable_;  // by UID
  std::array<plimsoll_event_interest, 2> events_{
      on_pod(PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_LABEL |
             PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN),
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL)};
};

}  // namespace

StaticModule unsupported_features() {
  return linked_in<UnsupportedFeatures>();
}

}  // namespace plimsoll::builtin
