#pragma once
// Which group of pods a pod belongs to, and what is known about the group: labels and annotations
// of coscheduling (scheduler-plugins) and Koordinator, and PodGroup objects of both. Pure; any
// thread.

#include <array>
#include <cstdint>
#include <optional>
#include <plimsoll/views.hpp>
#include <string>
#include <string_view>

#include "plugins/nodedevice/devices/device_types.hpp"

namespace plimsoll::devices {

// Kinds of PodGroup, by API group.
inline constexpr std::array<std::string_view, 2> kPodGroupApis = {"scheduling.x-k8s.io",
                                                                  "scheduling.sigs.k8s.io"};
inline constexpr std::string_view kPodGroupVersion = "v1alpha1";
inline constexpr std::string_view kPodGroupPlural = "podgroups";
// "podgroups.v1alpha1.scheduling.x-k8s.io"
[[nodiscard]] std::string pod_group_resource(size_t api);

// What a pod says of its group.
struct GroupRef {
  std::string key;                   // "namespace/name": the group, whichever way it is named
  size_t api = 0;                    // whose PodGroup describes it
  std::optional<int> min_available;  // of the pod itself: no PodGroup is needed then
  int64_t wait_ms = 0;               // 0: not said
  std::string problem;               // what cannot be read, or is not served; empty: nothing
  bool operator==(const GroupRef&) const = default;
};

// Nothing: the pod belongs to no group. The first of these names it:
//   label scheduling.x-k8s.io/pod-group             coscheduling
//   label pod-group.scheduling.sigs.k8s.io          coscheduling before 0.24, Koordinator
//   label pod-group.scheduling.sigs.k8s.io/name     with .../min-available: lightweight
//   coscheduling annotation or label gang.scheduling.koordinator.sh/name   with .../min-available,
//   .../waiting-time
[[nodiscard]] std::optional<GroupRef> group_of(sdk::Pod pod);

// What a PodGroup object says.
struct PodGroupSpec {
  int min_member = 0;   // 0: any number will do
  int64_t wait_ms = 0;  // spec.scheduleTimeoutSeconds; 0: not said
  bool operator==(const PodGroupSpec&) const = default;
};
[[nodiscard]] Result<PodGroupSpec> parse_pod_group(std::string_view json);

}  // namespace plimsoll::devices
