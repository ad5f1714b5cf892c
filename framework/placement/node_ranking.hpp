#pragma once
// The best of many nodes, kept while single ones change: a tournament tree over node slots, in
// which 16 neighbours play the first round together, so that the tree takes half a byte a node.
// Putting, dropping and asking cost O(log n), O(log n) and O(1). Not thread-safe.
//
// Better: the higher total; among equals the node that was chosen longest ago, then the lower slot.
// So the choice is the same as that of a walk over all rows (Scheduler::select).
//
// `last_chosen` (by slot, as long as there are slots) is the caller's and not kept: a node whose
// entry changed has to be put again before the next look at best().

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "framework/placement/narrow_column.hpp"

namespace plimsoll {

class NodeRanking {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  using LastChosen = std::span<const uint64_t>;

  // Forgets all; room for slots below `slots`.
  void reset(size_t slots) {
    const size_t blocks = (slots + kBlock - 1) / kBlock;
    leaves_ = std::bit_ceil(std::max<size_t>(blocks, 1));
    present_.assign(blocks, 0);
    totals_.reset(slots);
    winners_.assign(2 * leaves_, kNone);
  }
  // As reset, but keeps what is there.
  void grow(size_t slots) {
    if (slots <= totals_.size()) return;
    const size_t blocks = (slots + kBlock - 1) / kBlock;
    totals_.resize(slots);
    present_.resize(blocks);
    const size_t leaves = std::bit_ceil(blocks);
    if (leaves == leaves_) return;
    // The tree becomes the left end of a higher one, whose other nodes have nobody.
    const size_t ratio = leaves / leaves_;
    const std::vector<uint32_t> before = std::exchange(winners_, {});
    winners_.assign(2 * leaves, kNone);
    for (size_t at = 1; at < before.size(); ++at) {
      winners_[at + std::bit_floor(at) * (ratio - 1)] = before[at];
    }
    for (size_t at = ratio / 2; at > 0; at /= 2) winners_[at] = before[1];
    leaves_ = leaves;
  }

  void put(uint32_t slot, int64_t total, LastChosen last_chosen) {
    set(slot, total);
    play_up(slot, last_chosen);
  }
  void drop(uint32_t slot, LastChosen last_chosen) {
    uint16_t& block = present_[slot / kBlock];
    const auto without = static_cast<uint16_t>(block & ~(1U << slot % kBlock));
    if (std::exchange(block, without) != without) play_up(slot, last_chosen);
  }
  // Many at once: set() each, then play_all().
  void set(uint32_t slot, int64_t total) {
    totals_.set(slot, total);
    present_[slot / kBlock] |= static_cast<uint16_t>(1U << slot % kBlock);
  }
  void set_many(std::span<const uint32_t> slots, std::span<const int64_t> totals) {
    totals_.set_many(slots, totals);
    for (const uint32_t slot : slots) {
      present_[slot / kBlock] |= static_cast<uint16_t>(1U << slot % kBlock);
    }
  }
  void play_all(LastChosen last_chosen) {
    for (size_t block = 0; block < present_.size(); ++block) play_block(block, last_chosen);
    for (size_t at = leaves_ - 1; at > 0; --at) play(at, last_chosen);
  }

  [[nodiscard]] uint32_t best() const { return winners_[1]; }  // kNone: there is none
  [[nodiscard]] size_t bytes() const {
    return totals_.bytes() + present_.capacity() * sizeof(uint16_t) +
           winners_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr size_t kBlock = 16;

  void play_block(size_t block, LastChosen last_chosen) {
    winners_[leaves_ + block] = totals_.visit([&](const auto* totals) {
      uint32_t best = kNone;
      for (uint32_t bits = present_[block]; bits != 0; bits &= bits - 1) {
        const auto slot =
            static_cast<uint32_t>(block * kBlock) + static_cast<uint32_t>(std::countr_zero(bits));
        if (best == kNone || totals[slot] > totals[best] ||
            (totals[slot] == totals[best] && last_chosen[slot] < last_chosen[best])) {
          best = slot;
        }
      }
      return best;
    });
  }
  [[nodiscard]] bool beats(uint32_t a, uint32_t b, LastChosen last_chosen) const {
    const int64_t of_a = totals_[a];
    const int64_t of_b = totals_[b];
    if (of_a != of_b) return of_a > of_b;
    if (last_chosen[a] != last_chosen[b]) return last_chosen[a] < last_chosen[b];
    return a < b;
  }
  void play(size_t at, LastChosen last_chosen) {
    const uint32_t left = winners_[2 * at];
    const uint32_t right = winners_[2 * at + 1];
    const bool takes_right = left == kNone || (right != kNone && beats(right, left, last_chosen));
    winners_[at] = takes_right ? right : left;
  }
  void play_up(uint32_t slot, LastChosen last_chosen) {
    play_block(slot / kBlock, last_chosen);
    for (size_t at = (leaves_ + slot / kBlock) / 2; at > 0; at /= 2) play(at, last_chosen);
  }

  size_t leaves_ = 1;
  std::vector<uint16_t> present_;  // by block, a bit for each of its slots
  NarrowColumn totals_;            // by slot
  std::vector<uint32_t> winners_ = std::vector<uint32_t>(2, kNone);  // [1]: of all; blocks last
};

}  // namespace plimsoll
