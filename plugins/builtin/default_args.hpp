#pragma once
// Defaults of a plugin's args as data: the merged view of a profile shows them, and the plugin
// reads them before the profile's args. So they stand once.

#include <plimsoll/args.hpp>

#include <initializer_list>
#include <string_view>

namespace plimsoll::builtin {

// read(sdk::Args&) of the defaults, then of `json`, whose warnings go to the host. Throws
// std::runtime_error with all that is wrong.
template <typename Read>
void read_over(std::string_view defaults, const sdk::Host& host, std::string_view json,
               std::initializer_list<std::string_view> kinds, const Read& read) {
  sdk::read_args(defaults, kinds, read);
  sdk::read_args(host, json, kinds, read);
}

}  // namespace plimsoll::builtin
