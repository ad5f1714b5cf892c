#include "plugins/nodedevice/accounts/entitlement.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// As the allocator counts (Attempt::apply_hint).
void apply_hint(const DeviceType& type, const TypeHint& hint, Entitlement& entitled) {
  if (!entitled.each) return;
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

}  // namespace

Entitlements entitlements_of(const DeviceTypes& types, std::span<const ResourceQuantity> requests,
                             const DeviceHints* hints) {
  Entitlements entitled;
  if (requests.empty()) return entitled;
  const auto asked = asked_by_type(types, requests);
  for (int t = 0; t < types.count(); ++t) {
    const AskedOfType& of_type = asked[static_cast<size_t>(t)];
    Entitlement& found = entitled[static_cast<size_t>(t)];
    found.count = found.at_most = of_type.count;
    if (of_type.request) found.each = of_type.request->per_device;
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
  for (const DeviceShare& share : read.shares) ++named[static_cast<size_t>(share.type)];
  for (int t = 0; t < types.count(); ++t) {
    const auto index = static_cast<size_t>(t);
    const Entitlement& of_type = entitled[index];
    if (named[index] > of_type.at_most) {
      bounded.problems.add(types.type(t).name + ": names " + std::to_string(named[index]) +
                           " devices, the pod asks for " +
                           std::to_string(of_type.count - of_type.elsewhere));
      named[index] = -1;  // which of them it has is not known
    }
    // All that its selector leaves, and the annotation does not say which these are.
    const bool not_all =
        of_type.at_most == kAnyNumber && (named[index] == 0 || !bounded.problems.empty());
    if (of_type.unbounded || not_all) bounded.unbounded |= 1U << t;
    bounded.unknown[index] =
        of_type.elsewhere +
        std::max<int64_t>(of_type.count - of_type.elsewhere - std::max<int64_t>(named[index], 0),
                          0);
  }
  for (DeviceShare& share : read.shares) {
    const auto index = static_cast<size_t>(share.type);
    if (named[index] < 0) continue;
    const DeviceType& type = types.type(share.type);
    const std::string where = type.name + " " + std::to_string(share.minor);
    if (share.vfs.size() > 1) {
      bounded.problems.add(where + ": names " + std::to_string(share.vfs.size()) +
                           " virtual functions, a pod gets one of each device");
      share.vfs.clear();
      share.whole = true;
    }
    share.whole = share.whole || !entitled[index].each;
    const Amounts each = entitled[index].each.value_or(Amounts{});
    if (const std::string what = contradiction(type, share, each); !what.empty())
      bounded.problems.add(where + ": " + what);
    share.keep_only(type, each);
    bounded.shares.push_back(std::move(share));
  }
  return bounded;
}

}  // namespace plimsoll::devices
