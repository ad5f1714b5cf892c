#include "plugins/builtin/builtin.hpp"

#include <vector>

#include "plugins/builtin/plugins.hpp"

namespace plimsoll {

std::span<const StaticModule> builtin_modules() {
  using namespace builtin;
  static const std::vector<StaticModule> kModules = {
      coscheduling(),        default_binder(),       default_preemption(),
      dynamic_resources(),   gang_scheduling(),      image_locality(),
      inter_pod_affinity(),  node_affinity(),        node_declared_features(),
      node_name(),           node_ports(),           node_resources_balanced_allocation(),
      node_resources_fit(),  node_unschedulable(),   node_volume_limits(),
      pod_topology_spread(), priority_sort(),        scheduling_gates(),
      taint_toleration(),    unsupported_features(), volume_binding(),
      volume_restrictions(), volume_zone(),
  };
  return kModules;
}

}  // namespace plimsoll
