#pragma once
// Random choices that are the same for the same seed, whatever the standard library.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::lint {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  [[nodiscard]] size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }
  [[nodiscard]] bool one_in(size_t count) { return below(count) == 0; }

  template <typename T>
  [[nodiscard]] const T& of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
  template <size_t kCount>
  [[nodiscard]] std::string of(const std::array<const char*, kCount>& choices) {
    return choices[below(kCount)];
  }
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace plimsoll::lint
