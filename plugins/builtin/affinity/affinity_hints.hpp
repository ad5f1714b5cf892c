#pragma once
// Which events may make a pod schedulable that InterPodAffinity rejected.

#include <plimsoll/plugin.hpp>

#include "plugins/builtin/census/census.hpp"

namespace plimsoll::builtin {

[[nodiscard]] sdk::Hint affinity_hint(sdk::Pod pod, const plimsoll_event& event,
                                      const Census& census);

}  // namespace plimsoll::builtin
