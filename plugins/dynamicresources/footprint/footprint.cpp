#include "plugins/dynamicresources/footprint/footprint.hpp"

#include <plimsoll/quantity.hpp>
#include <plimsoll/resource_names.hpp>

#include <algorithm>
#include <limits>
#include <string_view>

namespace plimsoll::dra {
namespace {

using sdk::List;
using sdk::saturating_sum;
using sdk::view;

constexpr std::string_view kHugePages = "hugepages-";

// Thousandths of CPUs, whole units of all else, rounded up; saturates (resource.Quantity).
int64_t base_units(std::string_view resource, const Quantity& amount) {
  const bool milli = sdk::unit_of(resource) == sdk::QuantityUnit::kMilli;
  const Quantity::Nanos unit = milli ? 1'000'000 : 1'000'000'000;
  const Quantity::Nanos units = amount.nanos() / unit + (amount.nanos() % unit > 0 ? 1 : 0);
  constexpr Quantity::Nanos kMost = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::clamp(units, -kMost, kMost));
}

void add(std::optional<Quantity>& total, const std::optional<Quantity>& amount) {
  if (amount) total = total ? total->plus(*amount) : *amount;
}

const plimsoll_resource* find(const plimsoll_list& resources, std::string_view name) {
  for (const auto& each : List<plimsoll_resource>(resources)) {
    if (view(each.name) == name) return &each;
  }
  return nullptr;
}

int64_t amount(const plimsoll_list& resources, std::string_view name) {
  const plimsoll_resource* found = find(resources, name);
  return found == nullptr ? 0 : found->value;
}

// The most that the pod's containers have together at any time.
int64_t of_containers(sdk::Pod pod, plimsoll_list plimsoll_container::*what,
                      std::string_view name) {
  sdk::Peak<sdk::AmountSum> peak;
  for (const plimsoll_list* containers : {&pod->init_containers, &pod->containers}) {
    for (const auto& each : List<plimsoll_container>(*containers))
      peak.add(each.kind, amount(each.*what, name));
  }
  return peak.take().value;
}

int64_t of_claims(const std::vector<plimsoll_claim_amount>& amounts, std::string_view resource) {
  int64_t total = 0;
  for (const plimsoll_claim_amount& each : amounts) {
    if (view(each.resource) == resource)
      total = saturating_sum(total, saturating_sum(each.mapped, each.overhead));
  }
  return total;
}

// GetContainerDRAAllocations
int64_t of_container(const Footprint& footprint, std::string_view container,
                     const std::string& resource) {
  Quantity total;
  for (const ClaimFootprint& claim : footprint) {
    const auto& users = claim.containers;
    if (std::find(users.begin(), users.end(), container) == users.end()) continue;
    if (const auto at = claim.mapped.find(resource); at != claim.mapped.end())
      total = total.plus(at->second);
    const auto at = claim.overhead.find(resource);
    if (at == claim.overhead.end()) continue;
    for (const auto& part : {at->second.per_pod, at->second.per_container}) {
      if (part) total = total.plus(*part);
    }
  }
  return base_units(resource, total);
}

// validatePodLevelResourcesCoverDRA: what a pod asks for as a whole is to cover its claims, too.
std::string uncovered(sdk::Pod pod, const Footprint& footprint,
                      const std::vector<plimsoll_claim_amount>& amounts) {
  const auto text = [](const char* what, std::string_view resource, const std::string& rest) {
    return "pod level " + std::string(what) + " for " + std::string(resource) +
           " is insufficient to cover the " + rest;
  };
  for (const auto& level : List<plimsoll_resource>(pod->pod_requests)) {
    const std::string_view name = view(level.name);
    const int64_t needed = saturating_sum(of_containers(pod, &plimsoll_container::requests, name),
                                          of_claims(amounts, name));
    if (needed <= level.value) continue;
    return text("request", name, "aggregated container and node-allocatable DRA requests");
  }
  for (const auto& level : List<plimsoll_resource>(pod->pod_limits)) {
    const std::string_view name = view(level.name);
    if (!name.starts_with(kHugePages)) continue;
    const int64_t needed = saturating_sum(of_containers(pod, &plimsoll_container::limits, name),
                                          of_claims(amounts, name));
    if (needed <= level.value) continue;
    return text("limit", name, "aggregated container and node-allocatable DRA limits");
  }
  for (const auto& container : List<plimsoll_container>(pod->containers)) {
    for (const auto& limit : List<plimsoll_resource>(container.limits)) {
      const std::string name(view(limit.name));
      const plimsoll_resource* level = find(pod->pod_limits, name);
      if (level == nullptr || name.starts_with(kHugePages)) continue;
      const std::string_view whose = view(container.name);
      if (saturating_sum(limit.value, of_container(footprint, whose, name)) <= level->value)
        continue;
      return text("limit", name, "limit and DRA overhead for container " + std::string(whose));
    }
  }
  return {};
}

}  // namespace

