#include "plugins/nodedevice/allocation/allocator.hpp"

#include <algorithm>
#include <optional>

#include "plugins/nodedevice/allocation/attempt.hpp"
#include "plugins/nodedevice/allocation/link_choice.hpp"

namespace plimsoll::devices {

Verdict Attempt::apply_hint(Want& want) const {
  const TypeState& state = node_.type(want.type);
  if (want.hint == nullptr) return {};
  const auto strategy = want.hint->strategy_for(types_.type(want.type), want.count);
  if (strategy == TypeHint::Strategy::kApplyForAll) {
    want.count = static_cast<int64_t>(selected(want).size());
    if (want.count == 0) return refuse(Reason::kInsufficientDevices, want.type, true);
  } else if (strategy == TypeHint::Strategy::kRequestsAsCount) {
    want.hint->count_requests(want.count, want.per_device);
  }
  if (want.needs_vf() &&
      std::none_of(state.devices.begin(), state.devices.end(), [](const DeviceState& device) {
        return device.info != nullptr && !device.info->vfs.empty();
      }))
    return refuse(Reason::kInsufficientVfs, want.type, true);
  return {};
}

Verdict Attempt::collect_wants(Wants& wants) const {
  for (const TypeRequest& request : demand_.request.types) {
    if (!node_.has_devices(request.type))
      return refuse(Reason::kInsufficientDevices, request.type, true);
    Want want = want_of(request, demand_.hints);
    if (Verdict verdict = apply_hint(want); !verdict.fits()) return verdict;
    if (request.parts.empty()) wants.push_back(want);
  }
  return {};
}

Positions Attempt::candidates(const Want& want) const {
  const TypeState& state = node_.type(want.type);
  Positions found;
  for (size_t i = 0; i < state.devices.size(); ++i) {
    const DeviceState& device = state.devices[i];
    if (!fits(types_.type(want.type), want, device) || !allowed(state, want, device)) continue;
    if (!zones_.allows(want.type, device.numa)) continue;
    if (want.needs_vf() && free_vf(want, device) == nullptr) continue;
    found.push_back(static_cast<int>(i));
  }
  return found;
}

Positions Attempt::selected(const Want& want) const {
  const TypeState& state = node_.type(want.type);
  Positions all;
  for (size_t i = 0; i < state.devices.size(); ++i) {
    const DeviceState& device = state.devices[i];
    const bool selects = want.hint != nullptr && want.hint->selector.has_value();
    if (device.present && (!selects || want.hint->selector->matches(device.info->labels)))
      all.push_back(static_cast<int>(i));
  }
  return all;
}

Positions Attempt::by_score(const Want& want, Positions positions) const {
  if (scorer_ == nullptr) return positions;
  std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
    const auto score = [&](int position) {
      const DeviceState& device = node_.type(want.type).at(position);
      return scorer_->score_device(want.type, want.per_device, device.total, device.free);
    };
    return score(a) > score(b);
  });
  return positions;
}

bool Attempt::choose_linked(const Want& want, const Positions& found, Positions& chosen,
                            const std::function<bool(const Positions&)>& accepts) const {
  const TypeState& state = node_.type(want.type);
  const TypeLinks* links = node_.links(want.type);
  const DeviceType& type = types_.type(want.type);
  if (!links_decide(type, state, links, want, found)) return false;
  const bool by_place = type.is_topology_aware && state.has_tree;
  const Positions order = by_place ? Positions() : by_score(want, found);
  chosen = choose_by_links(state, *links, want, found, order, accepts);
  return true;
}

