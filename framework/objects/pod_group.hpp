#pragma once
// Pods that are placed together: a PodGroup of scheduling.k8s.io (KEP-4671; Kubernetes:
// staging/src/k8s.io/api/scheduling/v1beta1/types.go), or one of scheduling.x-k8s.io, of
// Coscheduling (scheduler-plugins: apis/scheduling/v1alpha1/types.go).

#include <plimsoll/kinds.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/api/group_name.hpp"
#include "framework/api/objects.hpp"

namespace plimsoll {

class ObjectStore;

struct PodGroupResource {
  std::string_view name;  // as in events
  GroupKind kind;
};
// Of a kind in the order in which they are asked for: the first that is served counts.
inline constexpr std::array<PodGroupResource, 4> kPodGroupResources{
    {{"podgroups.v1beta1.scheduling.k8s.io", GroupKind::kPodGroup},
     {"podgroups.v1.scheduling.k8s.io", GroupKind::kPodGroup},
     {"podgroups.v1alpha1.scheduling.x-k8s.io", GroupKind::kCoscheduling},
     {"podgroups.v1alpha1.scheduling.sigs.k8s.io", GroupKind::kGang}}};
// kNone: its objects are no groups.
[[nodiscard]] GroupKind group_kind(std::string_view resource);

// Annotations.
inline constexpr std::string_view kRequiredTopology = "topology.plimsoll.io/required";
inline constexpr std::string_view kPreferredTopology = "topology.plimsoll.io/preferred";

struct PodGroup {
  plimsoll_object object{};  // its texts are those below
  std::string ns;
  std::string name;
  std::string uid;
  std::string version;       // of the API: "v1beta1"
  std::string unreadable;    // as in the object
  std::string not_honoured;  // a field that asks for what this scheduler cannot do; empty: none
  // All its pods must, or should, go to nodes with one value of this label; empty: none. By
  // spec.schedulingConstraints.topology and kRequiredTopology, kPreferredTopology.
  std::string required_topology;
  std::string preferred_topology;
  int64_t min_count = 1;  // of a gang; 1 of a basic group
  int32_t priority = 0;   // of scheduling.k8s.io only; elsewhere its pods' counts
  bool gang = false;
  bool disrupts_all = false;      // its pods are evicted together
  std::string preemption_policy;  // empty: the cluster's API has none for groups
  // status.conditions, PodGroupInitiallyScheduled; empty: it is not there.
  std::string status;
  std::string reason;
  std::string message;
  std::string transition_time;
};

// Null: the resource is another one.
[[nodiscard]] ObjectRef decode_pod_group(std::string_view resource, std::string_view ns,
                                         std::string_view name, std::string_view json);

// Null: there is none of this name.
[[nodiscard]] const PodGroup* find_pod_group(const ObjectStore& objects, const GroupName& name);

}  // namespace plimsoll
