#pragma once
// Profiles made in code, without a profile file: what multiPoint stands for there.

#include <string>

#include "framework/base/result.hpp"
#include "framework/runtime/modules.hpp"
#include "framework/runtime/profile_spec.hpp"

namespace plimsoll {

// Puts the plugin last at every extension point that it implements. Fails if there is no such
// plugin, or it cannot be made.
[[nodiscard]] Result<void> enable_at_every_point(ProfileSpec& profile, const Modules& modules,
                                                 const std::string& plugin);

}  // namespace plimsoll
