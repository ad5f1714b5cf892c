#pragma once
// Random numbers that depend on a seed and a name only, not on other draws.

#include <cstdint>
#include <string_view>

namespace plimsoll::sandbox {

class Dice {
 public:
  Dice() = default;
  Dice(std::uint64_t seed, std::string_view name) : state_(seed) {
    // Each output goes back into the state. If the bytes were only added up, similar names
    // (node-0017, node-0071) would give the same state.
    for (const char c : name) state_ = next() ^ static_cast<unsigned char>(c);
  }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // True with that probability; draws nothing at 0.
  bool chance(double probability) { return probability > 0 && uniform() < probability; }
  // A factor from 1 - jitter to 1 + jitter.
  double vary(double jitter) { return jitter > 0 ? 1.0 + jitter * (2 * uniform() - 1) : 1.0; }

 private:
  std::uint64_t next() {  // SplitMix64
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t state_ = 0;
};

}  // namespace plimsoll::sandbox
