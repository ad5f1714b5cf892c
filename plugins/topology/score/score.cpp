#include "plugins/topology/score/score.hpp"

#include <algorithm>
#include <array>

#include "plugins/topology/report/numa_node.hpp"
#include "plugins/topology/score/least_numa.hpp"

namespace plimsoll::topology {
namespace {

// Quantity.Value(): whole units, rounded up.
int64_t whole(const Request& request, int64_t amount) {
  if (request.name != "cpu" || amount <= 0) return std::max<int64_t>(amount, 0);
  return amount / 1000 + (amount % 1000 != 0 ? 1 : 0);
}

// What a zone has of a resource; 0 if it does not list it.
int64_t free_of(const Request& request, const plimsoll_numa_node& node, uint32_t column) {
  const uint32_t row = row_of(node, request.resource);
  if (row == kNoRow) return 0;
  return node.free[size_t{row} * node.zone_count + column];
}

// a * b / c for amounts that may be large; c > 0.
int64_t scaled(int64_t a, int64_t b, int64_t c) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return static_cast<int64_t>(static_cast<__int128>(a) * b / c);
}

// Share of the free amount that is left or used, 0 to 100; 0 if it does not fit.
int64_t share(bool most, const Request& request, int64_t need, int64_t free) {
  if (free <= 0 || request.amount > free) return 0;
  const int64_t have = whole(request, free);
  return scaled(most ? need : have - need, kMaxScore, have);
}

// The weighted mean of the resources' shares in each zone; of these the lowest that is not 0.
int64_t worst_allocated(const ScoringStrategy& strategy, const Requests& requests,
                        const plimsoll_numa_node& node) {
  const bool most = strategy.type == Strategy::kMostAllocated;
  constexpr int64_t kSmall = int64_t{1} << 50;  // a hundred times it fits int64
  std::array<__int128, kMaxZones> sums;
  std::fill_n(sums.begin(), node.zone_count, 0);
  __int128 weights = 0;
  for (const Request& request : requests) {
    const int64_t weight = strategy.weight_of(request.name);
    const int64_t need = whole(request, request.amount);
    const uint32_t row = row_of(node, request.resource);
    weights += weight;
    if (row == kNoRow) continue;
    const int64_t* free = node.free + size_t{row} * node.zone_count;
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      sums[column] += static_cast<__int128>(weight) * share(most, request, need, free[column]);
    }
  }
  if (weights == 0) return node.zone_count == 0 ? 0 : kMaxScore;
  int64_t worst = 0;
  for (uint32_t column = 0; column < node.zone_count; ++column) {
    const auto score = weights < kSmall
                           ? static_cast<int64_t>(sums[column]) / static_cast<int64_t>(weights)
                           : static_cast<int64_t>(sums[column] / weights);
    if (score != 0 && (worst == 0 || score < worst)) worst = score;
  }
  return worst;
}

double fraction(const Request& request, int64_t free) {
  const int64_t have = whole(request, free);
  if (have == 0) return 1;
  return static_cast<double>(whole(request, request.amount)) / static_cast<double>(have);
}

// 100 times one less the unbiased variance of the fractions; nothing to balance scores 100.
int64_t balanced_score(const Requests& requests, const plimsoll_numa_node& node, uint32_t column) {
  double sum = 0;
  for (const Request& request : requests) {
    const double f = fraction(request, free_of(request, node, column));
    if (f > 1) return 0;
    sum += f;
  }
  if (requests.size() < 2) return kMaxScore;
  const auto count = static_cast<double>(requests.size());
  const double mean = sum / count;
  double squares = 0;
  double compensation = 0;
  for (const Request& request : requests) {
    const double d = fraction(request, free_of(request, node, column)) - mean;
    squares += d * d;
    compensation += d;
  }
  const double variance = (squares - compensation * compensation / count) / (count - 1);
  return std::clamp<int64_t>(static_cast<int64_t>((1 - variance) * kMaxScore), 0, kMaxScore);
}

int64_t worst_zone(const ScoringStrategy& strategy, const Requests& requests,
                   const plimsoll_numa_node& node) {
  if (strategy.type != Strategy::kBalancedAllocation) {
    return worst_allocated(strategy, requests, node);
  }
  int64_t worst = 0;
  for (uint32_t column = 0; column < node.zone_count; ++column) {
    const int64_t score = balanced_score(requests, node, column);
    if (score != 0 && (worst == 0 || score < worst)) worst = score;
  }
  return worst;
}

}  // namespace

