#include "plugins/topology/score/alike_scores.hpp"

#include <array>
#include <cstring>

#include "plugins/topology/columns/zone_loops.hpp"
#include "plugins/topology/score/score.hpp"
#include "plugins/topology/score/zone_score.hpp"

namespace plimsoll::topology {
namespace {

// So that a hundred times a sum of them is far from where doubles skip whole numbers, and quotients
// by it are exact.
constexpr int64_t kMostWeights = int64_t{1} << 40;
constexpr size_t kMostTerms = 16;

ZoneCells table_of(const plimsoll_numa_alike& nodes) {
  return {(size_t{nodes.count} + kBlock - 1) / kBlock, nodes.zone_count,
          nodes.zone_count * nodes.resource_count, nodes.free,
          nodes.size < sizeof nodes ? nullptr : nodes.distinct};
}

// resource_count: there is none.
uint32_t row_in(const plimsoll_numa_alike& nodes, uint32_t resource) {
  const uint32_t* end = nodes.resources + nodes.resource_count;
  return static_cast<uint32_t>(std::find(nodes.resources, end, resource) - nodes.resources);
}

}  // namespace

void AlikeScores::copy_known(std::span<int64_t> scores) const {
  widen(by_slot_.data() + slots_.front(), slots_.size(), scores.data());
}

size_t AlikeScores::next_unknown(size_t place) const {
  if (place >= slots_.size()) return slots_.size();
  const uint8_t* from = by_slot_.data() + slots_[place];
  const void* found = std::memchr(from, kUnknown, slots_.size() - place);
  if (found == nullptr) return slots_.size();
  return place + static_cast<size_t>(static_cast<const uint8_t*>(found) - from);
}

void AlikeScores::scatter(const plimsoll_numa_alike& nodes) {
  if (by_slot_.empty() && !slots_.empty()) {
    consecutive_ = are_consecutive(slots_.data(), slots_.size());
    const uint32_t last = consecutive_ ? slots_.back() : highest(slots_.data(), slots_.size());
    by_slot_.assign(size_t{last} + 1, kUnknown);
  }
  const uint8_t* columns = nodes.taking != nullptr ? nodes.columns : nullptr;
  for (size_t i = 0; i < nodes.count; ++i) {
    if (nodes.slots[i] >= by_slot_.size()) continue;
    const bool known = columns == nullptr || columns[i] != kNoColumn;
    by_slot_[nodes.slots[i]] = known ? of_group_[i] : kUnknown;
  }
}

// Pods of one container, and any pod where the whole pod is looked at, would do; most are the
// former.
bool NodeScore::covers_alike() const {
  if (!quick_ || !pod_.guaranteed || containers_.size() != 1) return false;
  for (const Sum* sum : {&whole_, &containers_.front()}) {
    if (sum->weights <= 0 || sum->weights > kMostWeights || sum->terms.size() > kMostTerms) {
      return false;
    }
    for (const Term& term : sum->terms) {
      if (term.amount >= kExactAmount || term.need >= kExactAmount) return false;
    }
  }
  return true;
}

void NodeScore::on_alike(const plimsoll_numa_alike& nodes, uint8_t* scores) const {
  const ZoneCells table = table_of(nodes);
  if (nodes.policy != PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE) {
    std::fill_n(scores, table.blocks * kBlock, uint8_t{0});
    return;
  }
  const Sum& sum = nodes.scope == PLIMSOLL_NUMA_SCOPE_POD ? whole_ : containers_.front();
  std::array<WorstTerm, kMostTerms> terms;
  size_t count = 0;
  for (const Term& term : sum.terms) {
    const uint32_t row = row_in(nodes, term.resource);
    if (row == nodes.resource_count) continue;
    terms[count++] = {row, term.cpu, static_cast<double>(term.amount),
                      static_cast<double>(term.need), static_cast<double>(term.weight)};
  }
  score_worst_zones(table, terms.data(), count, static_cast<double>(sum.weights), most_, scores);
}

bool ZoneScore::covers_alike() const {
  return tied_ && (type_ == Strategy::kLeastAllocated || type_ == Strategy::kMostAllocated);
}

// As allocated(landing): where a pod lands every row has what it takes, so each counts.
void ZoneScore::on_alike(const plimsoll_numa_alike& nodes, uint8_t* scores) const {
  const ZoneCells table = table_of(nodes);
  std::array<LandingTerm, kMostTerms> terms;
  size_t count = 0;
  for (uint32_t i = 0; i < nodes.taking->count && count < terms.size(); ++i) {
    const uint32_t row = row_in(nodes, nodes.taking->resources[i]);
    if (row == nodes.resource_count) continue;
    terms[count++] = {row, static_cast<double>(nodes.taking->amounts[i]),
                      static_cast<double>(weights_.of(nodes.resources[row]))};
  }
  score_landings(table, {nodes.sizes, nodes.own_sizes != 0}, terms.data(), count,
                 type_ == Strategy::kMostAllocated, nodes.columns, scores);
  std::array<uint8_t, kMaxScore + 1> aligned;
  for (int64_t score = 0; score <= kMaxScore; ++score) {
    aligned[static_cast<size_t>(score)] = static_cast<uint8_t>(aligned_score(score));
  }
  for (size_t i = 0; i < table.blocks * kBlock; ++i) scores[i] = aligned[scores[i]];
}

}  // namespace plimsoll::topology
