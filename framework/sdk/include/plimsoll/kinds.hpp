// Plimsoll plugin SDK: the kinds of <plimsoll/kinds.h> by name.
//
//   host.watch(kServices);
//   const plimsoll_pod_selector* service = host.object(kServices, "shop", "web");
#pragma once

#include <plimsoll/kinds.h>

#include <string_view>

namespace plimsoll::sdk {

template <typename Object>
struct Kind {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view resource;  // as in events: "<plural>.<version>.<group>", or of core the plural
};

inline constexpr Kind<plimsoll_object> kNamespaces{"", "v1", "namespaces", "namespaces"};
inline constexpr Kind<plimsoll_pod_selector> kServices{"", "v1", "services", "services"};
inline constexpr Kind<plimsoll_pod_selector> kReplicationControllers{
    "", "v1", "replicationcontrollers", "replicationcontrollers"};
inline constexpr Kind<plimsoll_pod_selector> kReplicaSets{"apps", "v1", "replicasets",
                                                          "replicasets.v1.apps"};
inline constexpr Kind<plimsoll_pod_selector> kStatefulSets{"apps", "v1", "statefulsets",
                                                           "statefulsets.v1.apps"};
inline constexpr Kind<plimsoll_disruption_budget> kDisruptionBudgets{
    "policy", "v1", "poddisruptionbudgets", "poddisruptionbudgets.v1.policy"};

}  // namespace plimsoll::sdk
