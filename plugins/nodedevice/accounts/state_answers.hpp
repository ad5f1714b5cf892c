#pragma once
// The answers to one question about a pod, by state of a node's devices (StateNumbers). Of one
// thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/nodedevice/accounts/state_numbers.hpp"

namespace plimsoll::devices {

template <typename Answer>
class StateAnswers {
 public:
  // `numbers` does not change meanwhile.
  explicit StateAnswers(const StateNumbers& numbers) : numbers_(numbers) {}

  // `ask()` gives the answer for the node in this slot, if it holds for all nodes in its state.
  // Null: it does not, or the node has no such state. Valid until the next call.
  template <typename Ask>
  const Answer* of(uint32_t slot, const Ask& ask) {
    const uint32_t number = numbers_.of(slot);
    if (number == 0) return nullptr;
    if (answers_.empty()) answers_.resize(numbers_.last() + size_t{1});
    Known& known = answers_[number];
    if (!known.asked) {
      known.answer = ask();
      known.asked = true;
    }
    return known.answer ? &*known.answer : nullptr;
  }

 private:
  struct Known {
    bool asked = false;
    std::optional<Answer> answer;
  };
  const StateNumbers& numbers_;
  std::vector<Known> answers_;
};

}  // namespace plimsoll::devices
