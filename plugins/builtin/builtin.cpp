#include "plugins/builtin/builtin.hpp"

#include <vector>

#include "plugins/builtin/plugins.hpp"

namespace plimsoll {

std::span<const StaticModule> builtin_modules() {
  using namespace builtin;
  static const std::vector<StaticModule> kModules = {
      {"DefaultBinder", "1.0.0", default_binder()},
      {"DefaultPreemption", "1.0.0", default_preemption()},
      {"NodeAffinity", "1.0.0", node_affinity()},
      {"NodeName", "1.0.0", node_name()},
      {"NodePorts", "1.0.0", node_ports()},
      {"NodeResourcesBalancedAllocation", "1.0.0", node_resources_balanced_allocation()},
      {"NodeResourcesFit", "1.0.0", node_resources_fit()},
      {"NodeUnschedulable", "1.0.0", node_unschedulable()},
      {"PrioritySort", "1.0.0", priority_sort()},
      {"SchedulingGates", "1.0.0", scheduling_gates()},
      {"TaintToleration", "1.0.0", taint_toleration()},
      {"UnsupportedFeatures", "1.0.0", unsupported_features()},
  };
  return kModules;
}

}  // namespace plimsoll
