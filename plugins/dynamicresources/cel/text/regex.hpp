#pragma once
// Regular expressions: RE2, which takes time linear in the text.

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace re2 {
class RE2;
}

namespace plimsoll::dra::cel {

// Immutable; any thread.
class Regex {
 public:
  // Nothing: the pattern is not valid, or so large that it cannot be compiled in a megabyte. `size`
  // is set to that of the program, also if it was given up for its size.
  [[nodiscard]] static std::shared_ptr<const Regex> compile(std::string_view pattern,
                                                            size_t* size = nullptr);

  [[nodiscard]] bool is_in(std::string_view text) const;
  // The first match that begins at `from` or behind; what is before it counts as context.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view text, size_t from = 0) const;
  // Of its program: what it costs to compare it with a character, at worst.
  [[nodiscard]] size_t size() const { return size_; }

 private:
  std::shared_ptr<const re2::RE2> compiled_;
  size_t size_ = 0;
};

}  // namespace plimsoll::dra::cel
