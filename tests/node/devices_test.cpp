// What plimsoll-node reports of a machine's devices, read by NodeDevice's own reader.

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "node/devices/device_report.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "plugins/nodedevice/devices/node_links.hpp"
#include "tests/node/fake_machine.hpp"

namespace plimsoll::node {
namespace {

using devices::DeviceInfo;
using devices::DeviceTypes;
using devices::NodeDevices;
using nlohmann::json;
using test::FakeMachine;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kNow = "2026-01-01T00:00:00Z";
constexpr const char* kLater = "2026-01-02T00:00:00Z";

// Of this program.
std::size_t thread_count() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

class DevicesTest : public ::testing::Test {
 protected:
  void start(std::vector<TypeRule> rules = {}) {
    FinderOptions options = machine_.options();
    options.rules = std::move(rules);
    finder_ = std::make_unique<DeviceFinder>(options, [] {});
  }

  // Looks at the machine and publishes; what was published before counts.
  void look(const char* now = kNow) {
    if (!finder_) start();
    Hardware hardware;
    hardware.zones.resize(2);
    hardware.zones[1].id = 1;
    hardware.cpus = {{.id = 0, .zone = 0, .socket = 3}, {.id = 1, .zone = 1, .socket = 4}};
    found_ = finder_->find(&hardware);
    report_ = report_devices(found_, published_, in_use_, now);
    published_["metadata"]["name"] = "n";
    for (const auto& [name, text] : report_.annotations) {
      if (!text.empty()) published_["metadata"]["annotations"][name] = text;
    }
    for (const auto& [name, text] : report_.labels) published_["metadata"]["labels"][name] = text;
    published_["spec"]["devices"] = report_.devices;
  }

  // As the scheduler reads it, which must not complain.
  NodeDevices read() {
    auto node = devices::parse_device_object(types_, published_.dump());
    EXPECT_TRUE(node) << node.error();
    if (!node) return {};
    EXPECT_THAT(node->unreadable, IsEmpty());
    EXPECT_THAT(node->warnings, IsEmpty());
    return *node;
  }
  std::vector<DeviceInfo> read(const std::string& type) {
    return read().devices(types_.find_type(type));
  }
  std::map<int, std::string> ids(const std::string& type, bool healthy) {
    std::map<int, std::string> ids;
    for (const DeviceInfo& info : read(type)) {
      if (info.is_healthy == healthy) ids[info.minor] = info.id;
    }
    return ids;
  }
  // The reason why a device is not given.
  std::string reason(const std::string& type, int minor, const char* what = "reason") const {
    for (const json& entry : published_["spec"]["devices"]) {
      if (entry["type"] != type || entry["minor"] != minor || !entry.contains("conditions"))
        continue;
      return entry["conditions"][0][what];
    }
    return "";
  }
  std::string message(const std::string& type, int minor) const {
    return reason(type, minor, "message");
  }
  // Bytes a second between two GPUs, in GiB.
  std::int64_t rate(int a, int b) {
    const auto links = devices::links_of(types_, read(), nullptr);
    const auto& gpus = (*links)[static_cast<std::size_t>(types_.find_type("gpu"))];
    if (gpus.graph == nullptr) return 0;
    return gpus.graph->bandwidth(gpus.vertex(a), gpus.vertex(b)) >> 30;
  }

