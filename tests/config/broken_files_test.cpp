// tests/config/broken holds profile files that are wrong in one way each, and beside each file the
// exact lines that are shown for it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config/manifest.hpp"
#include "config/validate.hpp"
#include "tests/config/test_registry.hpp"

namespace plimsoll::config {
namespace {

std::vector<std::string> broken_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/config/broken")) {
    const std::string extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".json") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(BrokenFiles, ShowExactlyTheExpectedLines) {
  const std::vector<std::string> files = broken_files();
  EXPECT_GE(files.size(), 15U);
  for (const std::string& path : files) {
    const Validation validation = validate_file(path, test_registry());
    const std::string name = std::filesystem::path(path).filename();
    const std::string expected_path = std::filesystem::path(path).replace_extension(".expected");
    const Result<std::string> expected = read_text_file(expected_path);
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_FALSE(validation.ok()) << path;
    EXPECT_EQ(to_string(validation.errors, name), *expected) << path;
  }
}

}  // namespace
}  // namespace plimsoll::config
