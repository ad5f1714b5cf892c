#pragma once
// The known word that a mistyped one most likely means.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

// The number of letters to insert, delete, replace or swap with their neighbour, whatever their
// case.
inline size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) {
    return std::tolower(static_cast<unsigned char>(a[i])) ==
           std::tolower(static_cast<unsigned char>(b[j]));
  };
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = last[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

// One of `known`, a range of texts, that is spelled much like `word`; of several the first of the
// nearest. Empty: there is none.
template <typename Texts>
[[nodiscard]] std::string nearest(std::string_view word, const Texts& known) {
  constexpr size_t kLongest = 100;  // nobody mistypes longer names, and the cost is quadratic
  if (word.size() > kLongest) return {};
  std::string_view best;
  size_t best_distance = word.size() / 3 + 1;
  for (const std::string_view candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return std::string(best);
}

}  // namespace plimsoll::sdk
