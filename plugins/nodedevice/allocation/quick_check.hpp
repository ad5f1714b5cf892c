#pragma once
// Filter's answer for thousands of nodes: what Allocator::check says, always, but found without
// looking at devices one by one, as far as that is possible; and Score's.
//
// Which devices could be given is a set of bits, made from TypeSummary. Without annotations and
// partition rules their number decides. Otherwise the verdict follows from these bits, those in
// use, the shape of the node and what is asked for; the allocator is asked once for each such
// combination, and what it says is remembered. Nodes and pods for which that is not so are left to
// the allocator every time.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "plugins/nodedevice/allocation/allocator.hpp"
#include "plugins/nodedevice/allocation/device_choice.hpp"
#include "plugins/nodedevice/allocation/verdict_memo.hpp"
#include "plugins/nodedevice/devices/shape_table.hpp"

namespace plimsoll::devices {

// One pod's demand, prepared for many nodes. Immutable once made; outlived by the demand.
struct QuickPlan {
  struct Type {
    Want want;                  // with for_all, the count is another on each node
    bool for_all = false;       // ApplyForAll: as many as the selector leaves
    bool selects = false;       // there is a selector
    bool looks_closer = false;  // virtual functions or PCIe ids in use have a say
    // The selector's devices by shape (from 1 on); shapes that came later are not in it.
    std::vector<uint64_t> selected;
  };
  std::vector<Type> types;
  uint32_t asked = 0;  // the types, as bits
  // What else decides of the demand, as a number; 0: more than the quick answer can tell.
  uint32_t kind = 0;
  bool by_count = false;      // no annotations: how many devices fit decides
  bool selects = false;       // some type has a selector
  bool by_container = false;  // the allocator lays containers on devices, every time
  int joint_primary = -1;     // by position in `types`; -1: nothing is joint
  int joint_follower = -1;  // of a required same PCIe id the only other type; -1: none, or several
};

class QuickCheck {
 public:
  // All outlive it.
  QuickCheck(const DeviceTypes& types, const Allocator& allocator, const ShapeTable& shapes)
      : types_(types), allocator_(allocator), shapes_(shapes) {}

  // Loop only.
  [[nodiscard]] QuickPlan prepare(const PodDemand& demand);

  // What allocator.check(node, labels, demand) says. Any thread.
  [[nodiscard]] Verdict check(const NodeState& node, const NodeLabels& labels,
                              const PodDemand& demand, const QuickPlan& plan) const;

  // The same, if it follows from the node's state as StateNumbers tells states apart; nothing: it
  // may not. Any thread.
  [[nodiscard]] std::optional<Verdict> check_state(const NodeState& node, const NodeLabels& labels,
                                                   const PodDemand& demand,
                                                   const QuickPlan& plan) const;

  // What scorer.score_node(node, demand.request, demand.hints) says. Any thread.
  [[nodiscard]] static int64_t score(const Scorer& scorer, const NodeState& node,
                                     const PodDemand& demand, const QuickPlan& plan);

 private:
  // The devices of one type that the demand's selector leaves, of those in the node's Device
  // object; nothing: not known here.
  [[nodiscard]] static std::optional<uint64_t> selected(const NodeState& node,
                                                        const QuickPlan::Type& type);
  [[nodiscard]] std::optional<uint64_t> candidates(const NodeState& node,
                                                   const QuickPlan::Type& type) const;
  [[nodiscard]] std::optional<Verdict> by_count(const NodeState& node, const QuickPlan& plan) const;
  [[nodiscard]] std::optional<VerdictMemo::Key> key_of(const NodeState& node,
                                                       const PartitionRules& rules,
                                                       const QuickPlan& plan) const;
  [[nodiscard]] static bool holds_elsewhere(const NodeState& node, const QuickPlan& plan,
                                            const VerdictMemo::Key& key, const Verdict& verdict);
  uint32_t kind_of(const PodDemand& demand, const QuickPlan& plan);

  const DeviceTypes& types_;
  const Allocator& allocator_;
  const ShapeTable& shapes_;
  static constexpr uint32_t kLastKind = UINT32_MAX;
  std::map<std::vector<int64_t>, uint32_t> kinds_;
  uint32_t last_kind_ = 0;
  mutable VerdictMemo memo_;
};

}  // namespace plimsoll::devices
