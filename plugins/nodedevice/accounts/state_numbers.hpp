#pragma once
// Nodes whose devices are in the same state: as many of them, of the same shape, with the same in
// use, and the same said by the node's labels. What Filter and Score find out about one holds for
// all of them, so that of thousands of nodes they look at a few. A number for each such state.
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
  // What was found out about the node in this slot does not hold any more.
  void changed(uint32_t slot);
  // Brings the numbers of nodes that changed up to date. `state_of(slot)`: null: nothing is known
  // of its devices. `facts_of(slot)`: all that is read of its labels, as a text.
  template <typename StateOf, typename FactsOf>
  void refresh(const StateOf& state_of, const FactsOf& facts_of) {
    for (const uint32_t slot : stale_) put(slot, state_of(slot), facts_of(slot));
    stale_.clear();
  }

  // From 1 to last(); 0: not like any other for sure, to be asked about by itself.
  [[nodiscard]] uint32_t of(uint32_t slot) const {
    return slot < numbers_.size() && numbers_[slot] != kStale ? numbers_[slot] : 0;
  }
  [[nodiscard]] uint32_t last() const { return static_cast<uint32_t>(users_.size()) - 1; }

  // So many states are told apart; nodes in others have none of the numbers.
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
