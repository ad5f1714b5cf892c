#pragma once
// Where NodeVolumeLimits and VolumeRestrictions differ from the reference on purpose
// (docs/volumes.md). Each rule looks at the input of a case only, and at its JSON: it shares no
// code with the plugins.

#include <set>
#include <string>

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// The names of all rules, as they are counted.
extern const std::string kOwnAttachment;
extern const std::string kForeignFault;
extern const std::string kOtherNamespace;
extern const std::string kNamedTwice;
extern const std::string kSeveralUsers;
[[nodiscard]] std::set<std::string> volume_rules();

// Of a verdict of NodeVolumeLimits on a node that differs from the expected one: the rule that
// makes `actual` the right one; empty: none does.
[[nodiscard]] std::string limits_rule(const Json& test_case, const std::string& node,
                                      const Json& expected, const Json& actual);

// The number of (pod, claim) pairs that keep the pod's ReadWriteOncePod claims from it, with these
// pods on nodes; and the rules by which the reference may count another number.
struct ExclusiveUse {
  size_t pairs = 0;
  std::set<std::string> rules;
};
[[nodiscard]] ExclusiveUse exclusive_use(const Json& test_case, const Json& pods_on_nodes);

}  // namespace plimsoll::conformance
