#pragma once
// The slots of the rows of a call, without a look at each node where the scheduler lists them, and
// the domains of these.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <span>

#include "plugins/builtin/census/topology.hpp"

namespace plimsoll::builtin {

class RowSlots {
 public:
  explicit RowSlots(sdk::Nodes nodes) : nodes_(nodes), slots_(nodes.slots()) {}
  uint32_t operator[](size_t i) const { return slots_.empty() ? nodes_[i].slot() : slots_[i]; }

 private:
  sdk::Nodes nodes_;
  std::span<const uint32_t> slots_;
};

// visit(row, domain) for each row. A walk over all nodes takes most of the time of a decision that
// looks beyond the node, so the loop has nothing in it that could be done before.
template <typename Visit>
void for_each_domain(sdk::Nodes nodes, const TopologyKey& key, const Visit& visit) {
  const std::span<const uint32_t> slots = nodes.slots();
  if (slots.empty()) {
    for (size_t i = 0; i < nodes.size(); ++i) visit(i, key.domain(nodes[i].slot()));
    return;
  }
  const std::span<const uint32_t> domains = key.domains();
  for (size_t i = 0; i < slots.size(); ++i) {
    visit(i, slots[i] < domains.size() ? domains[slots[i]] : TopologyKey::kNone);
  }
}

}  // namespace plimsoll::builtin
