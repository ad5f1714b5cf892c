#include "framework/placement/what_if.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

// Whether `pod` has to leave room for `nominated`.
bool yields_to(const plimsoll_pod& pod, const plimsoll_pod& nominated) {
  return nominated.priority >= pod.priority && !equal(nominated.meta.uid, pod.meta.uid);
}

bool yields_to_any(const plimsoll_pod& pod, const std::vector<PodRef>& nominated) {
  return std::any_of(nominated.begin(), nominated.end(),
                     [&](const PodRef& other) { return yields_to(pod, *other); });
}

// Those that `pod` yields to.
std::vector<PodRef> ahead_of(const plimsoll_pod& pod, const std::vector<PodRef>& nominated) {
  std::vector<PodRef> ahead;
  std::copy_if(nominated.begin(), nominated.end(), std::back_inserter(ahead),
               [&](const PodRef& other) { return yields_to(pod, *other); });
  return ahead;
}

// The verdict with these nominated pods, of all filters but some.
Status filter_beside(Framework& framework, const CycleContext& cycle, const plimsoll_pod& pod,
                     const NodeInfo& node, const std::vector<PodRef>& ahead,
                     const PluginMask& without = {}) {
  NodeInfo with(node);
  const auto state = cycle.clone();
  state->skip_filter |= without;
  for (const PodRef& other : ahead) {
    with.add_pod(other);
    if (Status status = framework.run_add_pod(*state, pod, *other, *with.abi()); !status.ok()) {
      return status;
    }
  }
  return framework.run_filters_on(*state, pod, *with.abi());
}

// The first of the two, and without them.
Status filter_both(Framework& framework, const CycleContext& cycle, const plimsoll_pod& pod,
                   const NodeInfo& node, const std::vector<PodRef>& ahead) {
  if (!ahead.empty()) {
    Status status = filter_beside(framework, cycle, pod, node, ahead);
    if (!status.ok()) return status;
  }
  return framework.run_filters_on(cycle, pod, *node.abi());
}

class CycleWhatIf final : public WhatIf {
 public:
  CycleWhatIf(Framework& framework, const CycleContext& cycle, const plimsoll_pod& pod,
              const NodeInfo& node, const Nominator& nominator)
      : framework_(framework),
        pod_(pod),
        ahead_(ahead_of(pod, nominator.pods_of(node.name()))),
        node_(node),
        origin_(cycle),
        cycle_(cycle.clone()) {}

  Status add_pod(const plimsoll_pod& added) override {
    node_.add_pod(PodRef(PodRef(), &added));  // not owned: it outlives the what-if
    return framework_.run_add_pod(*cycle_, pod_, added, *node_.abi());
  }
  Status remove_pod(const plimsoll_pod& removed) override {
    // Most often it is the very object. Texts lie elsewhere in memory, and comparing them is slow.
    if (!node_.remove_pod(removed) && !node_.remove_pod(view(removed.meta.uid))) {
      return error_status("no corresponding pod " + std::string(view(removed.meta.name)) +
                          " in pods of node " + node_.name());
    }
    return framework_.run_remove_pod(*cycle_, pod_, removed, *node_.abi());
  }
  Status filter() override {
    Status status = filter_both(framework_, *cycle_, pod_, node_, ahead_);
    if (status.code == Code::kPending && status.plugin_index < kMaxPlugins)
      origin_.pending_in_what_ifs.set(status.plugin_index);
    return status;
  }
  [[nodiscard]] const plimsoll_node_info& node() const override { return *node_.abi(); }

 private:
  Framework& framework_;
  const plimsoll_pod& pod_;
  std::vector<PodRef> ahead_;  // nominated pods that it leaves room for
  NodeInfo node_;
  const CycleContext& origin_;
  std::unique_ptr<CycleContext> cycle_;
};

}  // namespace

