#include "plugins/nodedevice/allocation/quick_check.hpp"

#include <algorithm>
#include <bit>

namespace plimsoll::devices {
namespace {

using Key = VerdictMemo::Key;

// Above this a pod is left to the allocator.
constexpr int64_t kMostAsked = 255;
// Selectors are looked at ahead for this many shapes.
constexpr uint32_t kMostShapes = 32;
// With more PCIe ids the allocator does not try every place: then scores decide what it finds.
constexpr int kMostPcieIds = 16;
constexpr size_t kMostKinds = 4096;

uint64_t matching(const Selector& selector, const std::vector<DeviceInfo>& devices) {
  uint64_t bits = 0;
  for (size_t i = 0; i < std::min(devices.size(), kMaxSummarised); ++i)
    if (selector.matches(devices[i].labels)) bits |= uint64_t{1} << i;
  return bits;
}

// Those of `bits` that `wanted` takes.
template <typename Wanted>
uint64_t those_of(uint64_t bits, const TypeState& state, const Wanted& wanted) {
  uint64_t taken = 0;
  for (uint64_t left = bits; left != 0; left &= left - 1) {
    const int position = std::countr_zero(left);
    if (wanted(state.at(position))) taken |= uint64_t{1} << position;
  }
  return taken;
}

// The devices that have what is asked of each, all having the same total. As fits() says: percent
// that follow from bytes are what is due or what is left, so they never fall short.
uint64_t those_with_enough(const DeviceType& type, const Amounts& per_device,
                           const TypeSummary& summary) {
  if (summary.total.is_zero()) return 0;
  const Amounts due = amounts_on_device(type, per_device, summary.total);
  if ((due.present & ~summary.total.present) != 0) return 0;
  uint64_t enough = summary.available;
  for (size_t dim = 0; dim < type.dims.size(); ++dim) {
    const int index = static_cast<int>(dim);
    if (!due.has(index) || (index == type.ratio_dim && !per_device.has(index))) continue;
    const int64_t* free = summary.free_of(dim);
    uint64_t here = 0;
    for (uint32_t i = 0; i < summary.count; ++i) here |= uint64_t{free[i] >= due.value[dim]} << i;
    enough &= here;
  }
  return enough;
}

int pcie_ids(const NodeState& node) {
  int most = 0;
  for (int type = 0; type < kMaxTypes; ++type)
    for (const DeviceState& device : node.type(type).devices)
      most = std::max(most, device.pcie + 1);
  return most;
}

// The types that joint-allocate brings together, in the order in which they are chosen.
void find_joint(const PodDemand& demand, QuickPlan& plan) {
  const auto& joint = demand.hints.joint;
  if (!joint || !joint->same_pcie) return;
  const auto listed = std::count_if(plan.types.begin(), plan.types.end(), [&](const auto& type) {
    return std::find(joint->types.begin(), joint->types.end(), type.want.type) !=
           joint->types.end();
  });
  if (listed < 2) return;
  int followers = 0;
  for (const int type : joint->types) {
    for (size_t i = 0; i < plan.types.size(); ++i) {
      const TypeHint* hint = plan.types[i].want.hint;
      if (plan.types[i].want.type != type || (hint != nullptr && hint->is_for_all())) continue;
      (plan.joint_primary < 0 ? plan.joint_primary : plan.joint_follower) = static_cast<int>(i);
      ++followers;
    }
  }
  if (followers != 2) plan.joint_follower = -1;
}

}  // namespace

QuickPlan QuickCheck::prepare(const PodDemand& demand) {
  QuickPlan plan;
  plan.by_count = demand.hints.empty() && !uses_any(demand.elsewhere);
  plan.by_container = demand.request.by_container();
  bool small = !plan.by_container && demand.request.types.size() <= VerdictMemo::kMaxTypesAsked;
  for (const TypeRequest& request : demand.request.types) {
    QuickPlan::Type type;
    type.want = want_of(request, demand.hints);
    if (const TypeHint* hint = type.want.hint) {
      const auto strategy = hint->strategy_for(types_.type(request.type), request.count);
      type.for_all = strategy == TypeHint::Strategy::kApplyForAll;
      if (strategy == TypeHint::Strategy::kRequestsAsCount)
        hint->count_requests(type.want.count, type.want.per_device);
      type.selects = hint->selector.has_value();
      plan.selects = plan.selects || type.selects;
      type.looks_closer = type.want.needs_vf() || hint->exclusive == TypeHint::Exclusive::kPcie;
      if (type.selects && shapes_.count() <= kMostShapes) {
        type.selected.push_back(0);
        for (uint32_t shape = 1; shape <= shapes_.count(); ++shape)
          type.selected.push_back(
              matching(*hint->selector, shapes_.at(shape).devices(request.type)));
      }
    }
    small = small && type.want.count <= kMostAsked;
    plan.asked |= 1U << request.type;
    plan.types.push_back(std::move(type));
  }
  find_joint(demand, plan);
  if (small) plan.kind = kind_of(demand, plan);
  return plan;
}

uint32_t QuickCheck::kind_of(const PodDemand& demand, const QuickPlan& plan) {
  std::vector<int64_t> kind;
  for (const QuickPlan::Type& type : plan.types) {
    const TypeHint* hint = type.want.hint;
    kind.push_back(type.want.type);
    if (hint == nullptr) continue;
    kind.push_back(-1 - static_cast<int64_t>(hint->required_scope));
    kind.push_back(static_cast<int64_t>(hint->strategy));
    kind.push_back(hint->vf_selector ? 1 : 0);
  }
  if (const auto& joint = demand.hints.joint) {
    kind.push_back(joint->same_pcie ? -100 : -101);
    for (const int type : joint->types) kind.push_back(type);
  }
  if (const auto& spec = demand.hints.partition) {
    kind.push_back(spec->restricted ? -102 : -103);
    kind.push_back(spec->ring_bandwidth);
  }
  const auto known = kinds_.find(kind);
  if (known != kinds_.end()) return known->second;
  if (kinds_.size() >= kMostKinds) kinds_.clear();  // a number is never given twice
  if (last_kind_ == kLastKind) return 0;
  return kinds_.emplace(std::move(kind), ++last_kind_).first->second;
}

std::optional<uint64_t> QuickCheck::selected(const NodeState& node, const QuickPlan::Type& type) {
  if (!type.selects || node.shape == 0 || node.shape >= type.selected.size() ||
      !node.type(type.want.type).summary.complete)
    return std::nullopt;
  return type.selected[node.shape];
}

int64_t QuickCheck::score(const Scorer& scorer, const NodeState& node, const PodDemand& demand,
                          const QuickPlan& plan) {
  if (!plan.selects) return scorer.score_node(node, demand.request, demand.hints);
  int64_t score = 0;
  for (const QuickPlan::Type& type : plan.types) {
    const TypeSummary& summary = node.type(type.want.type).summary;
    const TypeRequest& asked = *demand.request.find(type.want.type);
    if (!type.selects) {
      score +=
          scorer.score_device(asked.type, asked.per_device, summary.total_sum, summary.free_sum);
      continue;
    }
    const auto chosen = selected(node, type);
    if (!chosen || !summary.valid || !summary.uniform)
      return scorer.score_node(node, demand.request, demand.hints);
    const uint64_t counted = *chosen & summary.healthy;
    Amounts total;
    Amounts free;
    total.present = free.present = counted == 0 ? 0 : summary.total.present;
    for (size_t dim = 0; dim < total.value.size(); ++dim) {
      if (!total.has(static_cast<int>(dim))) continue;
      total.value[dim] = std::popcount(counted) * summary.total.value[dim];
      for (uint64_t left = counted; left != 0; left &= left - 1)
        free.value[dim] += summary.free_of(dim)[std::countr_zero(left)];
    }
    score += scorer.score_device(asked.type, asked.per_device, total, free);
  }
  return score;
}

std::optional<uint64_t> QuickCheck::candidates(const NodeState& node,
                                               const QuickPlan::Type& type) const {
  const Want& want = type.want;
  const TypeState& state = node.type(want.type);
  const TypeSummary& summary = state.summary;
  if (!summary.valid) return std::nullopt;
  if (summary.available == 0) return 0;
  const DeviceType& kind = types_.type(want.type);
  uint64_t found = summary.uniform ? those_with_enough(kind, want.per_device, summary)
                                   : those_of(summary.available, state, [&](const auto& device) {
                                       return fits(kind, want, device);
                                     });
  const auto chosen = selected(node, type);
  if (chosen) found &= *chosen;
  if (type.looks_closer || (type.selects && !chosen))
    found = those_of(found, state, [&](const DeviceState& device) {
      return allowed(state, want, device) && (!want.needs_vf() || free_vf(want, device) != nullptr);
    });
  return found;
}

std::optional<Verdict> QuickCheck::by_count(const NodeState& node, const QuickPlan& plan) const {
  for (const QuickPlan::Type& type : plan.types)
    if (!node.type(type.want.type).summary.reported)
      return refuse(Reason::kInsufficientDevices, type.want.type, true);
  for (const QuickPlan::Type& type : plan.types) {
    const auto found = candidates(node, type);
    if (!found) return std::nullopt;
    if (std::popcount(*found) < type.want.count)
      return too_few(types_.type(type.want.type), node.type(type.want.type), type.want);
  }
  return Verdict{};
}

std::optional<Key> QuickCheck::key_of(const NodeState& node, const PartitionRules& rules,
                                      const QuickPlan& plan) const {
  if (plan.kind == 0 || node.shape == 0) return std::nullopt;
  const bool own_table = rules.table != nullptr && node.object->has_partitions;
  Key key{};
  key[0] = uint64_t{plan.kind} << 32 | uint64_t{node.shape} << 8 |
           uint64_t{rules.table == nullptr ? 0U
                    : own_table            ? 1U
                                           : 2U}
               << 1 |
           uint64_t{rules.enforced};
  for (size_t i = 0; i < plan.types.size(); ++i) {
    const QuickPlan::Type& type = plan.types[i];
    const TypeSummary& summary = node.type(type.want.type).summary;
    if (!summary.complete) return std::nullopt;
    const auto found = candidates(node, type);
    if (!found) return std::nullopt;
    const auto chosen = selected(node, type);
    if (type.for_all && type.selects && !chosen) return std::nullopt;
    const int64_t count = !type.for_all  ? type.want.count
                          : type.selects ? std::popcount(*chosen)
                                         : summary.count;
    const bool by_partition = types_.type(type.want.type).has_partitions && !type.want.is_shared &&
                              (rules.table != nullptr || rules.enforced);
    key[1 + 3 * i] = static_cast<uint64_t>(type.want.type + 1) |
                     uint64_t{type.want.is_shared} << 8 | static_cast<uint64_t>(count) << 16;
    key[2 + 3 * i] = *found;
    // A partition is given only if nobody uses any of it; otherwise it is all the same.
    key[3 + 3 * i] = by_partition ? *found & summary.in_use : 0;
  }
  return key;
}

// A refusal for want of followers at the same PCIe id may depend on where the primary went first,
// and that on scores and links, which the key does not have.
bool QuickCheck::holds_elsewhere(const NodeState& node, const QuickPlan& plan, const Key& key,
                                 const Verdict& verdict) {
  if (plan.joint_primary < 0) return true;
  if (pcie_ids(node) > kMostPcieIds) return false;
  const auto primary = static_cast<size_t>(plan.joint_primary);
  // Within one device no other place is tried than the first.
  if (plan.types[primary].want.scope() == Scope::kDevice) return false;
  if (verdict.fits()) return true;
  if (verdict.type == plan.types[primary].want.type) return true;
  if (plan.joint_follower < 0) return false;
  const auto follower = static_cast<size_t>(plan.joint_follower);
  if (verdict.type != plan.types[follower].want.type) return true;
  const int64_t found = std::popcount(key[2 + 3 * follower]);
  const int64_t count = plan.types[follower].want.count;
  return found < count || found >= std::max(count, plan.types[primary].want.count);
}

std::optional<Verdict> QuickCheck::check_state(const NodeState& node, const NodeLabels& labels,
                                               const PodDemand& demand,
                                               const QuickPlan& plan) const {
  if (!plan.by_count) return std::nullopt;
  if (node.object == nullptr) return allocator_.check(node, labels, demand);
  if (demand.request.empty() || partition_rules(node, labels, demand.hints).enforced)
    return std::nullopt;
  if (plan.by_container) return allocator_.check(node, labels, demand);
  return by_count(node, plan);
}

Verdict QuickCheck::check(const NodeState& node, const NodeLabels& labels, const PodDemand& demand,
                          const QuickPlan& plan) const {
  if (node.object == nullptr || demand.request.empty() || plan.by_container ||
      uses_any(demand.elsewhere))
    return allocator_.check(node, labels, demand);
  const PartitionRules rules = partition_rules(node, labels, demand.hints);
  if (plan.by_count && !rules.enforced) {
    const auto verdict = by_count(node, plan);
    return verdict ? *verdict : allocator_.check(node, labels, demand);
  }
  const auto key = key_of(node, rules, plan);
  if (!key) return allocator_.check(node, labels, demand);
  if (const auto known = memo_.find(*key)) return *known;
  const Verdict verdict = allocator_.check(node, labels, demand);
  if (holds_elsewhere(node, plan, *key, verdict)) memo_.put(*key, verdict);
  return verdict;
}

}  // namespace plimsoll::devices
