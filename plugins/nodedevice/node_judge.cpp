#include "plugins/nodedevice/node_judge.hpp"

#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"

namespace plimsoll::devices {

using sdk::Status;

NodeJudge::NodeJudge(const sdk::Host& host, const DeviceStore& store, const Allocator& allocator,
                     const Scorer& scorer, const NumaPart& numa, const SharingRules& sharing)
    : store_(store),
      allocator_(allocator),
      scorer_(scorer),
      numa_(numa),
      sharing_(sharing),
      quick_check_(store.accounts().types(), allocator, store.accounts().shapes()) {
  const DeviceTypes& types = store.accounts().types();
  for (int reason = 1; reason < kReasonCount; ++reason)
    for (int type = 0; type < types.count(); ++type)
      reasons_[static_cast<size_t>(reason)][static_cast<size_t>(type)] =
          host.reason(reason_text(types, static_cast<Reason>(reason), type));
}

Status NodeJudge::status_of(const Verdict& verdict) const {
  if (verdict.fits()) return {};
  const uint32_t reason =
      reasons_[static_cast<size_t>(verdict.reason)][static_cast<size_t>(verdict.type)];
  return verdict.unresolvable ? Status::unresolvable(reason) : Status::unschedulable(reason);
}

// What can be said without a look at devices.
Status NodeJudge::by_labels(const PodAttempt& attempt, uint32_t slot) const {
  if (attempt.shares_gpu)
    if (const Status status = sharing_.judge(attempt.isolation_provider, slot); !status.ok())
      return status;
  const bool by_minor = !attempt.demand->request.empty();
  if (const uint32_t reason = by_minor ? numa_.mismatch(*attempt.demand, slot) : 0; reason != 0)
    return Status::unresolvable(reason);
  return {};
}

Verdict NodeJudge::verdict_on(const NodeState& node, const PodAttempt& attempt, uint32_t slot,
                              AskedPod& asked) const {
  if (!numa_.may_refuse(*attempt.demand, slot)) {
    const NodeLabels labels = store_.facts(slot).labels();
    return attempt.plan != nullptr
               ? quick_check_.check(node, labels, *attempt.demand, *attempt.plan)
               : allocator_.check(node, labels, *attempt.demand);
  }
  if (!asked.ledger) asked.ledger = numa_.ask(asked.pod);
  Allocation unused;
  return numa_.allocate(node, slot, asked.pod, *attempt.demand, {&*asked.ledger, &attempt.numa},
                        unused);
}

Status NodeJudge::judge(const PodAttempt& attempt, uint32_t slot, AskedPod& asked) const {
  if (const Status status = by_labels(attempt, slot); !status.ok()) return status;
  Verdict verdict;
  with_node(attempt, slot, [&](const NodeState* node) {
    if (node != nullptr) verdict = verdict_on(*node, attempt, slot, asked);
  });
  return status_of(verdict);
}

std::optional<Status> NodeJudge::judge_state(const PodAttempt& attempt, uint32_t slot) const {
  if (const Status status = by_labels(attempt, slot); !status.ok()) return status;
  const NodeState* node = store_.accounts().at_slot(slot);
  if (node == nullptr) return Status();
  if (numa_.may_refuse(*attempt.demand, slot)) return std::nullopt;
  const auto verdict =
      quick_check_.check_state(*node, store_.facts(slot).labels(), *attempt.demand, *attempt.plan);
  if (!verdict) return std::nullopt;
  return status_of(*verdict);
}

int64_t NodeJudge::score(const PodAttempt& attempt, uint32_t slot) const {
  int64_t score = 0;
  with_node(attempt, slot, [&](const NodeState* node) {
    if (node != nullptr) score = QuickCheck::score(scorer_, *node, *attempt.demand, *attempt.plan);
  });
  return score;
}

std::optional<int64_t> NodeJudge::score_state(const PodAttempt& attempt, uint32_t slot) const {
  const NodeState* node = store_.accounts().at_slot(slot);
  if (node == nullptr) return 0;
  return QuickCheck::score(scorer_, *node, *attempt.demand, *attempt.plan);
}

std::string NodeJudge::explain(const PodAttempt& attempt, sdk::Pod pod, sdk::Node node) const {
  const DeviceTypes& types = store_.accounts().types();
  const PodDemand& demand = *attempt.demand;
  std::string text;
  with_node(attempt, node.slot(), [&](const NodeState* state) {
    if (state == nullptr || state->unmanaged()) {
      text = "the node has no Device object: its devices are left to the kubelet\n";
      return;
    }
    const LedgerPod asked = numa_.ask(pod);
    const NumaPart::Question question{&asked, &attempt.numa};
    Allocation chosen;
    const Verdict verdict = numa_.allocate(*state, node.slot(), pod, demand, question, chosen);
    if (!verdict.fits()) text += reason_text(types, verdict.reason, verdict.type) + "\n";
    text += explain_devices(types, *state, demand);
    if (!demand.request.empty()) text += numa_.explain(*state, node.slot(), pod, demand, question);
    uint32_t wanted = 0;
    for (int type = 0; type < types.count(); ++type)
      if (demand.request.find(type) != nullptr || demand.elsewhere[static_cast<size_t>(type)] != 0)
        wanted |= 1U << type;
    text += explain_doubts(store_.accounts(), *state, wanted);
    text += explain_links(types, *state, chosen);
  });
  return text;
}

void NodeJudge::look_ahead(const PodAttempt& attempt, sdk::Nodes nodes, size_t i) const {
  constexpr size_t kStep = 4;
  if (i + 3 * kStep < nodes.size()) __builtin_prefetch((*nodes).rows[i + 3 * kStep]);
  if (attempt.plan == nullptr) return;
  const uint32_t types = attempt.plan->asked;
  const Accounts& accounts = store_.accounts();
  if (i + 2 * kStep < nodes.size()) accounts.prefetch(nodes[i + 2 * kStep].slot(), types);
  if (i + kStep < nodes.size()) accounts.prefetch_columns(nodes[i + kStep].slot(), types);
}

}  // namespace plimsoll::devices
