#pragma once
// What a pod's claims are of a node's CPUs, memory and huge pages, or take of them besides
// (KEP-5517). Kubernetes: pkg/scheduler/framework/plugins/dynamicresources/
// nodeallocatabledynamicresources.go. Pure.

#include <plimsoll/views.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/dynamicresources/values/claim.hpp"
#include "plugins/dynamicresources/values/device.hpp"

namespace plimsoll::dra {

// One entry of a pod's status.nodeAllocatableResourceClaimStatuses.
struct ClaimFootprint {
  struct Overhead {
    std::optional<Quantity> per_pod, per_container;
  };
  std::string claim;
  std::vector<std::string> containers;       // those that use the claim, as often as they name it
  std::map<std::string, Quantity> mapped;    // by resource
  std::map<std::string, Overhead> overhead;  // by resource

  [[nodiscard]] bool empty() const { return mapped.empty() && overhead.empty(); }
};

// Of all claims of a pod, by name.
using Footprint = std::vector<ClaimFootprint>;

// Adds what one device of the claim is and takes. Empty, or why nobody can say.
[[nodiscard]] std::string add_device(ClaimFootprint& claim, const Device& device,
                                     const DeviceResult& result);
// Fills in the containers of a claim.
void add_containers(ClaimFootprint& claim, sdk::Pod pod);
// Part of a CPU or of memory, or whole devices of it: nobody else may have the claim too.
[[nodiscard]] bool is_mapped(const Device& device);

// In base units. Refers to the footprint's texts.
[[nodiscard]] std::vector<plimsoll_claim_amount> amounts(const Footprint& footprint);

// Why the pod does not fit onto the node with its footprint instead of what its status says.
struct Refusal {
  std::vector<std::string> reasons;  // none: it fits
  bool for_ever = false;             // the empty node would be too small, or the pod contradicts
};
[[nodiscard]] Refusal refusal(sdk::Pod pod, sdk::Node node, const Footprint& footprint);

}  // namespace plimsoll::dra