  FakeMachine machine_;
  std::unique_ptr<DeviceFinder> finder_;
  FoundDevices found_;
  DeviceReport report_;
  json published_ = json::object();
  DevicesInUse in_use_;
  DeviceTypes types_ = DeviceTypes::standard();
};

TEST_F(DevicesTest, ADgxIsReadAsItIs) {
  machine_.make_dgx();
  look();
  EXPECT_THAT(report_.problems, IsEmpty());
  const auto gpus = read("gpu");
  ASSERT_EQ(gpus.size(), 8U);
  const DeviceInfo& first = gpus[7];  // the driver's number, not the bus' order
  EXPECT_EQ(first.id, "GPU-7");
  EXPECT_EQ(first.bus_id, "0000:13:00.0");
  EXPECT_EQ(first.pcie_id, "0000:11:00.0");
  EXPECT_EQ(first.numa, 0);
  EXPECT_EQ(first.socket, 3);
  EXPECT_EQ(first.module_id, 8);
  EXPECT_TRUE(first.is_healthy);
  EXPECT_EQ(first.total.get(types_.find_dim(0, "koordinator.sh/gpu-memory")), 17179869184);
  EXPECT_EQ(gpus[0].numa, 1);
  std::map<std::string, std::multiset<std::string>> below;  // of each switch
  for (const char* type : {"gpu", "rdma"}) {
    for (const DeviceInfo& info : read(type)) below[info.pcie_id].insert(type);
  }
  EXPECT_EQ(below.size(), 4U);
  for (const auto& [name, types] : below) EXPECT_THAT(types, ElementsAre("gpu", "gpu", "rdma"));
  EXPECT_EQ(read().gpu_vendor, "nvidia");
  EXPECT_EQ(read().gpu_model, "H100-80GB-HBM3");
  EXPECT_EQ(rate(0, 7), 18 * 25) << "nine lanes to each of two switches";
  const Amounts amounts = node_resources(report_.devices);
  EXPECT_THAT(amounts, UnorderedElementsAre(Pair("koordinator.sh/gpu", 800),
                                            Pair("koordinator.sh/gpu-core", 800),
                                            Pair("koordinator.sh/gpu-memory", 8 * 17179869184),
                                            Pair("koordinator.sh/gpu-memory-ratio", 800),
                                            Pair("koordinator.sh/rdma", 400)));
}

TEST_F(DevicesTest, ABadCardHidesNoOther) {
  machine_.make_dgx();
  look();
  machine_.set_card("0000:13:00.0", "fail", "nvmlDeviceGetMemoryInfo");
  machine_.set_card("0000:14:00.0", "fail", "nvmlDeviceGetUUID");
  machine_.set_card("0000:23:00.0", "fail", "lost");  // not even its address can be had
  look();
  EXPECT_EQ(ids("gpu", true).size(), 5U);
  EXPECT_THAT(ids("gpu", false), ElementsAre(Pair(5, "GPU-5"), Pair(6, "GPU-6"), Pair(7, "GPU-7")));
  EXPECT_EQ(reason("gpu", 7), "Unreadable");
  EXPECT_THAT(report_.problems, Contains(AllOf(HasSubstr("0000:13:00.0"), HasSubstr("lost"),
                                               HasSubstr("nvmlDeviceGetMemoryInfo"))));
  EXPECT_EQ(read("gpu")[7].total.get(types_.find_dim(0, "koordinator.sh/gpu-memory")), 17179869184)
      << "as it was";
  EXPECT_EQ(node_resources(report_.devices)["koordinator.sh/gpu-core"], 500);
  for (const char* address : {"0000:13:00.0", "0000:14:00.0", "0000:23:00.0"}) {
    machine_.set_card(address, "fail", "");
  }
  look();
  EXPECT_EQ(ids("gpu", true).size(), 8U);
}

TEST_F(DevicesTest, ACardThatWasNeverReadIsLeftOut) {
  machine_.add_card({"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"}, 0,
                    {{"minor", "0"}, {"uuid", "GPU-0"}});
  machine_.add_card({"pci0000:3a", "0000:3a:01.0", "0000:3c:00.0"}, 0, {{"fail", "lost"}});
  look();
  EXPECT_THAT(ids("gpu", true), ElementsAre(Pair(0, "GPU-0")));
  EXPECT_THAT(ids("gpu", false), IsEmpty());
  EXPECT_THAT(report_.problems, Contains(HasSubstr("gpu 0000:3c:00.0 is left out")));
}

TEST_F(DevicesTest, WithoutTheDriverTheCardsAreThereAndNotGiven) {
  machine_.make_dgx();
  look();
  const std::string links = published_["metadata"]["annotations"][devices::kLinksAnnotation];
  machine_.unload_driver();
  start();
  look();
  EXPECT_EQ(ids("gpu", false).size(), 8U);
  EXPECT_EQ(ids("rdma", true).size(), 4U);
  EXPECT_THAT(report_.problems, Contains(HasSubstr("Driver Not Loaded")));
  EXPECT_EQ(published_["metadata"]["annotations"][devices::kLinksAnnotation], links);
}

TEST_F(DevicesTest, WithoutTheLibraryNothingElseIsLost) {
  machine_.make_dgx();
  FinderOptions options = machine_.options();
  options.nvml = "/nowhere/libnvidia-ml.so.1";
  finder_ = std::make_unique<DeviceFinder>(options, [] {});
  look();
  EXPECT_EQ(ids("rdma", true).size(), 4U);
  EXPECT_THAT(read("gpu"), IsEmpty());
  EXPECT_THAT(report_.problems, Contains(HasSubstr("/nowhere/libnvidia-ml.so.1")));
}

TEST_F(DevicesTest, ALibraryThatDoesNotAnswerCostsItsCardsAlone) {
  machine_.make_dgx();
  look();
  FinderOptions options = machine_.options();
  options.nvml_patience = std::chrono::milliseconds(20);
  finder_ = std::make_unique<DeviceFinder>(options, [] {});
  machine_.get_stuck(true);
  for (int i = 0; i < 3; ++i) {
    look();
    EXPECT_EQ(ids("gpu", false).size(), 8U);
    EXPECT_EQ(reason("gpu", 7), "Unreadable");
    EXPECT_EQ(ids("rdma", true).size(), 4U);
  }
  machine_.get_stuck(false);
  for (int i = 0; i < 6000 && ids("gpu", true).size() != 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    look();
  }
  EXPECT_EQ(ids("gpu", true).size(), 8U) << "it answers again";
  machine_.get_stuck(true);
  look();
  const std::size_t threads = thread_count();
  finder_ = nullptr;  // ends nevertheless
  machine_.get_stuck(false);
  // What it had to do is done then, before another test's driver tells of faults.
  for (int i = 0; i < 6000 && thread_count() > threads - 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LE(thread_count(), threads - 2) << "those that look and that wait for events";
}

// A server has hundreds of such things on its bus.
TEST_F(DevicesTest, WhatNoRuleSpeaksOfIsNotReadAgainForAWhile) {
  const std::map<std::string, std::string> nic{{"infiniband/mlx5_9/ports/1/state", "4: ACTIVE"}};
  FinderOptions options = machine_.options();
  options.others = std::chrono::hours(1);
  finder_ = std::make_unique<DeviceFinder>(options, [] {});
  machine_.add({"pci0000:05", "0000:05:01.0"}, {{"vendor", "0x8086"}});
  look();
  machine_.add({"pci0000:05", "0000:05:01.0"}, nic);
  machine_.add({"pci0000:05", "0000:05:02.0"}, nic);
  look();
  EXPECT_THAT(ids("rdma", true), ElementsAre(Pair(0, "0000:05:02.0"))) << "it is new";
  start();
  look();
  EXPECT_THAT(ids("rdma", true), ElementsAre(Pair(0, "0000:05:02.0"), Pair(1, "0000:05:01.0")));
}

TEST_F(DevicesTest, MinorsStayWhenOthersComeAndGo) {
  machine_.make_dgx();
  look();
  const auto before = ids("rdma", true);
  ASSERT_EQ(before.at(0), "0000:15:00.0");
  machine_.remove("0000:15:00.0");
  look();
  EXPECT_THAT(ids("rdma", true),
              ElementsAre(Pair(1, before.at(1)), Pair(2, before.at(2)), Pair(3, before.at(3))));
  EXPECT_THAT(ids("rdma", false), IsEmpty()) << "gone is gone";
  machine_.add({"pci0000:05", "0000:05:00.0", "0000:06:00.0"},
               {{"infiniband/mlx5_9/ports/1/state", "4: ACTIVE"}, {"numa_node", "-1"}});
  look();
  EXPECT_THAT(ids("rdma", true), Contains(Pair(0, "0000:06:00.0"))) << "the lowest that is free";
  EXPECT_EQ(read("rdma")[0].numa, -1);
  EXPECT_EQ(read("rdma")[0].pcie_id, "pci0000:05") << "no switch";
}

// An object holds texts only. One card's bytes are no reason to report nothing.
TEST_F(DevicesTest, WhateverBytesADriverSaysTheReportIsText) {
  machine_.make_dgx();
  look();
  machine_.set_card("0000:13:00.0", "uuid", "GPU-\xff");
  machine_.set_card("0000:14:00.0", "name", "NVIDIA_\xff");
  machine_.set_card("0000:23:00.0", "links", "0000:\xff\xff:00.0*9");
  machine_.set_card("0000:24:00.0", "fail", "nvmlDeviceGetMemoryInfo");
  machine_.set_card("0000:33:00.0", "address",
                    "\xff"
                    "000:33:00.0");
  machine_.add({"pci0000:50", "0000:51:00.0"}, {{"name", "->/\xff"}, {"net/eth\xff/mtu", "1500"}});
  start(parse_type_rules(R"({"types": [
      {"type": "rdma", "devices": "bus/pci/devices/0000:51:00.0", "match": {"net/*": "*"},
       "id": "name", "resources": {"koordinator.sh/rdma": "100"}},
      {"type": "fpga", "devices": "bus/pci/devices/0000:51:00.0/net/*", "match": {"mtu": "*"},
       "resources": {"koordinator.sh/fpga": "@mtu"}}]})")
            .value());
  look();
  for (const std::string& problem : report_.problems) EXPECT_EQ(plain_text(problem), problem);
  EXPECT_THAT(report_.problems, Contains(HasSubstr("its address is \"?")));
  const std::string text = published_.dump();  // throws where there is something else
  EXPECT_THAT(text, AllOf(HasSubstr("GPU-?"), HasSubstr("GPU is lost ?"), HasSubstr("eth?")));
  EXPECT_EQ(reason("gpu", 3), "Unreadable") << "the card whose address nobody understands";
  EXPECT_EQ(ids("gpu", true).size(), 6U);

