#include "plugins/nodedevice/zones/numa_part.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/pod/signature.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Node;
using sdk::Pod;

// The policy of the pod, or else of the node.
NumaSpec effective(const NumaSpec& spec, NumaPolicy of_node) {
  NumaSpec effective = spec;
  if (effective.policy == NumaPolicy::kNone) effective.policy = of_node;
  return effective;
}

}  // namespace

NumaPart::NumaPart(sdk::Host host, const DeviceStore& store, const Allocator& allocator,
                   bool disabled)
    : host_(host),
      store_(store),
      allocator_(allocator),
      disabled_(disabled),
      mismatch_(host.reason("node(s) NUMA Topology policy not match")),
      forecast_(host, [this] { host_.requeue_rejected(); }) {}

Result<NumaSpec> NumaPart::spec_of(Pod pod) const {
  if (disabled_) return NumaSpec{};
  return parse_numa_spec(pod.annotation(kNumaAnnotation).value_or(""));
}

bool NumaPart::has_devices(uint32_t slot) const {
  return !disabled_ && store_.accounts().at_slot(slot) != nullptr;
}

// Zones also decide which devices members get whom they do not refuse.
bool NumaPart::matters(const NumaAttempt& attempt, const PodDemand& demand, uint32_t slot) const {
  if (!has_devices(slot)) return false;
  return attempt.is_member || may_refuse(demand, slot) || demand.numa.policy != NumaPolicy::kNone;
}

std::shared_ptr<const LedgerPod> NumaPart::coming(const NumaAttempt& attempt, Pod added,
                                                  uint32_t slot, bool is_member,
                                                  const Allocation& devices) const {
  if (!has_devices(slot)) return nullptr;
  LedgerPod comes = forecast_.ask(added);
  if (is_member) {
    const DeviceTypes& types = store_.accounts().types();
    comes.zones = forecast_.zones(slot, added, comes, types, attempt.changes.on(slot)).all;
    if (!devices.empty())
      comes.of_devices = zones_of(*store_.accounts().at_slot(slot), devices) | comes.zones;
  }
  return std::make_shared<const LedgerPod>(std::move(comes));
}

void NumaPart::add_pod(NumaAttempt& attempt, const PodDemand& demand, Pod added, Node node,
                       bool is_member,
                       const std::function<std::shared_ptr<const LedgerPod>()>& comes) const {
  if (matters(attempt, demand, node.slot()))
    attempt.changes.add(node.slot(), *added, is_member, comes);
}

void NumaPart::remove_pod(NumaAttempt& attempt, const PodDemand& demand, Pod removed,
                          Node node) const {
  if (matters(attempt, demand, node.slot())) attempt.changes.remove(node.slot(), *removed);
}

bool NumaPart::may_refuse(const PodDemand& demand, uint32_t slot) const {
  return !disabled_ &&
         zones_may_refuse(effective(demand.numa, store_.facts(slot).numa_policy), demand);
}

bool NumaPart::may_matter(Pod pod, uint32_t slot) const {
  return !disabled_ && (pod.annotation(kNumaAnnotation) || pod.annotation(kHintAnnotation) ||
                        store_.facts(slot).numa_policy != NumaPolicy::kNone);
}

uint32_t NumaPart::mismatch(const PodDemand& demand, uint32_t slot) const {
  const NumaPolicy of_node = store_.facts(slot).numa_policy;
  const bool same = demand.numa.policy == NumaPolicy::kNone || of_node == NumaPolicy::kNone ||
                    demand.numa.policy == of_node;
  return disabled_ || same ? 0 : mismatch_;
}

NumaTerms NumaPart::terms(const NodeState& node, uint32_t slot, Pod pod, const PodDemand& demand,
                          const Question& question) const {
  static const LedgerChanges::Changes kNone;
  NumaTerms terms;
  terms.spec = effective(demand.numa, store_.facts(slot).numa_policy);
  const LedgerChanges::Changes* changes =
      question.attempt == nullptr ? nullptr : question.attempt->changes.on(slot);
  terms.pod =
      forecast_.zones(slot, pod, question.asked != nullptr ? *question.asked : forecast_.ask(pod),
                      store_.accounts().types(), changes);
  if (terms.spec.policy == NumaPolicy::kNone) return terms;
  terms.others = forecast_.others(slot, pod, changes);
  const auto occupy = [&terms](ZoneSet zones) {
    (std::has_single_bit(zones) ? terms.others.by_single : terms.others.by_spread) |= zones;
  };
  for (const LedgerChanges::Change& change : changes == nullptr ? kNone : *changes) {
    if (change.net <= 0 || change.demand == nullptr) continue;
    occupy(change.demand->zones);
    occupy(change.demand->of_devices);
  }
  // Pods with devices, of which the ledger may know nothing or only a part.
  store_.accounts().for_each_pod(slot, [&](std::string_view uid, const Allocation& shares) {
    const auto goes = [&](const LedgerChanges::Change& change) {
      return change.net < 0 && change.uid == uid;
    };
    const bool counts = uid != pod.uid() && (changes == nullptr ||
                                             std::none_of(changes->begin(), changes->end(), goes));
    if (!counts) return;
    occupy(zones_of(node, shares) | forecast_.zones_on_record(uid));
  });
  return terms;
}

Verdict NumaPart::allocate(const NodeState& node, uint32_t slot, Pod pod, const PodDemand& demand,
                           const Question& question, Allocation& allocation,
                           SharedDeviceChoice* choice) const {
  const NodeLabels labels = store_.facts(slot).labels();
  if (disabled_) return allocator_.allocate(node, labels, demand, allocation, choice);
  const NumaTerms on = terms(node, slot, pod, demand, question);
  const Verdict verdict =
      allocate_in_zones(allocator_, node, labels, demand, on, allocation, choice);
  const bool is_member = question.attempt != nullptr && question.attempt->is_member;
  if (!verdict.fits() || !is_member || !on.pod.is_doubtful || !zones_may_refuse(on.spec, demand))
    return verdict;
  // Nobody is evicted in vain.
  allocation = {};
  return refuse(Reason::kNumaUnaligned, demand.request.types.front().type);
}

std::string NumaPart::explain(const NodeState& node, uint32_t slot, Pod pod,
                              const PodDemand& demand, const Question& question) const {
  if (disabled_) return {};
  const NumaTerms rests_on = terms(node, slot, pod, demand, question);
  if (rests_on.spec.policy == NumaPolicy::kNone && rests_on.pod.all == 0) return {};
  return explain_zones(node, demand, rests_on);
}

void NumaPart::sign(Pod pod, sdk::Sink& sink) const {
  if (!disabled_) topology::sign_requests(*pod, sink);
}

}  // namespace plimsoll::devices
