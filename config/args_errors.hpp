#pragma once
// What a plugin says about its args, taken apart so that each error gets its place in the file.
//
// Plugins report all errors in one text: one a line, or in the form of Kubernetes' aggregates
// ("[a: wrong, b: wrong]"). Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::config {

// `path` is inside the args, such as scoringStrategy.type; it may be empty.
struct ArgsError {
  std::string path;
  std::string message;
  bool operator==(const ArgsError&) const = default;
};

// How the message about an unknown field begins.
inline constexpr std::string_view kUnknownField = "unknown field";

// The errors of a plugin's text, in its order. An unknown field is said in one way, whatever the
// plugin's: its path, and a message that begins with kUnknownField.
[[nodiscard]] std::vector<ArgsError> split_args_errors(std::string_view text);

}  // namespace plimsoll::config
