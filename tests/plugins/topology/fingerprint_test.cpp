#include "plugins/topology/report/fingerprint.hpp"

#include <gtest/gtest.h>

namespace plimsoll::topology {
namespace {

using Pods = std::vector<std::pair<std::string, std::string>>;

std::string fingerprint(const Pods& pods) {
  std::vector<uint64_t> hashes;
  for (const auto& [ns, name] : pods) hashes.push_back(pod_hash(ns, name));
  return fingerprint_text(fingerprint_sum(hashes));
}

TEST(Fingerprint, AsPodfingerprintComputesIt) {
  EXPECT_EQ(fingerprint({}), "pfp0v001ef46db3751d8e999");
  EXPECT_EQ(fingerprint({{"ns", "pod"}}), "pfp0v001c673abf0b4ced2d6");
  EXPECT_EQ(fingerprint({{"kube-system", "coredns-5d78c9869d-abcde"}}), "pfp0v00110fddc0344fd5813");
  EXPECT_EQ(fingerprint({{"a", "b"}, {"c", "d"}}), "pfp0v0013488490366c73835");
  EXPECT_EQ(fingerprint({{"c", "d"}, {"a", "b"}}), "pfp0v0013488490366c73835");
  EXPECT_EQ(fingerprint({{"a", "b"}, {"a", "b"}}), "pfp0v0015a0007ca4c8b2639");
  EXPECT_EQ(fingerprint({{"", "x"}}), "pfp0v001eccb3ab08f12a28f");
  EXPECT_EQ(fingerprint({{"namespace-with-a-long-name-0123456789",
                          "deployment-with-a-very-long-name-7d9c7b8f5c-xyz12"}}),
            "pfp0v0016aae5d6c7d12040c");
}

TEST(Fingerprint, ParsesOnlyItsOwnVersion) {
  uint64_t sum = 0;
  EXPECT_TRUE(parse_fingerprint("pfp0v001ef46db3751d8e999", sum));
  EXPECT_EQ(sum, 0xef46db3751d8e999u);
  for (const char* text : {"", "pfp0v001", "pfp0v002ef46db3751d8e999", "pfp0v001ef46db3751d8e99",
                           "pfp0v001ef46db3751d8e99g", "pfp0v001ef46db3751d8e9990"}) {
    EXPECT_FALSE(parse_fingerprint(text, sum)) << text;
  }
}

}  // namespace
}  // namespace plimsoll::topology
