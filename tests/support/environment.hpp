#pragma once
// What whoever runs a test gives it in the environment.

#include <cstdint>

namespace plimsoll::test {

// The number in `variable`, `otherwise` where it is not set. Throws std::invalid_argument, which
// fails the test with its text, if there is something else than a number in it.
[[nodiscard]] std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise);

// PLIMSOLL_LONG=1: tests that search for faults run in full length, as .ci/deep has them, and not
// just long enough to show that they hold.
[[nodiscard]] bool in_full_length();

}  // namespace plimsoll::test
