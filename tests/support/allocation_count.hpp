#pragma once
// How often operator new was called, and how much of what it gave is still held: a test that
// compiles allocation_count.cpp into its program replaces the global operators by ones that count.
// All of them, since sanitizers want a block to come from the malloc that free() gives it back to.

#include <cstdint>

namespace plimsoll::test {

// By the calling thread, since it began.
[[nodiscard]] uint64_t allocations_of_this_thread();

// By all threads, as it is now.
[[nodiscard]] int64_t live_bytes();

}  // namespace plimsoll::test