  FinderOptions options = machine_.options();
  options.nvml = "/nowhere/\xff.so";
  finder_ = std::make_unique<DeviceFinder>(options, [] {});
  look();
  EXPECT_THAT(published_.dump(), HasSubstr("/nowhere/?.so"));
}

TEST(PciAddresses, AreWhatTheKernelWrites) {
  for (const char* good : {"0000:3b:00.0", "10000:e1:00.7"}) EXPECT_TRUE(is_pci_address(good));
  for (const char* bad :
       {"", "3b:00.0", ":3b:00.0",
        "\xff"
        "000:3b:00.0",
        "../0:3b:00.0", "0000", "0000:3b:00.8", "0000:3b:00.0x", "0:0000:3b:00.0"}) {
    EXPECT_FALSE(is_pci_address(bad)) << bad;
  }
}

// A driver that starts late numbers its cards, too: no minor is there twice.
TEST_F(DevicesTest, MinorsOfADriverGoBeforeThoseThatWereGiven) {
  machine_.add({"pci0000:50", "0000:51:00.0"},
               {{"vendor", "0x19e5"}, {"driver", "->../devdrv_device_driver"}});
  look();
  EXPECT_THAT(ids("gpu", true), ElementsAre(Pair(0, "0000:51:00.0")));
  machine_.add_card({"pci0000:40", "0000:41:00.0"}, 0, {{"uuid", "GPU-a"}, {"minor", "0"}});
  look();
  EXPECT_THAT(ids("gpu", true), ElementsAre(Pair(0, "GPU-a"), Pair(1, "0000:51:00.0")));
  look();
  EXPECT_THAT(ids("gpu", true), ElementsAre(Pair(0, "GPU-a"), Pair(1, "0000:51:00.0")));
  EXPECT_EQ(report_.labels.at("node.koordinator.sh/gpu-vendor"), "nvidia");
}

TEST(DeviceAmounts, EndWhereNumbersEnd) {
  const json card = {{"health", true},
                     {"resources", {{"koordinator.sh/gpu-memory", "9223372036854775807"}}}};
  EXPECT_EQ(node_resources({card, card}).at("koordinator.sh/gpu-memory"), INT64_MAX);
}

TEST_F(DevicesTest, WhatAPodHoldsIsReportedUntilItGoes) {
  machine_.make_dgx();
  look();
  EXPECT_FALSE(in_use_.add_annotation("{}"));
  EXPECT_FALSE(in_use_.add_annotation("[1,{\"minor\":2}]"));
  EXPECT_TRUE(in_use_.add_annotation(R"({"rdma":[{"minor":0}],"gpu":7,"fpga":[3,{"minor":"x"}]})"));
  in_use_.ids.insert("GPU-3");
  machine_.remove("0000:15:00.0");
  machine_.remove_card("0000:33:00.0");
  machine_.remove_card("0000:34:00.0");
  machine_.add({"pci0000:05", "0000:05:00.0", "0000:06:00.0"},
               {{"infiniband/mlx5_9/ports/1/state", "4: ACTIVE"}});
  look();
  EXPECT_EQ(reason("rdma", 0), "Gone");
  EXPECT_EQ(reason("gpu", 3), "Gone");
  EXPECT_THAT(ids("gpu", false), ElementsAre(Pair(3, "GPU-3"))) << "nobody has the other";
  EXPECT_THAT(ids("rdma", true), Contains(Pair(4, "0000:06:00.0"))) << "not the one that is held";
  in_use_ = {};
  look(kLater);
  EXPECT_THAT(ids("rdma", false), IsEmpty());
  EXPECT_EQ(read("gpu").size(), 6U);
}

TEST_F(DevicesTest, AFaultLastsUntilTheCardWasAway) {
  machine_.make_dgx();
  look();
  machine_.fault("0000:13:00.0", 31);  // an application's
  machine_.fault("0000:14:00.0", 79);
  look();
  EXPECT_THAT(ids("gpu", false), ElementsAre(Pair(6, "GPU-6")));
  EXPECT_EQ(reason("gpu", 6), "Xid79");
  const json first = published_["spec"]["devices"];
  look(kLater);
  EXPECT_EQ(published_["spec"]["devices"], first) << "since when it is so does not change";
  start();  // the program ends, and starts again
  finder_->remember_fault("0000:14:00.0", {"Xid79", "as it was published"});
  look();
  EXPECT_THAT(ids("gpu", false), ElementsAre(Pair(6, "GPU-6")));
  machine_.set_card("0000:14:00.0", "fail", "nvmlDeviceGetMemoryInfo");
  look();
  EXPECT_EQ(reason("gpu", 6), "Xid79") << "whatever else is wrong with the card";
  const std::string both = message("gpu", 6);
  EXPECT_THAT(both, AllOf(HasSubstr("as it was published"), HasSubstr("nvmlDeviceGetMemoryInfo")));
  start();
  finder_->remember_fault("0000:14:00.0", {"Xid79", both});
  look();
  EXPECT_EQ(message("gpu", 6), both) << "it does not grow";
  machine_.set_card("0000:14:00.0", "fail", "");
  look();
  EXPECT_EQ(message("gpu", 6), "as it was published");
  finder_->forget_faults();
  look();
  EXPECT_EQ(ids("gpu", true).size(), 8U);
  machine_.fault("0000:14:00.0", 79);
  machine_.remove("0000:14:00.0");
  look();
  machine_.add({"pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:01.0", "0000:14:00.0"},
               {{"vendor", "0x10de"}, {"class", "0x030200"}, {"numa_node", "0"}});
  look();
  EXPECT_EQ(ids("gpu", true).size(), 8U);
}

// One that is lost silences no other, and one that answers late is heard.
TEST_F(DevicesTest, FaultsOfAllCardsThatAnswerAreHeard) {
  machine_.make_dgx();
  machine_.set_card("0000:23:00.0", "fail", "nvmlDeviceRegisterEvents");
  look();
  EXPECT_THAT(report_.problems, Contains(HasSubstr("no faults of card 0000:23:00.0 are heard of")));
  machine_.set_card("0000:13:00.0", "fail", "lost");
  machine_.set_card("0000:23:00.0", "fail", "");
  look();
  machine_.fault("0000:14:00.0", 79);
  machine_.fault("0000:23:00.0", 95);
  look();
  EXPECT_EQ(reason("gpu", 6), "Xid79");
  EXPECT_EQ(reason("gpu", 5), "Xid95");
}

TEST_F(DevicesTest, ACardThatIsCutIsGivenInItsInstances) {
  const auto parsed = devices::parse_device_args(
      R"({"deviceTypes": [{"name": "mig", "resource": "plimsoll.io/mig"}]})");
  ASSERT_TRUE(parsed) << parsed.error();
  types_ = DeviceTypes(parsed->types);
  machine_.make_dgx();
  machine_.set_card("0000:13:00.0", "mig",
                    "MIG-a/1g.10gb/10737418240,MIG-b/1g.10gb+me/10737418240");
  look();
  EXPECT_EQ(ids("gpu", true).size(), 7U);
  EXPECT_EQ(reason("gpu", 7), "MigMode");
  EXPECT_THAT(ids("mig", true), ElementsAre(Pair(56, "MIG-a"), Pair(57, "MIG-b")));
  EXPECT_EQ(read("mig")[1].labels.at("plimsoll.io/mig-profile"), "1g.10gb.me");
  EXPECT_EQ(read("mig")[1].labels.at("plimsoll.io/mig-card"), "GPU-7");
  EXPECT_EQ(node_resources(report_.devices)["plimsoll.io/mig"], 200);
  EXPECT_EQ(node_resources(report_.devices)["plimsoll.io/mig-1g.10gb"], 100);
  EXPECT_EQ(node_resources(report_.devices)["plimsoll.io/mig-1g.10gb.me"], 100);
  in_use_.ids = {"MIG-a"};
  machine_.set_card("0000:13:00.0", "fail", "nvmlDeviceGetMigMode");
  look();
  EXPECT_THAT(ids("gpu", false), Contains(Pair(7, "GPU-7"))) << "pods may have its instances";
  EXPECT_THAT(ids("mig", true), IsEmpty());
  EXPECT_THAT(ids("mig", false), ElementsAre(Pair(56, "MIG-a"))) << "one has it";
  machine_.set_card("0000:13:00.0", "fail", "");
  machine_.set_card("0000:13:00.0", "most", "4000000000");
  machine_.set_card("0000:13:00.0", "mig",
                    "MIG-a/a/1,MIG-b/b/1,c/c/1,d/d/1,e/e/1,f/f/1,g/g/1,h/h/1,i/i/1");
  look();
  EXPECT_THAT(ids("mig", true), IsEmpty());
  EXPECT_EQ(ids("mig", false).size(), 8U) << "minor 64 is the next card's";
  EXPECT_THAT(report_.problems, Contains(HasSubstr("4000000000 instances")));
  machine_.set_card("0000:13:00.0", "most", "");
  machine_.set_card("0000:13:00.0", "mig", "MIG-a/1g.10gb/1,MIG-b/1g.10gb/1");
  look();
  EXPECT_EQ(ids("mig", true).size(), 2U);
  machine_.fault("0000:13:00.0", 79);
  look();
  EXPECT_THAT(ids("mig", true), IsEmpty()) << "they are parts of the card";
}

TEST_F(DevicesTest, LinksAreThoseOfTheCards) {
  const auto chain = [](int i) {
    const std::string n = std::to_string(i);
    return std::vector<std::string>{"pci0000:10", "0000:10:01.0", "0000:11:00.0",
                                    "0000:12:0" + n + ".0", "0000:2" + n + ":00.0"};
  };
  const std::vector<std::string> links{"0000:21:00.0*2,0000:22:00.0*1", "0000:20:00.0*2",
                                       "0000:20:00.0*1", ""};
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    machine_.add_card(chain(i), 0,
                      {{"minor", n},
                       {"uuid", "GPU-" + n},
                       {"version", "2"},
                       {"links", links[static_cast<std::size_t>(i)]}});
  }
  look();
  EXPECT_EQ(rate(0, 1), 50);
  EXPECT_EQ(rate(0, 2), 25);
  EXPECT_EQ(rate(1, 2), 12) << "the PCIe switch";
  EXPECT_EQ(rate(0, 3), 12);
  machine_.set_card("0000:21:00.0", "fail", "nvmlDeviceGetUUID");
  look();
  EXPECT_EQ(rate(0, 1), 50) << "its links can still be read";
}

