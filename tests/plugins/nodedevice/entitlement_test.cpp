// What a pod asks for bounds what its device-allocated annotation may say: how many devices, and
// how much of each. The annotation says which.

#include "plugins/nodedevice/accounts/entitlement.hpp"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An entry for each minor, each with these amounts.
std::string says(const std::string& type, const std::vector<int>& minors, const Json& resources) {
  Json list = Json::array();
  for (const int minor : minors) list.push_back({{"minor", minor}, {"resources", resources}});
  return Json{{type, list}}.dump();
}
Json gpu_part(int percent, const std::string& memory = "") {
  const std::string text = std::to_string(percent);
  Json part{{"koordinator.sh/gpu-core", text}, {"koordinator.sh/gpu-memory-ratio", text}};
  if (!memory.empty()) part["koordinator.sh/gpu-memory"] = memory;
  return part;
}

class EntitlementTest : public ::testing::Test {
 protected:
  EntitlementTest() {
    accounts_.node_added("node-1", 0);
    accounts_.device_changed("node-1", test::fixture_a().dump());
  }
  // Eight GPUs of 80Gi, four NICs.
  void pod(const std::string& uid, const Ask& ask, const std::string& annotation,
           const std::string& hint = "", const std::string& joint = "") {
    const auto requests = test::quantities(ask);
    const auto hints = parse_device_hints(test::types(), hint, joint, "");
    ASSERT_TRUE(hints.has_value());
    problems_ =
        accounts_.pod_assigned({uid, "node-1", annotation, requests, uid, &*hints}).unreadable;
  }
  std::string give(const Ask& ask) {
    return test::outcome(*accounts_.at_slot(0), test::demand_of(ask));
  }
  const DeviceState& device(int type, int minor) {
    return *accounts_.at_slot(0)->type(type).find(minor);
  }

  Accounts accounts_{test::types(), nullptr};
  std::vector<std::string> problems_;
};

const Ask kEight = {{"nvidia.com/gpu", 8}};
const Ask kPercent = {{"koordinator.sh/gpu", 1}};

TEST_F(EntitlementTest, AWholeDeviceIsWholeWhateverTheAnnotationSays) {
  pod("liar", {{"nvidia.com/gpu", 1}}, says("gpu", {0}, gpu_part(1, "1Gi")));
  ASSERT_THAT(problems_, ElementsAre("gpu 0: says koordinator.sh/gpu-core 1, the pod asks for 100 "
                                     "of each device"));
  for (const Ask& ask : {kPercent, Ask{{"koordinator.sh/gpu-memory", 1}},
                         Ask{{"koordinator.sh/gpu-memory-ratio", 1}}})
    EXPECT_EQ(give(ask).substr(0, 5), "gpu 1");
  EXPECT_EQ(give({{"nvidia.com/gpu", 7}}), "gpu 1 2 3 4 5 6 7");
  EXPECT_EQ(give(kEight), "Insufficient GPU Devices");
}

TEST_F(EntitlementTest, BytesFollowFromPercentAndPercentFromBytes) {
  constexpr int64_t kGi = int64_t{1} << 30;
  // Percent of cores and memory are what it asks for; the bytes are a lie.
  pod("a", {{"koordinator.sh/gpu", 50}}, says("gpu", {0}, gpu_part(50, "1")));
  EXPECT_THAT(problems_, IsEmpty()) << "the requests do not say how many bytes";
  EXPECT_EQ(device(0, 0).free.get(1), 40 * kGi);
  pod("a", {{"koordinator.sh/gpu", 50}}, says("gpu", {0}, gpu_part(50, "80Gi")));
  EXPECT_EQ(device(0, 0).free.get(1), 40 * kGi);
  pod("a", {{"koordinator.sh/gpu-memory", 20 * kGi}}, says("gpu", {0}, gpu_part(100, "20Gi")));
  EXPECT_EQ(device(0, 0).free.get(0), 100) << "it asks for no cores";
  EXPECT_EQ(device(0, 0).free.get(1), 60 * kGi);
  EXPECT_EQ(device(0, 0).free.get(2), 75);
  pod("a", {{"koordinator.sh/gpu-memory", 20 * kGi}}, says("gpu", {0}, gpu_part(100, "1")));
  EXPECT_THAT(problems_, ElementsAre(HasSubstr("says koordinator.sh/gpu-memory 1, the pod asks for "
                                               "20Gi")));
  EXPECT_EQ(device(0, 0).free.get(1), 60 * kGi);
}

