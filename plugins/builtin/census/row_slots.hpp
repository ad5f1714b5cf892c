#pragma once
// The slots of the rows of a call, without a look at each node where the scheduler lists them.

#include <plimsoll/plugin.hpp>

namespace plimsoll::builtin {

class RowSlots {
 public:
  explicit RowSlots(sdk::Nodes nodes) : nodes_(nodes), slots_(nodes.slots()) {}
  uint32_t operator[](size_t i) const { return slots_.empty() ? nodes_[i].slot() : slots_[i]; }

 private:
  sdk::Nodes nodes_;
  std::span<const uint32_t> slots_;
};

}  // namespace plimsoll::builtin
