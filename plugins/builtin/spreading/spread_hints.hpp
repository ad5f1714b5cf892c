#pragma once
// Which events may make a pod schedulable that PodTopologySpread rejected.

#include <plimsoll/plugin.hpp>

#include "plugins/builtin/spreading/constraints.hpp"

namespace plimsoll::builtin {

// `constraints`: the pod's that forbid.
[[nodiscard]] sdk::Hint spread_hint(sdk::Pod pod, const plimsoll_event& event,
                                    const SpreadConstraints& constraints);

}  // namespace plimsoll::builtin