bool is_mapped(const Device& device) {
  return std::any_of(device.allocatable.begin(), device.allocatable.end(),
                     [](const Allocatable& each) { return each.maps(); });
}

std::string add_device(ClaimFootprint& claim, const Device& device, const DeviceResult& result) {
  for (const Allocatable& each : device.allocatable) {
    if (!each.capacity_key.empty()) {
      if (result.consumed_capacity.empty()) {
        return "device " + result.device + ": ConsumedCapacity is nil, but Capacity key '" +
               each.capacity_key + "' is set in NodeAllocatableResources for resource " +
               each.resource;
      }
      const auto consumed = result.consumed_capacity.find(each.capacity_key);
      if (consumed != result.consumed_capacity.end()) {
        const Quantity one = Quantity::whole(1);
        Quantity& total = claim.mapped[each.resource];
        total = total.plus(consumed->second.times(each.capacity_multiplier.value_or(one)));
      }
    } else if (each.device_multiplier) {
      Quantity& total = claim.mapped[each.resource];
      total = total.plus(*each.device_multiplier);
    }
    if (!each.per_pod && !each.per_container) continue;
    ClaimFootprint::Overhead& overhead = claim.overhead[each.resource];
    add(overhead.per_pod, each.per_pod);
    add(overhead.per_container, each.per_container);
  }
  return {};
}

void add_containers(ClaimFootprint& claim, sdk::Pod pod) {
  for (const auto& named : List<plimsoll_pod_claim>(pod->claims)) {
    if (view(named.claim) != claim.claim) continue;
    for (const plimsoll_str& user : List<plimsoll_str>(named.containers))
      claim.containers.emplace_back(view(user));
  }
}

std::vector<plimsoll_claim_amount> amounts(const Footprint& footprint) {
  std::vector<plimsoll_claim_amount> all;
  for (const ClaimFootprint& claim : footprint) {
    for (const auto& [resource, mapped] : claim.mapped) {
      all.push_back({sdk::str(claim.claim), sdk::str(resource), base_units(resource, mapped), 0});
    }
    for (const auto& [resource, overhead] : claim.overhead) {
      Quantity total = overhead.per_pod.value_or(Quantity());
      if (overhead.per_container) {
        const auto containers = static_cast<int64_t>(claim.containers.size());
        total = total.plus(overhead.per_container->times(Quantity::whole(containers)));
      }
      all.push_back({sdk::str(claim.claim), sdk::str(resource), 0, base_units(resource, total)});
    }
  }
  return all;
}

Refusal refusal(sdk::Pod pod, sdk::Node node, const Footprint& footprint) {
  const std::vector<plimsoll_claim_amount> all = amounts(footprint);
  Refusal refused;
  if (std::string text = uncovered(pod, footprint, all); !text.empty())
    return {{std::move(text)}, true};
  const std::vector<plimsoll_claim_amount> before(
      List<plimsoll_claim_amount>(pod->claim_amounts).begin(),
      List<plimsoll_claim_amount>(pod->claim_amounts).end());
  std::vector<std::string> names{"cpu", "memory", "ephemeral-storage"};
  for (const auto& each : List<plimsoll_resource>(pod->requests))
    names.emplace_back(view(each.name));
  for (const plimsoll_claim_amount& each : all) names.emplace_back(view(each.resource));
  std::sort(names.begin() + 3, names.end());
  names.erase(std::unique(names.begin() + 3, names.end()), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    if (i >= 3 && !name.starts_with(kHugePages)) continue;
    int64_t needed = amount(pod->requests, name);
    if (find(pod->pod_requests, name) == nullptr)  // otherwise that covers them
      needed =
          saturating_sum(saturating_sum(needed, -of_claims(before, name)), of_claims(all, name));
    if (needed <= 0) continue;
    const plimsoll_resource* has = find(node.object().allocatable, name);
    const int64_t capacity = has == nullptr ? 0 : has->value;
    const int64_t used = has == nullptr ? 0 : node.requested(has->index);
    if (needed <= saturating_sum(capacity, -used)) continue;
    refused.reasons.push_back("Insufficient " + name);
    refused.for_ever = refused.for_ever || needed > capacity;
  }
  return refused;
}

}  // namespace plimsoll::dra
