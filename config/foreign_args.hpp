#pragma once
// The args of plugins that come from other projects and check their args themselves:
// NodeResourceTopologyMatchArgs of scheduler-plugins and DeviceShareArgs of Koordinator.
//
// The plugins decide what is valid. Known here is what helps a person with a file that was written
// for the original: the names of the fields, and which of them change nothing in Plimsoll. Constant
// tables and pure functions, any thread.

#include <string>
#include <string_view>

#include "config/problem.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {

// One warning per field that the file gives, that is not at its default, and that has no effect.
void warn_about_idle_args(const PluginArgs& args, Problems& warnings);

// The field of the plugin's args that the last part of `path` is probably a slip of the pen for;
// empty if there is none, or if nothing is known about the plugin's args.
[[nodiscard]] std::string nearest_args_field(std::string_view plugin, std::string_view path);

}  // namespace plimsoll::config
