#pragma once
// A pod by its UID.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll::topology {

// A hash of the UID (XXH3): the texts of 100,000 pods need not be kept.
struct PodKey {
  uint64_t a = 0;
  uint64_t b = 0;
  [[nodiscard]] static PodKey of(std::string_view uid);
  friend auto operator<=>(const PodKey&, const PodKey&) = default;
};
struct PodKeyHash {
  size_t operator()(const PodKey& key) const { return key.a; }
};

}  // namespace plimsoll::topology
