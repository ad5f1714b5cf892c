// Seeds are given, drawn or always the same, and no test has another source of chance.

#include "tests/support/seed.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include "tests/support/environment.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

class Seed : public ::testing::Test {
 protected:
  Seed() {
    if (const char* given = std::getenv(kVariable)) given_ = given;
  }
  ~Seed() override { given_ ? set(given_->c_str()) : unset(); }

  static void set(const char* text) { ::setenv(kVariable, text, 1); }
  static void unset() { ::unsetenv(kVariable); }
  // What is said of a text that is no seed.
  static std::string complaint(const char* text) {
    set(text);
    try {
      return "none, it is " + std::to_string(test_seed());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  }

 private:
  static constexpr const char* kVariable = "PLIMSOLL_TEST_SEED";
  std::optional<std::string> given_;
};

TEST_F(Seed, IsTheUsualOneUnlessOneIsGiven) {
  unset();
  EXPECT_EQ(test_seed(), 1U);
  EXPECT_EQ(test_seed(53), 53U);
  set("4294967295");
  EXPECT_EQ(test_seed(53), 4294967295U);
  set("0");
  EXPECT_EQ(test_seed(53), 0U);
}

TEST_F(Seed, IsSaidForWhoeverRepeatsIt) {
  set("17");
  ::testing::internal::CaptureStdout();
  (void)test_seed();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "PLIMSOLL_TEST_SEED=17\n");
}

TEST_F(Seed, IsDrawnOnceForAllTestsOfAProgram) {
  set("random");
  const std::uint32_t drawn = test_seed();
  EXPECT_LT(drawn, kDrawnSeeds);
  EXPECT_EQ(test_seed(7), drawn);
}

TEST_F(Seed, IsNothingElse) {
  for (const char* text : {"", "x", "-1", "1 ", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(complaint(text), std::string("PLIMSOLL_TEST_SEED=") + text +
                                   ": must be a number from 0 to 18446744073709551615");
  }
  EXPECT_EQ(complaint("4294967296"), "PLIMSOLL_TEST_SEED=4294967296: must be below 2^32");
}

TEST(Environment, NumbersAreReadWhole) {
  ::setenv("PLIMSOLL_TEST_NUMBER", "18446744073709551615", 1);
  EXPECT_EQ(number_from_environment("PLIMSOLL_TEST_NUMBER", 3), UINT64_MAX);
  ::setenv("PLIMSOLL_TEST_NUMBER", "3k", 1);
  EXPECT_THROW((void)number_from_environment("PLIMSOLL_TEST_NUMBER", 3), std::invalid_argument);
  ::unsetenv("PLIMSOLL_TEST_NUMBER");
  EXPECT_EQ(number_from_environment("PLIMSOLL_TEST_NUMBER", 3), 3U);
}

// A test that draws a seed of its own fails for nobody else.
TEST(Tests, DrawNoSeedsOfTheirOwn) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator("tests")) {
    const std::filesystem::path& path = entry.path();
    const bool source = path.extension() == ".cpp" || path.extension() == ".hpp";
    if (!source || path.parent_path().filename() == "support") continue;
    const Result<std::string> text = read_file(path);
    ASSERT_TRUE(text) << text.error().message;
    for (const char* own : {"std::random_device", "random_seed()", "getenv(\"PLIMSOLL_TEST_SEED"}) {
      EXPECT_EQ(text->find(own), std::string::npos)
          << path << " has " << own << ": use tests/support/seed.hpp";
    }
  }
}

}  // namespace
}  // namespace plimsoll::test
