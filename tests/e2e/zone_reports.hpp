#pragma once
// The node side of a cluster without kubelets: what topology exporters would report.

#include "framework/base/result.hpp"
#include "tests/e2e/recount.hpp"
#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

// Reports for every node that its pods run in the zones that their annotations name: what is
// available, and the fingerprint of all its pods.
[[nodiscard]] Result<void> report_zones(KubeClient& client, const Recount& cluster);

}  // namespace plimsoll::test
