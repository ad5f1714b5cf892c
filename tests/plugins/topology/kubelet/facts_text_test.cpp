#include "plugins/topology/report/facts_text.hpp"

#include <gtest/gtest.h>

namespace plimsoll::topology::kubelet {
namespace {

using Numbers = std::vector<uint32_t>;

TEST(FactsText, SequencesKeepTheirOrder) {
  const std::pair<Numbers, const char*> kRows[] = {
      {{}, ""},
      {{7}, "7"},
      {{0, 1}, "0-1"},
      {{0, 2}, "0,2"},
      {{0, 2, 4}, "0-4/2"},
      {{0, 1, 2, 3, 8}, "0-3,8"},
      {{1, 3, 5, 6, 7, 8}, "1-5/2,6-8"},
      {{5, 3, 4, 1}, "5,3-4,1"},
      {{0, 2, 9, 64, 66}, "0,2,9,64,66"},
  };
  for (const auto& [numbers, text] : kRows) {
    EXPECT_EQ(sequence_text(numbers), text);
    const auto read = read_sequence(text, 100, 100);
    ASSERT_TRUE(read) << text << ": " << read.error();
    EXPECT_EQ(*read, numbers) << text;
  }
}

TEST(FactsText, BadSequencesAreNamed) {
  for (const char* text : {",", "1,", ",1", "1,,2", "-1", "2-1", "1-", "1/2", "0-4/0", "0-4/", "x",
                           "1 2", "101", "0-101", "99999999999999999999", "+1", "0x1"}) {
    EXPECT_FALSE(read_sequence(text, 100, 100)) << text;
  }
  EXPECT_FALSE(read_sequence("0-10", 100, 10));
  EXPECT_TRUE(read_sequence("0-9", 100, 10));
}

TEST(FactsText, DeviceIdsSurviveAnyByte) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  const std::string text = escaped(every);
  EXPECT_EQ(text.find_first_of(" ,*%\n!"), text.find('%'));
  const auto back = unescaped(text);
  ASSERT_TRUE(back) << back.error();
  EXPECT_EQ(*back, every);
  EXPECT_EQ(escaped("GPU-8f1c/0000:3b:00.1"), "GPU-8f1c/0000:3b:00.1");
  for (const char* bad_text : {"%", "%1", "%zz", "a b", "a%2"}) {
    EXPECT_FALSE(unescaped(bad_text)) << bad_text;
  }
}

TEST(FactsText, VersionsAndDigests) {
  EXPECT_EQ(version_problem("v1.0"), "");
  EXPECT_EQ(version_problem("v1.17"), "");
  EXPECT_EQ(version_problem("v2.0"), "version \"v2.0\" cannot be read, only v1");
  for (const char* word : {"", "v", "v1", "1.0", "v1.", "v1.x", "v-1.0"}) {
    EXPECT_NE(version_problem(word), "") << word;
  }
  // Test vectors of FNV-1a.
  EXPECT_EQ(digest_of(""), "811c9dc5");
  EXPECT_EQ(digest_of("a"), "e40c292c");
  EXPECT_EQ(digest_of("foobar"), "bf9cf968");
}

}  // namespace
}  // namespace plimsoll::topology::kubelet
