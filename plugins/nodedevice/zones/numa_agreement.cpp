#include "plugins/nodedevice/zones/numa_agreement.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace plimsoll::devices {
namespace {

bool wants_own_zone(const PodDemand& demand, int type) {
  const TypeHint* hint = demand.hints.hint(type);
  return hint != nullptr && hint->required_scope == Scope::kNuma;
}

ZoneSet zone_of(const DeviceState& device) {
  return zone_bit(device.numa);
}

// Pods that keep to one zone and pods that do not stay apart (singleNUMANodeExclusive).
bool keeps_apart(ZoneSet zones, const OtherPods& others) {
  if (std::popcount(zones) > 1) return (zones & others.by_single & ~others.by_spread) == 0;
  return (zones & others.by_spread) == 0;
}

class Agreement {
 public:
  Agreement(const Allocator& allocator, const NodeState& node, const NodeLabels& labels,
            const PodDemand& demand, const NumaTerms& terms, SharedDeviceChoice* choice)
      : allocator_(allocator),
        node_(node),
        labels_(labels),
        demand_(demand),
        terms_(terms),
        choice_(choice) {
    for (const TypeRequest& request : demand.request.types) {
      if (wants_own_zone(demand, request.type) && terms.pod.near(request.type) != 0)
        required_.of_type[static_cast<size_t>(request.type)] = terms.pod.near(request.type);
      for (const DeviceState& device : node.type(request.type).devices)
        if (device.present) zones_ |= zone_of(device);
    }
  }

  Verdict run(Allocation& allocation) {
    const Verdict verdict = allocator_.allocate(node_, labels_, demand_, allocation, choice_);
    if (!verdict.fits() || allocation.empty()) return verdict;
    usual_ = zones_of(node_, allocation);
    short_ = demand_.request.types.front().type;
    Allocation chosen;
    const Verdict agreed = choose(allocation, chosen);
    allocation = agreed.fits() ? std::move(chosen) : Allocation();
    return agreed;
  }

 private:
  // `usual`: what the allocator gives if nobody asks for zones.
  Verdict choose(const Allocation& usual, Allocation& chosen) {
    switch (terms_.spec.policy) {
      case NumaPolicy::kNone:
        return prefer(usual, chosen);
      case NumaPolicy::kBestEffort:
        return best_effort(usual, chosen);
      case NumaPolicy::kRestricted:
        return terms_.pod.all != 0 ? same_zones(chosen) : narrowest(usual, chosen);
      case NumaPolicy::kSingleNode:
        return single_zone(usual, chosen);
    }
    return {};
  }

  [[nodiscard]] Verdict refusal(Reason reason, bool unresolvable = false) const {
    return refuse(reason, short_, unresolvable);
  }

  // All devices are in these zones, or without one.
  bool fits_in(ZoneSet zones, Allocation& chosen) {
    ZoneLimit limit = required_;
    for (ZoneSet& of_type : limit.of_type) of_type &= zones;
    return fits_in(limit, chosen);
  }
  bool fits_in(const ZoneLimit& limit, Allocation& chosen) {
    const Verdict verdict = allocator_.allocate(node_, labels_, demand_, chosen, choice_, limit);
    if (!verdict.fits()) short_ = verdict.type;
    return verdict.fits();
  }

  [[nodiscard]] bool apart(ZoneSet zones) const { return keeps_apart(zones, terms_.others); }
  [[nodiscard]] bool forbidden(ZoneSet zones) const {
    return terms_.spec.exclusive_required && !apart(zones);
  }

  // requiredTopologyScope NUMANode: in the zone of the containers that ask for them.
  Verdict meet_requirements(const Allocation& usual, Allocation& chosen) {
    if (required_ == ZoneLimit{}) {
      chosen = usual;
      return {};
    }
    return fits_in(required_, chosen) ? Verdict{} : refusal(Reason::kNumaUnaligned);
  }

