#include "node/kubelet/state_files.hpp"

#include <gmock/gmock.h>

namespace plimsoll::node {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(StateFiles, CpusOfPodsAndOfNobody) {
  const auto state = parse_cpu_state(
      R"({"policyName":"static","defaultCpuSet":"0-1,4-15","entries":{"uid-1":{"init":"2-3",
          "main":"2"}},"podEntries":{"uid-2":{"cpuSet":"16-17"}},"later":1,"checksum":123})");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->policy, "static");
  EXPECT_EQ(state->default_cpus.text(), "0-1,4-15");
  EXPECT_EQ(state->held.at("uid-1").at("init").text(), "2-3");
  EXPECT_EQ(state->held.at("uid-1").at("main").text(), "2");
  EXPECT_EQ(state->held_by_pods.at("uid-2").text(), "16-17");
}

TEST(StateFiles, AManagerThatIsOff) {
  const auto cpus = parse_cpu_state(R"({"policyName":"none","defaultCpuSet":"","checksum":1})");
  ASSERT_TRUE(cpus);
  EXPECT_TRUE(cpus->default_cpus.empty());
  const auto memory = parse_memory_state(R"({"policyName":"None","machineState":{},"checksum":1})");
  ASSERT_TRUE(memory);
  EXPECT_TRUE(memory->zones.empty());
  const auto devices = parse_device_state(
      R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})");
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->entries.empty());
}

TEST(StateFiles, MemoryWithGroups) {
  const auto state = parse_memory_state(
      R"({"policyName":"Static","machineState":{"0":{"numberOfAssignments":2,"memoryMap":{
          "memory":{"total":100,"systemReserved":10,"allocatable":90,"reserved":60,"free":30},
          "hugepages-2Mi":{"total":8,"systemReserved":0,"allocatable":8,"reserved":0,"free":8}},
          "cells":[1,0]},"1":{"numberOfAssignments":1,"memoryMap":{},"cells":[0,1]}},
          "entries":{"uid-1":{"main":[{"numaAffinity":[1,0],"type":"memory","size":60}]}},
          "podEntries":{"uid-2":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":5}]}},
          "checksum":1})");
  ASSERT_TRUE(state) << state.error().message;
  const MemoryZone& zone = state->zones.at(0);
  EXPECT_EQ(zone.assignments, 2);
  EXPECT_THAT(zone.group, ElementsAre(0, 1));
  EXPECT_EQ(zone.amounts.at("memory").allocatable, 90);
  EXPECT_EQ(zone.amounts.at("memory").free, 30);
  EXPECT_EQ(zone.amounts.at("hugepages-2Mi").free, 8);
  EXPECT_THAT(state->held.at("uid-1").at("main"), ElementsAre(MemoryBlock{{0, 1}, "memory", 60}));
  EXPECT_THAT(state->held_by_pods.at("uid-2"), ElementsAre(MemoryBlock{{0}, "memory", 5}));
}

// V4 and V3, as kubelets 1.37 write them: all of it is in a text, and in part beside that.
TEST(StateFiles, TheTextInsideCounts) {
  const auto cpus = parse_cpu_state(
      R"({"policyName":"static","defaultCpuSet":"0-15","entries":{"u":{"old":"9"}},"checksum":1,
          "data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,4-15\",)"
      R"(\"entries\":{\"u\":{\"a\":\"1-2\",\"b\":\"3\"}},\"podEntries\":{\"u\":{\"cpuSet\":\"1-3\"}},)"
      R"(\"baselines\":{\"u\":{\"a\":{\"baseline\":\"1-2\"}}}}","dataChecksum":2})");
  ASSERT_TRUE(cpus) << cpus.error().message;
  EXPECT_EQ(cpus->default_cpus.text(), "0,4-15");
  EXPECT_THAT(cpus->held.at("u"), testing::SizeIs(2));
  EXPECT_EQ(cpus->held.at("u").at("a").text(), "1-2");
  EXPECT_EQ(cpus->held_by_pods.at("u").text(), "1-3");
  const auto memory = parse_memory_state(
      R"({"policyName":"Static","machineState":{},"entries":{},"checksum":1,"data":)"
      R"("{\"policyName\":\"Static\",\"machineState\":{\"0\":{\"numberOfAssignments\":1,)"
      R"(\"memoryMap\":{\"memory\":{\"allocatable\":9,\"free\":4}},\"cells\":[0]}},)"
      R"(\"podEntries\":{\"u\":{\"memoryBlocks\":[{\"numaAffinity\":[0],\"type\":\"memory\",)"
      R"(\"size\":5}]}}}","dataChecksum":2})");
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(memory->zones.at(0).amounts.at("memory").free, 4);
  EXPECT_THAT(memory->held_by_pods.at("u"), ElementsAre(MemoryBlock{{0}, "memory", 5}));
}

TEST(StateFiles, ADeviceNearTwoZonesIsOneDevice) {
  const auto state = parse_device_state(
      R"({"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"main",
          "ResourceName":"example.com/gpu","DeviceIDs":{"0":["g1","g0"],"1":["g1"],"-1":["g9"]},
          "AllocResp":"CgA="}],"RegisteredDevices":{"example.com/gpu":["g1","g0","g9"]}},
          "Checksum":1})");
  ASSERT_TRUE(state) << state.error().message;
  ASSERT_EQ(state->entries.size(), 1U);
  EXPECT_EQ(state->entries[0].pod_uid, "uid-1");
  EXPECT_EQ(state->entries[0].container, "main");
  EXPECT_THAT(state->entries[0].ids, ElementsAre("g0", "g1", "g9"));
  EXPECT_THAT(state->healthy, ElementsAre(Pair("example.com/gpu", ElementsAre("g0", "g1", "g9"))));
}

TEST(StateFiles, WhatIsWrongIsNamed) {
  const auto error = [](const auto& parsed) { return parsed ? "" : parsed.error().message; };
  EXPECT_THAT(error(parse_cpu_state("{")), HasSubstr("no JSON object"));
  EXPECT_THAT(error(parse_cpu_state("[]")), HasSubstr("no JSON object"));
  // The kubelet does not fall back to the old part either.
  EXPECT_EQ(error(parse_cpu_state(R"({"defaultCpuSet":"1","data":"{"})")),
            "data: is no JSON object");
  EXPECT_THAT(error(parse_cpu_state(R"({"data":"{\"defaultCpuSet\":\"3-1\"}"})")),
              HasSubstr("data: defaultCpuSet"));
  EXPECT_THAT(error(parse_memory_state(R"({"data":7})")), HasSubstr("data: must be a string"));
  EXPECT_THAT(error(parse_cpu_state(R"({"defaultCpuSet":"3-1"})")), HasSubstr("defaultCpuSet"));
  EXPECT_THAT(error(parse_cpu_state(R"({"entries":{"u":{"c":7}}})")), HasSubstr("entries.u.c"));
  EXPECT_THAT(error(parse_memory_state(R"({"machineState":{"x":{}}})")),
              HasSubstr("machineState.x"));
  EXPECT_THAT(error(parse_memory_state(R"({"machineState":{"0":{"cells":[-1]}}})")),
              HasSubstr("cells[0]"));
  EXPECT_THAT(
      error(parse_memory_state(R"({"entries":{"u":{"c":[{"size":18446744073709551615}]}}})")),
      HasSubstr("entries.u.c[0].size"));
  EXPECT_THAT(error(parse_device_state(R"({"Data":{"PodDeviceEntries":{}}})")),
              HasSubstr("Data.PodDeviceEntries"));
}

}  // namespace
}  // namespace plimsoll::node
