#pragma once
// Plays the Bindings of a run again, by the audit log, and asks of each whether hard spreading and
// required affinity held when it was made.

#include <cstddef>
#include <string>
#include <vector>

#include "tests/e2e/audit_log.hpp"
#include "tests/e2e/placement_facts.hpp"

namespace plimsoll::test {

// What happened, in the order of time: a pod was created; its Binding arrived for the first time in
// that life of the scheduler in which it was carried out; this was answered, in whatever way; the
// scheduler died.
struct Step {
  enum class Kind { kCreated, kTried, kAnswered, kKilled };
  Kind kind = Kind::kCreated;
  std::string pod = {};  // namespace/name
};

// `lives`: when each life of the scheduler began. A Binding over which a client died was carried
// out if no other one was.
[[nodiscard]] std::vector<Step> steps_of(const std::map<std::string, PodTimes>& pods,
                                         const std::vector<BindingRecord>& bindings,
                                         const std::vector<PodTimes::Time>& lives);

struct Replayed {
  std::vector<std::string> faults;
  std::size_t judged = 0;  // Bindings of pods with hard spreading or required affinity
  // Not judged: a pod that was placed before, and died with the scheduler before its Binding was
  // sent, may have counted.
  std::size_t unsettled = 0;
};

// Pods are placed one after the other, but bound in another order. So a rule is broken if it did
// not hold whichever of those pods were placed already that may have been:
//  - those of the next `in_flight` Bindings: so many are under way at once;
//  - those whose Binding was behind another one for the same node, as such are sent one after the
//    other: that one was under way at this moment, or behind such a one, and at most `in_flight`
//    others arrived between its answer and the next;
//  - those with claims, which wait for their volumes before they are bound.
// It does not matter if a pod counts that was placed later: once a domain has fewer than maxSkew
// pods above the least, it has so until a further pod is placed there.
[[nodiscard]] Replayed replay(const Placement& placement, const std::vector<Step>& steps,
                              std::size_t in_flight);

}  // namespace plimsoll::test
