// Devices for containers that ask each for itself (TypeRequest::parts), room for all of them being
// decided together.
//
// Each container in turn gets devices that the pod has none of yet, by the rules for a pod that is
// alone; only where there are not enough it shares one with another container. An init container
// takes what the pod has anyway, as far as that suffices. Where this finds no place for all, every
// way to lay them on devices is tried, as long as no rule says which devices go together. A pod
// never has more devices than its containers ask for at any one time, as Kubernetes counts.

#include <algorithm>
#include <utility>

#include "plugins/nodedevice/allocation/attempt.hpp"

namespace plimsoll::devices {
namespace {

// So many devices are looked at in trying all ways, then there is none.
constexpr int kMostTries = 1000;

}  // namespace

// Those that may be given, whatever is asked of them.
Positions Attempt::open_to(const Want& want) const {
  const TypeState& state = node_.type(want.type);
  Positions open;
  for (size_t i = 0; i < state.devices.size(); ++i) {
    const DeviceState& device = state.devices[i];
    if (!device.available || device.total.is_zero() || !allowed(state, want, device) ||
        !zones_.allows(want.type, device.numa) ||
        (want.needs_vf() && free_vf(want, device) == nullptr))
      continue;
    open.push_back(static_cast<int>(i));
  }
  return open;
}

// Only together a part's devices are what it may have.
bool Attempt::is_bound_to_sets(const Want& want) const {
  if (want.scope() != Scope::kUnset) return true;
  return !want.is_shared && types_.type(want.type).has_partitions &&
         partition_rules(node_, labels_, demand_.hints).enforced;
}

// The devices that have room for this part, the best first: three kinds, of which the next is used
// only where those before do not suffice.
std::array<Positions, 3> Attempt::room_for(const ContainerPart& part, size_t index,
                                           const Want& want, const Positions& open,
                                           const PartLoad& load) const {
  std::array<Positions, 3> room;
  for (size_t i = 0; i < open.size(); ++i) {
    const auto held = load.with(i, index);
    const DeviceState& device = node_.type(want.type).at(open[i]);
    if (!held || short_dim(types_.type(want.type), *held, device) >= 0) continue;
    size_t kind = load.empty(i) ? 0 : 1;
    if (!part.stays()) kind = load.empty(i) ? 2 : *held == load.held(i) ? 0 : 1;
    room[kind].push_back(open[i]);
  }
  return room;
}

Verdict Attempt::choose_for_part(const Want& want, const std::array<Positions, 3>& room,
                                 Positions& chosen) const {
  chosen.clear();
  Positions all;
  for (const Positions& some : room) all.insert(all.end(), some.begin(), some.end());
  if (static_cast<int64_t>(all.size()) < want.count)
    return too_few(types_.type(want.type), node_.type(want.type), want);
  if (is_bound_to_sets(want)) {
    Verdict verdict;
    Positions some;
    for (const Positions& more : room) {
      if (more.empty()) continue;
      some.insert(some.end(), more.begin(), more.end());
      std::sort(some.begin(), some.end());
      if (static_cast<int64_t>(some.size()) < want.count) continue;
      verdict = choose(want, some, chosen);
      if (verdict.fits()) break;
    }
    return verdict;
  }
  for (const Positions& some : room) {
    Want rest = want;
    rest.count = want.count - static_cast<int64_t>(chosen.size());
    if (rest.count == 0) break;
    Positions next = some;
    if (static_cast<int64_t>(some.size()) > rest.count || chosen.empty()) {
      if (some.empty()) continue;
      rest.count = std::min(rest.count, static_cast<int64_t>(some.size()));
      if (const Verdict verdict = choose(rest, some, next); !verdict.fits()) return verdict;
    }
    chosen.insert(chosen.end(), next.begin(), next.end());
  }
  std::sort(chosen.begin(), chosen.end());
  return {};
}

Verdict Attempt::choose_in_turn(const TypeRequest& request, const Positions& open,
                                PartLoad& load) const {
  Positions chosen;
  for (size_t index = 0; index < request.parts.size(); ++index) {
    const ContainerPart& part = request.parts[index];
    const Want want = want_of(part, request.type, demand_.hints);
    const Verdict verdict = choose_for_part(want, room_for(part, index, want, open, load), chosen);
    if (!verdict.fits()) return verdict;
    for (const int position : chosen) {
      const auto device =
          static_cast<size_t>(std::lower_bound(open.begin(), open.end(), position) - open.begin());
      // Alone each had room, but together they may be more than the pod may have.
      if (!load.with(device, index))
        return too_few(types_.type(request.type), node_.type(request.type), want);
      load.add(device, index);
    }
  }
  return {};
}

Verdict Attempt::choose_by_container(const TypeRequest& request, Allocation& allocation) {
  const DeviceType& type = types_.type(request.type);
  const Want whole = want_of(request, demand_.hints);
  const Positions open = open_to(whole);
  const PartLoad nothing(type, request.parts, open.size(), request.count, whole.needs_vf());
  PartLoad load = nothing;
  Verdict verdict = choose_in_turn(request, open, load);
  if (!verdict.fits() && choice_ != nullptr) {
    // A strategy has a say only where that costs no pod its place.
    SharedDeviceChoice* const choice = std::exchange(choice_, nullptr);
    load = nothing;
    verdict = choose_in_turn(request, open, load);
    choice_ = choice;
  }
  if (!verdict.fits()) {
    const bool bound =
        std::any_of(request.parts.begin(), request.parts.end(), [&](const ContainerPart& part) {
          return is_bound_to_sets(want_of(part, request.type, demand_.hints));
        });
    load = nothing;
    const auto has_room = [&](size_t i, const Amounts& held) {
      return short_dim(type, held, node_.type(request.type).at(open[i])) < 0;
    };
    if (bound || !load.lay_all(has_room, {}, kMostTries)) return verdict;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    if (load.empty(i)) continue;
    Want share = whole;
    share.per_device = load.held(i);
    record(share, {open[i]}, allocation);
  }
  return {};
}

}  // namespace plimsoll::devices
