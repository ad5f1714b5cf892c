#pragma once
// What is written to the API server about claims, as JSON. Pure.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "plugins/dynamicresources/extended/extended_ask.hpp"
#include "plugins/dynamicresources/footprint/footprint.hpp"
#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

// v1.AllocationResult without its time.
[[nodiscard]] nlohmann::json allocation_json(const Allocation& allocation);
// A ResourceClaim to be made for the extended resources of a pod, and what the pod's status then
// says of it (v1.PodExtendedResourceClaimStatus).
[[nodiscard]] nlohmann::json extended_claim_json(const ExtendedAsk& ask,
                                                 const std::string& pod_name,
                                                 const std::string& pod_uid);
[[nodiscard]] nlohmann::json mappings_json(const ExtendedAsk& ask, const std::string& claim_name);

// A pod's status.nodeAllocatableResourceClaimStatuses.
[[nodiscard]] nlohmann::json footprint_json(const Footprint& footprint);

// It keeps a claim from going while it has devices.
inline constexpr const char* kFinalizer = "resource.kubernetes.io/delete-protection";

[[nodiscard]] std::string claims_path(std::string_view ns);
[[nodiscard]] std::string claim_path(std::string_view ns, std::string_view name);

}  // namespace plimsoll::dra
