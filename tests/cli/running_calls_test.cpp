#include "cli/line/running_calls.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <plimsoll/fake_host.hpp>
#include <thread>

#include "framework/runtime/plugin/running_call.hpp"

namespace plimsoll::cli {
namespace {

using namespace std::chrono_literals;

TEST(RunningCalls, NameThePluginTheCallAndThePodOfEachThread) {
  EXPECT_EQ(running_calls(), "");
  std::latch begun(2);
  std::latch end(1);
  const auto call = [&](const char* name, const plimsoll_pod* pod) {
    const RunningCall::Plugin plugin{name, "1.0.0", ""};
    const RunningCall outer(plugin, "PostFilter");
    const RunningCall running(plugin, "Filter", pod);
    begun.count_down();
    end.wait();
  };
  sdk::FakePod pod("team/web");
  const plimsoll_pod& web = pod.get();
  std::jthread first(call, "Loops", &web);
  std::jthread second(call, "Turns", nullptr);
  begun.wait();
  EXPECT_EQ(running_calls(),
            "plugin \"Loops\" in Filter of pod team/web; plugin \"Turns\" in Filter");
  EXPECT_EQ(running_calls_after_colon(), ": " + running_calls());
  end.count_down();
  first.join();
  second.join();
  EXPECT_EQ(running_calls_after_colon(), "");
}

TEST(RunningCalls, ThatNoLoopWaitsForAreSaidWhenTheyHang) {
  EXPECT_TRUE(hanging_calls(0s).empty());
  const RunningCall::Plugin plugin{"Ties", "1.0.0", ""};
  sdk::FakePod pod("team/web");
  const LooseCall running(plugin, "PreBind", &pod.get());
  EXPECT_TRUE(hanging_calls(24h).empty());
  const std::vector<std::string> said = hanging_calls(0s);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_TRUE(said[0].starts_with("a plugin has not returned for ")) << said[0];
  EXPECT_TRUE(said[0].ends_with(" s: plugin \"Ties\" in PreBind of pod team/web")) << said[0];
}

TEST(RunningCalls, OfAHangAreSaidEachTimeItHasLastedTwiceAsLong) {
  HangReminder reminder;
  int said = 0;
  for (auto busy = 1s; busy <= 250s; busy += 1s) said += reminder.due(busy, 30s) ? 1 : 0;
  EXPECT_EQ(said, 4);  // after 30, 60, 120, 240 s
  EXPECT_FALSE(reminder.due(0s, 30s));
  EXPECT_TRUE(reminder.due(31s, 30s)) << "another one";
}

}  // namespace
}  // namespace plimsoll::cli
