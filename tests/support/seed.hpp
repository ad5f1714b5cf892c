#pragma once
// Where tests that draw their cases begin. Every test run draws the same cases, so that what fails
// is due to the change at hand; new cases are for campaigns (tests/campaign).
//
//   PLIMSOLL_TEST_SEED=n       the cases of n: repeats the failure that named it
//   PLIMSOLL_TEST_SEED=random  others each time
//
// Such a test has the label "random" in its plimsoll_test, which links this.

#include <cstdint>

namespace plimsoll::test {

// Drawn seeds are below it: whoever lives several lives counts on from here.
inline constexpr std::uint32_t kDrawnSeeds = 1'000'000'000;

// The seed of this run: what PLIMSOLL_TEST_SEED says, one drawn seed per process with "random",
// `usual` where it is not set. Writes "PLIMSOLL_TEST_SEED=n" to stdout, so that a failure, a crash
// or a hang has it above. Throws std::invalid_argument, which fails the test with its text, if the
// variable has neither a number below 2^32 nor "random".
[[nodiscard]] std::uint32_t test_seed(std::uint32_t usual = 1);

}  // namespace plimsoll::test
