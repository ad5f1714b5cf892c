// Runs every target with every seed and every input that ever broke something. This part of fuzzing
// belongs to the normal tests; fuzz/run searches for new inputs.

#include <gtest/gtest.h>

#include <map>

#include "fuzz/seeds.hpp"

namespace plimsoll::fuzz {

#define FUZZ_TARGET(name) void name(std::string_view input);
#include "fuzz_targets.inc"
#undef FUZZ_TARGET

namespace {

using Target = void (*)(std::string_view);
const std::map<std::string, Target>& targets() {
  static const std::map<std::string, Target> kTargets = {
#define FUZZ_TARGET(name) {#name, name},
#include "fuzz_targets.inc"
#undef FUZZ_TARGET
  };
  return kTargets;
}

const auto& all_seeds() {
  static const auto kSeeds = seeds();
  return kSeeds;
}

class Replay : public ::testing::TestWithParam<std::pair<const std::string, Target>> {};

TEST_P(Replay, NoInputBreaksARule) {
  const auto& [name, run] = GetParam();
  const auto found = all_seeds().find(name);
  ASSERT_TRUE(found != all_seeds().end()) << "add seeds: fuzz/seeds/" << name;
  run("");
  for (const std::string& input : found->second) {
    // A copy in its own memory, so that the address sanitizer detects reads beyond its end.
    const std::string exact(input);
    ASSERT_NO_THROW(run(exact)) << input;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(targets()),
                         [](const auto& target) { return target.param.first; });

TEST(Seeds, BelongToTargets) {
  for (const auto& [name, inputs] : all_seeds()) {
    EXPECT_TRUE(targets().contains(name)) << "no target is called " << name;
    EXPECT_FALSE(inputs.empty());
  }
}

}  // namespace
}  // namespace plimsoll::fuzz
