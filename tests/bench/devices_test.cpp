// What bench/devices measures is real: pods get devices through the runtime and the plugin's .so,
// nothing is given twice, and once all is given pods are refused.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/devices/fleet.hpp"
#include "bench/devices/scheduler.hpp"

namespace plimsoll::bench {
namespace {

using Json = nlohmann::json;

constexpr int kNodes = 12;
constexpr int kPods = 150;

std::string plugin_file() {
  const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
  return std::string(folder == nullptr ? "plugins" : folder) + "/NodeDevice.so";
}

// Percent of each GPU that is given away, by node and minor.
using Given = std::map<std::pair<std::string, int>, int64_t>;

void add(const Decision& decision, Given& given) {
  const Json allocated = Json::parse(decision.allocated);
  for (const Json& device : allocated.at("gpu")) {
    const std::string percent = device.at("resources").at("koordinator.sh/gpu-memory-ratio");
    given[{decision.node, device.at("minor").get<int>()}] += std::stoll(percent);
  }
}

class DevicesBench : public testing::TestWithParam<Variety> {};

TEST_P(DevicesBench, GivesDevicesOnceThroughThePlugin) {
  BenchScheduler scheduler(plugin_file(), "{}");
  for (int node = 0; node < kNodes; ++node)
    scheduler.add_node(make_node(node, scheduler.symbols()), node_name(node), device_json(node));
  Dice dice(1);
  Given given;
  std::map<Ask, int> placed;
  int refused = 0;
  for (int number = 0; number < kPods; ++number) {
    // One of each first, while there is room.
    const auto index = static_cast<size_t>(number);
    const Ask ask = index < kAsks.size() ? kAsks[index] : next_ask(dice);
    const Decision decision =
        scheduler.schedule(make_pod(number, ask, GetParam(), dice, scheduler.symbols()));
    ASSERT_LE(decision.device_us, decision.whole_us);
    if (decision.node.empty()) {
      EXPECT_LT(decision.passed, static_cast<size_t>(kNodes));
      ++refused;
      continue;
    }
    ++placed[ask];
    add(decision, given);
  }
  EXPECT_GT(refused, 0) << "the nodes should be full in the end";
  EXPECT_EQ(placed.size(), kAsks.size()) << "some kind of pod never found a place";
  for (const auto& [device, percent] : given)
    EXPECT_LE(percent, 100) << device.first << " minor " << device.second;
}

INSTANTIATE_TEST_SUITE_P(Varieties, DevicesBench,
                         testing::Values(Variety::kIdentical, Variety::kDifferent,
                                         Variety::kSelectors));

}  // namespace
}  // namespace plimsoll::bench
