#pragma once
// Nodes of one model that are in the same state admit like pods alike: what came out once is
// remembered. Copies of one pod fill like nodes in step, so that mostly a few states are asked
// about, by turns.
//
// All that an admission rests on is compared on every hit: the model, the demand and the whole
// state. One thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugins/topology/possible/arrival.hpp"

namespace plimsoll::topology {

class AdmissionMemo {
 public:
  // admit_and_start: `state` is what it is afterwards. Never null; the admission may be a refusal.
  std::shared_ptr<const kubelet::Admission> admit(
      const kubelet::NodeModel& model, kubelet::NodeState& state,
      const std::shared_ptr<const kubelet::PodDemand>& pod, kubelet::Scratch& scratch);

 private:
  static constexpr size_t kPlaces = 256;  // each has what was last put there
  struct Known {
    uint64_t model = 0;                             // its number
    std::shared_ptr<const kubelet::PodDemand> pod;  // held, so that no other gets its address
    kubelet::NodeState before;
    kubelet::NodeState after;
    std::shared_ptr<const kubelet::Admission> given;  // null: nothing is known yet
  };
  std::array<Known, kPlaces> known_;
};

}  // namespace plimsoll::topology
