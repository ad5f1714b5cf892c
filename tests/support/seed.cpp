#include "tests/support/seed.hpp"

#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>

#include "tests/support/environment.hpp"

namespace plimsoll::test {
namespace {

constexpr const char* kVariable = "PLIMSOLL_TEST_SEED";

std::uint32_t seed_from_environment(std::uint32_t usual) {
  const char* given = std::getenv(kVariable);
  if (given != nullptr && std::string_view(given) == "random") {
    static const std::uint32_t drawn = std::random_device()() % kDrawnSeeds;
    return drawn;
  }
  const std::uint64_t number = number_from_environment(kVariable, usual);
  if (number > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument(std::string(kVariable) + "=" + given + ": must be below 2^32");
  }
  return static_cast<std::uint32_t>(number);
}

}  // namespace

std::uint32_t test_seed(std::uint32_t usual) {
  const std::uint32_t seed = seed_from_environment(usual);
  std::cout << kVariable << "=" << seed << std::endl;
  return seed;
}

}  // namespace plimsoll::test
