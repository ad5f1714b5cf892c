#pragma once
// What YAML text may make of itself: a few lines of aliases to aliases stand for gigabytes, and
// some text is taken by the parser without complaint but not to any good end. Whoever reads YAML
// tells here what the parser comes upon, in its order, and stops at the first objection.
//
// Knows nothing of a parser. A value, for one reading of one text.

#include <cstddef>
#include <map>
#include <vector>

namespace plimsoll {

class YamlBounds {
 public:
  using Anchor = std::size_t;  // 0: none
  static constexpr int kMaxDepth = 256;
  static constexpr std::size_t kMaxAliasedValues = 100'000;  // that all aliases stand for

  // Each returns what is wrong, or null.
  [[nodiscard]] const char* document(int position);  // one begins at this place in the text
  [[nodiscard]] const char* open(Anchor anchor);     // a list or a map
  void close();
  void scalar(Anchor anchor);  // anything but these two and aliases
  [[nodiscard]] const char* alias(Anchor anchor);

 private:
  struct Extent {
    std::size_t values = 1;
    int depth = 1;
  };
  struct Open {
    Anchor anchor = 0;
    Extent extent;
  };

  void put(const Extent& extent);
  [[nodiscard]] const char* too_deep(int more) const;

  int document_start_ = -1;
  std::vector<Open> open_;
  std::map<Anchor, Extent> anchored_;
  std::size_t aliased_values_ = 0;
};

}  // namespace plimsoll
