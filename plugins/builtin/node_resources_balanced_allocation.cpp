// NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of the resources
// more even.
#include <cmath>

#include "plugins/builtin/node_resources.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr int64_t kMaxScore = 100;

// 100 less the standard deviation of the used fractions.
template <typename Amount>
int64_t evenness(const std::vector<Load>& loads, Amount&& amount) {
  std::vector<double> fractions;
  double total = 0;
  for (const Load& load : loads) {
    if (load.allocatable == 0) continue;
    const double fraction =
        std::min(1.0, static_cast<double>(amount(load)) / static_cast<double>(load.allocatable));
    total += fraction;
    fractions.push_back(fraction);
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    const double mean = total / static_cast<double>(fractions.size());
    double sum = 0;
    for (double fraction : fractions) sum += (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(sum / static_cast<double>(fractions.size()));
  }
  return static_cast<int64_t>((1 - deviation) * static_cast<double>(kMaxScore));
}

class NodeResourcesBalancedAllocation {
 public:
  static constexpr const char* kName = "NodeResourcesBalancedAllocation";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_REQUESTED;

  NodeResourcesBalancedAllocation(Host host, std::string_view args_json)
      : resources_(resolve(host, read_balanced_args(args_json))) {}

  Status pre_score(plimsoll_cycle&, Pod pod, Nodes) {
    const std::vector<int64_t> adds = pod_amounts(resources_, pod, false);
    const bool nothing =
        std::all_of(adds.begin(), adds.end(), [](int64_t add) { return add == 0; });
    return nothing ? Status::skip() : Status::success();
  }

  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    const std::vector<int64_t> adds = pod_amounts(resources_, pod, false);
    std::vector<Load> loads;
    for (size_t i = 0; i < nodes.size(); ++i) {
      node_loads(resources_, adds, nodes[i], false, loads);
      const int64_t with = evenness(loads, [](const Load& load) { return load.requested; });
      const int64_t without = evenness(loads, [](const Load& load) { return load.allocated; });
      scores[i] = kMaxScore / 2 + (kMaxScore / 2 + with - without) / 2;
    }
    return Status::success();
  }

  Status sign(Pod pod, Sink& sink) {
    sign_resources(sink, pod);
    return Status::success();
  }

 private:
  std::vector<ScoredResource> resources_;
};

}  // namespace

plimsoll_plugin_create_fn node_resources_balanced_allocation() {
  return create_fn<NodeResourcesBalancedAllocation>;
}

}  // namespace plimsoll::builtin
