#pragma once
// What a pod of one of Koordinator's gangs says of it, by annotations or labels (docs/devices.md).

#include <cstddef>
#include <optional>
#include <string>

#include "framework/objects/pod_group.hpp"

namespace plimsoll {

struct GangTerms {
  std::optional<size_t> min_available;  // nothing: its PodGroup says it
  // match-policy: who counts as one of so many.
  enum class Match {
    kOnceSatisfied,  // who waits and who has a node; and where some have a node, nobody waits
    kOnlyWaiting,
    kWaitingAndRunning,
  } match = Match::kOnceSatisfied;
  std::string problem = {};  // what cannot be read, or is not served; empty: nothing

  bool operator==(const GangTerms&) const = default;
};

[[nodiscard]] GangTerms gang_terms(const plimsoll_pod& pod);

// As find_pod_group; a gang that has no object is what this pod of it says, in `own`.
[[nodiscard]] const PodGroup* describe_group(const ObjectStore& objects, const GroupName& name,
                                             const plimsoll_pod& member, PodGroup& own);
// The same with the terms of that pod; of other kinds there are none.
[[nodiscard]] const PodGroup* describe_group(const ObjectStore& objects, const GroupName& name,
                                             const GangTerms& terms, PodGroup& own);

}  // namespace plimsoll
