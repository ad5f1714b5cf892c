// Device plugins that want their own name beside the one by which devices are given here: the same
// hardware, once. Containers are told apart.

#include "plugins/nodedevice/requests/second_names.hpp"

#include <gmock/gmock.h>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using testing::UnorderedElementsAre;
using Kind = ContainerKind;

struct Container {
  Kind kind = Kind::kApp;
  Ask ask;
};

// What is left of the names that are not the types' own, as "name=value".
std::vector<std::string> left(const std::vector<Container>& containers, const Ask& pod) {
  std::vector<ContainerRequests> asks;
  for (const Container& one : containers) asks.push_back({"", one.kind, test::quantities(one.ask)});
  auto requests = test::quantities(pod);
  leave_out_second_names(test::types(), asks, requests);
  std::vector<std::string> out;
  for (const ResourceQuantity& request : requests)
    if (!test::types().find_request(request.name))
      out.push_back(std::string(request.name) + "=" + std::to_string(request.value));
  return out;
}
std::vector<std::string> left(const Ask& one) {
  return left({{Kind::kApp, one}}, one);
}

constexpr const char* kGpu = "koordinator.sh/gpu";
constexpr const char* kMemory = "koordinator.sh/gpu-memory";
constexpr const char* kShared = "koordinator.sh/gpu.shared";

TEST(SecondNames, BesideANameForTheSchedulerTheyAreTheSameHardware) {
  for (const Ask& ask : {
           Ask{{kShared, 1},
               {kMemory, 1},
               {"koordinator.sh/gpu-core", 10},
               {"metax-tech.com/sgpu", 1}},
           Ask{{kShared, 2},
               {kMemory, 2},
               {"metax-tech.com/sgpu", 2},
               {"metax-tech.com/vcore", 20}},
           // Slices and percents: they say nothing of how many devices.
           Ask{{kShared, 1},
               {kMemory, int64_t{1} << 30},
               {"koordinator.sh/gpu-core", 10},
               {"cambricon.com/mlu.smlu.vcore", 10},
               {"cambricon.com/mlu.smlu.vmemory", 4}},
           Ask{{kGpu, 50}, {"enflame.com/shared-gcu", 3}},
           Ask{{kGpu, 50}, {"cambricon.com/mlu370.smlu.vcore", 50}},
           Ask{{kMemory, 1}, {"cambricon.com/mlu.smlu.vmemory", 20}, {"cambricon.com/vmlu", 1}},
           Ask{{kGpu, 100}, {"mthreads.com/sgpu", 1}, {"mthreads.com/sgpu-memory", 8}},
           Ask{{"kubernetes.io/gpu-memory", 1}, {"nvidia.com/gpu.shared", 1}},
           Ask{{"huawei.com/npu-core", 4}, {kMemory, 1}, {"huawei.com/Ascend310P", 1}},
           Ask{{"koordinator.sh/rdma", 1}, {"rdma/hca_shared", 1}},
       })
    EXPECT_THAT(left(ask), testing::IsEmpty()) << ask.back().first;
}

TEST(SecondNames, DevicePluginsNamesAreForDifferentDevices) {
  EXPECT_THAT(left({{"nvidia.com/gpu", 1}, {"nvidia.com/mig-3g.20gb", 1}}),
              UnorderedElementsAre("nvidia.com/mig-3g.20gb=1"));
  EXPECT_THAT(left({{"nvidia.com/gpu", 1}, {"metax-tech.com/sgpu", 2}}),
              UnorderedElementsAre("metax-tech.com/sgpu=2"));
  EXPECT_THAT(left({{"huawei.com/npu-core", 1}, {"huawei.com/npu", 1}}),
              UnorderedElementsAre("huawei.com/npu=1"));
  EXPECT_THAT(left({{kGpu, 100}, {"rdma/hca_shared", 1}}),
              UnorderedElementsAre("rdma/hca_shared=1"));
  EXPECT_THAT(left({{kGpu, 0}, {"metax-tech.com/sgpu", 1}}),
              UnorderedElementsAre("metax-tech.com/sgpu=1"));
}

