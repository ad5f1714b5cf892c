// New kinds of devices, from the args alone.

#include "plugins/nodedevice/args/device_type_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Json;
using testing::HasSubstr;

// A type that counts whole devices and shares of them, one in the short form, and a further
// vendor's GPUs.
constexpr const char* kArgs = R"({"deviceTypes":[
  {"name":"dpu","resource":"example.com/dpu"},
  {"name":"tpu","topologyAware":true,
   "resources":["example.com/lanes","example.com/hbm","example.com/hbm-percent"],
   "memory":{"bytes":"example.com/hbm","percent":"example.com/hbm-percent"},
   "combinations":[
    {"requests":["example.com/tpu"],"count":{"kind":"Value","of":"example.com/tpu"},
     "amounts":[{"resource":"example.com/lanes","of":"example.com/tpu","factor":8},
                {"resource":"example.com/hbm-percent","of":"example.com/tpu","factor":100}]},
    {"requests":["example.com/lanes","example.com/hbm"],
     "checks":[{"of":"example.com/lanes","atMost":8}]}]},
  {"name":"gpu","combinations":[
    {"requests":["example.com/gpu"],"count":{"kind":"Value","of":"example.com/gpu"},
     "amounts":[{"resource":"koordinator.sh/gpu-core","of":"example.com/gpu","factor":100},
                {"resource":"koordinator.sh/gpu-memory-ratio","of":"example.com/gpu","factor":100}]}]}
]})";

Json tpu(int minor, int numa) {
  return {{"type", "tpu"},
          {"minor", minor},
          {"health", true},
          {"resources",
           {{"example.com/lanes", "8"},
            {"example.com/hbm", "32Gi"},
            {"example.com/hbm-percent", "100"}}},
          {"topology", {{"socketID", -1}, {"nodeID", numa}, {"pcieID", std::to_string(minor)}}}};
}

class DeviceTypeArgs : public ::testing::Test {
 protected:
  DeviceTypeArgs() {
    auto args = parse_device_args(kArgs);
    EXPECT_TRUE(args.has_value()) << (args ? "" : args.error());
    if (args) types_.emplace(args->types);
  }

  NodeState node(const std::vector<Json>& devices) {
    auto parsed = parse_device_object(*types_, test::device_object("n", devices).dump());
    EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error());
    NodeState state(*types_);
    if (parsed) state.set_object(std::make_shared<const NodeDevices>(*std::move(parsed)));
    return state;
  }
  // The annotation that the pod would get, or why not.
  std::string outcome(NodeState& state, const Ask& ask, const char* hint = "",
                      const char* joint = "") {
    auto request = parse_device_request(*types_, test::quantities(ask));
    if (!request) return request.error();
    auto hints = parse_device_hints(*types_, hint, joint, "");
    if (!hints) return hints.error();
    const Scorer scorer(*types_, Strategy::kMostAllocated, Scorer::default_weights(*types_));
    const Allocator allocator(*types_, &scorer);
    Allocation given;
    const PodDemand demand{*request, *hints};
    const Verdict verdict = allocator.allocate(state, {}, demand, given);
    EXPECT_EQ(allocator.check(state, {}, demand), verdict);
    if (!verdict.fits()) return reason_text(*types_, verdict.reason, verdict.type);
    const std::string text = write_allocation(*types_, given, state);
    state.add(read_allocation(*types_, text).shares);
    return text;
  }

  std::optional<DeviceTypes> types_;
};

TEST_F(DeviceTypeArgs, AShortLineMakesAType) {
  const Json dpu = {
      {"type", "dpu"}, {"minor", 3}, {"health", true}, {"resources", {{"example.com/dpu", "100"}}}};
  NodeState state = node({dpu});
  EXPECT_EQ(outcome(state, {{"example.com/dpu", 60}}),
            R"({"dpu":[{"minor":3,"resources":{"example.com/dpu":"60"}}]})");
  EXPECT_EQ(outcome(state, {{"example.com/dpu", 60}}), "Insufficient dpu devices");
  EXPECT_THAT(outcome(state, {{"example.com/dpu", 150}}),
              HasSubstr("invalid resource unit example.com/dpu: 150"));
}

