#include "framework/queue/events.hpp"

#include <algorithm>
#include <array>
#include <plimsoll/kinds.hpp>
#include <utility>

#include "framework/api/lists.hpp"
#include "framework/cluster/cluster_state.hpp"

namespace plimsoll {
namespace {

struct ActionName {
  uint32_t action;
  std::string_view name;
};

constexpr std::array kActionNames{
    ActionName{PLIMSOLL_ACTION_ADD, "Add"},
    ActionName{PLIMSOLL_ACTION_DELETE, "Delete"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE, "UpdateNodeAllocatable"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_LABEL, "UpdateNodeLabel"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_TAINT, "UpdateNodeTaint"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_CONDITION, "UpdateNodeCondition"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_ANNOTATION, "UpdateNodeAnnotation"},
    ActionName{PLIMSOLL_ACTION_UPDATE_NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature"},
    ActionName{PLIMSOLL_ACTION_UPDATE_POD_LABEL, "UpdatePodLabel"},
    ActionName{PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN, "UpdatePodScaleDown"},
    ActionName{PLIMSOLL_ACTION_UPDATE_POD_TOLERATION, "UpdatePodToleration"},
    ActionName{PLIMSOLL_ACTION_UPDATE_POD_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated"},
    ActionName{PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM, "UpdatePodGeneratedResourceClaim"},
    ActionName{PLIMSOLL_ACTION_UPDATE, "Update"},
};

std::string label_of(std::string_view resource, uint32_t action) {
  // What plugins know as UnschedulablePod is only ever a change of the very pod that waits.
  std::string label(resource == kResourceUnschedulablePod ? kResourceTargetPod : resource);
  const auto* known = std::find_if(kActionNames.begin(), kActionNames.end(),
                                   [=](const ActionName& each) { return each.action == action; });
  if (known != kActionNames.end()) label += known->name;
  return label;
}

ClusterEvent make(std::string_view resource, uint32_t action) {
  ClusterEvent event;
  event.resource = std::string(resource);
  event.actions = action;
  event.label = label_of(resource, action);
  return event;
}

ClusterEvent wildcard(std::string label) {
  ClusterEvent event = make(kResourceAny, PLIMSOLL_ACTION_ALL);
  event.label = std::move(label);
  event.wildcard = true;
  return event;
}

std::string object_key(std::string_view resource, std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(resource.size() + ns.size() + name.size() + 2);
  return key.append(resource).append("/").append(ns).append("/").append(name);
}

// PodSchedulingPropertiesChange: a request became smaller (in-place resize), or a pod that could
// not be read now can be. Both lists have the same order.
bool scaled_down(const plimsoll_pod& before, const plimsoll_pod& after) {
  if (before.unreadable.len != 0 && after.unreadable.len == 0) return true;
  const auto now = items<plimsoll_resource>(after.used);
  auto at = now.begin();
  for (const auto& old_request : items<plimsoll_resource>(before.used)) {
    while (at != now.end() && comes_before(*at, old_request)) ++at;
    const bool still = at != now.end() && !comes_before(old_request, *at);
    if ((still ? at->value : 0) < old_request.value) return true;
  }
  return false;
}

bool same_labels(const plimsoll_pod& before, const plimsoll_pod& after) {
  return same_list<plimsoll_label>(
      before.meta.labels, after.meta.labels,
      [](const auto& x, const auto& y) { return equal(x.key, y.key) && equal(x.value, y.value); });
}

// No ResourceClaim was made for it, and none was found to be needless.
bool same_claims(const plimsoll_pod& before, const plimsoll_pod& after) {
  return same_list<plimsoll_pod_claim>(before.claims, after.claims,
                                       [](const auto& x, const auto& y) {
                                         return equal(x.claim, y.claim) && x.needless == y.needless;
                                       });
}

}  // namespace

ClusterEvent unschedulable_timeout_event() {
  return wildcard("UnschedulableTimeout");
}
ClusterEvent force_activate_event() {
  return wildcard("ForceActivate");
}

ClusterEvent node_added(NodeRef node) {
  ClusterEvent event = make(kResourceNode, PLIMSOLL_ACTION_ADD);
  event.new_node = std::move(node);
  return event;
}

ClusterEvent node_deleted(NodeRef node) {
  ClusterEvent event = make(kResourceNode, PLIMSOLL_ACTION_DELETE);
  event.old_node = std::move(node);
  return event;
}

std::vector<ClusterEvent> node_updated(const NodeRef& before, const NodeRef& after) {
  std::vector<ClusterEvent> events;
  const auto changed = [&](bool is_changed, uint32_t action) {
    if (!is_changed) return;
    ClusterEvent event = make(kResourceNode, action);
    event.old_node = before;
    event.new_node = after;
    events.push_back(std::move(event));
  };
  const uint32_t aspects = node_aspects_changed(*before, *after);
  const auto has = [aspects](uint32_t aspect) { return (aspects & aspect) != 0; };
  // Cordoning helps no pod. Uncordoning counts as the removal of a taint.
  changed(before->unschedulable != 0 && after->unschedulable == 0,
          PLIMSOLL_ACTION_UPDATE_NODE_TAINT);
  changed(has(PLIMSOLL_ASPECT_ALLOCATABLE), PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE);
  changed(has(PLIMSOLL_ASPECT_LABELS), PLIMSOLL_ACTION_UPDATE_NODE_LABEL);
  changed(!same_taints(before->taints, after->taints), PLIMSOLL_ACTION_UPDATE_NODE_TAINT);
  changed(has(PLIMSOLL_ASPECT_CONDITIONS), PLIMSOLL_ACTION_UPDATE_NODE_CONDITION);
  changed(has(PLIMSOLL_ASPECT_ANNOTATIONS), PLIMSOLL_ACTION_UPDATE_NODE_ANNOTATION);
  changed(has(PLIMSOLL_ASPECT_FEATURES), PLIMSOLL_ACTION_UPDATE_NODE_DECLARED_FEATURE);
  return events;
}

ClusterEvent assigned_pod_added(PodRef pod) {
  ClusterEvent event = make(kResourceAssignedPod, PLIMSOLL_ACTION_ADD);
  event.new_pod = std::move(pod);
  return event;
}

ClusterEvent assigned_pod_deleted(PodRef pod) {
  ClusterEvent event = make(kResourceAssignedPod, PLIMSOLL_ACTION_DELETE);
  event.old_pod = std::move(pod);
  return event;
}

std::vector<ClusterEvent> pod_changes(std::string_view resource, const PodRef& before,
                                      const PodRef& after) {
  std::vector<ClusterEvent> events;
  const auto changed = [&](bool is_changed, uint32_t action) {
    if (!is_changed) return;
    ClusterEvent event = make(resource, action);
    event.old_pod = before;
    event.new_pod = after;
    events.push_back(std::move(event));
  };
  changed(!same_labels(*before, *after), PLIMSOLL_ACTION_UPDATE_POD_LABEL);
  changed(scaled_down(*before, *after), PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN);
  changed(before->scheduling_gates.count != 0 && after->scheduling_gates.count == 0,
          PLIMSOLL_ACTION_UPDATE_POD_GATES_ELIMINATED);
  // Tolerations are only ever added.
  changed(before->tolerations.count != after->tolerations.count,
          PLIMSOLL_ACTION_UPDATE_POD_TOLERATION);
  changed(!same_claims(*before, *after), PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM);
  return events;
}

std::vector<ClusterEvent> pod_updated(std::string_view resource, const PodRef& before,
                                      const PodRef& after) {
  std::vector<ClusterEvent> events = pod_changes(resource, before, after);
  if (!events.empty()) return events;
  ClusterEvent& event = events.emplace_back(make(resource, PLIMSOLL_ACTION_UPDATE));
  event.old_pod = before;
  event.new_pod = after;
  return events;
}

ClusterEvent object_event(RawRef before, RawRef after) {
  const std::string& resource = after ? after->resource : before->resource;
  const uint32_t action = !before  ? PLIMSOLL_ACTION_ADD
                          : !after ? PLIMSOLL_ACTION_DELETE
                                   : PLIMSOLL_ACTION_UPDATE;
  ClusterEvent event = make(resource, action);
  event.old_object = std::move(before);
  event.new_object = std::move(after);
  return event;
}

std::vector<std::string> named_objects(const plimsoll_pod& pod) {
  std::vector<std::string> keys;
  const auto add = [&](std::string_view resource, std::string_view name) {
    keys.push_back(object_key(resource, view(pod.meta.ns), name));
  };
  for (const auto& claim : items<plimsoll_pod_claim>(pod.claims)) {
    if (claim.claim.len != 0) add(sdk::kResourceClaims.resource, view(claim.claim));
  }
  for (const auto& volume : items<plimsoll_volume>(pod.volumes)) {
    constexpr std::string_view kClaims = sdk::kPersistentVolumeClaims.resource;
    if (view(volume.kind) == "persistentVolumeClaim") add(kClaims, view(volume.target));
    if (view(volume.kind) == "ephemeral")  // as its controller names it
      add(kClaims, std::string(view(pod.meta.name)) + "-" + std::string(view(volume.name)));
  }
  return keys;
}

std::string object_key(const ClusterEvent& event) {
  const RawObject* object = event.new_object ? event.new_object.get() : event.old_object.get();
  return object == nullptr ? "" : object_key(object->resource, object->ns, object->name);
}

std::vector<std::string> action_names(uint32_t actions) {
  if ((actions & PLIMSOLL_ACTION_ALL) == PLIMSOLL_ACTION_ALL) return {"*"};
  std::vector<std::string> names;
  for (const ActionName& known : kActionNames) {
    const bool any_update = known.action == PLIMSOLL_ACTION_UPDATE;
    if ((actions & known.action) != known.action) continue;
    if (any_update) {  // the last name replaces the names of all updates
      std::erase_if(names, [](const std::string& name) { return name.starts_with("Update"); });
    }
    names.emplace_back(known.name);
  }
  return names;
}

bool matches(const plimsoll_event_interest& interest, const ClusterEvent& event) {
  // An update of no named kind, such as a pod's condition, has the bits of all kinds. Only plugins
  // that registered every update get it.
  const uint32_t common = interest.actions & event.actions;
  if (common == 0) return false;
  if (event.actions == PLIMSOLL_ACTION_UPDATE && common != event.actions) return false;
  const std::string_view wanted = view(interest.resource);
  if (wanted == kResourceAny || wanted == event.resource) return true;
  const bool own = event.resource == kResourceUnschedulablePod;
  if (own && wanted == kResourceTargetPod) return true;
  return wanted == kResourcePod && (own || event.resource == kResourceAssignedPod);
}

}  // namespace plimsoll
