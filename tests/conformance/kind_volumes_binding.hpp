#pragma once
// VolumeBinding's part of the cases about volumes.

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// PreFilter, Filter, the volumes chosen, scores, and the writes and waits of PreBind. `expected`:
// what the reference's VolumeBinding says. True: something differs by a rule.
bool check_volume_binding(const Json& test_case, const Json& expected, Findings& findings);

// Attempts of several pods one after the other, and events between them.
void check_volume_chain(const Json& test_case, Findings& findings);

// VolumeBindingArgs.
void check_volume_binding_args(const Json& test_case, Findings& findings);

// The pod names a claim in two volumes; the reference then takes it twice.
extern const std::string kClaimTwice;
// The reference forgets for all pods what it assumed for a claim when it undoes one of them.
extern const std::string kSharedClaim;
[[nodiscard]] bool names_claim_twice(const Json& pod);

}  // namespace plimsoll::conformance