// Others read the annotations, so the percent that these say must not add up to more than a device,
// although the percent of each pod that asks for bytes is rounded up.
TEST_F(EntitlementTest, WhatAnnotationsSayIsNeverMoreThanADevice) {
  const Allocator allocator(test::types(), nullptr);
  std::mt19937_64 random(plimsoll::test::test_seed());
  struct Told {
    std::string text;
    Ask ask;
  };
  std::map<std::string, Told> told;
  for (int step = 0; step < 3'000; ++step) {
    if (!told.empty() && random() % 3 == 0) {
      const auto gone = std::next(told.begin(), static_cast<int>(random() % told.size()));
      accounts_.pod_removed(gone->first);
      told.erase(gone);
      continue;
    }
    // Sixteenths: often they fill a device to the byte, and most are no whole percent.
    const int64_t bytes = (int64_t{5} << 30) * (1 + static_cast<int64_t>(random() % 6));
    const Ask ask = {{"koordinator.sh/gpu-memory", bytes}};
    Allocation given;
    if (!allocator.allocate(*accounts_.at_slot(0), {}, test::demand_of(ask), given).fits())
      continue;
    const std::string uid = "uid-" + std::to_string(step);
    told[uid] = {write_allocation(test::types(), given, *accounts_.at_slot(0)), ask};
    accounts_.reserve(uid, "node-1", given);
    if (random() % 2 == 0)
      accounts_.pod_assigned({uid, "node-1", told[uid].text, test::quantities(ask)});
    std::map<int, int> percent;
    for (const auto& [_, each] : told) {
      const Json annotation = Json::parse(each.text);
      for (const Json& gpu : annotation["gpu"])
        percent[gpu["minor"].get<int>()] +=
            std::stoi(gpu["resources"]["koordinator.sh/gpu-memory-ratio"].get<std::string>());
    }
    for (const auto& [minor, sum] : percent) ASSERT_LE(sum, 100) << "gpu " << minor;
  }
  // What a restart reads is what was counted.
  Accounts restarted(test::types(), nullptr);
  restarted.node_added("node-1", 0);
  restarted.device_changed("node-1", test::fixture_a().dump());
  for (const auto& [uid, each] : told)
    restarted.pod_assigned({uid, "node-1", each.text, test::quantities(each.ask)});
  for (int minor = 0; minor < 8; ++minor)
    EXPECT_EQ(restarted.at_slot(0)->type(0).find(minor)->free, device(0, minor).free) << minor;
}

// A pod's word about the percent counts as far as rounding explains it.
TEST_F(EntitlementTest, PercentThatFollowFromBytesAreBounded) {
  constexpr int64_t kGi = int64_t{1} << 30;
  for (const char* uid : {"a", "b", "c"})
    pod(uid, {{"koordinator.sh/gpu-memory", kGi}}, says("gpu", {0}, gpu_part(100, "1Gi")));
  EXPECT_EQ(device(0, 0).free.get(2), 100 - (4 + 2)) << "3.75, and rounded up thrice";
  for (const char* uid : {"a", "b", "c"})
    pod(uid, {{"koordinator.sh/gpu-memory", kGi}}, says("gpu", {0}, gpu_part(0, "1Gi")));
  EXPECT_EQ(device(0, 0).free.get(2), 100 - 4);
}