Status filter_with_nominated(Framework& framework, const CycleContext& cycle,
                             const plimsoll_pod& pod, const NodeInfo& node,
                             const Nominator& nominator) {
  return filter_both(framework, cycle, pod, node, ahead_of(pod, nominator.pods_of(node.name())));
}

void ContestedNodes::find(const plimsoll_pod& pod, const ClusterState& cluster,
                          const Nominator& nominator) {
  for (const uint32_t slot : slots_) by_slot_[slot] = nullptr;
  slots_.clear();
  const std::string_view own = nominator.node_of(view(pod.meta.uid));
  for (const NominatedNode& nominated : nominator.by_node()) {
    if (nominated.highest_priority < pod.priority) continue;
    if (nominated.name == own && !yields_to_any(pod, nominated.pods)) continue;
    if (nominated.node_set != cluster.node_set()) {
      nominated.node = cluster.node(nominated.name);
      nominated.slot = nominated.node == nullptr ? 0 : nominated.node->slot();
      nominated.node_set = cluster.node_set();
    }
    if (nominated.node == nullptr) continue;
    if (by_slot_.size() <= nominated.slot) by_slot_.resize(cluster.slot_count());
    by_slot_[nominated.slot] = nominated.node;
    slots_.push_back(nominated.slot);
  }
}

Status filter_contested(Framework& framework, const CycleContext& cycle, const plimsoll_pod& pod,
                        NodeRows rows, FilterColumns out, const ContestedNodes& contested,
                        const Nominator& nominator, const KeptContested* kept) {
  if (contested.empty()) return {};
  if (kept != nullptr) kept->verdicts.begin(pod.priority, cycle.skip_filter | kept->fresh);
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeInfo* node = contested.at(rows.slot(i));
    if (node == nullptr || out.codes[i] != PLIMSOLL_SUCCESS) continue;
    const ContestedVerdicts::Verdict* known =
        kept == nullptr ? nullptr : kept->verdicts.find(*node);
    ContestedVerdicts::Verdict verdict;
    const auto find_out = [&](const PluginMask& without) {
      const Status status = filter_beside(framework, cycle, pod, *node,
                                          ahead_of(pod, nominator.pods_of(node->name())), without);
      verdict.code = static_cast<uint8_t>(status.code);
      verdict.reason = status.reason;
      verdict.rejector = status.plugin_index;
      return status;
    };
    if (known != nullptr) {
      verdict = *known;
    } else if (kept != nullptr) {
      if (Status status = find_out(kept->fresh); status.is_error()) return status;
      kept->verdicts.keep(*node, verdict);
      kept->reasons.add(verdict.reason);
    }
    const bool is_final =
        kept != nullptr && (kept->fresh.none() || (verdict.code != PLIMSOLL_SUCCESS &&
                                                   kept->before.test(verdict.rejector)));
    if (!is_final) {
      if (Status status = find_out({}); status.is_error()) return status;
    }
    out.codes[i] = verdict.code;
    out.reasons[i] = verdict.reason;
    out.rejectors[i] = verdict.rejector;
  }
  return {};
}

Status run_filters_with_nominated(Framework& framework, const CycleContext& cycle,
                                  const plimsoll_pod& pod, NodeRows rows, FilterColumns out,
                                  const ClusterState& cluster, const Nominator& nominator) {
  ContestedNodes contested;
  contested.find(pod, cluster, nominator);
  Status status = filter_contested(framework, cycle, pod, rows, out, contested, nominator);
  if (!status.ok()) return status;
  return framework.run_filters(cycle, pod, rows, out);  // those that passed, now without them
}

std::unique_ptr<WhatIf> make_what_if(Framework& framework, const CycleContext& cycle,
                                     const plimsoll_pod& pod, const NodeInfo& node,
                                     const Nominator& nominator) {
  return std::make_unique<CycleWhatIf>(framework, cycle, pod, node, nominator);
}

}  // namespace plimsoll