  Verdict prefer(const Allocation& usual, Allocation& chosen) {
    if (Verdict verdict = meet_requirements(usual, chosen); !verdict.fits()) return verdict;
    ZoneLimit near = required_;
    for (const TypeRequest& request : demand_.request.types)
      if (const ZoneSet zones = terms_.pod.near(request.type); zones != 0)
        near.of_type[static_cast<size_t>(request.type)] &= zones;
    Allocation better;
    if (near == required_) return {};
    if (fits_in(near, better)) {
      chosen = std::move(better);
      return {};
    }
    // Type by type, as they are listed.
    ZoneLimit limit = required_;
    for (const TypeRequest& request : demand_.request.types) {
      const auto type = static_cast<size_t>(request.type);
      const ZoneSet before = std::exchange(limit.of_type[type], near.of_type[type]);
      if (fits_in(limit, better))
        chosen = std::move(better);
      else
        limit.of_type[type] = before;
    }
    return {};
  }

  // Refuses for nothing but what meet_requirements refuses for.
  Verdict best_effort(const Allocation& usual, Allocation& chosen) {
    if (terms_.pod.all != 0 && fits_in(terms_.pod.all, chosen)) return {};
    if (narrowest(usual, chosen).fits()) return {};
    return meet_requirements(usual, chosen);
  }

  // The fewest zones that have all devices: those that are usual, else the lowest.
  Verdict narrowest(const Allocation& usual, Allocation& chosen) {
    const bool refuses = terms_.spec.policy == NumaPolicy::kRestricted;
    int left = kMaxZoneSets;
    for (int width = 0; width <= std::popcount(zones_) && left > 0; ++width) {
      Allocation second;  // of zones that others are in
      bool has_second = false;
      const auto take = [&](ZoneSet zones) {
        if (has_second && !apart(zones)) return false;
        Allocation found;
        if (!fits_in(zones, found)) return false;
        if (width == 0 || apart(zones)) {
          chosen = std::move(found);
          return true;
        }
        second = std::move(found);
        has_second = true;
        return false;
      };
      if (std::popcount(usual_) == width && take(usual_)) return {};
      if (for_each_zone_set(zones_, width, left, take)) return {};
      if (!has_second) continue;
      if (refuses && terms_.spec.exclusive_required) return refusal(Reason::kNumaExclusive);
      chosen = std::move(second);
      return {};
    }
    return meet_requirements(usual, chosen);
  }

  // Restricted: the fewest zones are those that the kubelet gives.
  Verdict same_zones(Allocation& chosen) {
    const ZoneSet zones = terms_.pod.all;
    if (terms_.pod.spread) return refusal(Reason::kNumaSpread);
    if (!fits_in(zones, chosen)) return refusal(Reason::kNumaUnaligned);
    int left = kMaxZoneSets;
    Allocation fewer;
    if (fits_in(ZoneSet{0}, fewer)) return {};  // they are near every zone
    for (int width = 1; width < std::popcount(zones); ++width)
      if (for_each_zone_set(zones_, width, left, [&](ZoneSet set) { return fits_in(set, fewer); }))
        return refusal(Reason::kNumaUnaligned);
    return forbidden(zones) ? refusal(Reason::kNumaExclusive) : Verdict{};
  }

  Verdict single_zone(const Allocation& usual, Allocation& chosen) {
    const ZoneSet given = terms_.pod.all;
    if (std::popcount(given) > 1) return refusal(Reason::kNumaSpread);
    if (given == 0 && zones_ == 0) return meet_requirements(usual, chosen);
    if (given != 0) {
      if (!fits_in(given, chosen)) {
        const int type = short_;
        const bool elsewhere = !fitting_zones(zones_ & ~given, chosen).empty();
        short_ = type;
        return elsewhere ? refusal(Reason::kNumaUnaligned) : nowhere();
      }
      return forbidden(given) ? refusal(Reason::kNumaExclusive) : Verdict{};
    }
    std::vector<ZoneSet> fitting = fitting_zones(zones_, chosen);
    if (fitting.empty()) return nowhere();
    const auto best = std::min_element(fitting.begin(), fitting.end(), [&](ZoneSet a, ZoneSet b) {
      return std::tuple(!apart(a), a != usual_, a) < std::tuple(!apart(b), b != usual_, b);
    });
    if (forbidden(*best)) return refusal(Reason::kNumaExclusive);
    return fits_in(*best, chosen) ? Verdict{} : nowhere();
  }

