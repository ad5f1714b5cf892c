#pragma once
// Whether the devices of a claim are ready for their pod to be bound: devices that are attached to
// a node first have conditions for that (KEP-5007). Kubernetes: isClaimReadyForBinding and
// isClaimTimeout in pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go. Pure.

#include <plimsoll/claims.h>

#include <cstdint>
#include <string_view>

namespace plimsoll::dra {

struct Readiness {
  enum class Kind { kReady, kPending, kFailed };
  Kind kind = Kind::kReady;
  std::string_view failure;  // the condition that is true; valid as long as the object
};

// Of a claim that is allocated.
[[nodiscard]] Readiness readiness(const plimsoll_resource_claim& claim);
[[nodiscard]] bool has_binding_conditions(const plimsoll_resource_claim& claim);
// Its devices were given so long ago that nobody waits for their conditions any more.
[[nodiscard]] bool waited_too_long(const plimsoll_resource_claim& claim, int64_t now_ms,
                                   int64_t timeout_ms);

}  // namespace plimsoll::dra
