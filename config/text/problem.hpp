#pragma once
// Problems of a file written by a person: the place, and how to fix it.
//
// Every reader of a profile file collects problems and continues, so that all of them are shown at
// once. The message after the field path has the form of Kubernetes' field errors ("Invalid value:
// 0: ..."). Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

#include "framework/base/quote.hpp"  // go_quoted, for values in messages

namespace plimsoll::config {

// A place in a file, counted from 1 like in editors; line 0: unknown.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

// path is the field's path in Kubernetes' notation, such as
// profiles[0].plugins.score.enabled[2].weight; it is empty if the problem concerns the whole file.
struct Problem {
  std::string path;
  Position at;
  std::string message;
};

using Problems = std::vector<Problem>;

// "file:7:13: profiles[0].schedulerName: Required value". The path is left out if the message
// quotes it.
[[nodiscard]] std::string to_string(const Problem& problem, std::string_view file);

// One line per problem, each ended by a newline.
[[nodiscard]] std::string to_string(const Problems& problems, std::string_view file);

// Sorts by place; equal places keep their order, and exact duplicates are removed.
void sort_by_position(Problems& problems);

// Whether there is already a problem about the field or the mapping that contains it.
[[nodiscard]] bool mentions(const Problems& problems, std::string_view path);

// "a.b" and "b" for the root; "a[3]".
[[nodiscard]] std::string child_path(std::string_view parent, std::string_view name);
[[nodiscard]] std::string index_path(std::string_view parent, std::size_t index);

// Kubernetes' field errors, without the path. `value` is already rendered: go_quoted("x") or "0".
[[nodiscard]] std::string invalid_value(std::string_view value, std::string_view detail);
[[nodiscard]] std::string required_value(std::string_view detail = {});
[[nodiscard]] std::string duplicate_value(std::string_view value);
[[nodiscard]] std::string unsupported_value(std::string_view value,
                                            const std::vector<std::string>& supported);
[[nodiscard]] std::string forbidden(std::string_view detail);

}  // namespace plimsoll::config