TEST_F(DevicesTest, ABridgeOnACardIsNoSwitch) {
  machine_.add({"pci0000:40", "0000:40:01.0", "0000:41:00.0", "0000:42:00.0", "0000:43:00.0"},
               {{"vendor", "0x1002"},
                {"driver", "->../amdgpu"},
                {"unique_id", "c1a5e6"},
                {"product_name", "Instinct MI210 (rev 2)"},
                {"mem_info_vram_total", "68702699520"},
                {"numa_node", "1"}});
  look();
  const auto gpus = read("gpu");
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].id, "c1a5e6");
  EXPECT_EQ(gpus[0].pcie_id, "pci0000:40");
  EXPECT_EQ(gpus[0].total.get(types_.find_dim(0, "koordinator.sh/gpu-memory")), 68702699520);
  EXPECT_EQ(read().gpu_vendor, "amd");
  EXPECT_EQ(read().gpu_model, "Instinct-MI210--rev-2");
  EXPECT_FALSE(found_.links) << "nobody knows; what somebody wrote stays";
}

TEST_F(DevicesTest, CardsOfOtherVendorsAreFoundByTheirDrivers) {
  using Files = std::map<std::string, std::string>;
  struct Card {
    const char *vendor, *label;
    Files driven;  // what /sys has while the driver has the card
  };
  for (const Card& card :
       {Card{"0x19e5", "huawei", {{"driver", "->../devdrv_device_driver"}}},
        Card{"0xcabc", "cambricon", {{"driver", "->../cambricon-pci-drv"}}},
        Card{"0x9999", "metax", {{"drm/renderD128/dev", "226:128"}, {"drm/card0/dev", "226:0"}}}}) {
    FakeMachine machine;
    const auto add = [&](const char* address, Files files) {
      files.insert({{"vendor", card.vendor}, {"numa_node", "1"}});
      machine.add({"pci0000:40", "0000:40:01.0", address}, files);
    };
    Files function = card.driven;
    function["physfn"] = "->../0000:41:00.0";
    add("0000:41:00.0", card.driven);
    add("0000:41:00.1", function);
    add("0000:42:00.0", {});  // no driver has it
    add("0000:43:00.0", {{"driver", "->../hinic"}});
    DeviceFinder finder(machine.options(), [] {});
    const FoundDevices found = finder.find(nullptr);
    ASSERT_EQ(found.devices.size(), 1U) << card.label;
    const FoundDevice& only = found.devices[0];
    EXPECT_EQ(only.type, "gpu");
    EXPECT_EQ(only.address, "0000:41:00.0");
    EXPECT_EQ(only.zone, 1);
    EXPECT_EQ(only.labels.at("node.koordinator.sh/gpu-vendor"), card.label);
    EXPECT_THAT(only.resources, ElementsAre(Pair("koordinator.sh/gpu-core", "100"),
                                            Pair("koordinator.sh/gpu-memory-ratio", "100")));
    EXPECT_EQ(only.fault.reason, "");
  }
}

