#pragma once
// The plugins of the default profile, linked into the scheduler. They are written against the same
// SDK as plugins in .so files, and are registered by name from one table.

#include <span>

#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll {

// Every builtin plugin, by name. The table lives as long as the process.
[[nodiscard]] std::span<const StaticModule> builtin_modules();

}  // namespace plimsoll
