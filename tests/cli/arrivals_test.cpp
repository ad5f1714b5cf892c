#include "lab/simulate/arrivals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

std::string pod(const std::string& name, const std::string& arrives) {
  return R"({"kind":"Pod","metadata":{"name":")" + name +
         R"(","annotations":{"sandbox.plimsoll.io/arrive-seconds":)" + arrives + "}}}";
}

TEST(Arrivals, ComeInTheirTimeAndThenInTheirOrder) {
  std::vector<std::string> notes;
  const std::string now = R"({"kind":"Pod","metadata":{"name":"now"}})";
  const std::string late = pod("late", R"("2.5")");
  const std::string early = pod("early", R"("1")");
  const std::string also = pod("also", R"("2.5")");
  Arrivals arrivals({late, now, early, also}, notes);
  EXPECT_EQ(arrivals.next(), 0.0);
  EXPECT_THAT(arrivals.take(0), testing::ElementsAre(now));
  EXPECT_THAT(arrivals.take(0.5), testing::IsEmpty());
  EXPECT_EQ(arrivals.next(), 1.0);
  EXPECT_THAT(arrivals.coming(),
              testing::ElementsAre("default/early", "default/late", "default/also"));
  EXPECT_THAT(arrivals.take(10), testing::ElementsAre(early, late, also));
  EXPECT_EQ(arrivals.next(), std::nullopt);
  EXPECT_THAT(arrivals.coming(), testing::IsEmpty());
  EXPECT_THAT(notes, testing::IsEmpty());
}

TEST(Arrivals, ATimeThatIsNoneIsNoted) {
  std::vector<std::string> notes;
  Arrivals arrivals({pod("a", R"("soon")"), pod("b", "5"), "sandbox.plimsoll.io/arrive-seconds"},
                    notes);
  EXPECT_EQ(arrivals.take(0).size(), 3U);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("pod a: the annotation"),
                                          testing::HasSubstr("pod b: the annotation")));
}

}  // namespace
}  // namespace plimsoll::cli
