// NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the use of the resources
// more even.
#include <cmath>

#include "plugins/builtin/node_resources.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr int64_t kMaxScore = 100;

double used_fraction(int64_t amount, int64_t allocatable) {
  return std::min(1.0, static_cast<double>(amount) / static_cast<double>(allocatable));
}

int64_t score_of_deviation(double deviation) {
  return static_cast<int64_t>((1 - deviation) * static_cast<double>(kMaxScore));
}

int64_t evenness_of_two(double first, double second) {
  return score_of_deviation(std::abs((first - second) / 2));
}

// 100 less the standard deviation of the used fractions. `fractions`: room for them.
template <typename Amount>
int64_t evenness(const std::vector<Load>& loads, std::vector<double>& fractions, Amount&& amount) {
  fractions.clear();
  double total = 0;
  for (const Load& load : loads) {
    if (load.allocatable == 0) continue;
    fractions.push_back(used_fraction(amount(load), load.allocatable));
    total += fractions.back();
  }
  if (fractions.size() < 2) return score_of_deviation(0);
  if (fractions.size() == 2) return evenness_of_two(fractions[0], fractions[1]);
  const double mean = total / static_cast<double>(fractions.size());
  double sum = 0;
  for (double fraction : fractions) sum += (fraction - mean) * (fraction - mean);
  return score_of_deviation(std::sqrt(sum / static_cast<double>(fractions.size())));
}

// Better with the pod than without.
int64_t gain(int64_t with, int64_t without) {
  return kMaxScore / 2 + (kMaxScore / 2 + with - without) / 2;
}

class NodeResourcesBalancedAllocation {
 public:
  static constexpr const char* kName = "NodeResourcesBalancedAllocation";
  static constexpr const char* kDefaultArgs = kBalancedDefaults;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_REQUESTED;

  NodeResourcesBalancedAllocation(const Host& host, std::string_view args_json)
      : host_(host),
        names_(read_balanced_args(host, args_json)),
        resources_(resolve(host, names_)) {}

  void start() { instead_.start(host_, names_); }

  Status pre_score(plimsoll_cycle&, Pod pod, Nodes) {
    thread_local std::vector<int64_t> adds;  // kept, so that a call allocates nothing
    pod_amounts(resources_, pod, false, adds);
    const bool nothing =
        std::all_of(adds.begin(), adds.end(), [](int64_t add) { return add == 0; });
    return nothing ? Status::skip() : Status::success();
  }

  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    thread_local std::vector<int64_t> adds;  // kept, so that a call allocates nothing
    pod_amounts(resources_, pod, false, adds);
    const std::vector<size_t> devices = instead_.of(pod, names_, adds);
    std::vector<Load> loads;
    std::vector<double> fractions;
    const auto score_node = [&](size_t i, const auto& node) {
      node_loads(resources_, adds, node, false, loads);
      if (!devices.empty()) instead_.put(nodes[i], names_, adds, devices, loads);
      scores[i] = gain(evenness(loads, fractions, [](const Load& load) { return load.requested; }),
                       evenness(loads, fractions, [](const Load& load) { return load.allocated; }));
    };
    TwoColumns two{};
    if (devices.empty() && two_columns(nodes, resources_, adds, false, two)) {
      score_by_columns(nodes, two, score_balanced, scores, score_node);
    } else {
      for_each_amounts(nodes, resources_, score_node);
    }
    return Status::success();
  }

  // Devices that are given away change no amount of a node.
  Status sign(Pod pod, Sink& sink) {
    thread_local std::vector<int64_t> adds;
    pod_amounts(resources_, pod, false, adds);
    if (!instead_.of(pod, names_, adds).empty()) return Status::skip();
    sign_resources(sink, pod);
    return Status::success();
  }

 private:
  Host host_;
  DevicesInstead instead_;
  std::vector<ResourceWeight> names_;
  std::vector<ScoredResource> resources_;
};

}  // namespace

StaticModule node_resources_balanced_allocation() {
  return linked_in<NodeResourcesBalancedAllocation>();
}

}  // namespace plimsoll::builtin
