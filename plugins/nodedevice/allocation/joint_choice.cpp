// device-joint-allocate: several types of devices at the same PCIe ids, a GPU and its NIC.
//
// A type that is to be given in full (ApplyForAll) takes no part: it has no place to choose.
//
// The first choice is Koordinator's: the primary type is chosen as if it were alone, the others go
// where it is. If the pod requires the same PCIe ids (SamePCIe) and the others cannot follow, other
// places are tried: the pod is refused only if there is none.

#include <algorithm>
#include <map>

#include "plugins/nodedevice/allocation/attempt.hpp"
#include "plugins/nodedevice/allocation/pcie_sets.hpp"

namespace plimsoll::devices {
namespace {

bool is_for_all(const Want& want) {
  return want.hint != nullptr && want.hint->is_for_all();
}

}  // namespace

Positions Attempt::at_pcie(int type, const Positions& found, const Positions& pcie) const {
  Positions there;
  std::copy_if(found.begin(), found.end(), std::back_inserter(there), [&](int position) {
    return std::binary_search(pcie.begin(), pcie.end(), node_.type(type).at(position).pcie);
  });
  return there;
}

bool Attempt::can_follow(const Joint& joint, const Positions& pcie) const {
  for (size_t i = 1; i < joint.wants.size(); ++i) {
    const int type = joint.wants[i].type;
    const Positions there = at_pcie(type, joint.found[i], pcie);
    if (static_cast<int64_t>(there.size()) < joint.wants[i].count) return false;
    if (pcie_ids(type, there) != pcie) return false;
  }
  return true;
}

Verdict Attempt::follow(Joint& joint, Turns turns) const {
  const Positions near = pcie_ids(joint.wants[0].type, joint.chosen[0]);
  for (size_t i = 1; i < joint.wants.size(); ++i) {
    Want want = joint.wants[i];
    const auto places = static_cast<int64_t>(near.size());
    if (joint.same_pcie) want.count = std::max(want.count, places);
    const Verdict verdict = choose_in_order(want, joint.found[i], near,
                                            std::max(want.count, places), turns, joint.chosen[i]);
    if (!verdict.fits()) return verdict;
    if (joint.same_pcie && pcie_ids(want.type, joint.chosen[i]) != near)
      return refuse(Reason::kJointViolation, want.type);
  }
  return {};
}

// The primary's devices at exactly these PCIe ids, one at each at least, and the others there too.
bool Attempt::choose_at(Joint& joint, const Positions& pcie) const {
  const Want& primary = joint.wants[0];
  if (pcie.size() > 1 && primary.scope() == Scope::kPcie) return false;
  const Positions there = at_pcie(primary.type, joint.found[0], pcie);
  const auto choose_of = [&](const Positions& some) {
    return choose_in_order(primary, some, pcie, primary.count, Turns::kOfFound, joint.chosen[0])
               .fits() &&
           pcie_ids(primary.type, joint.chosen[0]) == pcie && follow(joint, Turns::kOfFound).fits();
  };
  if (primary.scope() != Scope::kPcie && primary.scope() != Scope::kNuma) return choose_of(there);
  // An id may stand for a switch of each of several zones.
  std::map<int, Positions> by_zone;
  for (const int position : there)
    by_zone[node_.type(primary.type).at(position).numa].push_back(position);
  return std::any_of(by_zone.begin(), by_zone.end(),
                     [&](const auto& zone) { return choose_of(zone.second); });
}

bool Attempt::choose_other_place(Joint& joint) const {
  const Want& primary = joint.wants[0];
  if (types_.type(primary.type).has_partitions && !primary.is_shared) {
    const PartitionRules rules = partition_rules(node_, labels_, demand_.hints);
    const auto accepts = [&](const Positions& positions) {
      return can_follow(joint, pcie_ids(primary.type, positions));
    };
    if (rules.table != nullptr &&
        choose_partition(node_, primary, rules, demand_.hints, joint.found[0], joint.chosen[0],
                         accepts)
            .fits() &&
        follow(joint, Turns::kOfFound).fits())
      return true;
    if (rules.enforced) return false;
  }
  if (primary.scope() == Scope::kDevice) return false;
  const auto all_follow = [&](const Positions& positions) {
    const TypeState& state = node_.type(primary.type);
    return std::all_of(positions.begin(), positions.end(),
                       [&](int position) { return state.at(position).pcie >= 0; }) &&
           can_follow(joint, pcie_ids(primary.type, positions));
  };
  if (choose_linked(primary, joint.found[0], joint.chosen[0], all_follow) &&
      !joint.chosen[0].empty() && follow(joint, Turns::kOfFound).fits())
    return true;
  std::map<int, PcieSupply> by_id;
  for (size_t i = 0; i < joint.wants.size(); ++i) {
    const TypeState& state = node_.type(joint.wants[i].type);
    for (int position : joint.found[i]) {
      const DeviceState& device = state.at(position);
      if (device.pcie < 0) continue;
      PcieSupply& supply = by_id[device.pcie];
      supply.devices.resize(joint.wants.size(), 0);
      ++supply.devices[i];
      supply.pcie = device.pcie;
      if (i == 0) supply.numa = device.numa;
    }
  }
  std::vector<PcieSupply> supply;
  for (auto& [id, at] : by_id)
    if (std::find(at.devices.begin(), at.devices.end(), 0) == at.devices.end())
      supply.push_back(std::move(at));
  std::vector<int64_t> needed;
  for (const Want& want : joint.wants) needed.push_back(want.count);
  return for_each_pcie_set(supply, needed, static_cast<size_t>(primary.count),
                           [&](const std::vector<int>& set) {
                             Positions pcie;
                             for (int i : set) pcie.push_back(supply[static_cast<size_t>(i)].pcie);
                             return choose_at(joint, pcie);
                           });
}

Verdict Attempt::choose_jointly(Wants& wants, Allocation& allocation) const {
  const JointAllocate& listed = *demand_.hints.joint;
  Joint joint;
  joint.same_pcie = listed.same_pcie;
  for (int type : listed.types) {
    const auto it = std::find_if(wants.begin(), wants.end(), [&](const Want& want) {
      return want.type == type && !is_for_all(want);
    });
    if (it == wants.end()) continue;
    joint.wants.push_back(*it);
    joint.found.push_back(candidates(*it));
    wants.erase(it);
  }
  if (joint.wants.empty()) return refuse(Reason::kNoPrimary, 0);
  joint.chosen.resize(joint.wants.size());
  if (Verdict verdict = choose(joint.wants[0], joint.found[0], joint.chosen[0]); !verdict.fits())
    return verdict;
  const Verdict verdict = follow(joint, Turns::kOfAll);
  if (!verdict.fits() && !(joint.same_pcie && choose_other_place(joint))) return verdict;
  for (size_t i = 0; i < joint.wants.size(); ++i)
    record(joint.wants[i], joint.chosen[i], allocation);
  return {};
}

}  // namespace plimsoll::devices