TEST_F(DevicesTest, WhatATableSaysOfADeviceNoStandardRuleSaysOtherwise) {
  const auto rules = parse_type_rules(R"({"types": [
    {"type": "npu", "match": {"vendor": "0x19e5", "device": "0xd802"},
     "resources": {"example.com/npu": "100"}}]})");
  ASSERT_TRUE(rules) << rules.error().message;
  for (const auto& [address, model] :
       {std::pair("0000:41:00.0", "0xd802"), std::pair("0000:42:00.0", "0xd801")}) {
    machine_.add(
        {"pci0000:40", "0000:40:01.0", address},
        {{"vendor", "0x19e5"}, {"device", model}, {"driver", "->../devdrv_device_driver"}});
  }
  start(*rules);
  look();
  ASSERT_EQ(found_.devices.size(), 2U);
  EXPECT_EQ(found_.devices[0].type, "gpu");
  EXPECT_EQ(found_.devices[0].address, "0000:42:00.0");
  EXPECT_EQ(found_.devices[1].type, "npu");
  EXPECT_EQ(found_.devices[1].address, "0000:41:00.0");
}

TEST_F(DevicesTest, NicsHaveFunctionsAndNeedAPort) {
  machine_.add({"pci0000:40", "0000:40:01.0", "0000:41:00.0"},
               {{"infiniband/mlx5_0/ports/1/state", "1: DOWN"},
                {"infiniband/mlx5_0/ports/2/state", "4: ACTIVE"},
                {"virtfn1", "->../0000:41:00.2"},
                {"virtfn0", "->../0000:41:00.1"}});
  machine_.add({"pci0000:40", "0000:40:01.0", "0000:41:00.1"},
               {{"infiniband/mlx5_1/ports/1/state", "4: ACTIVE"}, {"physfn", "->../0000:41:00.0"}});
  machine_.add({"pci0000:50", "0000:50:01.0", "0000:51:00.0"}, {{"fpga_region/region0/dev", "1"}});
  machine_.add({"pci0000:50", "0000:50:02.0", "0000:52:00.0"},
               {{"vendor", "0x10ee"}, {"driver", "->../xocl"}});
  look();
  ASSERT_EQ(read("rdma").size(), 1U) << "a function is no device";
  EXPECT_TRUE(read("rdma")[0].is_healthy);
  EXPECT_THAT(ids("fpga", true), ElementsAre(Pair(0, "0000:51:00.0"), Pair(1, "0000:52:00.0")));
  ASSERT_EQ(read("rdma")[0].vfs.size(), 2U);
  EXPECT_EQ(read("rdma")[0].vfs[0].bus_id, "0000:41:00.1");
  machine_.set("0000:41:00.0", "infiniband/mlx5_0/ports/2/state", "2: INIT");
  look();
  EXPECT_EQ(reason("rdma", 0), "NotReady");
  EXPECT_EQ(node_resources(report_.devices)["koordinator.sh/rdma"], 0);
}

