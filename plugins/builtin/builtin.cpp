#include "plugins/builtin/builtin.hpp"

#include <vector>

#include "plugins/builtin/plugins.hpp"

namespace plimsoll {

std::span<const StaticModule> builtin_modules() {
  using namespace builtin;
  static const std::vector<StaticModule> kModules = {
      default_binder(),     default_preemption(), node_affinity(),
      node_name(),          node_ports(),         node_resources_balanced_allocation(),
      node_resources_fit(), node_unschedulable(), priority_sort(),
      scheduling_gates(),   taint_toleration(),   unsupported_features(),
  };
  return kModules;
}

}  // namespace plimsoll
