#include "plugins/nodedevice/devices/device_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Json;
using testing::ElementsAre;

std::string problem_of(const Json& object) {
  const auto parsed = parse_device_object(test::types(), object.dump());
  if (!parsed) return parsed.error();
  return parsed->unreadable.empty() ? "" : "Device n: " + parsed->unreadable.front();
}

TEST(DeviceObject, ReadsEveryField) {
  Json object = test::device_object("node-1", {test::gpu(1, "16Gi", 0, "pci0000:3a"),
                                               test::gpu(0, "15472384Ki", 1, "pci0000:17", false),
                                               test::rdma(0, "0000:09:00", 0, "pci0000:3a", 2)});
  object["metadata"]["labels"] = {{"node.koordinator.sh/gpu-vendor", "nvidia"},
                                  {"node.koordinator.sh/gpu-model", "H800"},
                                  {"node.koordinator.sh/gpu-partition-policy", "Honor"},
                                  {"node.koordinator.sh/secondary-device-well-planned", "true"}};
  object["metadata"]["annotations"] = {
      {"scheduling.koordinator.sh/gpu-partitions",
       R"({"2":[{"minors":[1,0],"gpuLinkType":"NVLink","ringBusBandwidth":"400Gi",
           "allocationScore":3}]})"},
      {"node.koordinator.sh/gpu-checkpoints",
       R"([{"podUID":"u","containerName":"c","resourceName":"nvidia.com/gpu",
           "deviceIDs":["GPU-0"]}])"}};
  object["spec"]["devices"][0]["moduleID"] = 7;
  object["spec"]["devices"][0]["labels"] = {{"model", "x"}};
  object["spec"]["devices"][0]["topology"]["busID"] = "0000:3b:00.0";

  const auto parsed = parse_device_object(test::types(), object.dump());
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  EXPECT_TRUE(parsed->warnings.empty());
  EXPECT_EQ(parsed->gpu_vendor, "nvidia");
  EXPECT_EQ(parsed->gpu_model, "H800");
  EXPECT_EQ(parsed->partition_policy, "Honor");
  EXPECT_TRUE(parsed->secondary_well_planned);
  const auto& gpus = parsed->devices(0);
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_EQ(gpus[0].minor, 0);
  EXPECT_FALSE(gpus[0].is_healthy);
  EXPECT_EQ(gpus[0].numa, 1);
  EXPECT_EQ(gpus[0].total.get(1), int64_t{15472384} << 10);
  EXPECT_EQ(gpus[1].module_id, 7);
  EXPECT_EQ(gpus[1].labels.at("model"), "x");
  EXPECT_EQ(gpus[1].bus_id, "0000:3b:00.0");
  EXPECT_EQ(gpus[1].socket, -1);
  EXPECT_EQ(gpus[1].pcie_id, "pci0000:3a");
  EXPECT_EQ(gpus[1].id, "GPU-1");
  const auto& nics = parsed->devices(1);
  ASSERT_EQ(nics.size(), 1U);
  ASSERT_EQ(nics[0].vfs.size(), 2U);
  EXPECT_EQ(nics[0].vfs[1].bus_id, "0000:09:00.3");
  EXPECT_EQ(nics[0].vf_groups.at(nics[0].vfs[1].group).at("type"), "general");
  ASSERT_EQ(parsed->partitions.at(2).size(), 1U);
  EXPECT_EQ(parsed->partitions.at(2)[0].minors, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(parsed->partitions.at(2)[0].ring_bandwidth, int64_t{400} << 30);
  EXPECT_EQ(parsed->partitions.at(2)[0].score, 3);
  ASSERT_EQ(parsed->checkpoints.size(), 1U);
  EXPECT_EQ(parsed->checkpoints[0].device_ids, std::vector<std::string>{"GPU-0"});
}

TEST(DeviceObject, AcceptsTheLeastThereCanBe) {
  EXPECT_EQ(problem_of({{"metadata", {{"name", "n"}}}}), "");
  EXPECT_EQ(problem_of({{"metadata", {{"name", "n"}}}, {"spec", {{"devices", nullptr}}}}), "");
  // A type that nobody knows is left out; numbers stand for quantities.
  EXPECT_EQ(problem_of(test::device_object("n", {{{"type", "xpu"}}})), "");
  EXPECT_EQ(
      problem_of(test::device_object(
          "n", {{{"type", "fpga"}, {"minor", 0}, {"resources", {{"koordinator.sh/fpga", 100}}}}})),
      "");
}

