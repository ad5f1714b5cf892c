#pragma once
// The range of amounts. Objects are other people's text: a pod may ask for 2^63 bytes in each of
// 10,000 containers, a report may show as much. Every amount that is read is clamped to
// 9*10^15 base units either way: below 2^53, so that doubles hold it, and whole CPUs. No node comes
// near it. Sums stay in the range too.

#include <algorithm>
#include <cstdint>

namespace plimsoll::topology {

inline constexpr int64_t kMaxAmount = 9'000'000'000'000'000;

[[nodiscard]] constexpr int64_t clamp_amount(int64_t amount) {
  return std::clamp(amount, -kMaxAmount, kMaxAmount);
}

// Of two amounts in the range: cannot wrap.
[[nodiscard]] constexpr int64_t add_amounts(int64_t a, int64_t b) {
  return clamp_amount(a + b);
}

}  // namespace plimsoll::topology
