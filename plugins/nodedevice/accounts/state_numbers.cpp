#include "plugins/nodedevice/accounts/state_numbers.hpp"

#include <utility>

namespace plimsoll::devices {
namespace {

void put_amounts(std::vector<uint64_t>& key, const Amounts& amounts) {
  key.push_back(amounts.present);
  for (size_t dim = 0; dim < amounts.value.size(); ++dim) {
    if (amounts.has(static_cast<int>(dim)))
      key.push_back(static_cast<uint64_t>(amounts.value[dim]));
  }
}

}  // namespace

void StateNumbers::changed(uint32_t slot) {
  if (slot >= numbers_.size()) numbers_.resize(size_t{slot} + 1, 0);
  uint32_t& number = numbers_[slot];
  if (number == kStale) return;
  if (number != 0 && --users_[number] == 0) {
    known_.erase(keys_[number]);
    keys_[number] = known_.end();
    free_.push_back(number);
  }
  number = kStale;
  stale_.push_back(slot);
}

// All that the quick answers read of a node (quick_check.hpp). Empty: they may read more.
StateNumbers::Key StateNumbers::key_of(const NodeState& state, uint64_t facts) {
  if (state.object == nullptr) {
    if (state.shares != 0) return {};
    return {facts, 1, uint64_t{state.malformed} | uint64_t{state.gone} << 1};
  }
  if (state.shape == 0) return {};
  Key key{facts, 2,
          uint64_t{state.shape} << 8 | uint64_t{state.malformed} << 2 |
              uint64_t{state.rules_partitions} << 1 | uint64_t{state.honours_partitions}};
  for (int index = 0; index < kMaxTypes; ++index) {
    const TypeState& type = state.type(index);
    const TypeSummary& summary = type.summary;
    if (!summary.valid || (!summary.uniform && summary.available != 0)) return {};
    key.push_back(uint64_t{summary.count} << 8 | uint64_t{type.has_tree} << 4 |
                  uint64_t{summary.uniform} << 3 | uint64_t{summary.complete} << 2 |
                  uint64_t{summary.reported} << 1 | uint64_t{summary.valid});
    if (summary.count == 0) continue;
    key.insert(key.end(), {summary.available, summary.healthy, summary.in_use});
    put_amounts(key, summary.total);
    put_amounts(key, summary.total_sum);
    put_amounts(key, summary.free_sum);
    key.push_back(summary.free.size());
    for (const int64_t free : summary.free) key.push_back(static_cast<uint64_t>(free));
  }
  return key;
}

uint32_t StateNumbers::number_of(Key key) {
  const auto [at, is_new] = known_.try_emplace(std::move(key), 0);
  if (!is_new) return at->second;
  if (!free_.empty()) {
    at->second = free_.back();
    free_.pop_back();
  } else if (users_.size() <= kMost) {
    at->second = static_cast<uint32_t>(users_.size());
    users_.push_back(0);
    keys_.push_back(known_.end());
  } else {
    known_.erase(at);
    return 0;
  }
  keys_[at->second] = at;
  return at->second;
}

void StateNumbers::put(uint32_t slot, const NodeState* state, const std::string& facts) {
  uint32_t& number = numbers_[slot];
  number = 0;
  const auto known = facts_.find(facts);
  const uint64_t said = known != facts_.end() ? known->second : facts_.size() + 1;
  if (known == facts_.end()) {
    if (facts_.size() == kMost) return;
    facts_.emplace(facts, said);
  }
  Key key = state == nullptr ? Key{said, 0} : key_of(*state, said);
  if (key.empty()) return;
  number = number_of(std::move(key));
  if (number != 0) ++users_[number];
}

}  // namespace plimsoll::devices