TEST_F(EntitlementTest, OnePercentDoesNotBlockFourDevices) {
  pod("liar", kPercent, says("gpu", {0, 1, 2, 3}, gpu_part(100)));
  EXPECT_THAT(problems_, ElementsAre("gpu: names 4 devices, the pod asks for 1"));
  EXPECT_EQ(give({{"nvidia.com/gpu", 7}}), "gpu 0 1 2 3 4 5 6") << "one is set aside";
  EXPECT_EQ(give(kEight), "Insufficient GPU Devices");
  pod("liar", kPercent, says("gpu", {0}, gpu_part(100)));
  EXPECT_EQ(give({{"koordinator.sh/gpu", 99}}), "gpu 0") << "of what it names, what it asks for";
  accounts_.pod_removed("liar");
  EXPECT_EQ(give(kEight), "gpu 0 1 2 3 4 5 6 7");
}

TEST_F(EntitlementTest, EveryTypeAndForm) {
  const struct {
    Ask ask;
    std::string annotation;
    std::string problem;  // empty: none
  } cases[] = {
      {{{"koordinator.sh/rdma", 200}}, says("rdma", {1, 2}, {{"koordinator.sh/rdma", 100}}), ""},
      {{{"koordinator.sh/rdma", 200}},
       says("rdma", {1, 2}, {{"koordinator.sh/rdma", 1}}),
       "rdma 1: says koordinator.sh/rdma 1, the pod asks for 100 of each device"},
      {{{"koordinator.sh/rdma", 5}},
       says("rdma", {1, 2}, {{"koordinator.sh/rdma", 5}}),
       "rdma: names 2 devices, the pod asks for 1"},
      {{{"koordinator.sh/fpga", 30}},
       says("fpga", {0}, {{"koordinator.sh/fpga", 90}}),
       "fpga 0: says koordinator.sh/fpga 90, the pod asks for 30 of each device"},
      {{{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 64}},
       says("gpu", {0, 1}, {{"koordinator.sh/gpu-memory", "32"}}),
       ""},
      {{{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 64}},
       says("gpu", {0, 1}, {{"koordinator.sh/gpu-memory", "64"}}),
       "gpu 0: says koordinator.sh/gpu-memory 64, the pod asks for 32 of each device"},
      {{{"koordinator.sh/gpu-core", 100}, {"koordinator.sh/gpu-memory-ratio", 300}},
       says("gpu", {0, 1, 2},
            {{"koordinator.sh/gpu-core", 33}, {"koordinator.sh/gpu-memory-ratio", 100}}),
       ""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.annotation);
    pod("a", one.ask, one.annotation);
    if (one.problem.empty())
      EXPECT_THAT(problems_, IsEmpty());
    else
      EXPECT_EQ(problems_.at(0), one.problem);
    accounts_.pod_removed("a");
  }
}

// Nobody knows what the combination means: of what is named, all.
TEST_F(EntitlementTest, WhatNobodyUnderstandsIsWhole) {
  pod("a", {{"koordinator.sh/gpu-core", 10}}, says("gpu", {0}, gpu_part(1)));
  EXPECT_EQ(device(0, 0).whole_users, 1);
  EXPECT_EQ(give(kPercent), "gpu 1");
  pod("a", {{"koordinator.sh/gpu-core", 10}}, says("gpu", {0, 1}, gpu_part(1)));
  EXPECT_THAT(problems_, ElementsAre("gpu: names 2 devices, the pod asks for 1"));
}

TEST_F(EntitlementTest, HintsSayHowManyAnAnnotationMayName) {
  const Ask five = {{"koordinator.sh/rdma", 3}};
  const Json one = {{"koordinator.sh/rdma", 1}};
  const char* count = R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})";
  pod("a", five, says("rdma", {1, 2, 3}, one), count);
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_EQ(device(1, 1).free.get(0), 99);
  pod("a", five, says("rdma", {1, 2, 3, 4}, one), count);
  EXPECT_THAT(problems_, ElementsAre("rdma: names 4 devices, the pod asks for 3"));
  pod("b", five, says("rdma", {1}, one), count);
  EXPECT_EQ(accounts_.at_slot(0)->type(1).unknown_whole, 2) << "two of three are not named";
  accounts_.pod_removed("a");
  accounts_.pod_removed("b");

  const char* all = R"({"rdma":{"allocateStrategy":"ApplyForAll"}})";
  pod("a", five, says("rdma", {1, 2, 3, 4}, {{"koordinator.sh/rdma", 3}}), all);
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_EQ(device(1, 4).free.get(0), 97);
  pod("c", five, "{", all);
  EXPECT_FALSE(problems_.empty());
  EXPECT_EQ(give({{"koordinator.sh/rdma", 94}}), "Insufficient rdma devices")
      << "all that its selector leaves, nobody knows which";
  accounts_.pod_removed("c");
  EXPECT_EQ(give({{"koordinator.sh/rdma", 94}}), "rdma 1");
}

