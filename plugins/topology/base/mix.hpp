#pragma once
// The next word of a hash over words. Whatever is found by it is compared: a hash alone says
// nothing.

#include <cstdint>

namespace plimsoll::topology {

[[nodiscard]] inline uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
  return hash ^ hash >> 32;
}

}  // namespace plimsoll::topology
