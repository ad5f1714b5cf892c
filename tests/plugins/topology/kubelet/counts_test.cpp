// A node from the counts of its zones alone.

#include <gtest/gtest.h>

#include "plugins/topology/kubelet/admit.hpp"
#include "tests/plugins/topology/kubelet/random_machine.hpp"

namespace plimsoll::topology::kubelet {
namespace {

NodeFacts read(std::vector<NrtZone> zones, Resources& resources) {
  Report report;
  report.attributes = {{"topologyManagerPolicy", "restricted"}, {"topologyManagerScope", "pod"}};
  report.zones = std::move(zones);
  NodeFacts facts = from_counts(parsed(report), resources.intern());
  // Without facts both ways say the same.
  const NodeFacts same = FactsReader(resources.intern()).read(parsed(report));
  EXPECT_TRUE(same.problems.empty());
  EXPECT_TRUE(same.state == facts.state);
  return facts;
}

TEST(Counts, CapacityAllocatableAndAvailableHaveTheirUses) {
  Resources resources;
  const NodeFacts facts =
      read({{4, {{0, 21}, {4, 10}}, {{"cpu", 8000, 8000, 2500}, {"memory", 300, 200, 150}}},
            {0, {{0, 10}}, {{"cpu", 8000, 6000, 6000}, {"x.io/gpu", 4, 3, 2}}}},
           resources);
  const NodeModel& model = *facts.model;
  EXPECT_EQ(model.zone_ids, (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(model.distances, (std::vector<int32_t>{10, 255, 21, 10}));
  EXPECT_EQ(model.managers.policy, Policy::kRestricted);
  EXPECT_EQ(model.managers.scope, Scope::kPod);
  EXPECT_TRUE(model.cpu_static && model.memory_static);
  EXPECT_EQ(model.cpu_totals, (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(facts.state.cpu(model)[0], 6);
  EXPECT_EQ(facts.state.cpu(model)[1], 2);  // whole CPUs
  EXPECT_EQ(model.memory[0].allocatable, (std::vector<int64_t>{0, 200}));
  EXPECT_EQ(facts.state.memory(model, 0)[1], 150);
  ASSERT_EQ(model.devices.size(), 1U);
  EXPECT_EQ(model.devices[0].totals, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(facts.state.devices(model, 0)[0], 2);
  EXPECT_FALSE(facts.state.knows_cpus());
}

TEST(Counts, AManagerThatHandsNothingOutIsOff) {
  Resources resources;
  const NodeFacts off = read({{0, {}, {{"cpu", 8000, 0, 0}, {"memory", 100, 0, 0}}}}, resources);
  EXPECT_FALSE(off.model->cpu_static);
  EXPECT_FALSE(off.model->memory_static);
  const NodeFacts absent = read({{0, {}, {{"x.io/gpu", 1, 1, 1}}}}, resources);
  EXPECT_FALSE(absent.model->cpu_static);
  EXPECT_FALSE(absent.model->memory_static);
  // Full is not off.
  const NodeFacts full =
      read({{0, {}, {{"cpu", 8000, 8000, 0}, {"memory", 100, 100, 0}}}}, resources);
  EXPECT_TRUE(full.model->cpu_static && full.model->memory_static);
}

// koordlet lists CPUs and memory whether or not managers hand them out, and says so beside them.
TEST(Counts, AManagerThatKoordletSaysIsOffIsOff) {
  Resources resources;
  FactsReader reader(resources.intern());
  const auto node = [&](const std::string& policy) {
    const auto zone = [](int id) {
      return R"({"name":"node-)" + std::to_string(id) + R"(","type":"Node","resources":[
        {"name":"cpu","capacity":"32","allocatable":"32","available":"32"},
        {"name":"memory","capacity":"128Gi","allocatable":"128Gi","available":"128Gi"}]})";
    };
    return reader.read(
        parse_nrt(
            R"({"metadata":{"name":"n","annotations":{"kubelet.koordinator.sh/cpu-manager-policy":")" +
            policy + R"("}},"topologyPolicies":["SingleNUMANodeContainerLevel"],"zones":[)" +
            zone(0) + "," + zone(1) + "]}")
            .value());
  };
  PodDemand wide;
  wide.guaranteed = true;
  wide.containers.emplace_back().cpu_milli = 40'000;
  wide.containers[0].cpu_limit_milli = 40'000;
  wide.containers[0].memory = {{kMemoryResource, int64_t{140} << 30}};
  wide.prepare();
  Scratch scratch;
  const auto takes = [&](NodeFacts facts) {
    EXPECT_TRUE(facts.problems.empty());
    return admits(*facts.model, facts.state, wide, scratch);
  };
  EXPECT_TRUE(takes(node(R"({\"policy\":\"none\"})")));
  EXPECT_FALSE(takes(node(R"({\"policy\":\"static\"})")));
  EXPECT_FALSE(takes(node("damaged")));
  EXPECT_FALSE(node(R"({\"policy\":\"static\"})").model->memory_static);
  EXPECT_TRUE(node("damaged").model->memory_static);
}

TEST(Counts, OnlyExtendedResourcesAreDevices) {
  Resources resources;
  const NodeFacts facts = read({{0,
                                 {},
                                 {{"ephemeral-storage", 9, 9, 9},
                                  {"pods", 9, 9, 9},
                                  {"kubernetes.io/batch-cpu", 9, 9, 9},
                                  {"x.io/none", 0, 0, 0},
                                  {"x.io/gpu", 1, 1, 1}}}},
                               resources);
  ASSERT_EQ(facts.model->devices.size(), 1U);
  EXPECT_EQ(resources.name(facts.model->devices[0].resource), "x.io/gpu");
  EXPECT_TRUE(facts.model->memory.empty());
}

TEST(Counts, ZonesThatHoldMemoryAreInAGroup) {
  Resources resources;
  const NodeFacts facts = read({{0, {}, {{"memory", 100, 100, 60}, {"hugepages-2Mi", 8, 8, 8}}},
                                {1, {}, {{"memory", 100, 100, 100}, {"hugepages-2Mi", 8, 8, 8}}},
                                {2, {}, {{"memory", 100, 100, 100}, {"hugepages-2Mi", 8, 8, 4}}}},
                               resources);
  EXPECT_GT(facts.state.assignments(*facts.model, 0), 0);
  EXPECT_EQ(facts.state.assignments(*facts.model, 1), 0);
  EXPECT_GT(facts.state.assignments(*facts.model, 2), 0);
}

// One container of a Guaranteed pod.
PodDemand asking(Needs memory, Needs devices) {
  PodDemand pod;
  pod.guaranteed = true;
  ContainerDemand& container = pod.containers.emplace_back();
  container.memory = std::move(memory);
  container.devices = std::move(devices);
  pod.prepare();
  return pod;
}

// The node as a whole has enough, that is NodeResourcesFit's business: what all zones together lack
// must be somewhere.
TEST(Counts, TotalsThatAreTooSmallRefuseNothingByThemselves) {
  Resources resources;
  const std::vector<NrtZone> zones = {{0, {}, {{"memory", 100, 100, 0}, {"x.io/gpu", 2, 2, 1}}},
                                      {1, {}, {{"memory", 100, 100, 0}, {"x.io/gpu", 2, 2, 1}}}};
  const PodDemand memory = asking({{kMemoryResource, 50}}, {});
  const PodDemand two = asking({{kMemoryResource, 50}}, {{resources.index("x.io/gpu"), 2}});
  const PodDemand three = asking({{kMemoryResource, 50}}, {{resources.index("x.io/gpu"), 3}});
  const std::tuple<Policy, bool, bool, bool> kRows[] = {
      {Policy::kNone, true, true, true},
      {Policy::kBestEffort, true, true, true},
      {Policy::kRestricted, true, false, false},  // two fit into one zone's capacity
      {Policy::kSingleNumaNode, true, false, false},
  };
  Scratch scratch;
  for (const auto& [policy, fits_memory, fits_two, fits_three] : kRows) {
    Report report;
    report.attributes = {{"topologyManagerPolicy", std::string(to_string(policy))}};
    report.zones = zones;
    NodeFacts facts = from_counts(parsed(report), resources.intern());
    EXPECT_EQ(admits(*facts.model, facts.state, memory, scratch), fits_memory) << to_string(policy);
    EXPECT_EQ(admits(*facts.model, facts.state, two, scratch), fits_two) << to_string(policy);
    EXPECT_EQ(admits(*facts.model, facts.state, three, scratch), fits_three) << to_string(policy);
    const NodeState before = facts.state;
    const Admission admission = admit(*facts.model, facts.state, three, scratch);
    ASSERT_EQ(admission.admitted(), fits_three);
    EXPECT_EQ(facts.state.devices(*facts.model, 0)[0], fits_three ? 0 : 1);
    release(*facts.model, facts.state, admission.allocation);
    EXPECT_TRUE(facts.state == before) << to_string(policy);
  }
}

// A block on one zone keeps blocks over several zones away.
TEST(Counts, ZonesInUseTakeNoPartInWideBlocks) {
  Resources resources;
  const PodDemand wide = asking({{kMemoryResource, 150}}, {});
  Scratch scratch;
  for (const int64_t available : {100, 99}) {
    Report report;
    report.attributes = {{"topologyManagerPolicy", "best-effort"}};
    report.zones = {{0, {}, {{"memory", 100, 100, available}}},
                    {1, {}, {{"memory", 100, 100, 100}}}};
    const NodeFacts facts = from_counts(parsed(report), resources.intern());
    EXPECT_EQ(admits(*facts.model, facts.state, wide, scratch), available == 100);
  }
}

TEST(Counts, OddAmountsHaveADefinedResult) {
  Resources resources;
  const NodeFacts facts =
      read({{63, {}, {{"cpu", -5, -5, -5}, {"memory", 10, 10, -3}}},
            {2, {}, {{"cpu", 1000, 4000, 9'000'000'000'000'000}, {"memory", 0, 0, 7}}},
            {9, {}, {}}},
           resources);
  EXPECT_EQ(facts.model->cpu_totals, (std::vector<int64_t>{4, 0, 0}));
  EXPECT_EQ(facts.state.cpu(*facts.model)[0], 4);
  EXPECT_EQ(facts.state.cpu(*facts.model)[2], 0);
  EXPECT_EQ(facts.state.memory(*facts.model, 0)[0], 0);
  EXPECT_EQ(facts.state.memory(*facts.model, 0)[2], 0);
  const NodeFacts none = read({}, resources);
  EXPECT_EQ(none.model->zones(), 0U);
}

}  // namespace
}  // namespace plimsoll::topology::kubelet