TEST(SecondNames, AnAmountBelongsToTheDevicesOfItsContainer) {
  EXPECT_THAT(left({{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 3000}}), testing::IsEmpty());
  EXPECT_THAT(left({{"volcano.sh/vgpu-number", 1}, {"volcano.sh/vgpu-memory", 3000}}),
              UnorderedElementsAre("volcano.sh/vgpu-number=1"));
  EXPECT_THAT(left({{"nvidia.com/gpumem", 3000}}), UnorderedElementsAre("nvidia.com/gpumem=3000"));
  EXPECT_THAT(
      left({{Kind::kApp, {{"nvidia.com/gpu", 1}}}, {Kind::kApp, {{"nvidia.com/gpumem", 5}}}},
           {{"nvidia.com/gpu", 1}, {"nvidia.com/gpumem", 5}}),
      UnorderedElementsAre("nvidia.com/gpumem=5"));
}

TEST(SecondNames, OtherContainersAskForOtherHardware) {
  const Container both{Kind::kApp, {{kGpu, 50}, {"metax-tech.com/sgpu", 1}}};
  const Container only_theirs{Kind::kApp, {{"metax-tech.com/sgpu", 3}}};
  const Container only_ours{Kind::kApp, {{kGpu, 50}}};
  EXPECT_THAT(left({only_ours, only_theirs}, {{kGpu, 50}, {"metax-tech.com/sgpu", 3}}),
              UnorderedElementsAre("metax-tech.com/sgpu=3"));
  EXPECT_THAT(left({both, only_theirs}, {{kGpu, 50}, {"metax-tech.com/sgpu", 4}}),
              UnorderedElementsAre("metax-tech.com/sgpu=3"));
  EXPECT_THAT(left({both, both}, {{kGpu, 100}, {"metax-tech.com/sgpu", 2}}), testing::IsEmpty());
}

TEST(SecondNames, InitContainersEndAndSidecarsStay) {
  const auto theirs = [](Kind kind, int64_t n) {
    return Container{kind, {{"metax-tech.com/sgpu", n}}};
  };
  const Container both{Kind::kApp, {{kGpu, 50}, {"metax-tech.com/sgpu", 2}}};
  const auto of_pod = [](int64_t n) { return Ask{{kGpu, 50}, {"metax-tech.com/sgpu", n}}; };
  EXPECT_THAT(left({theirs(Kind::kInit, 1), both}, of_pod(2)),
              UnorderedElementsAre("metax-tech.com/sgpu=1"));
  EXPECT_THAT(left({theirs(Kind::kInit, 1), theirs(Kind::kInit, 3), both}, of_pod(3)),
              UnorderedElementsAre("metax-tech.com/sgpu=3"));
  EXPECT_THAT(left({theirs(Kind::kSidecar, 1), theirs(Kind::kInit, 3), both}, of_pod(4)),
              UnorderedElementsAre("metax-tech.com/sgpu=4"));
  EXPECT_THAT(left({theirs(Kind::kSidecar, 1), both, theirs(Kind::kApp, 1)}, of_pod(4)),
              UnorderedElementsAre("metax-tech.com/sgpu=2"));
}

// An overhead, or a request that was changed while the pod runs: not a second name of anything.
TEST(SecondNames, WhatNoContainerExplainsStays) {
  const Container both{Kind::kApp, {{kGpu, 50}, {"metax-tech.com/sgpu", 1}}};
  EXPECT_THAT(left({both}, {{kGpu, 50}, {"metax-tech.com/sgpu", 3}}),
              UnorderedElementsAre("metax-tech.com/sgpu=2"));
  EXPECT_THAT(left({}, {{kGpu, 50}, {"metax-tech.com/sgpu", 3}}),
              UnorderedElementsAre("metax-tech.com/sgpu=3"));
  EXPECT_THAT(left({{Kind::kApp, {{"metax-tech.com/sgpu", INT64_MAX}}},
                    {Kind::kApp, {{"metax-tech.com/sgpu", INT64_MAX}}}},
                   {{"metax-tech.com/sgpu", INT64_MAX}}),
              UnorderedElementsAre("metax-tech.com/sgpu=" + std::to_string(kMaxAmount)));
}

}  // namespace
}  // namespace plimsoll::devices
