#include "plugins/builtin/census/domain_counts.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll::builtin {
namespace {

constexpr int64_t kNobody = std::numeric_limits<int64_t>::max();

auto find_change(std::span<const CountChange> changes, uint32_t domain) {
  return std::find_if(changes.begin(), changes.end(),
                      [domain](const CountChange& change) { return change.domain == domain; });
}

}  // namespace

void add_change(std::vector<CountChange>& changes, uint32_t domain, int64_t pods) {
  if (domain == TopologyKey::kNone) return;
  const auto found = changes.begin() +
                     (find_change(changes, domain) - std::span<const CountChange>(changes).begin());
  if (found == changes.end()) {
    changes.push_back({domain, pods});
    return;
  }
  found->pods += pods;
  if (found->pods == 0) changes.erase(found);
}

int64_t change_of(std::span<const CountChange> changes, uint32_t domain) {
  const auto found = find_change(changes, domain);
  return found == changes.end() ? 0 : found->pods;
}

void DomainCounts::add(uint32_t slot, int64_t pods) {
  const uint32_t domain = nodes_->domain(slot);
  if (domain == TopologyKey::kNone || pods == 0) return;
  const uint32_t before = counts_.at(domain);
  const auto after = static_cast<uint32_t>(before + pods);
  counts_.set(domain, after, nodes_->key().bound());
  note(before, after);
}

void DomainCounts::note(uint32_t before, uint32_t after) {
  if (at_minimum_ == 0) return;
  if (before == minimum_) --at_minimum_;
  if (after == 0) return;
  if (after < minimum_ && at_minimum_ != 0) {
    minimum_ = after;
    at_minimum_ = 1;
  } else if (after == minimum_) {
    ++at_minimum_;
  }
}

void DomainCounts::find_minimum() const {
  minimum_ = std::numeric_limits<uint32_t>::max();
  counts_.for_each([this](uint32_t, uint32_t pods) {
    if (pods > minimum_) return;
    at_minimum_ = pods == minimum_ ? at_minimum_ + 1 : 1;
    minimum_ = pods;
  });
}

int64_t DomainCounts::minimum(std::span<const CountChange> changes) const {
  size_t with_pods = counts_.nonzero();
  int64_t least = kNobody;
  for (const CountChange& change : changes) {
    const int64_t before = counts_.at(change.domain);
    const int64_t after = before + change.pods;
    if (before != 0) --with_pods;
    if (after != 0) ++with_pods;
    least = std::min(least, after);
  }
  // Domains without a pod are not in the table.
  if (with_pods < nodes_->domain_count()) return std::min<int64_t>(least, 0);
  least = std::min(least, minimum_of_others(changes));
  return least == kNobody ? 0 : least;
}

int64_t DomainCounts::minimum_of_others(std::span<const CountChange> changes) const {
  if (counts_.nonzero() == 0) return kNobody;
  if (at_minimum_ == 0) find_minimum();
  size_t changed = 0;  // of those at the minimum
  for (const CountChange& change : changes)
    changed += counts_.at(change.domain) == minimum_ ? 1 : 0;
  if (changed < at_minimum_) return minimum_;
  int64_t least = kNobody;
  counts_.for_each([&](uint32_t domain, uint32_t pods) {
    if (pods < least && find_change(changes, domain) == changes.end()) least = pods;
  });
  return least;
}

}  // namespace plimsoll::builtin
