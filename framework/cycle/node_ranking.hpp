#pragma once
// The best of many nodes, kept while single ones change: a tournament tree over node slots.
// Putting, dropping and asking cost O(log n), O(log n) and O(1). Not thread-safe.
//
// Better: the higher total; among equals the node that was chosen longest ago, then the lower slot.
// So the choice is the same as that of a walk over all rows (Scheduler::select).

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

class NodeRanking {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Forgets all; room for slots below `slots`.
  void reset(size_t slots) {
    leaves_ = std::bit_ceil(std::max<size_t>(slots, 1));
    totals_.assign(leaves_, 0);
    last_chosen_.assign(leaves_, 0);
    winners_.assign(2 * leaves_, kNone);
  }
  // As reset, but keeps what is there.
  void grow(size_t slots) {
    if (slots <= leaves_) return;
    const std::vector<int64_t> totals = std::move(totals_);
    const std::vector<uint64_t> last_chosen = std::move(last_chosen_);
    const std::vector<uint32_t> winners = std::move(winners_);
    const size_t before = leaves_;
    reset(slots);
    for (size_t slot = 0; slot < before; ++slot) {
      if (winners[before + slot] == kNone) continue;
      set(static_cast<uint32_t>(slot), totals[slot], last_chosen[slot]);
    }
    play_all();
  }

  void put(uint32_t slot, int64_t total, uint64_t last_chosen) {
    set(slot, total, last_chosen);
    play_up(slot);
  }
  void drop(uint32_t slot) {
    if (winners_[leaves_ + slot] == kNone) return;
    winners_[leaves_ + slot] = kNone;
    play_up(slot);
  }
  // Many at once: set() each, then play_all().
  void set(uint32_t slot, int64_t total, uint64_t last_chosen) {
    totals_[slot] = total;
    last_chosen_[slot] = last_chosen;
    winners_[leaves_ + slot] = slot;
  }
  void play_all() {
    for (size_t at = leaves_ - 1; at > 0; --at) play(at);
  }

  [[nodiscard]] uint32_t best() const { return winners_[1]; }  // kNone: there is none
  [[nodiscard]] size_t bytes() const {
    return leaves_ * (sizeof(int64_t) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
  }

 private:
  [[nodiscard]] bool beats(uint32_t a, uint32_t b) const {
    if (totals_[a] != totals_[b]) return totals_[a] > totals_[b];
    if (last_chosen_[a] != last_chosen_[b]) return last_chosen_[a] < last_chosen_[b];
    return a < b;
  }
  void play(size_t at) {
    const uint32_t left = winners_[2 * at];
    const uint32_t right = winners_[2 * at + 1];
    winners_[at] = left == kNone || (right != kNone && beats(right, left)) ? right : left;
  }
  void play_up(uint32_t slot) {
    for (size_t at = (leaves_ + slot) / 2; at > 0; at /= 2) play(at);
  }

  size_t leaves_ = 1;
  std::vector<int64_t> totals_ = std::vector<int64_t>(1);
  std::vector<uint64_t> last_chosen_ = std::vector<uint64_t>(1);
  std::vector<uint32_t> winners_ = std::vector<uint32_t>(2, kNone);  // [1]: of all; leaves last
};

}  // namespace plimsoll
