#pragma once
// Versions by semver.org 2.0.0. Pure; any thread.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::dra {

struct Semver {
  // Part of a pre-release: a number, or a text. Numbers come first.
  struct Part {
    bool is_text = false;
    uint64_t number = 0;
    std::string text;
    auto operator<=>(const Part&) const = default;
  };

  uint64_t major = 0, minor = 0, patch = 0;
  std::vector<Part> pre;  // build metadata is not kept: it does not count in comparisons

  // Nothing: the text is not a version.
  [[nodiscard]] static std::optional<Semver> parse(std::string_view text);
  // Also takes a "v" in front, leading zeros, and versions without a minor or a patch number.
  [[nodiscard]] static std::optional<Semver> parse_lenient(std::string_view text);

  std::strong_ordering operator<=>(const Semver& other) const;
  bool operator==(const Semver& other) const { return (*this <=> other) == 0; }
};

}  // namespace plimsoll::dra