TEST(DeviceObject, NamesTheFieldThatIsWrong) {
  const auto with = [](const char* pointer, Json value) {
    Json object = test::device_object("n", {test::gpu(0, "1Gi", 0, "p"), test::gpu(1, "1Gi")});
    object[Json::json_pointer(pointer)] = std::move(value);
    return problem_of(object);
  };
  const std::string no_gpu = "; this gpu is not given until it is right";
  const std::string not_0 = "; gpu 0 is not given until it is right";
  EXPECT_EQ(with("/spec/devices/1/minor", nullptr),
            "Device n: spec.devices[1].minor: missing" + no_gpu);
  EXPECT_EQ(with("/spec/devices/1/minor", "1"),
            "Device n: spec.devices[1].minor: must be an integer" + no_gpu);
  EXPECT_EQ(with("/spec/devices/1/minor", -1),
            "Device n: spec.devices[1].minor: must not be negative" + no_gpu);
  EXPECT_EQ(with("/spec/devices/1/minor", uint64_t{1} << 40),
            "Device n: spec.devices[1].minor: is too large" + no_gpu);
  EXPECT_EQ(with("/spec/devices/1/minor", 0),
            "Device n: spec.devices[1].minor: 0 is already the minor of another gpu" + not_0);
  EXPECT_EQ(with("/spec/devices/0/type", nullptr),
            "Device n: spec.devices[0].type: missing; it counts as no device");
  EXPECT_EQ(with("/spec/devices/0/health", "yes"),
            "Device n: spec.devices[0].health: must be true or false" + not_0);
  EXPECT_EQ(with("/spec/devices/0/topology/pcieID", 3),
            "Device n: spec.devices[0].topology.pcieID: must be a string" + not_0);
  EXPECT_EQ(with("/spec/devices/0/resources", Json::array()),
            "Device n: spec.devices[0].resources: must be an object" + not_0);
  EXPECT_EQ(with("/spec/devices/0/resources/koordinator.sh~1gpu-core", "lots"),
            "Device n: spec.devices[0].resources[koordinator.sh/gpu-core]: \"lots\" is not a "
            "quantity" +
                not_0);
  EXPECT_EQ(
      with("/spec/devices/0/resources/koordinator.sh~1gpu-core", "-1"),
      "Device n: spec.devices[0].resources[koordinator.sh/gpu-core]: must not be negative" + not_0);
  EXPECT_EQ(with("/spec/devices", "none"), "Device n: spec.devices: must be a list");
  EXPECT_EQ(with("/spec/devices/0", 1),
            "Device n: spec.devices[0]: must be an object; it counts as no device");
  EXPECT_EQ(with("/metadata/name", nullptr), "Device: metadata.name: missing");
  EXPECT_EQ(problem_of(Json::array()), "Device: must be a JSON object");
}

TEST(DeviceObject, AVirtualFunctionNeedsABusId) {
  for (const Json& bus : {Json(), Json("")}) {
    Json object = test::device_object("n", {test::rdma(0, "0000:09:00", 0, "p", 2)});
    object["spec"]["devices"][0]["vfGroups"][0]["vfs"][1]["busID"] = bus;
    EXPECT_EQ(problem_of(object),
              "Device n: spec.devices[0].vfGroups[0].vfs[1].busID: missing: nothing else tells it "
              "from others; rdma 0 is not given until it is right");
  }
}

// What is wrong with one device costs that one: the others are given as before.
TEST(DeviceObject, ABadEntryCostsThatDeviceOnly) {
  const auto given = [](const std::function<void(Json&)>& spoil, const test::Ask& ask) {
    Json object = test::fixture_a("n");
    spoil(object["spec"]["devices"]);
    return test::outcome(test::node_of(object), test::demand_of(ask));
  };
  constexpr size_t kNic = 8;  // the entry after eight GPUs; its minor is 1
  const auto no_bus_id = [](Json& devices) {
    devices[kNic]["vfGroups"][0]["vfs"][0].erase("busID");
  };
  EXPECT_EQ(given(no_bus_id, {{"nvidia.com/gpu", 8}}), "gpu 0 1 2 3 4 5 6 7");
  EXPECT_EQ(given(no_bus_id, {{"koordinator.sh/rdma", 300}}), "rdma 2 3 4");
  const auto no_minor = [](Json& devices) { devices[kNic].erase("minor"); };
  EXPECT_EQ(given(no_minor, {{"nvidia.com/gpu", 8}}), "gpu 0 1 2 3 4 5 6 7");
  EXPECT_EQ(given(no_minor, {{"koordinator.sh/rdma", 300}}), "rdma 2 3 4");
  EXPECT_EQ(given(no_minor, {{"koordinator.sh/rdma", 400}}), "Insufficient rdma devices");
  const auto bad_gpu = [](Json& devices) { devices[0]["resources"] = 7; };
  EXPECT_EQ(given(bad_gpu, {{"nvidia.com/gpu", 7}}), "gpu 1 2 3 4 5 6 7");
  EXPECT_EQ(given(bad_gpu, {{"nvidia.com/gpu", 8}}), "Insufficient GPU Devices");
  EXPECT_EQ(given(bad_gpu, {{"koordinator.sh/rdma", 400}}), "rdma 1 2 3 4");
  const auto twice = [](Json& devices) { devices[1]["minor"] = 0; };
  EXPECT_EQ(given(twice, {{"nvidia.com/gpu", 6}}), "gpu 2 3 4 5 6 7");
  EXPECT_EQ(given(twice, {{"nvidia.com/gpu", 7}}), "Insufficient GPU Devices");
  const auto no_type = [](Json& devices) { devices[0].erase("type"); };
  EXPECT_EQ(given(no_type, {{"nvidia.com/gpu", 7}}), "gpu 1 2 3 4 5 6 7");
}