TEST_F(DevicesTest, ANewKindNeedsNoCode) {
  const auto rules = parse_type_rules(R"({"types": [
    {"type": "dpu", "match": {"vendor": "0x1ed5|0x1ed6", "class": "0x1200*"},
     "healthy": {"state": "ready"}, "id": "serial", "labels": {"example.com/rev": "@rev", "example.com/x": "@no"},
     "resources": {"example.com/dpu": "100"}},
    {"type": "tpu", "devices": "class/tpu/*", "match": {"name": "tpu*"},
     "resources": {"example.com/tpu": "@lanes"}}]})");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto args = devices::parse_device_args(
      R"({"deviceTypes": [{"name": "dpu", "resource": "example.com/dpu"},
                          {"name": "tpu", "resource": "example.com/tpu"}]})");
  ASSERT_TRUE(args) << args.error();
  types_ = DeviceTypes(args->types);
  machine_.add({"pci0000:50", "0000:50:01.0", "0000:51:00.0"}, {{"vendor", "0x1ed6"},
                                                                {"class", "0x120000"},
                                                                {"state", "ready"},
                                                                {"serial", "S-1"},
                                                                {"rev", "b 2"}});
  machine_.add(
      {"pci0000:50", "0000:50:02.0", "0000:52:00.0"},
      {{"vendor", "0x1ed5"}, {"class", "0x120000"}, {"state", "failed"}, {"serial", "S-2"}});
  machine_.add({"pci0000:50", "0000:50:03.0", "0000:53:00.0"},
               {{"vendor", "0x1ed5"}, {"class", "0x0200"}});
  const auto tpu = machine_.sys() / "class/tpu/tpu7";
  std::filesystem::create_directories(tpu);
  std::ofstream(tpu / "name") << "tpu-v9\n";
  std::ofstream(tpu / "lanes") << "8\n";
  start(*rules);
  look();
  EXPECT_THAT(ids("dpu", true), ElementsAre(Pair(0, "S-1")));
  EXPECT_THAT(ids("dpu", false), ElementsAre(Pair(1, "S-2")));
  EXPECT_THAT(read("dpu")[0].labels, ElementsAre(Pair("example.com/rev", "b-2")));
  EXPECT_THAT(ids("tpu", true), ElementsAre(Pair(0, "tpu7"))) << "not on the bus at all";
  std::ofstream(tpu / "lanes") << "many\n";  // the API server would refuse the whole object
  look();
  EXPECT_EQ(reason("tpu", 0), "Unreadable");
  std::filesystem::remove(tpu / "lanes");
  std::ofstream(machine_.sys() / "bus/pci/devices/0000:51:00.0/serial") << "S\xff\n";
  look();
  EXPECT_THAT(ids("dpu", true), ElementsAre(Pair(0, "S?"))) << "it stays what it was by its place";
  EXPECT_EQ(reason("tpu", 0), "Unreadable");
}