TEST_F(DeviceTypeArgs, TypesWithRulesOfTheirOwn) {
  NodeState state = node({tpu(0, 0), tpu(1, 1), tpu(2, 1)});
  EXPECT_EQ(outcome(state, {{"example.com/tpu", 2}}),
            R"({"tpu":[{"minor":1,"resources":{"example.com/lanes":"8","example.com/hbm":"32Gi",)"
            R"("example.com/hbm-percent":"100"}},{"minor":2,"resources":{"example.com/lanes":"8",)"
            R"("example.com/hbm":"32Gi","example.com/hbm-percent":"100"}}]})")
      << "both in one zone";
  EXPECT_EQ(outcome(state, {{"example.com/lanes", 2}, {"example.com/hbm", int64_t{8} << 30}}),
            R"({"tpu":[{"minor":0,"resources":{"example.com/lanes":"2","example.com/hbm":"8Gi",)"
            R"("example.com/hbm-percent":"25"}}]})");
  EXPECT_EQ(outcome(state, {{"example.com/tpu", 1}}), "Insufficient tpu Devices");
  EXPECT_EQ(outcome(state, {{"example.com/lanes", 9}, {"example.com/hbm", 1}}),
            "invalid resource device requests: [example.com/hbm example.com/lanes]: "
            "example.com/lanes is 9, must be at most 8");
  EXPECT_EQ(outcome(state, {{"example.com/lanes", 1}}),
            "invalid resource device requests: [example.com/lanes]: legal is example.com/hbm with "
            "example.com/lanes");
}

// Tables of partitions are about GPUs.
TEST_F(DeviceTypeArgs, PartitionsOfGpusDoNotConcernThem) {
  NodeState state = node({tpu(0, 0), tpu(1, 0), tpu(2, 0)});
  const auto request = parse_device_request(*types_, test::quantities({{"example.com/tpu", 3}}));
  ASSERT_TRUE(request.has_value());
  Allocation given;
  const Allocator allocator(*types_, nullptr);
  EXPECT_TRUE(allocator.allocate(state, {"nvidia", "H800", "Honor"}, {*request, {}}, given).fits());
}

TEST_F(DeviceTypeArgs, AFurtherNameForAKnownType) {
  NodeState state = node({test::gpu(0, "16Gi"), test::gpu(1, "16Gi")});
  EXPECT_THAT(outcome(state, {{"example.com/gpu", 1}}), HasSubstr(R"("minor":0)"));
  EXPECT_THAT(outcome(state, {{"nvidia.com/gpu", 1}}), HasSubstr(R"("minor":1)"));
  EXPECT_EQ(outcome(state, {{"example.com/gpu", 1}, {"nvidia.com/gpu", 1}}),
            "invalid resource device requests: [example.com/gpu nvidia.com/gpu]: legal is "
            "nvidia.com/gpu, or example.com/gpu");
}

TEST_F(DeviceTypeArgs, HintsWorkForThem) {
  NodeState state = node({tpu(0, 0), tpu(1, 0)});
  EXPECT_THAT(outcome(state, {{"example.com/lanes", 1}, {"example.com/hbm", 1}},
                      R"({"tpu":{"requiredTopologyScope":"PCIe"}})"),
              HasSubstr(R"("minor":0)"));
  auto args = parse_device_args(
      R"({"deviceTypes":[{"name":"x","resources":["e.com/a","e.com/b"],
                          "combinations":[{"requests":["e.com/a","e.com/b"]}]}]})");
  ASSERT_TRUE(args.has_value());
  const auto hints = parse_device_hints(DeviceTypes(args->types),
                                        R"({"x":{"allocateStrategy":"RequestsAsCount"}})", "", "");
  ASSERT_FALSE(hints.has_value());
  EXPECT_THAT(hints.error(), HasSubstr("RequestsAsCount is for types with one resource"));
}

