#include "plugins/builtin/columns/column_loops.hpp"

#include <cmath>

// One version for each kind of processor, chosen when the program starts. ThreadSanitizer is not
// ready by then, and what it looks for is not here.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define PLIMSOLL_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define PLIMSOLL_EACH_PROCESSOR
#endif

namespace plimsoll::builtin {
namespace {

// Below it 100 times an amount is a whole number of a double, and a quotient of 0 to 100 that is
// not whole stays 1 / allocatable away from the next whole one: more than a unit in its last place,
// so it is never rounded up to it.
constexpr int64_t kExact = int64_t{1} << 46;

struct Share {
  bool exact;
  int64_t requested;
  int64_t allocatable;  // never 0
};

// Amounts that are not exact are replaced: nobody looks at what comes of them.
inline Share share(int64_t requested, int64_t allocatable) {
  const bool exact = (requested >= 0) & (allocatable > 0) & (allocatable < kExact);
  return {exact, exact ? requested : 0, exact ? allocatable : 1};
}

inline int64_t percent(int64_t part, int64_t whole) {
  return static_cast<int64_t>(static_cast<double>(part * 100) / static_cast<double>(whole));
}

inline int64_t least_allocated(const Share& of) {
  return percent(of.requested > of.allocatable ? 0 : of.allocatable - of.requested, of.allocatable);
}

inline int64_t most_allocated(const Share& of) {
  return percent(of.requested < of.allocatable ? of.requested : of.allocatable, of.allocatable);
}

inline double used_fraction(int64_t amount, int64_t allocatable) {
  const double fraction =
      static_cast<double>(amount) / static_cast<double>(allocatable != 0 ? allocatable : 1);
  return fraction < 1.0 ? fraction : 1.0;
}

inline int64_t evenness(double first, double second) {
  return static_cast<int64_t>((1 - std::abs((first - second) / 2)) * 100.0);
}

}  // namespace

PLIMSOLL_EACH_PROCESSOR
size_t run_length(const uint32_t* numbers, size_t count) {
  constexpr size_t kPiece = 256;
  size_t length = 0;
  for (; length + kPiece <= count; length += kPiece) {
    const uint32_t* piece = numbers + length;
    const uint32_t first = numbers[0] + static_cast<uint32_t>(length);
    uint32_t apart = 0;
    for (uint32_t i = 0; i < kPiece; ++i) apart |= piece[i] ^ (first + i);
    if (apart != 0) break;
  }
  while (length < count && numbers[length] == numbers[0] + length) ++length;
  return length;
}

PLIMSOLL_EACH_PROCESSOR
size_t next_marked(const uint8_t* marks, size_t from, size_t count) {
  constexpr size_t kPiece = 256;
  for (; from + kPiece <= count; from += kPiece) {
    if (marks[from] != 0) return from;
    uint8_t any = 0;
    for (size_t i = 0; i < kPiece; ++i) any |= marks[from + i];
    if (any != 0) break;
  }
  while (from < count && marks[from] == 0) ++from;
  return from;
}

PLIMSOLL_EACH_PROCESSOR
void mark_insufficient(size_t nodes, int64_t need, const int64_t* allocatable,
                       const int64_t* requested, uint8_t* lacks) {
  for (size_t i = 0; i < nodes; ++i) lacks[i] |= need > allocatable[i] - requested[i] ? 1 : 0;
}

PLIMSOLL_EACH_PROCESSOR
void mark_too_many_pods(size_t nodes, const uint32_t* pods, const int64_t* room, uint8_t* lacks) {
  for (size_t i = 0; i < nodes; ++i) lacks[i] |= int64_t{pods[i]} + 1 > room[i] ? 1 : 0;
}

PLIMSOLL_EACH_PROCESSOR
bool score_least_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                           int64_t* __restrict scores) {
  int64_t left_out = 0;
  for (size_t i = 0; i < nodes; ++i) {
    const Share one = share(sum_of(first.allocated[i], first.add), first.allocatable[i]);
    const Share two = share(sum_of(second.allocated[i], second.add), second.allocatable[i]);
    const int64_t score = (least_allocated(one) + least_allocated(two)) / 2;
    const bool known = one.exact & two.exact;
    scores[i] = known ? score : kLeftOut;
    left_out |= known ? 0 : 1;
  }
  return left_out != 0;
}

PLIMSOLL_EACH_PROCESSOR
bool score_most_allocated(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                          int64_t* __restrict scores) {
  int64_t left_out = 0;
  for (size_t i = 0; i < nodes; ++i) {
    const Share one = share(sum_of(first.allocated[i], first.add), first.allocatable[i]);
    const Share two = share(sum_of(second.allocated[i], second.add), second.allocatable[i]);
    const int64_t score = (most_allocated(one) + most_allocated(two)) / 2;
    const bool known = one.exact & two.exact;
    scores[i] = known ? score : kLeftOut;
    left_out |= known ? 0 : 1;
  }
  return left_out != 0;
}

PLIMSOLL_EACH_PROCESSOR
bool score_balanced(size_t nodes, const LoadColumn& first, const LoadColumn& second,
                    int64_t* __restrict scores) {
  int64_t left_out = 0;
  for (size_t i = 0; i < nodes; ++i) {
    const int64_t all[2] = {first.allocatable[i], second.allocatable[i]};
    const int64_t used[2] = {first.allocated[i], second.allocated[i]};
    const int64_t with = evenness(used_fraction(sum_of(used[0], first.add), all[0]),
                                  used_fraction(sum_of(used[1], second.add), all[1]));
    const int64_t without =
        evenness(used_fraction(used[0], all[0]), used_fraction(used[1], all[1]));
    const bool known = (all[0] != 0) & (all[1] != 0);
    scores[i] = known ? 50 + (50 + with - without) / 2 : kLeftOut;
    left_out |= known ? 0 : 1;
  }
  return left_out != 0;
}

PLIMSOLL_EACH_PROCESSOR
void round_all(const double* __restrict sums, size_t count, int64_t* __restrict scores) {
  for (size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<int64_t>(sums[i]);
    scores[i] = whole + (sums[i] - static_cast<double>(whole) >= 0.5 ? 1 : 0);
  }
}

PLIMSOLL_EACH_PROCESSOR
void fewer_is_better(int64_t least, int64_t most, size_t count, int64_t* __restrict scores) {
  // As percent(): with most below kExact the quotient is not rounded up to a whole number.
  const int64_t whole = most == 0 ? 1 : most;
  const int64_t sum = most == 0 ? 1 : most + least;
  if (most < kExact / 2) {
    for (size_t i = 0; i < count; ++i) scores[i] = percent(sum - scores[i], whole);
  } else {
    for (size_t i = 0; i < count; ++i) scores[i] = 100 * (sum - scores[i]) / whole;
  }
}

}  // namespace plimsoll::builtin