TEST(TypeRules, SayWhatIsWrongWithThem) {
  for (const auto& [text, problem] : std::map<std::string, std::string>{
           {"[]", "is no JSON object"},
           {"{}", "types: missing"},
           {R"({"types": [{"type": "x"}]})", "types[0].match: missing"},
           {R"({"types": [{"type": "x", "match": {"a": "b"}}]})", "types[0].resources: missing"},
           {R"({"types": [{"match": {"a": "b"}, "resources": {"a": "1"}}]})",
            "types[0].type: missing"},
           {R"({"types": [{"type": "x", "match": {"a": "b"}, "resources": {"a": "much"}}]})",
            "types[0].resources.a: is neither"},
           {R"({"types": [{"typ": "x"}]})", "types[0].typ: there is no such field"},
           {R"({"types": [{"match": {"a": 1}}]})", "types[0].match.a: must be a string"}}) {
    const auto rules = parse_type_rules(text);
    ASSERT_FALSE(rules) << text;
    EXPECT_THAT(rules.error().message, HasSubstr(problem));
  }
}

TEST_F(DevicesTest, TheKubeletsCheckpointIsPassedOn) {
  machine_.make_dgx();
  look();
  const std::vector<DeviceState::Entry> held{
      {"by-uuid", "c", "nvidia.com/gpu", {"GPU-1", "GPU-2"}},
      {"by-index", "c", "nvidia.com/gpu", {"0"}},  // in the library's order: minor 7
      {"in-time", "c", "nvidia.com/gpu.shared", {"GPU-3::2"}},
      {"named", "c", "nvidia.com/gpu", {"GPU-4"}},
      {"lies", "c", "nvidia.com/gpu", {"GPU-6"}},
      {"half", "c", "nvidia.com/gpu", {"GPU-5", "GPU-x"}},
      {"other", "c", "example.com/kvm", {"0"}}};
  // An annotation says which devices a pod has, as far as it does.
  const auto says = [](int minor) {
    auto devices = std::make_shared<DevicesInUse>();
    devices->minors = {{"foo", 0}, {"gpu", minor}};
    return devices;
  };
  const NamedDevices named{{"named", says(4)}, {"lies", says(5)}};
  published_["metadata"]["annotations"]["node.koordinator.sh/devices-checkpoints"] =
      checkpoint_text(held, named, found_, report_.devices);
  using testing::FieldsAre;
  EXPECT_THAT(read().held_by_pod,
              UnorderedElementsAre(Pair("by-uuid", ElementsAre(Pair(0, 1), Pair(0, 2))),
                                   Pair("by-index", ElementsAre(Pair(0, 7))),
                                   Pair("lies", ElementsAre(Pair(0, 6))),
                                   Pair("in-time", ElementsAre(Pair(0, 3)))));
  EXPECT_EQ(checkpoint_text({}, {}, found_, report_.devices), "");
}

