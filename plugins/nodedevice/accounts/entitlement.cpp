#include "plugins/nodedevice/accounts/entitlement.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// As the allocator counts (Attempt::apply_hint).
void apply_hint(const DeviceType& type, const TypeHint& hint, Entitlement& entitled) {
  if (!entitled.each || !entitled.parts.empty()) return;
  const auto strategy = hint.strategy_for(type, entitled.count);
  if (strategy == TypeHint::Strategy::kApplyForAll) {
    entitled.at_most = kAnyNumber;
  } else if (strategy == TypeHint::Strategy::kRequestsAsCount) {
    hint.count_requests(entitled.count, *entitled.each);
    entitled.at_most = entitled.count;
  }
}

// The types that follow the first may get one device at each PCIe id where that has any.
void apply_joint(const JointAllocate& joint, const DeviceHints& hints, Entitlements& entitled) {
  const Entitlement* primary = nullptr;
  for (const int type : joint.types) {
    Entitlement& of_type = entitled[static_cast<size_t>(type)];
    const TypeHint* hint = hints.hint(type);
    if (of_type.count == 0 || (hint != nullptr && hint->is_for_all())) continue;
    if (primary == nullptr)
      primary = &of_type;
    else
      of_type.at_most = std::max(of_type.at_most, primary->at_most);
  }
}

// What the share says that the pod does not ask for; empty: nothing.
std::string contradiction(const DeviceType& type, const DeviceShare& share, const Amounts& each) {
  for (int dim = 0; dim < kMaxDims; ++dim)
    if (share.amounts.has(dim) && each.has(dim) && share.amounts.get(dim) != each.get(dim))
      return "says " + type.dims[static_cast<size_t>(dim)] + " " +
             amount_text(type, dim, share.amounts.get(dim)) + ", the pod asks for " +
             amount_text(type, dim, each.get(dim)) + " of each device";
  return {};
}

// Questions that finding out which containers have which devices may take.
constexpr int kMostAnnotationQuestions = 2000;

// How much of each of these devices its containers have: containers are laid on them so that all
// are used and each gives what the annotation says. Empty: that cannot be done, so nobody knows.
std::vector<Amounts> amounts_by_container(const DeviceType& type,
                                          const std::vector<ContainerPart>& parts,
                                          std::span<const DeviceShare> shares) {
  PartLoad load(type, parts, shares.size(), static_cast<int64_t>(shares.size()));
  const auto says = [&](size_t device, const Amounts& held, bool all) {
    const Amounts& said = shares[device].amounts;
    for (int dim = 0; dim < kMaxDims; ++dim) {
      if (!held.has(dim)) continue;
      if (all ? held.get(dim) != said.get(dim) : held.get(dim) > said.get(dim)) return false;
    }
    return true;
  };
  const auto complete = [&] {
    for (size_t device = 0; device < shares.size(); ++device)
      if (load.empty(device) || !says(device, load.held(device), true)) return false;
    return true;
  };
  std::vector<Amounts> held;
  if (load.lay_all(
          [&](size_t device, const Amounts& amounts) { return says(device, amounts, false); },
          complete, kMostAnnotationQuestions))
    for (size_t device = 0; device < shares.size(); ++device) held.push_back(load.held(device));
  return held;
}

}  // namespace

Entitlements entitlements_of(const DeviceTypes& types, std::span<const ResourceQuantity> requests,
                             const DeviceHints* hints,
                             std::span<const ContainerRequests> containers) {
  Entitlements entitled;
  if (requests.empty()) return entitled;
  const auto asked = asked_by_type(types, requests, containers);
  for (int t = 0; t < types.count(); ++t) {
    const AskedOfType& of_type = asked[static_cast<size_t>(t)];
    Entitlement& found = entitled[static_cast<size_t>(t)];
    found.count = found.at_most = of_type.count;
    if (of_type.request) {
      found.each = of_type.request->per_device;
      found.parts = of_type.request->parts;
    }
    if (hints != nullptr && hints->hint(t) != nullptr)
      apply_hint(types.type(t), *hints->hint(t), found);
  }
  if (hints != nullptr && hints->joint) apply_joint(*hints->joint, *hints, entitled);
  const Elsewhere elsewhere = devices_elsewhere(types, requests);
  for (size_t t = 0; t < entitled.size(); ++t) {
    entitled[t].elsewhere = elsewhere[t] == kAnyNumber ? 0 : elsewhere[t];
    entitled[t].unbounded = elsewhere[t] == kAnyNumber;
    entitled[t].count += entitled[t].elsewhere;
  }
  return entitled;
}

