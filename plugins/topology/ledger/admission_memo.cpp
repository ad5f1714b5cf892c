#include "plugins/topology/ledger/admission_memo.hpp"

#include <utility>

#include "plugins/topology/base/mix.hpp"

namespace plimsoll::topology {
namespace {

// Of the counts: where more is known, states mostly differ in these, too.
size_t place_of(const kubelet::NodeModel& model, const kubelet::NodeState& state,
                const kubelet::PodDemand* pod) {
  uint64_t hash = mix(model.number, reinterpret_cast<uintptr_t>(pod));
  const int64_t* counts = state.counts();
  for (uint32_t i = 0; i < model.groups_at; ++i) {
    hash = mix(hash, static_cast<uint64_t>(counts[i]));
  }
  return hash;
}

}  // namespace

std::shared_ptr<const kubelet::Admission> AdmissionMemo::admit(
    const kubelet::NodeModel& model, kubelet::NodeState& state,
    const std::shared_ptr<const kubelet::PodDemand>& pod, kubelet::Scratch& scratch) {
  Known& known = known_[place_of(model, state, pod.get()) % kPlaces];
  const bool same = known.given != nullptr && known.model == model.number && known.pod == pod &&
                    known.before == state;
  if (!same) {
    known.given = nullptr;  // until all of it is put down
    known.model = model.number;
    known.pod = pod;
    known.before = state;
    kubelet::Admission given = admit_and_start(model, state, *pod, scratch);
    known.after = state;
    known.given = std::make_shared<const kubelet::Admission>(std::move(given));
    return known.given;
  }
  state = known.after;
  return known.given;
}

}  // namespace plimsoll::topology
