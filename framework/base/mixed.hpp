#pragma once
// Numbers that stand for several others: unlike inputs give unlike numbers, as good as surely.

#include <cstdint>

namespace plimsoll {

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014) over both. The order matters.
[[nodiscard]] constexpr uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (a >> 32)) * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace plimsoll
