#pragma once
// What a node is to one attempt of a pod: whether it takes the pod, why not, and how good it is.
//
// Loop; const functions also on any thread that filters, scores or explains while the loop waits.

#include <array>
#include <memory>
#include <optional>
#include <plimsoll/plugin.hpp>
#include <string>

#include "plugins/nodedevice/allocation/quick_check.hpp"
#include "plugins/nodedevice/allocation/what_if.hpp"
#include "plugins/nodedevice/placing/group_placer.hpp"
#include "plugins/nodedevice/rules/sharing_rules.hpp"
#include "plugins/nodedevice/zones/numa_part.hpp"

namespace plimsoll::devices {

// One attempt of a pod: what it asks for, and which pods a what-if adds to or takes from nodes.
struct PodAttempt {
  std::shared_ptr<const PodDemand> demand;
  std::shared_ptr<const QuickPlan> plan;  // of the demand, for many nodes; null: there is none
  std::string isolation_provider;         // label of the pod; empty: none asked for
  bool shares_gpu = false;
  DeviceChanges changes;
  NumaAttempt numa;
  GroupAttempt group;

  // No what-if: nodes are what the accounts say.
  [[nodiscard]] bool sees_real_nodes() const { return changes.empty(); }
};

// A pod that one thread asks about.
struct AskedPod {
  sdk::Pod pod;
  std::optional<LedgerPod> ledger;  // what the ledger is asked for it, made when it is needed
};

class NodeJudge {
 public:
  // All of it outlives the judge.
  NodeJudge(const sdk::Host& host, const DeviceStore& store, const Allocator& allocator,
            const Scorer& scorer, const NumaPart& numa, const SharingRules& sharing);

  // Loop only.
  [[nodiscard]] QuickPlan plan(const PodDemand& demand) { return quick_check_.prepare(demand); }

  [[nodiscard]] sdk::Status judge(const PodAttempt& attempt, uint32_t slot, AskedPod& asked) const;
  // The same, where that is the same for all nodes in the state of this one.
  [[nodiscard]] std::optional<sdk::Status> judge_state(const PodAttempt& attempt,
                                                       uint32_t slot) const;

  [[nodiscard]] int64_t score(const PodAttempt& attempt, uint32_t slot) const;
  [[nodiscard]] std::optional<int64_t> score_state(const PodAttempt& attempt, uint32_t slot) const;

  [[nodiscard]] sdk::Status status_of(const Verdict& verdict) const;

  // What it rests on, for people: a line for each fact.
  [[nodiscard]] std::string explain(const PodAttempt& attempt, sdk::Pod pod, sdk::Node node) const;

  // Thousands of nodes are read one after the other, none of which is in a cache: what is read of
  // them is asked for some nodes ahead.
  void look_ahead(const PodAttempt& attempt, sdk::Nodes nodes, size_t i) const;

  // Calls `use` with the node as the attempt has it: as it is, or changed by a what-if. Null: the
  // accounts know nothing of it.
  template <typename Use>
  void with_node(const PodAttempt& attempt, uint32_t slot, const Use& use) const {
    const NodeState* real = store_.accounts().at_slot(slot);
    const DeviceChanges::Changes* changes = attempt.changes.on(slot);
    if (real == nullptr || changes == nullptr) return use(real);
    const NodeState changed =
        changed_node(store_.accounts(), allocator_, store_.facts(slot).labels(), *real, *changes);
    use(&changed);
  }

 private:
  [[nodiscard]] sdk::Status by_labels(const PodAttempt& attempt, uint32_t slot) const;
  [[nodiscard]] Verdict verdict_on(const NodeState& node, const PodAttempt& attempt, uint32_t slot,
                                   AskedPod& asked) const;

  const DeviceStore& store_;
  const Allocator& allocator_;
  const Scorer& scorer_;
  const NumaPart& numa_;
  const SharingRules& sharing_;
  QuickCheck quick_check_;
  std::array<std::array<uint32_t, kMaxTypes>, kReasonCount> reasons_{};
};

}  // namespace plimsoll::devices
