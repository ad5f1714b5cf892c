#pragma once
// Sanitizers make a program several times slower, and what they look for, wrong accesses and races,
// the first of many drawn cases show as well as the last. The optimised build draws them all.

#include <algorithm>

namespace plimsoll::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// How many of `usual` cases to draw: a quarter with a sanitizer, at least one.
template <typename Count>
constexpr Count cases(Count usual) {
  return kSanitized ? std::max<Count>(usual / 4, 1) : usual;
}

}  // namespace plimsoll::test