TEST_F(DevicesTest, SomebodyElsesObjectIsTakenOver) {
  machine_.make_dgx();
  // As koordlet writes it: minors by the NICs' names, and a device that is not there.
  published_ = {{"metadata", {{"name", "n"}, {"annotations", {{"a", "b"}}}}},
                {"spec",
                 {{"devices",
                   {{{"type", "rdma"}, {"id", "0000:25:00.0"}, {"minor", 5}, {"health", true}},
                    {{"type", "rdma"}, {"id", "x"}, {"minor", "5"}},
                    "nonsense",
                    {{"type", "rdma"}, {"id", "0000:99:00.0"}, {"minor", 6}},
                    {{"type", "gpu"},
                     {"id", "GPU-7"},
                     {"minor", 7},
                     {"conditions",
                      {{{"type", "Other"}, {"status", "False"}, {"lastTransitionTime", "x"}},
                       {{"type", "Healthy"}, {"status", "False"}}}}}}}}}};
  machine_.set_card("0000:13:00.0", "fail", "nvmlDeviceGetMemoryInfo");
  look();
  EXPECT_EQ(report_.devices[7]["conditions"][0]["lastTransitionTime"], kNow);
  EXPECT_THAT(ids("rdma", true), ElementsAre(Pair(0, "0000:15:00.0"), Pair(1, "0000:35:00.0"),
                                             Pair(2, "0000:45:00.0"), Pair(5, "0000:25:00.0")));
}

// What NVIDIA's own program says of the cards, where there is one.
TEST(NvidiaSmi, SaysTheSame) {
  FILE* smi = popen(
      "nvidia-smi --query-gpu=uuid,pci.bus_id,memory.total --format=csv,noheader,nounits "
      "2>/dev/null",
      "r");
  std::string text;
  for (int c = 0; smi != nullptr && (c = std::fgetc(smi)) != EOF;) text += static_cast<char>(c);
  if (smi == nullptr || pclose(smi) != 0 || text.empty()) {
    GTEST_SKIP() << "SKIPPED: no nvidia-smi with a GPU here; the library was not compared with it";
  }
  DeviceFinder finder({}, [] {});
  std::map<std::string, std::string> ours;
  for (const FoundDevice& device : finder.find(nullptr).devices) {
    if (device.type != "gpu" || device.index < 0) continue;
    ours[device.id] = device.address;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string id = line.substr(0, line.find(','));
    ASSERT_TRUE(ours.contains(id)) << text;
    EXPECT_THAT(pci_address(line), HasSubstr(ours[id].substr(5)));
    ours.erase(id);
  }
  EXPECT_THAT(ours, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::node
