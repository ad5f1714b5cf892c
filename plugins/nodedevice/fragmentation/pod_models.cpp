#include "plugins/nodedevice/fragmentation/pod_models.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

constexpr std::string_view kModelLabel = "node.koordinator.sh/gpu-model";

}  // namespace

std::vector<std::string> wanted_models(sdk::Pod pod) {
  std::vector<std::string> models;
  if (const auto model = sdk::Labels(pod->node_selector).get(kModelLabel)) {
    models.emplace_back(*model);
    return models;
  }
  if (pod->node_affinity == nullptr || pod->node_affinity->has_required == 0) return models;
  for (const auto& term : sdk::List<plimsoll_node_selector_term>(pod->node_affinity->required)) {
    bool says = false;
    for (const auto& requirement : sdk::List<plimsoll_requirement>(term.expressions)) {
      if (sdk::view(requirement.key) != kModelLabel || requirement.op != PLIMSOLL_OP_IN) continue;
      says = true;
      for (const plimsoll_str& value : sdk::Strings(requirement.values))
        models.emplace_back(sdk::view(value));
    }
    if (!says) return {};
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

}  // namespace plimsoll::devices