PodWeights::PodWeights(const ScoringStrategy& strategy, const PodRequest& pod)
    : weights_{{PLIMSOLL_RESOURCE_CPU, bounded_weight(strategy, "cpu")},
               {PLIMSOLL_RESOURCE_MEMORY, bounded_weight(strategy, "memory")}} {
  for (const Request& request : pod.effective) {
    weights_.emplace_back(request.resource, bounded_weight(strategy, request.name));
  }
}

int64_t ScoringStrategy::weight_of(std::string_view resource) const {
  for (const ResourceWeight& entry : resources) {
    if (entry.name == resource) return std::max<int64_t>(entry.weight, 1);
  }
  return 1;
}

NodeScore::NodeScore(const ScoringStrategy& strategy, const PodRequest& pod)
    : strategy_(strategy), pod_(pod), most_(strategy.type == Strategy::kMostAllocated) {
  quick_ = most_ || strategy.type == Strategy::kLeastAllocated;
  if (!quick_ || !pod.guaranteed) return;
  whole_ = sum_of(pod.effective);
  for (const ContainerRequest& container : pod.containers) {
    containers_.push_back(sum_of(container.requests));
  }
}

NodeScore::Sum NodeScore::sum_of(const Requests& requests) {
  // So that a hundred times their sum is far from the ends of int64.
  constexpr int64_t kMostWeight = int64_t{1} << 40;
  Sum sum;
  for (const Request& request : requests) {
    const int64_t weight = strategy_.weight_of(request.name);
    if (weight >= kMostWeight || requests.size() > 1024) quick_ = false;
    sum.terms.push_back({request.resource, request.name == "cpu", request.amount,
                         whole(request, request.amount), weight});
    sum.weights += std::min(weight, kMostWeight);
  }
  return sum;
}

// worst_allocated. A mean is 0 if the sum is below the weights, and grows with the sum: so the
// lowest sum of the others decides, and only that is divided.
int64_t NodeScore::worst(const Sum& sum, const plimsoll_numa_node& node) const {
  if (sum.weights == 0) return node.zone_count == 0 ? 0 : kMaxScore;
  std::array<int64_t, kMaxZones> shares;
  std::fill_n(shares.begin(), node.zone_count, 0);
  for (const Term& term : sum.terms) {
    const uint32_t row = row_of(node, term.resource);
    if (row == kNoRow) continue;
    const int64_t* free = node.free + size_t{row} * node.zone_count;
    for (uint32_t column = 0; column < node.zone_count; ++column) {
      if (free[column] <= 0 || term.amount > free[column]) continue;
      const int64_t have = term.cpu ? (free[column] + 999) / 1000 : free[column];
      shares[column] += term.weight * percent_of(most_ ? term.need : have - term.need, have);
    }
  }
  int64_t lowest = INT64_MAX;
  for (uint32_t column = 0; column < node.zone_count; ++column) {
    if (shares[column] >= sum.weights) lowest = std::min(lowest, shares[column]);
  }
  return lowest == INT64_MAX ? 0 : lowest / sum.weights;
}

int64_t NodeScore::on(const plimsoll_numa_node* node, Scratch& scratch) const {
  if (!quick_ || !pod_.guaranteed || node == nullptr) {
    return score_node(strategy_, pod_, node, scratch);
  }
  if (node->policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) return 0;
  if (node->scope == PLIMSOLL_NUMA_SCOPE_POD) return worst(whole_, *node);
  if (containers_.empty()) return 0;
  int64_t all = 0;
  for (const Sum& container : containers_) all += worst(container, *node);
  return all / static_cast<int64_t>(containers_.size());
}

int64_t score_node(const ScoringStrategy& strategy, const PodRequest& pod,
                   const plimsoll_numa_node* node, Scratch& scratch) {
  if (!pod.guaranteed) return kMaxScore;
  if (node == nullptr) return 0;
  if (strategy.type == Strategy::kLeastNumaNodes) return least_numa_score(pod, *node, scratch);
  if (node->policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) return 0;
  if (node->scope == PLIMSOLL_NUMA_SCOPE_POD) return worst_zone(strategy, pod.effective, *node);
  if (pod.containers.empty()) return 0;
  int64_t sum = 0;
  for (const ContainerRequest& container : pod.containers) {
    sum += worst_zone(strategy, container.requests, *node);
  }
  return sum / static_cast<int64_t>(pod.containers.size());
}

}  // namespace plimsoll::topology