  std::vector<ZoneSet> fitting_zones(ZoneSet zones, Allocation& scratch) {
    std::vector<ZoneSet> fitting;
    for (ZoneSet rest = zones; rest != 0; rest &= rest - 1) {
      const ZoneSet zone = rest & (~rest + 1);
      if (fits_in(zone, scratch)) fitting.push_back(zone);
    }
    return fitting;
  }

  // No zone has all devices. If none ever could, evicting pods does not help.
  [[nodiscard]] Verdict nowhere() const {
    const auto could = [&](ZoneSet zone) {
      const auto& types = demand_.request.types;
      return std::all_of(types.begin(), types.end(), [&](const TypeRequest& request) {
        const auto& devices = node_.type(request.type).devices;
        return request.least_count() <=
               std::count_if(devices.begin(), devices.end(), [&](const auto& d) {
                 return d.present && (d.numa < 0 || zone_of(d) == zone);
               });
      });
    };
    bool possible = false;
    for (ZoneSet rest = zones_; rest != 0; rest &= rest - 1) possible |= could(rest & (~rest + 1));
    return refusal(Reason::kNumaScoped, !possible);
  }

  const Allocator& allocator_;
  const NodeState& node_;
  const NodeLabels& labels_;
  const PodDemand& demand_;
  const NumaTerms& terms_;
  SharedDeviceChoice* choice_;
  ZoneLimit required_;  // whatever the policy
  ZoneSet zones_ = 0;   // in which there are devices of the types that are asked for
  ZoneSet usual_ = 0;   // of what the allocator gives if nobody asks for zones
  int short_ = 0;       // the type that the last try was short of
};

std::string zone_list(ZoneSet zones) {
  std::string text;
  for (ZoneSet rest = zones; rest != 0; rest &= rest - 1)
    text += (text.empty() ? "" : ",") + std::to_string(std::countr_zero(rest));
  return (std::popcount(zones) == 1 ? "zone " : "zones ") + text;
}

}  // namespace

bool zones_may_refuse(const NumaSpec& spec, const PodDemand& demand) {
  if (demand.request.empty()) return false;
  if (spec.policy == NumaPolicy::kRestricted || spec.policy == NumaPolicy::kSingleNode) return true;
  const auto& types = demand.request.types;
  return std::any_of(types.begin(), types.end(), [&](const TypeRequest& request) {
    return wants_own_zone(demand, request.type);
  });
}

Verdict allocate_in_zones(const Allocator& allocator, const NodeState& node,
                          const NodeLabels& labels, const PodDemand& demand, const NumaTerms& terms,
                          Allocation& allocation, SharedDeviceChoice* choice) {
  return Agreement(allocator, node, labels, demand, terms, choice).run(allocation);
}

ZoneSet zones_of(const NodeState& node, const Allocation& allocation) {
  ZoneSet zones = 0;
  for (const DeviceShare& share : allocation)
    if (const DeviceState* device = node.type(share.type).find(share.minor))
      zones |= zone_of(*device);
  return zones;
}

std::string explain_zones(const NodeState& node, const PodDemand& demand, const NumaTerms& terms) {
  std::string text = "NUMA policy " + std::string(name_of(terms.spec.policy)) + ": ";
  if (terms.pod.all == 0) {
    text += "it is not known which zones the kubelet gives the pod, if any: devices' zones count";
  } else {
    text += "the kubelet gives the pod " + zone_list(terms.pod.all);
    if (terms.pod.spread) text += ", more than their sizes call for";
  }
  text += "\n";
  for (const TypeRequest& request : demand.request.types) {
    ZoneSet zones = 0;
    for (const DeviceState& device : node.type(request.type).devices)
      if (device.unused()) zones |= zone_of(device);
    text += "  " + node.device_types().type(request.type).name + ": " +
            (zones == 0 ? "no unused device has a zone" : "unused devices in " + zone_list(zones));
    if (terms.pod.near(request.type) != terms.pod.all)
      text += ", wanted in " + zone_list(terms.pod.near(request.type));
    text += "\n";
  }
  return text;
}

}  // namespace plimsoll::devices
