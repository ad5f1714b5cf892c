#pragma once
// Limits for YAML texts. A few lines of aliases to aliases can expand to gigabytes, and the parser
// accepts some texts that it cannot handle well. A reader of YAML reports here what the parser
// finds, in the same order, and stops at the first error.
//
// This class does not depend on a parser. Use one object for each reading of a text.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// The text as yaml-cpp is to be given it: at the end of a line it takes a quote that was never
// closed for closed, with all that stands behind it. The comment that is added here makes it an
// error.
[[nodiscard]] std::string with_end_marked(std::string_view text);

// What is wrong at the 0-based line for which yaml-cpp has `message`, in words that help.
[[nodiscard]] std::string yaml_fault(std::string_view text, int line, std::string message);

class YamlBounds {
 public:
  using Anchor = std::size_t;  // 0: none
  static constexpr int kMaxDepth = 256;
  static constexpr std::size_t kMaxAliasedValues = 100'000;  // after expansion of all aliases

  // Each returns what is wrong, or null.
  [[nodiscard]] const char* document(int position);  // a document begins at this offset
  [[nodiscard]] const char* open(Anchor anchor);     // a list or a map
  void close();
  void scalar(Anchor anchor);  // anything except a list, a map or an alias
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