bool any_of(const Entitlements& entitled) {
  return std::any_of(entitled.begin(), entitled.end(), [](const auto& each) { return each.any(); });
}

BoundedAllocation bounded_allocation(const DeviceTypes& types, std::string_view text,
                                     const Entitlements& entitled) {
  BoundedAllocation bounded;
  uint32_t wanted = 0;
  for (int t = 0; t < types.count(); ++t)
    if (entitled[static_cast<size_t>(t)].at_most > 0) wanted |= 1U << t;
  ReadAllocation read = read_allocation(types, text, wanted);
  bounded.left_out = read.left_out;
  bounded.problems = std::move(read.problems);
  std::array<int64_t, kMaxTypes> named{};
  std::array<size_t, kMaxTypes> first{};  // position of the first of the type
  for (size_t i = read.shares.size(); i-- > 0;) {
    ++named[static_cast<size_t>(read.shares[i].type)];
    first[static_cast<size_t>(read.shares[i].type)] = i;
  }
  std::array<std::vector<Amounts>, kMaxTypes> by_container;
  for (int t = 0; t < types.count(); ++t) {
    const auto index = static_cast<size_t>(t);
    const Entitlement& of_type = entitled[index];
    if (named[index] > of_type.at_most) {
      bounded.problems.add(types.type(t).name + ": names " + std::to_string(named[index]) +
                           " devices, the pod asks for " +
                           std::to_string(of_type.count - of_type.elsewhere));
      named[index] = -1;  // which of them it has is not known
    }
    bool all_named = false;
    if (!of_type.parts.empty() && named[index] > 0) {
      const auto count = static_cast<size_t>(named[index]);
      by_container[index] = amounts_by_container(
          types.type(t), of_type.parts, std::span(read.shares).subspan(first[index], count));
      all_named = !by_container[index].empty();
      if (!all_named)
        bounded.problems.add(types.type(t).name +
                             ": says other amounts than the pod's containers ask for");
    }
    // All that its selector leaves, and the annotation does not say which these are.
    const bool not_all =
        of_type.at_most == kAnyNumber && (named[index] == 0 || !bounded.problems.empty());
    if (of_type.unbounded || not_all) bounded.unbounded |= 1U << t;
    bounded.unknown[index] = of_type.elsewhere;
    if (!all_named)
      bounded.unknown[index] += std::max<int64_t>(
          of_type.count - of_type.elsewhere - std::max<int64_t>(named[index], 0), 0);
  }
  for (size_t i = 0; i < read.shares.size(); ++i) {
    DeviceShare& share = read.shares[i];
    const auto index = static_cast<size_t>(share.type);
    if (named[index] < 0) continue;
    const Entitlement& of_type = entitled[index];
    const bool told_apart = !of_type.parts.empty();
    const bool known = told_apart ? !by_container[index].empty() : of_type.each.has_value();
    const DeviceType& type = types.type(share.type);
    const std::string where = type.name + " " + std::to_string(share.minor);
    if (share.vfs.size() > 1) {
      bounded.problems.add(where + ": names " + std::to_string(share.vfs.size()) +
                           " virtual functions, a pod gets one of each device");
      share.vfs.clear();
      share.whole = true;
    }
    share.whole = share.whole || !known;
    const Amounts each = !known       ? Amounts{}
                         : told_apart ? by_container[index][i - first[index]]
                                      : *of_type.each;
    if (const std::string what = contradiction(type, share, each); !what.empty())
      bounded.problems.add(where + ": " + what);
    share.keep_only(type, each);
    bounded.shares.push_back(std::move(share));
  }
  return bounded;
}

}  // namespace plimsoll::devices
