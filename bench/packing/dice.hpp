#pragma once
// Random numbers that are the same on every machine (std::uniform_* are not).

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace plimsoll::packing {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  int whole(int low, int high) {  // low and high included
    return low + static_cast<int>(uniform() * (high - low + 1));
  }
  bool chance(double probability) { return uniform() < probability; }
  double exponential() { return -std::log(1 - uniform()); }
  // A random index, with a probability in proportion to its weight.
  int pick(std::initializer_list<double> weights) {
    double rest = 0;
    for (const double weight : weights) rest += weight;
    rest *= uniform();
    int at = 0;
    for (const double weight : weights) {
      if ((rest -= weight) < 0) return at;
      ++at;
    }
    return at - 1;
  }
  template <typename T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[whole(0, static_cast<int>(values.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace plimsoll::packing
