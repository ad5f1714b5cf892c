#include "lab/simulate/expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.hpp"

namespace plimsoll::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExpectationsTest : public testing::Test {
 protected:
  Result<Expectations> load(const std::string& text) {
    const auto file = dir_.path() / "expected.yaml";
    EXPECT_TRUE(test::write_file(file, text).has_value());
    return load_expectations(file.string());
  }
  static Placement placed(const std::string& pod, const std::string& node) {
    Placement placement;
    placement.pod = pod;
    placement.node = node;
    return placement;
  }
  static Placement refused(const std::string& pod, const std::string& message) {
    Placement placement;
    placement.pod = pod;
    placement.message = message;
    return placement;
  }
  test::TempDir dir_;
};

TEST_F(ExpectationsTest, HoldOrSayWhatIsDifferent) {
  const auto expected = load(R"(
placed:
- pod: ns/a
  nodes: [n1, n2]
- pod: ns/b
unplaced:
- pod: ns/c
  reason: Insufficient cpu
kubeletRejections: 0
)");
  ASSERT_TRUE(expected.has_value()) << expected.error().message;
  EXPECT_EQ(expected->size(), 4U);
  const auto c = refused("ns/c", "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_THAT(check_expectations(*expected, {placed("ns/a", "n2"), placed("ns/b", "n9"), c}, 0),
              IsEmpty());
  EXPECT_THAT(
      check_expectations(*expected,
                         {placed("ns/a", "n3"), refused("ns/b", "no"), placed("ns/c", "n1")}, 2),
      ElementsAre("ns/a should be on one of n1, n2, but is on n3",
                  "ns/b should be placed, but is not: no",
                  "ns/c should have no place, but is on n1",
                  "kubelets should refuse 0 pods, but refused 2"));
  EXPECT_THAT(
      check_expectations(*expected,
                         {placed("ns/a", "n1"), placed("ns/b", "n1"), refused("ns/c", "other")}, 0),
      ElementsAre(HasSubstr("should be refused because of \"Insufficient cpu\"")));
  EXPECT_THAT(check_expectations(*expected, {}, 0).size(), 3U);
}

TEST_F(ExpectationsTest, CountPodsOverGroupsOfNodes) {
  const auto expected = load(R"(
spread:
- pods: [ns/a, ns/b, ns/c]
  over: [[n1, n2], [n3], [n4]]
  counts: [2, 1]
- pods: [ns/a, ns/b]
  counts: [1, 1]
)");
  ASSERT_TRUE(expected.has_value()) << expected.error().message;
  const auto broken = [&](const char* a, const char* b, const char* c) {
    return check_expectations(*expected, {placed("ns/a", a), placed("ns/b", b), placed("ns/c", c)},
                              0);
  };
  EXPECT_THAT(broken("n1", "n2", "n3"), IsEmpty());
  EXPECT_THAT(broken("n3", "n2", "n3"), IsEmpty());
  EXPECT_THAT(broken("n1", "n3", "n4"),
              ElementsAre("pods should be spread as 1, 2, but are ns/a on n1, ns/b on n3, "
                          "ns/c on n4"));
  EXPECT_THAT(broken("n1", "n1", "n3"),
              ElementsAre("pods should be spread as 1, 1, but are ns/a on n1, ns/b on n1"));
  EXPECT_THAT(broken("n1", "n2", ""), ElementsAre("ns/c is on no node"));
}

TEST_F(ExpectationsTest, BadFilesAreRefusedWithEveryProblem) {
  const auto expected = load("placed:\n- pod: a\n  node: n1\nunplaced: 3\nplacd: []\n");
  ASSERT_FALSE(expected.has_value());
  EXPECT_THAT(expected.error().message,
              HasSubstr("expected.yaml:3:3: placed[0].node: unknown field, did you mean"));
  EXPECT_THAT(expected.error().message, HasSubstr("placed[0].pod: namespace/name is expected"));
  EXPECT_THAT(expected.error().message, HasSubstr("unplaced: a list is expected"));
  EXPECT_THAT(expected.error().message,
              HasSubstr("placd: unknown field, did you mean \"placed\"?"));
  const auto spread = load("spread:\n- pod: [ns/a]\n  counts: [many]\n");
  ASSERT_FALSE(spread.has_value());
  EXPECT_THAT(spread.error().message, HasSubstr("spread[0].pod: unknown field, did you mean"));
  EXPECT_THAT(spread.error().message, HasSubstr("spread[0].counts: not a whole number"));
  EXPECT_THAT(spread.error().message, HasSubstr("spread[0]: pods and counts are expected"));
  EXPECT_FALSE(load("placed: []\n").has_value())
      << "an empty file expects nothing and would always hold";
  EXPECT_FALSE(load_expectations("/no/such/file").has_value());
}

}  // namespace
}  // namespace plimsoll::cli
