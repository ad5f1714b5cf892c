#pragma once
// For profiles made in code, without a profile file: the equivalent of multiPoint.

#include <string>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll {

// Adds the plugin as the last one at every extension point that it implements. Fails if there is no
// such plugin or it cannot be created.
[[nodiscard]] Result<void> enable_at_every_point(ProfileSpec& profile, const Modules& modules,
                                                 const std::string& plugin);

}  // namespace plimsoll
