#pragma once
// What is wrong with a file that a person wrote: where, and what to do about it.
//
// Everything that reads a profile file collects problems and goes on, so that all of them are shown
// at once. The wording after the field path is that of Kubernetes' field errors ("Invalid value: 0:
// ..."). Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::config {

// A place in a file, counted from 1 as editors do; line 0 means that the place is not known.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

// path is the field's path in Kubernetes' notation, such as
// profiles[0].plugins.score.enabled[2].weight; it is empty for what concerns the file as a whole.
struct Problem {
  std::string path;
  Position at;
  std::string message;
};

using Problems = std::vector<Problem>;

// "file:7:13: profiles[0].schedulerName: Required value". The path is left out where the message
// quotes it.
[[nodiscard]] std::string to_string(const Problem& problem, std::string_view file);

// One line per problem, each ended by a newline.
[[nodiscard]] std::string to_string(const Problems& problems, std::string_view file);

// Orders by place; equal places keep their order, and exact repetitions are dropped.
void sort_by_position(Problems& problems);

// Whether something was already said about the field or the mapping that it belongs to.
[[nodiscard]] bool mentions(const Problems& problems, std::string_view path);

// "a.b" and "b" for the root; "a[3]".
[[nodiscard]] std::string child_path(std::string_view parent, std::string_view name);
[[nodiscard]] std::string index_path(std::string_view parent, std::size_t index);

// A string in double quotes, escaped as Go's %q does for printable text.
[[nodiscard]] std::string go_quoted(std::string_view text);

// Kubernetes' field errors, without the path. `value` is already rendered: go_quoted("x") or "0".
[[nodiscard]] std::string invalid_value(std::string_view value, std::string_view detail);
[[nodiscard]] std::string required_value(std::string_view detail = {});
[[nodiscard]] std::string duplicate_value(std::string_view value);
[[nodiscard]] std::string unsupported_value(std::string_view value,
                                            const std::vector<std::string>& supported);
[[nodiscard]] std::string forbidden(std::string_view detail);

// The candidate that `word` is probably a slip of the pen for, or nothing: at most a third of the
// letters differ, or only the case does.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string_view>& candidates);

}  // namespace plimsoll::config
