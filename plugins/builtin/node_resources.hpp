#pragma once
// What NodeResourcesFit and NodeResourcesBalancedAllocation share: their args, and a node's amounts
// of the resources that are scored.

#include <plimsoll/services/claimed_resources.h>
#include <plimsoll/plugin.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/builtin/columns/amounts.hpp"
#include "plugins/builtin/columns/column_loops.hpp"

namespace plimsoll::sdk {
class Args;
}

namespace plimsoll::builtin {

struct ResourceWeight {
  std::string name;
  int64_t weight = 1;
};

struct ShapePoint {
  int64_t utilization = 0;  // percent
  int64_t score = 0;        // 0..100
};

// The piecewise linear function through the points, flat before and after them.
[[nodiscard]] int64_t on_shape(const std::vector<ShapePoint>& shape, int64_t utilization);

enum class Strategy { kLeastAllocated, kMostAllocated, kRequestedToCapacityRatio };

struct FitArgs {  // NodeResourcesFitArgs
  std::vector<std::string> ignored_resources;
  std::vector<std::string> ignored_groups;
  Strategy strategy{};
  std::vector<ResourceWeight> resources;
  std::vector<ShapePoint> shape;
};

// Kubernetes' defaults.
inline constexpr const char* kFitDefaults =
    R"({"ignoredResources":[],"ignoredResourceGroups":[],"scoringStrategy":{"type":"LeastAllocated",)"
    R"("resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]}})";
inline constexpr const char* kBalancedDefaults =
    R"({"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]})";

// Warn the host of what has no effect. Throw std::runtime_error with all that is wrong (read_over).
[[nodiscard]] FitArgs read_fit_args(const sdk::Host& host, std::string_view json);
[[nodiscard]] std::vector<ResourceWeight> read_balanced_args(const sdk::Host& host,
                                                             std::string_view json);
// The field `shape` of `args`: at least one point, by rising utilization.
void read_shape(sdk::Args& args, std::vector<ShapePoint>& out);

// One resource that a plugin scores by.
struct ScoredResource {
  enum class Kind { kCpu, kMemory, kEphemeralStorage, kScalar, kOther };
  Kind kind = Kind::kOther;
  uint32_t index = 0;
  int64_t weight = 1;
};
[[nodiscard]] std::vector<ScoredResource> resolve(const sdk::Host& host,
                                                  const std::vector<ResourceWeight>& resources);

// One resource on one node: 0 allocatable means it is left out of the score.
struct Load {
  int64_t allocatable = 0;
  int64_t allocated = 0;  // before the pod
  int64_t requested = 0;  // with it
};

// What a pod adds, in the order of the resources. `nonzero`: containers that name no cpu or memory
// count with the defaults (NonMissingContainerRequests).
void pod_amounts(const std::vector<ScoredResource>& resources, sdk::Pod pod, bool nonzero,
                 std::vector<int64_t>& out);

// The load of one node, in the order of the resources; `node`: RowAmounts or SlotAmounts.
template <typename Amounts>
void node_loads(const std::vector<ScoredResource>& resources, const std::vector<int64_t>& adds,
                const Amounts& node, bool nonzero, std::vector<Load>& out) {
  using Kind = ScoredResource::Kind;
  out.assign(resources.size(), Load{});
  for (size_t i = 0; i < resources.size(); ++i) {
    const ScoredResource& resource = resources[i];
    if (resource.kind == Kind::kOther || (resource.kind == Kind::kScalar && adds[i] == 0)) continue;
    const int64_t allocatable = node.allocatable(resource.index);
    if (allocatable == 0) continue;
    int64_t allocated = node.requested(resource.index);
    if (nonzero && resource.kind == Kind::kCpu) allocated = node.nonzero_cpu();
    if (nonzero && resource.kind == Kind::kMemory) allocated = node.nonzero_memory();
    out[i] = {allocatable, allocated, sum_of(allocated, adds[i])};
  }
}

// Devices that a plugin gives the pod where a node has none of an extended resource
// (services/claimed_resources.h).
class DevicesInstead {
 public:
  // `resources`: by which is scored.
  void start(const sdk::Host& host, const std::vector<ResourceWeight>& resources);
  // Of these: where they stand in the list.
  [[nodiscard]] std::vector<size_t> of(sdk::Pod pod, const std::vector<ResourceWeight>& resources,
                                       const std::vector<int64_t>& adds) const;
  void put(sdk::Node node, const std::vector<ResourceWeight>& resources,
           const std::vector<int64_t>& adds, const std::vector<size_t>& which,
           std::vector<Load>& loads) const;

 private:
  const plimsoll_claimed_resources* claimed_ = nullptr;
};

// Two resources that every pod is scored by, which is what most profiles have: their arrays.
struct TwoColumns {
  LoadColumn first;  // from slot 0 on
  LoadColumn second;
};
// Returns false if the number of resources is not two, or there are no arrays.
[[nodiscard]] bool two_columns(sdk::Nodes nodes, const std::vector<ScoredResource>& resources,
                               const std::vector<int64_t>& adds, bool nonzero, TwoColumns& out);

// Scores the nodes by `loop`, and those that it leaves out by `score_node(i, amounts)`.
template <typename ScoreNode>
void score_by_columns(sdk::Nodes nodes, const TwoColumns& two,
                      bool (*loop)(size_t, const LoadColumn&, const LoadColumn&, int64_t*),
                      std::span<int64_t> scores, const ScoreNode& score_node) {
  for_each_run(nodes.slots(), [&](size_t at, size_t count, uint32_t slot) {
    const auto from_slot = [slot](LoadColumn column) {
      return LoadColumn{column.allocatable + slot, column.allocated + slot, column.add};
    };
    if (!loop(count, from_slot(two.first), from_slot(two.second), scores.data() + at)) return;
    for (size_t i = at; i < at + count; ++i) {
      if (scores[i] != kLeftOut) continue;
      score_node(i, SlotAmounts(*nodes.columns(), nodes.slots()[i]));
    }
  });
}

// The signature of both: equal requests, equal verdicts.
void sign_resources(sdk::Sink& sink, sdk::Pod pod);

}  // namespace plimsoll::builtin