Verdict Attempt::choose_in_order(const Want& want, const Positions& found,
                                 const Positions& preferred, int64_t at_most, Turns turns,
                                 Positions& chosen) const {
  if (static_cast<int64_t>(found.size()) < want.count)
    return refuse(Reason::kInsufficientDevices, want.type);
  const TypeState& state = node_.type(want.type);
  const bool of_found = preferred.empty() || turns == Turns::kOfFound;
  const Positions order = by_score(want, of_found ? found : selected(want));
  // One device of each preferred PCIe id, then a second of each, and so on; then the others.
  std::vector<std::pair<int, int>> keyed;  // round, position
  std::vector<int> rounds(preferred.size(), 0);
  for (int position : order) {
    const auto it = std::find(preferred.begin(), preferred.end(), state.at(position).pcie);
    const int round = it == preferred.end() ? static_cast<int>(state.devices.size())
                                            : rounds[static_cast<size_t>(it - preferred.begin())]++;
    if (std::binary_search(found.begin(), found.end(), position))
      keyed.emplace_back(round, position);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  chosen.clear();
  for (const auto& [round, position] : keyed)
    if (static_cast<int64_t>(chosen.size()) < at_most) chosen.push_back(position);
  std::sort(chosen.begin(), chosen.end());
  return {};
}

Verdict Attempt::choose_gpus(const Want& want, const Positions& found, Positions& chosen,
                             bool& decided) const {
  decided = true;
  if (!want.is_shared && types_.type(want.type).has_partitions) {
    const PartitionRules rules = partition_rules(node_, labels_, demand_.hints);
    if (rules.table != nullptr || rules.enforced) {
      const Verdict verdict = choose_partition(node_, want, rules, demand_.hints, found, chosen);
      if (verdict.fits() || rules.enforced) return verdict;
    }
  }
  const TypeState& state = node_.type(want.type);
  const bool needs_tree = want.scope() != Scope::kUnset;
  if (!state.has_tree) {
    if (needs_tree) return refuse(Reason::kMissingTree, want.type, true);
    decided = false;
    return {};
  }
  if (want.is_shared && want.count > 1) {
    if (needs_tree) return refuse(Reason::kUnsupportedMultiShared, want.type, true);
    decided = false;
    return {};
  }
  if (!choose_linked(want, found, chosen)) chosen = choose_by_topology(state, want, found, scorer_);
  if (!chosen.empty()) return {};
  return refuse(needs_tree ? Reason::kInsufficientScoped : Reason::kInsufficientGpu, want.type);
}

Verdict Attempt::choose(const Want& want, const Positions& all, Positions& chosen) const {
  const bool has_say = choice_ != nullptr && want.is_shared && want.count == 1 && !all.empty() &&
                       !demand_.hints.joint;
  const Positions found = has_say ? choice_->best(node_, want, all) : all;
  if (types_.type(want.type).is_topology_aware) {
    bool decided = false;
    const Verdict verdict = choose_gpus(want, found, chosen, decided);
    if (decided) return verdict;
  }
  if (choose_linked(want, found, chosen) && !chosen.empty()) return {};
  return choose_in_order(want, found, {}, want.count, Turns::kOfFound, chosen);
}

void Attempt::record(const Want& want, const Positions& chosen, Allocation& allocation) const {
  for (int position : chosen) {
    const DeviceState& device = node_.type(want.type).at(position);
    DeviceShare share;
    share.type = want.type;
    share.minor = device.minor;
    share.amounts = due_amounts(types_.type(want.type), want.per_device, device);
    share.follows = share.amounts.present & ~want.per_device.present;
    if (const VirtualFunction* vf = free_vf(want, device)) share.vfs.push_back(*vf);
    allocation.push_back(std::move(share));
  }
}

Positions Attempt::pcie_ids(int type, const Positions& chosen) const {
  Positions ids;
  for (int position : chosen) {
    const int id = node_.type(type).at(position).pcie;
    if (id >= 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Verdict Attempt::run(Allocation& allocation) {
  allocation.clear();
  Wants wants;
  if (Verdict verdict = collect_wants(wants); !verdict.fits()) return verdict;
  Verdict verdict;
  if (demand_.hints.joint) {
    const auto& listed = demand_.hints.joint->types;
    const auto asked = std::count_if(wants.begin(), wants.end(), [&](const Want& want) {
      return std::find(listed.begin(), listed.end(), want.type) != listed.end();
    });
    if (asked > 1) verdict = choose_jointly(wants, allocation);
  }
  Positions chosen;
  for (const Want& want : wants) {
    if (!verdict.fits()) break;
    verdict = choose(want, candidates(want), chosen);
    if (verdict.fits()) record(want, chosen, allocation);
  }
  for (const TypeRequest& request : demand_.request.types)
    if (verdict.fits() && !request.parts.empty())
      verdict = choose_by_container(request, allocation);
  if (!verdict.fits()) {
    allocation.clear();
    return verdict;
  }
  std::sort(allocation.begin(), allocation.end(), [](const DeviceShare& a, const DeviceShare& b) {
    return std::tie(a.type, a.minor) < std::tie(b.type, b.minor);
  });
  return {};
}

namespace {

// What can be said without choosing devices.
std::optional<Verdict> settle(const NodeState& node, const PodDemand& demand) {
  if (node.unmanaged()) return Verdict{};
  for (int type = 0; type < kMaxTypes; ++type) {
    const int64_t elsewhere = demand.elsewhere[static_cast<size_t>(type)];
    if (elsewhere != 0 && !room_elsewhere(node.type(type)).takes(elsewhere))
      return refuse(Reason::kInsufficientDevices, type);
  }
  if (demand.request.empty()) return Verdict{};
  if (node.malformed) return refuse(Reason::kMalformedDevice, demand.request.types[0].type, true);
  if (node.gone) return refuse(Reason::kDeviceGone, demand.request.types[0].type, true);
  return std::nullopt;
}

}  // namespace

ElsewhereRoom room_elsewhere(const TypeState& state) {
  ElsewhereRoom room;
  for (const DeviceState& device : state.devices) {
    const bool by_minor = !device.used.is_zero() || !device.vfs_in_use.empty();
    room.given += by_minor ? 1 : 0;
    room.left += !by_minor && device.healthy && device.whole_users == 0 ? 1 : 0;
  }
  room.left = std::max<int64_t>(room.left - state.unknown_whole, 0);
  room.known = state.blocked == 0;
  return room;
}

std::string reason_text(const DeviceTypes& types, Reason reason, int type) {
  const std::string& name = types.type(type).name;
  const std::string title = name == "gpu" ? "GPU" : name;  // as Koordinator's texts have it
  switch (reason) {
    case Reason::kNone:
      return {};
    case Reason::kInsufficientDevices:
      return "Insufficient " + name + " devices";
    case Reason::kInsufficientVfs:
      return "Insufficient " + name + " VirtualFunctions";
    case Reason::kInsufficientGpu:
      return "Insufficient " + title + " Devices";
    case Reason::kInsufficientPartitioned:
      return "Insufficient Partitioned " + title + " Devices";
    case Reason::kInsufficientScoped:
      return "Insufficient Topology Scoped " + title + " Devices";
    case Reason::kMissingPartitionTable:
      return "node(s) missing " + title + " Partition Table";
    case Reason::kUnsupportedCount:
      return "node(s) Unsupported number of " + title + " requests";
    case Reason::kMissingTree:
      return "node(s) missing " + title + " Device Topology Tree";
    case Reason::kUnsupportedMultiShared:
      return "node(s) Unsupported Multi-Shared " + title;
    case Reason::kJointViolation:
      return "node(s) Device Joint-Allocate rules violation";
    case Reason::kNoPrimary:
      return "node(s) Insufficient primary device";
    case Reason::kMalformedDevice:
      return "node(s) had a Device object that cannot be read";
    case Reason::kDeviceGone:
      return "node(s) had a Device object that was deleted";
    case Reason::kNumaScoped:
      return "Insufficient NUMA Scoped Devices";
    case Reason::kNumaUnaligned:
      return "Unaligned NUMA Hint cause no " + name + " devices in the NUMA nodes of the pod";
    case Reason::kNumaSpread:
      return "Unaligned NUMA Hint cause the kubelet spreads the pod over NUMA nodes";
    case Reason::kNumaExclusive:
      return "Unaligned NUMA Hint cause singleNUMANodeExclusive";
  }
  return {};
}

Verdict Allocator::check(const NodeState& node, const NodeLabels& labels,
                         const PodDemand& demand) const {
  if (const auto settled = settle(node, demand)) return *settled;
  const bool enforced = partition_rules(node, labels, demand.hints).enforced;
  if (enforced || !demand.hints.empty() || demand.request.by_container()) {
    Allocation ignored;
    return Attempt(types_, scorer_, node, labels, demand).run(ignored);
  }
  for (const TypeRequest& request : demand.request.types)
    if (!node.has_devices(request.type))
      return refuse(Reason::kInsufficientDevices, request.type, true);
  for (const TypeRequest& request : demand.request.types) {
    const DeviceType& type = types_.type(request.type);
    const TypeState& state = node.type(request.type);
    const Want want = want_of(request, demand.hints);
    int64_t missing = want.count;
    for (const DeviceState& device : state.devices) {
      if (missing <= 0) break;
      missing -= fits(type, want, device) ? 1 : 0;
    }
    if (missing > 0) return too_few(type, state, want);
  }
  return {};
}

Verdict Allocator::allocate(const NodeState& node, const NodeLabels& labels,
                            const PodDemand& demand, Allocation& allocation,
                            SharedDeviceChoice* choice, const ZoneLimit& zones) const {
  allocation.clear();
  if (const auto settled = settle(node, demand)) return *settled;
  return Attempt(types_, scorer_, node, labels, demand, choice, zones).run(allocation);
}

}  // namespace plimsoll::devices
