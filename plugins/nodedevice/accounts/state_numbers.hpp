#pragma once
// Numbers the distinct device states. Nodes with equal devices, equal use and equal GPU labels
// share a number; Filter and Score evaluate one node per number, a few of thousands.
//
// One for all nodes (DeviceStore has it). Changed on the loop only; any thread may read `of` while
// the loop waits.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/nodedevice/accounts/node_state.hpp"

namespace plimsoll::devices {

class StateNumbers {
 public:
  // The devices or labels of the node in this slot changed.
  void changed(uint32_t slot);
  // Brings the numbers of nodes that changed up to date. `state_of(slot)`: null: nothing is known
  // of its devices. `facts_of(slot)`: all that is read of its labels, as a text.
  template <typename StateOf, typename FactsOf>
  void refresh(const StateOf& state_of, const FactsOf& facts_of) {
    for (const uint32_t slot : stale_) put(slot, state_of(slot), facts_of(slot));
    stale_.clear();
  }

  // From 1 to last(); 0: this node has no number, evaluate it alone.
  [[nodiscard]] uint32_t of(uint32_t slot) const {
    return slot < numbers_.size() && numbers_[slot] != kStale ? numbers_[slot] : 0;
  }
  [[nodiscard]] uint32_t last() const { return static_cast<uint32_t>(users_.size()) - 1; }

  // At most so many states have numbers; nodes in others have none.
  static constexpr size_t kMost = 1024;

 private:
  static constexpr uint32_t kStale = UINT32_MAX;
  using Key = std::vector<uint64_t>;

  void put(uint32_t slot, const NodeState* state, const std::string& facts);
  [[nodiscard]] static Key key_of(const NodeState& state, uint64_t facts);
  uint32_t number_of(Key key);

  std::vector<uint32_t> numbers_;  // by slot
  std::vector<uint32_t> stale_;    // slots
  std::map<std::string, uint64_t, std::less<>> facts_;
  std::map<Key, uint32_t> known_;
  std::vector<std::map<Key, uint32_t>::iterator> keys_{known_.end()};  // by number
  std::vector<uint32_t> users_{0};                                     // by number
  std::vector<uint32_t> free_;                                         // numbers of no state
};

}  // namespace plimsoll::devices