// However many there are, whatever else is wrong: the devices that have a minor of their own are
// given, and those that may be meant are not.
TEST(DeviceObject, EntriesWithoutAMinorCostNoOtherDevice) {
  std::vector<Json> devices;
  for (int i = 0; i < 8; ++i) devices.push_back(test::gpu(i, "1Gi"));
  devices[1].erase("minor");
  devices[2]["minor"] = -2;
  devices[3]["minor"] = "3";
  devices[4]["minor"] = 5;     // twice
  devices[6]["id"] = "GPU-1";  // whose minor is missing
  const Json object = test::device_object("n", devices);
  EXPECT_EQ(test::outcome(test::node_of(object), test::demand_of({{"nvidia.com/gpu", 2}})),
            "gpu 0 7");
  EXPECT_EQ(test::outcome(test::node_of(object), test::demand_of({{"nvidia.com/gpu", 3}})),
            "Insufficient gpu devices");
  const auto parsed = parse_device_object(test::types(), object.dump());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->without_minor[0], 3);
  EXPECT_THAT(parsed->unreadable,
              ElementsAre("spec.devices[1].minor: missing; this gpu is not given until it is right",
                          "spec.devices[2].minor: must not be negative; this gpu is not given "
                          "until it is right",
                          "spec.devices[3].minor: must be an integer; this gpu is not given until "
                          "it is right",
                          "spec.devices[5].minor: 5 is already the minor of another gpu; gpu 5 is "
                          "not given until it is right",
                          "spec.devices[1].minor: missing, and its id is that of another entry; "
                          "gpu 6 is not given until it is right"));
}

TEST(DeviceObject, APartitionHasEachDeviceOnce) {
  Json object = test::device_object("n", {test::gpu(0, "1Gi"), test::gpu(1, "1Gi")});
  object["metadata"]["annotations"] = {
      {"scheduling.koordinator.sh/gpu-partitions", R"({"2":[{"minors":[0,1]},{"minors":[1,1]}]})"}};
  object["metadata"]["labels"] = {{"node.koordinator.sh/gpu-partition-policy", "Honor"}};
  const auto parsed = parse_device_object(test::types(), object.dump());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->warnings,
            std::vector<std::string>{"annotation scheduling.koordinator.sh/gpu-partitions[2][1]"
                                     ".minors: 1 is listed more than once"});
  EXPECT_TRUE(parsed->has_partitions);
  EXPECT_TRUE(parsed->partitions.empty());
  EXPECT_EQ(test::outcome(test::node_of(object), test::demand_of({{"nvidia.com/gpu", 2}})),
            "node(s) missing GPU Partition Table (unresolvable)");
}

TEST(DeviceObject, SurvivesWhatIsNotJson) {
  for (const char* text : {"", "{", "nul", "{\"metadata\":{\"name\":\"n\"},}"})
    EXPECT_FALSE(parse_device_object(test::types(), text).has_value()) << text;
}

TEST(DeviceObject, AnUnreadablePartitionTableIsAWarningAndHasNoEntry) {
  for (const char* table :
       {"{", "[]", R"({"two":[]})", R"({"2":[{"minors":[0],"allocationScore":"1"}]})",
        R"({"NVLINK":{"2":[]}})"}) {
    Json object = test::device_object("n", {test::gpu(0, "1Gi")});
    object["metadata"]["annotations"] = {{"scheduling.koordinator.sh/gpu-partitions", table}};
    const auto parsed = parse_device_object(test::types(), object.dump());
    ASSERT_TRUE(parsed.has_value()) << table;
    EXPECT_EQ(parsed->warnings.size(), 1U) << table;
    EXPECT_TRUE(parsed->has_partitions);
    EXPECT_TRUE(parsed->partitions.empty());
  }
}

}  // namespace
}  // namespace plimsoll::devices