// HAMi's way: so many devices, and so many MiB and percent of each of them.
TEST(DeviceTypeArgsPerDevice, AnAmountMayBeWhatEachDeviceGives) {
  const auto args = parse_device_args(R"({"deviceTypes":[{"name":"gpu","combinations":[
    {"requests":["nvidia.com/gpu","nvidia.com/gpumem","nvidia.com/gpucores"],
     "count":{"kind":"Value","of":"nvidia.com/gpu"},
     "checks":[{"of":"nvidia.com/gpucores","atMost":100}],
     "amounts":[{"resource":"koordinator.sh/gpu-memory","of":"nvidia.com/gpumem",
                 "factor":1048576,"perDevice":true},
                {"resource":"koordinator.sh/gpu-core","of":"nvidia.com/gpucores",
                 "perDevice":true}]}]}]})");
  ASSERT_TRUE(args) << args.error();
  const DeviceTypes types(args->types);
  const auto request = parse_device_request(types, test::quantities({{"nvidia.com/gpu", 3},
                                                                     {"nvidia.com/gpumem", 3000},
                                                                     {"nvidia.com/gpucores", 30}}));
  ASSERT_TRUE(request) << request.error();
  const TypeRequest& gpu = request->types.at(0);
  EXPECT_EQ(gpu.count, 3);
  EXPECT_TRUE(gpu.is_shared);
  const int memory = types.find_dim(0, "koordinator.sh/gpu-memory");
  const int core = types.find_dim(0, "koordinator.sh/gpu-core");
  EXPECT_EQ(gpu.per_device.get(memory), int64_t{3000} << 20);
  EXPECT_EQ(gpu.total.get(memory), int64_t{9000} << 20);
  EXPECT_EQ(gpu.per_device.get(core), 30);
  EXPECT_EQ(gpu.total.get(core), 90);
  // What no node has is asked for, not something that wrapped.
  const auto huge = parse_device_request(types, test::quantities({{"nvidia.com/gpu", kMaxAmount},
                                                                  {"nvidia.com/gpumem", kMaxAmount},
                                                                  {"nvidia.com/gpucores", 1}}));
  ASSERT_TRUE(huge) << huge.error();
  EXPECT_EQ(huge->types.at(0).total.get(memory), kMaxAmount);
  const auto wrong = parse_device_args(R"({"deviceTypes":[{"name":"gpu","combinations":[
    {"requests":["e.com/a"],"amounts":[{"resource":"koordinator.sh/gpu-core","of":"e.com/a",
     "perDevice":1}]}]}]})");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(
      wrong.error(),
      HasSubstr("deviceTypes[0].combinations[0].amounts[0].perDevice: must be true or false"));
}

TEST(DeviceTypeArgsProblems, AllOfThemWithTheirPaths) {
  const auto args = parse_device_args(R"({"deviceTypes":[
    {"resource":"e.com/a"},
    {"name":"a","resource":"plain"},
    {"name":"b","resources":["e.com/b"],"colour":"red",
     "memory":{"bytes":"e.com/b","percent":"e.com/x"},
     "combinations":[{"requests":["e.com/b"],"count":{"kind":"Dozen","of":"e.com/b"},
                      "amounts":[{"resource":"e.com/c","of":"e.com/d","factor":0}],
                      "checks":[{"of":"e.com/b"}]}]},
    {"name":"c","resource":"nvidia.com/gpu"},
    {"name":"d"}]})");
  ASSERT_FALSE(args.has_value());
  for (const char* line :
       {"deviceTypes[0].name: must be given",
        "deviceTypes[1].resource: must have a domain, like example.com/plain",
        "deviceTypes[2].colour: unknown field",
        "deviceTypes[2].memory: bytes and percent must be two of the type's resources",
        "deviceTypes[2].combinations[0].count.kind: must be One, Value or Hundreds",
        "deviceTypes[2].combinations[0].amounts[0].resource: is not one of the type's resources",
        "deviceTypes[2].combinations[0].amounts[0].of: is not one of the combination's requests",
        "deviceTypes[2].combinations[0].amounts[0].factor: must be a number from 1 to "
        "1099511627776",
        "deviceTypes[2].combinations[0].checks[0]: needs one of percent, atMost and multipleOf",
        "deviceTypes[3]: nvidia.com/gpu asks for another type already",
        "deviceTypes[4]: needs resource, or resources and combinations"})
    EXPECT_THAT(args.error(), HasSubstr(line));
}

}  // namespace
}  // namespace plimsoll::devices
