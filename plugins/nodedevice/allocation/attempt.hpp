#pragma once
// One attempt to choose a pod's devices on one node (private to the allocator). Several types are
// chosen one after the other, or jointly (joint_choice.cpp) if the pod wants them at the same
// place; of one type, those of several containers together (container_choice.cpp) if each asks for
// itself.

#include <array>
#include <vector>

#include "plugins/nodedevice/allocation/device_choice.hpp"

namespace plimsoll::devices {

class Attempt {
 public:
  // All of it outlives the attempt.
  Attempt(const DeviceTypes& types, const Scorer* scorer, const NodeState& node,
          const NodeLabels& labels, const PodDemand& demand, SharedDeviceChoice* choice = nullptr,
          const ZoneLimit& zones = {})
      : types_(types),
        scorer_(scorer),
        node_(node),
        labels_(labels),
        demand_(demand),
        choice_(choice),
        zones_(zones) {}

  // `allocation` is empty unless the verdict fits.
  Verdict run(Allocation& allocation);

 private:
  using Wants = std::vector<Want>;

  // Types that go to the same PCIe ids; the first decides where, the others follow. `found` and
  // `chosen` are by position in `wants`.
  struct Joint {
    std::vector<Want> wants;
    std::vector<Positions> found;
    std::vector<Positions> chosen;
    bool same_pcie = false;
  };

  Verdict collect_wants(Wants& wants) const;
  Verdict apply_hint(Want& want) const;
  [[nodiscard]] Positions candidates(const Want& want) const;
  // `want.count` of `all` that were found, for themselves.
  Verdict choose(const Want& want, const Positions& all, Positions& chosen) const;
  Verdict choose_gpus(const Want& want, const Positions& found, Positions& chosen,
                      bool& decided) const;
  // Links decide which of `found` are taken: they are in `chosen`, none if there are not enough.
  bool choose_linked(const Want& want, const Positions& found, Positions& chosen,
                     const std::function<bool(const Positions&)>& accepts = {}) const;
  // The best score first, if there is a scorer.
  [[nodiscard]] Positions by_score(const Want& want, Positions positions) const;
  // Up to `at_most` of `found`, those at one of `preferred` PCIe ids first, one from each in turn.
  // Koordinator counts turns over all devices, also over those that cannot be given.
  enum class Turns { kOfFound, kOfAll };
  Verdict choose_in_order(const Want& want, const Positions& found, const Positions& preferred,
                          int64_t at_most, Turns turns, Positions& chosen) const;
  // All that the pod's selector leaves.
  [[nodiscard]] Positions selected(const Want& want) const;
  void record(const Want& want, const Positions& chosen, Allocation& allocation) const;
  [[nodiscard]] Positions pcie_ids(int type, const Positions& chosen) const;

  [[nodiscard]] Positions open_to(const Want& want) const;
  [[nodiscard]] bool is_bound_to_sets(const Want& want) const;
  [[nodiscard]] std::array<Positions, 3> room_for(const ContainerPart& part, size_t index,
                                                  const Want& want, const Positions& open,
                                                  const PartLoad& load) const;
  Verdict choose_for_part(const Want& want, const std::array<Positions, 3>& room,
                          Positions& chosen) const;
  // Part by part; what each gets is laid on `load`, which is about the devices at `open`.
  Verdict choose_in_turn(const TypeRequest& request, const Positions& open, PartLoad& load) const;
  Verdict choose_by_container(const TypeRequest& request, Allocation& allocation);

  // Chooses the types that joint-allocate lists, the first of which decides where, and takes them
  // out of `wants`.
  Verdict choose_jointly(Wants& wants, Allocation& allocation) const;
  // The secondary types, where the primary's devices are.
  Verdict follow(Joint& joint, Turns turns) const;
  // Whether the secondary types have enough at these PCIe ids.
  [[nodiscard]] bool can_follow(const Joint& joint, const Positions& pcie) const;
  [[nodiscard]] bool choose_other_place(Joint& joint) const;
  [[nodiscard]] bool choose_at(Joint& joint, const Positions& pcie) const;
  [[nodiscard]] Positions at_pcie(int type, const Positions& found, const Positions& pcie) const;

  const DeviceTypes& types_;
  const Scorer* scorer_;
  const NodeState& node_;
  const NodeLabels& labels_;
  const PodDemand& demand_;
  SharedDeviceChoice* choice_;
  ZoneLimit zones_;
};

}  // namespace plimsoll::devices
