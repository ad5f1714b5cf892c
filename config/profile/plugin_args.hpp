#pragma once
// The args of a plugin on their way from the file to the plugin, which reads and checks them.

#include <string>
#include <string_view>

#include "config/text/value.hpp"

namespace plimsoll::config {

// As JSON text; null is "{}". apiVersion and kind are left out if they are of the usual form (kind
// is <name>Args for one of the two names). Pure, any thread.
[[nodiscard]] std::string passed_on_args(std::string_view plugin, std::string_view written_name,
                                         const Value* args);

}  // namespace plimsoll::config
