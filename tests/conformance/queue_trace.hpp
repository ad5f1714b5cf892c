#pragma once
// Traces of the scheduling queue: one operation after the other on a clock, with what is where
// after each.

#include <plimsoll/objects.h>

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// The real queue with the real plugins' PreEnqueue, QueueSort and hints. Where a plugin that does
// not exist here has rejected a pod, the trace is followed until the first step in which nothing
// but that plugin's own hint decides whether a pod moves; the case then counts as skipped. (Whether
// it is asked at all is known: which events it registered, and that another rejector of the pod has
// not said Queue already.)
// Of hints it takes kube-scheduler's (see rests_on_namespace_labels): whether a hint is right is
// compared elsewhere.
void check_queue_trace(const Json& test_case, Findings& findings);

// A required term has a namespaceSelector with requirements. kube-scheduler's hints ask it about a
// pod's namespace as if that had no labels, and so miss pods that it selects; ours do not.
[[nodiscard]] bool rests_on_namespace_labels(const plimsoll_pod& pod);

}  // namespace plimsoll::conformance
