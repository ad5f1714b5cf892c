// Playing Bindings again finds those that came too early, and only those.

#include "tests/e2e/recount_replay.hpp"

#include <gmock/gmock.h>

#include "tests/e2e/placement_fixture.hpp"

namespace plimsoll::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecountReplayTest : public PlacementTest {
 protected:
  // "+x": pod x is created; "x>": its Binding arrives; "x.": it is answered; "!": the scheduler
  // dies.
  [[nodiscard]] Replayed play(const std::vector<std::string>& course,
                              std::size_t in_flight = 1) const {
    std::vector<Step> steps;
    for (const std::string& text : course) {
      if (text == "!") {
        steps.push_back({Step::Kind::kKilled, ""});
      } else if (text.front() == '+') {
        steps.push_back({Step::Kind::kCreated, "t/" + text.substr(1)});
      } else {
        const std::string pod = "t/" + text.substr(0, text.size() - 1);
        steps.push_back({text.back() == '>' ? Step::Kind::kTried : Step::Kind::kAnswered, pod});
      }
    }
    return replay(placement(), steps, in_flight);
  }
};

TEST_F(RecountReplayTest, ABindingThatWasTooEarlyIsFound) {
  add_spread("w1", "a1");
  add_spread("w2", "a2");
  add_spread("w3", "b1");
  add_spread("w4", "b1");
  const std::vector<std::string> all{"+w1", "+w2", "+w3", "+w4"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), all.begin(), all.end());
    return more;
  };
  const Replayed right = play(with({"w1>", "w1.", "w3>", "w3.", "w2>", "w2.", "w4>", "w4."}));
  EXPECT_THAT(right.faults, IsEmpty());
  EXPECT_EQ(right.judged, 4U);
  // The one in the other zone was under way, or it was not.
  EXPECT_THAT(play(with({"w1>", "w1.", "w2>", "w2.", "w3>", "w3.", "w4>", "w4."})).faults,
              IsEmpty());
  EXPECT_THAT(play(with({"w1>", "w1.", "w2>", "w2.", "w3>", "w3.", "w4>", "w4."}), 0).faults,
              ElementsAre(HasSubstr("t/w2 was bound as number 2 in a when another domain")));
  // It was not even created.
  EXPECT_EQ(
      play({"+w1", "+w2", "w1>", "w1.", "w2>", "w2.", "+w3", "+w4", "w3>", "w3.", "w4>", "w4."})
          .faults.size(),
      1U);
}

// A Binding may have waited for others of its node, and died waiting.
TEST_F(RecountReplayTest, BindingsOfOneNodeWaitForEachOther) {
  add_spread("w1", "a1");
  add_spread("w2", "a2");
  add_spread("w3", "b1");
  for (const char* name : {"p1", "p2"}) add_pod(name, "plain", "b1");
  for (const char* name : {"q1", "q2", "q3"}) add_pod(name, "plain", "a2");
  const std::vector<std::string> created{"+w1", "+w2", "+w3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), created.begin(), created.end());
    return more;
  };
  EXPECT_THAT(play(with({"w1>", "w1.", "p1>", "w2>", "w2.", "q1>", "q2>", "p1.", "p2>", "q3>",
                         "p2.", "w3>", "w3."}))
                  .faults,
              IsEmpty());
  EXPECT_EQ(play(with({"w1>", "w1.", "p1>", "p1.", "w2>", "w2.", "q1>", "q1.", "q2>", "q2.", "p2>",
                       "p2.", "w3>", "w3."}))
                .faults.size(),
            1U)
      << "nothing was under way for the node";
  const Replayed died = play(with({"w1>", "w1.", "p1>", "w2>", "w2.", "q1>", "q1.", "q2>", "q2.",
                                   "p1.", "p2>", "p2.", "!", "w3>", "w3."}));
  EXPECT_THAT(died.faults, IsEmpty());
  EXPECT_EQ(died.unsettled, 2U) << "behind p2 somebody may have waited, placed before w1 or w2";
  EXPECT_EQ(died.judged, 1U);
}

// Whose volumes had to be bound first was placed long before.
TEST_F(RecountReplayTest, PodsWithClaimsMayHaveBeenThere) {
  add_spread("w1", "a1");
  add_spread("w2", "a2");
  add_claim("data", "b");
  add_claim_to(add_spread("w3", "b1"), "data");
  for (const char* name : {"p1", "p2", "p3"}) add_pod(name, "plain", "a1");
  const std::vector<std::string> course{"+w1", "+w2", "+w3", "w1>", "w1.", "w2>", "w2.",
                                        "p1>", "p1.", "p2>", "p2.", "p3>", "p3.", "w3>"};
  EXPECT_THAT(play(course).faults, IsEmpty());
  objects_.pods[2]["spec"].erase("volumes");
  EXPECT_EQ(play(course).faults.size(), 1U);
}

TEST_F(RecountReplayTest, ABindingWithoutItsNeighbourIsFound) {
  add_pod("anchor", "anchor", "a1");
  add_near("n", "other", "anchor", "a2");
  for (const char* name : {"p1", "p2"}) add_pod(name, "plain", "b1");
  EXPECT_THAT(play({"+anchor", "+n", "anchor>", "anchor.", "n>", "n."}).faults, IsEmpty());
  EXPECT_THAT(play({"+n", "n>", "n.", "+anchor", "anchor>", "anchor."}).faults,
              ElementsAre(HasSubstr("t/n was bound to a2 when no neighbour by zone was there")));
  // Those that want each other: the first one needs nobody.
  add_near("c1", "club", "club", "a1");
  add_near("c2", "club", "club", "b1");
  EXPECT_EQ(
      play({"+c1", "+c2", "c1>", "c1.", "p1>", "p1.", "p2>", "p2.", "c2>", "c2."}).faults.size(),
      1U);
}

TEST_F(RecountReplayTest, OfManyTriesTheFirstInTheLifeThatBoundThePodCounts) {
  const auto at = [](int second) { return PodTimes::Time(std::chrono::seconds(second)); };
  using End = BindingRecord::End;
  const std::vector<BindingRecord> records{{"t/p", at(2), at(3), End::kLost},
                                           {"t/p", at(6), at(7), End::kRefused},
                                           {"t/p", at(8), at(9), End::kDone},
                                           {"t/q", at(10), at(11), End::kLost},
                                           {"t/r", at(12), at(13), End::kRefused}};
  std::map<std::string, PodTimes> pods;
  pods["t/p"].create = at(1);
  std::vector<std::string> texts;
  for (const Step& step : steps_of(pods, records, {at(0), at(5)})) {
    texts.push_back(std::to_string(static_cast<int>(step.kind)) + step.pod);
  }
  EXPECT_THAT(texts, ElementsAre("0t/p", "3", "1t/p", "2t/p", "1t/q", "2t/q"));
}

}  // namespace
}  // namespace plimsoll::test
