#pragma once
// Traces of the scheduling queue: one operation after the other on a clock, with what is where
// after each.

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// The real queue with the real plugins' PreEnqueue, QueueSort and hints. Where a plugin that does
// not exist here has rejected a pod, the trace is followed until the first step in which nothing
// but that plugin's own hint decides whether a pod moves; the case then counts as skipped. (Whether
// it is asked at all is known: which events it registered, and that another rejector of the pod has
// not said Queue already.)
void check_queue_trace(const Json& test_case, Findings& findings);

}  // namespace plimsoll::conformance
