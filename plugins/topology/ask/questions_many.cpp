// Questions about many nodes.

#include <algorithm>
#include <array>

#include "plugins/topology/ask/questions.hpp"

namespace plimsoll::topology {
namespace {

// For how many nodes results are kept for the next query.
constexpr size_t kFewNodes = 64;
// Most of the time would be spent waiting for memory, so the data of nodes ahead is prefetched.
constexpr size_t kAhead = 8;

}  // namespace

void Questions::judge_many(Slots slots, Inquiry& pod, std::span<Judgement> judgements) const {
  const bool quick = pod.matters() && !pod.scratch.uses_full_lists();
  const kubelet::QuickPlan* plan = nullptr;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size()) glances_.prefetch(slots[i + kAhead]);
    const bool admitted =
        quick && glances_.at(slots[i]).zone_of(pod, plan) != kubelet::QuickPlan::kNoZone;
    judgements[i] = admitted ? Judgement() : judge(slots[i], pod);
  }
  if (slots.size() > kFewNodes) pod.plans.drop();
}

void Questions::land_many(Slots slots, Inquiry* pod,
                          std::span<plimsoll_numa_landing> landings) const {
  const bool quick = pod != nullptr && !pod->scratch.uses_full_lists();
  const kubelet::QuickPlan* plan = nullptr;
  struct Known {
    const kubelet::NodeModel* model = nullptr;
    const plimsoll_numa_taking* taking = nullptr;
  };
  std::array<Known, 8> takings;  // by number of the model, the last of each place
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + 2 * kAhead < slots.size()) {
      const plimsoll_numa_node* later = node(slots[i + 2 * kAhead]);
      if (later != nullptr) __builtin_prefetch(later);
    }
    if (i + kAhead < slots.size()) {
      if (quick) glances_.prefetch(slots[i + kAhead]);
      const plimsoll_numa_node* next = node(slots[i + kAhead]);
      if (next != nullptr) prefetch_cells(*next);
    }
    const Glance& glance = glances_.at(slots[i]);
    landings[i] = {glance.view, nullptr, 0, 0};
    if (!quick || glance.view == nullptr) continue;
    const uint32_t column = glance.zone_of(*pod, plan);
    if (column == kubelet::QuickPlan::kNoZone || !plan->has_affinity()) continue;
    landings[i].column = column;
    Known& known = takings[glance.model->number % takings.size()];
    if (known.model != glance.model) known = {glance.model, pod->taking_of(*plan)};
    landings[i].taking = known.taking;
  }
}

void Questions::admits_many(Slots slots, Inquiry& pod, uint8_t* admitted) const {
  std::fill_n(admitted, slots.size(), uint8_t{0});
  const ZoneColumns& columns = glances_.columns();
  if (!pod.matters() || !columns.pays(slots.size())) return;
  const std::span<const uint8_t> landings = columns.landings(pod);
  for (size_t i = 0; i < slots.size(); ++i) {
    admitted[i] = slots[i] < landings.size() && landings[slots[i]] != kNoColumn ? 1 : 0;
  }
  pod.plans.drop();
}

void Questions::alike(size_t asked, Inquiry* pod, const PutAlike& put) const {
  const ZoneColumns& columns = glances_.columns();
  if (!columns.pays(asked)) return;
  if (pod != nullptr && !pod->matters()) pod = nullptr;
  columns.each(pod, put);
}

}  // namespace plimsoll::topology
