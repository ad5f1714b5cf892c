#include "lab/simulate/arrivals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_THAT(arrivals.take(0).come, testing::ElementsAre(now));
  EXPECT_THAT(arrivals.take(0.5).come, testing::IsEmpty());
  EXPECT_EQ(arrivals.next(), 1.0);
  EXPECT_THAT(arrivals.coming(),
              testing::ElementsAre("default/early", "default/late", "default/also"));
  EXPECT_THAT(arrivals.take(10).come, testing::ElementsAre(early, late, also));
  EXPECT_EQ(arrivals.next(), std::nullopt);
  EXPECT_THAT(arrivals.coming(), testing::IsEmpty());
  EXPECT_THAT(notes, testing::IsEmpty());
}

// The watch of pods may be ahead of another: a pod is created when what it needs is known.
TEST(Arrivals, PodsComeAfterTheOthersOfTheirTime) {
  std::vector<std::string> notes;
  const std::string first = R"({"kind":"Pod","metadata":{"name":"first"}})";
  const std::string second = R"({"kind":"Pod","metadata":{"name":"second"}})";
  const std::string group = R"({"kind":"PodGroup","metadata":{"name":"train"}})";
  const std::string late = pod("late", R"("1")");
  Arrivals arrivals({late, first, group, second}, notes);
  EXPECT_THAT(arrivals.take(1).come, testing::ElementsAre(group));
  EXPECT_THAT(arrivals.take(1).come, testing::ElementsAre(first, second, late));
  EXPECT_TRUE(arrivals.take(1).empty());
}

TEST(Arrivals, ATimeThatIsNoneIsNoted) {
  std::vector<std::string> notes;
  Arrivals arrivals({pod("a", R"("soon")"), pod("b", "5"), "sandbox.plimsoll.io/arrive-seconds"},
                    notes);
  EXPECT_EQ(arrivals.take(0).come.size(), 1U) << "what is no pod";
  EXPECT_EQ(arrivals.take(0).come.size(), 2U);
  EXPECT_THAT(notes, testing::ElementsAre(testing::HasSubstr("a: the annotation"),
                                          testing::HasSubstr("b: the annotation")));
}

std::string widget(const std::string& times, const std::string& spec) {
  return R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","annotations":{)" +
         times + R"(}},"spec":)" + spec + "}";
}

TEST(Arrivals, AnyObjectComesChangesAndGoes) {
  std::vector<std::string> notes;
  sandbox::ObjectStore store;
  const std::string arrive = R"("sandbox.plimsoll.io/arrive-seconds":)";
  const std::string leave = R"("sandbox.plimsoll.io/leave-seconds":)";
  Arrivals arrivals({widget(arrive + R"("1")", R"({"a":1,"b":2})"),
                     widget(arrive + R"("2",)" + leave + R"("3")", R"({"a":null,"c":3})")},
                    notes);
  EXPECT_TRUE(arrivals.take(0).empty());
  const sandbox::ResourceName widgets{"example.com", "widgets"};
  const auto spec_at = [&](double seconds) -> nlohmann::json {
    const auto done = carry_out(store, arrivals.take(seconds));
    EXPECT_TRUE(done && done->empty());
    const auto object = store.get(widgets, {"", "w"});
    return object ? (*object)->parse().at("spec") : nlohmann::json();
  };
  EXPECT_EQ(spec_at(1), nlohmann::json::parse(R"({"a":1,"b":2})"));
  EXPECT_EQ(arrivals.next(), 2.0);
  EXPECT_EQ(spec_at(2), nlohmann::json::parse(R"({"b":2,"c":3})"));
  EXPECT_EQ(spec_at(3), nullptr);
  EXPECT_EQ(arrivals.next(), std::nullopt);
  EXPECT_THAT(notes, testing::IsEmpty());
}

}  // namespace
}  // namespace plimsoll::cli
