#include <algorithm>
#include <set>

#include "plugins/dynamicresources/dynamicresources.hpp"
#include "plugins/dynamicresources/objects/reading.hpp"

// The part of DynamicResources that tells when a pod is worth an attempt.
namespace plimsoll::dra {

using sdk::Hint;
using sdk::List;
using sdk::Pod;
using sdk::Status;
using sdk::str;
using sdk::view;

namespace {

// NodeResourceTopology, which the ledger of zones is made from.
constexpr std::string_view kReports = "noderesourcetopologies.v1alpha2.topology.node.k8s.io";

bool names(Pod pod, const plimsoll_meta& claim) {
  const List<plimsoll_pod_claim> wanted(pod->claims);
  return pod.ns() == view(claim.ns) &&
         std::any_of(wanted.begin(), wanted.end(), [&](const plimsoll_pod_claim& each) {
           return view(each.claim) == view(claim.name);
         });
}

// Its devices are anybody's now.
bool freed(const plimsoll_resource_claim* before, const plimsoll_resource_claim& after) {
  return before != nullptr && before->allocated != 0 && after.allocated == 0;
}

}  // namespace

std::vector<plimsoll_event_interest> DynamicResources::events() const {
  const uint32_t any = PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE;
  std::vector<plimsoll_event_interest> all{
      {str("Node"),
       PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL |
           PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE,
       0},
      {str(sdk::kResourceClaims.resource), any | PLIMSOLL_ACTION_DELETE, 0},
      {str("TargetPod"), PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM, 0},
      {str(sdk::kDeviceClasses.resource), any, 0},
      {str(sdk::kResourceSlices.resource), any, 0},
      {str(sdk::kDeviceTaintRules.resource), PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE, 0}};
  // Zones come free with pods and reports; CPUs for what claims have with pods.
  const bool zones = args_.order == ClaimArgs::Order::kRequire;
  if (zones || args_.node_allocatable) {
    all.push_back({str("Pod"), PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN, 0});
  }
  if (zones) all.push_back({str(kReports), any, 0});
  return all;
}

std::string DynamicResources::each_claim(
    Pod pod, const std::function<void(ClaimStore::Entry&)>& visit) const {
  if (pod->claims.count == 0) return {};
  const std::string who = std::string(pod.ns()) + "/" + std::string(pod.name());
  std::set<std::string_view> visited;  // a pod may name one claim twice
  for (const auto& wanted : List<plimsoll_pod_claim>(pod->claims)) {
    if (wanted.needless != 0) continue;
    const bool generated = wanted.template_name.len != 0;
    if (wanted.claim.len == 0) {
      return generated
                 ? "pod \"" + who + "\": ResourceClaim not created yet"
                 : "pod \"" + who + "\", spec.resourceClaim \"" + std::string(view(wanted.name)) +
                       "\": none of the supported fields are set";
    }
    const std::string name(view(wanted.claim));
    ClaimStore::Entry* claim = store_->find(pod.ns(), name);
    if (claim == nullptr) {
      return "could not find ResourceClaim \"" + std::string(pod.ns()) + "/" + name + "\"";
    }
    if (claim->object->object.meta.deletion_ms != 0) {
      return "resourceclaim \"" + name + "\" is being deleted";
    }
    if (generated && controller_uid(claim->object->object.meta) != pod.uid()) {
      return "ResourceClaim " + std::string(pod.ns()) + "/" + name + " was not created for Pod " +
             who + " (Pod is not owner)";
    }
    if (visited.insert(claim->uid()).second) visit(*claim);
  }
  return {};
}

Status DynamicResources::pre_enqueue(Pod pod) {
  const std::string problem = each_claim(pod, [](const ClaimStore::Entry&) {});
  if (problem.empty()) return Status();
  return host_.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, problem);
}

int32_t DynamicResources::named_only(void*, const plimsoll_event* event) {
  if (view(event->resource) != sdk::kResourceClaims.resource || event->new_object == nullptr)
    return 0;
  const auto* before = reinterpret_cast<const plimsoll_resource_claim*>(event->old_object);
  const auto* after = reinterpret_cast<const plimsoll_resource_claim*>(event->new_object);
  return freed(before, *after) ? 0 : 1;
}

Hint DynamicResources::claim_hint(Pod pod, const plimsoll_event& event) const {
  const auto* before = reinterpret_cast<const plimsoll_resource_claim*>(event.old_object);
  const auto* after = reinterpret_cast<const plimsoll_resource_claim*>(event.new_object);
  if (after == nullptr) {
    const bool helps = before == nullptr || before->allocated != 0 ||
                       pod_of_extended(before->object.meta) == pod.uid();
    return helps ? Hint::kQueue : Hint::kSkip;
  }
  // Claims change often, and are mostly others'.
  if (!freed(before, *after) && !names(pod, after->object.meta)) return Hint::kSkip;
  bool uses = false;
  const std::string problem = each_claim(pod, [&](const ClaimStore::Entry& claim) {
    uses = uses || claim.uid() == view(after->object.meta.uid);
  });
  if (!problem.empty()) return Hint::kSkip;
  if (freed(before, *after)) return Hint::kQueue;
  if (!uses) return Hint::kSkip;
  return before == nullptr || !same_status(*before, *after) ? Hint::kQueue : Hint::kSkip;
}

Hint DynamicResources::hint(Pod pod, const plimsoll_event& event) {
  const std::string_view resource = view(event.resource);
  if (resource == sdk::kResourceClaims.resource) return claim_hint(pod, event);
  if ((event.actions & PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM) != 0) {
    return each_claim(Pod(event.new_pod), [](const ClaimStore::Entry&) {}).empty() ? Hint::kQueue
                                                                                   : Hint::kSkip;
  }
  return Hint::kQueue;
}

}  // namespace plimsoll::dra
