#pragma once
// Where a reader is in an object, and the first thing that was wrong. For the readers of both
// encodings.

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct WireContext {
  struct PathStep {
    enum Kind { kField, kEntry, kIndex } kind;
    std::string_view name;
    size_t index;
  };
  std::vector<PathStep> path;
  std::string error;     // the first
  bool lenient = false;  // Reading::kWhatCanBeRead

  // "spec.containers[1].resources.requests[cpu]"
  [[nodiscard]] std::string where() const;
  // Keeps the first error, with its place in front. Returns false.
  bool fail(std::string_view why);

  // Reads a part of what is being read: `read()` -> bool. What is wrong with it is an error of the
  // whole, unless the rest is to be read nevertheless.
  template <typename Read>
  bool part(PathStep step, const Read& read) {
    const size_t depth = path.size();
    path.push_back(step);
    if (!read() && !lenient) return false;
    path.resize(depth);
    return true;
  }
};

}  // namespace plimsoll