// One NIC is asked for, one at each PCIe id of the GPUs is given.
TEST_F(EntitlementTest, WhoFollowsInAJointAllocationMayGetMore) {
  const Ask ask = {{"nvidia.com/gpu", 3}, {"koordinator.sh/rdma", 1}};
  const char* joint = R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})";
  Json annotation = Json::parse(says("gpu", {0, 1, 2}, gpu_part(100)));
  annotation.update(Json::parse(says("rdma", {1, 2}, {{"koordinator.sh/rdma", 1}})));
  pod("a", ask, annotation.dump(), "", joint);
  EXPECT_THAT(problems_, IsEmpty());
  pod("b", ask, annotation.dump());
  EXPECT_THAT(problems_, ElementsAre("rdma: names 2 devices, the pod asks for 1"));
}

TEST_F(EntitlementTest, OneVirtualFunctionOfEachDevice) {
  Json annotation = Json::parse(says("rdma", {1}, {{"koordinator.sh/rdma", 1}}));
  Json& entry = annotation["rdma"][0];
  entry["extension"]["vfs"] = {{{"minor", 0}, {"busID", "0000:1f:00.2"}}};
  pod("a", {{"koordinator.sh/rdma", 1}}, annotation.dump());
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_THAT(device(1, 1).vfs_in_use, ElementsAre("0000:1f:00.2"));
  accounts_.pod_removed("a");
  entry["extension"]["vfs"].push_back({{"minor", 1}, {"busID", "0000:1f:00.3"}});
  pod("a", {{"koordinator.sh/rdma", 1}}, annotation.dump());
  EXPECT_THAT(problems_, ElementsAre("rdma 1: names 2 virtual functions, a pod gets one of each "
                                     "device"));
  EXPECT_EQ(device(1, 1).whole_users, 1);
}

// Pods on nodes, by the amounts that they were promised, become what they ask for: nothing changes.
TEST_F(EntitlementTest, WhatThePluginGivesIsWithinWhatIsAskedFor) {
  const Ask asks[] = {{{"nvidia.com/gpu", 2}},
                      {{"koordinator.sh/gpu", 30}},
                      {{"koordinator.sh/gpu-memory", 123456789}},
                      {{"koordinator.sh/gpu-core", 7}, {"koordinator.sh/gpu-memory-ratio", 9}},
                      {{"koordinator.sh/rdma", 200}}};
  const Allocator allocator(test::types(), nullptr);
  int changes = 0;
  Accounts accounts(test::types(), [&](uint32_t) { ++changes; });
  accounts.node_added("node-1", 0);
  accounts.device_changed("node-1", test::fixture_a().dump());
  for (const Ask& ask : asks) {
    Allocation given;
    ASSERT_TRUE(allocator.allocate(*accounts.at_slot(0), {}, test::demand_of(ask), given).fits());
    const std::string text = write_allocation(test::types(), given, *accounts.at_slot(0));
    const std::string uid = "uid-" + std::to_string(changes);
    accounts.reserve(uid, "node-1", given);
    const int before = changes;
    const auto requests = test::quantities(ask);
    EXPECT_TRUE(accounts.pod_assigned({uid, "node-1", text, requests}).empty()) << text;
    EXPECT_EQ(changes, before) << text;
  }
}

}  // namespace
}  // namespace plimsoll::devices
