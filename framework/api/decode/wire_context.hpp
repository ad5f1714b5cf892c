#pragma once
// A reader's position in an object, and the first error. Both encodings use it.

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
  std::string error;     // the first error
  bool lenient = false;  // Reading::kWhatCanBeRead

  // "spec.containers[1].resources.requests[cpu]"
  [[nodiscard]] std::string where() const;
  // Keeps the first error, prefixed with its position. Returns false.
  bool fail(std::string_view why);

  // Reads a part of the value: `read()` -> bool. An error in the part is an error of the whole,
  // unless the reading is lenient.
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
