// Questions about many nodes that their columns answer.

#include <algorithm>

#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

void Ledger::admits_many(std::span<const uint32_t> slots, Inquiry& pod, uint8_t* admitted) const {
  std::fill_n(admitted, slots.size(), uint8_t{0});
  if (!pod.matters() || !columns_.pays(slots.size())) return;
  const std::span<const uint8_t> columns = columns_.landings(pod);
  for (size_t i = 0; i < slots.size(); ++i) {
    admitted[i] = slots[i] < columns.size() && columns[slots[i]] != kNoColumn ? 1 : 0;
  }
  pod.plans.drop();
}

void Ledger::alike(size_t asked, Inquiry* pod, plimsoll_numa_put_alike put, void* sink) const {
  if (!columns_.pays(asked)) return;
  if (pod != nullptr && !pod->matters()) pod = nullptr;
  columns_.each(pod, put, sink);
}

}  // namespace plimsoll::topology
