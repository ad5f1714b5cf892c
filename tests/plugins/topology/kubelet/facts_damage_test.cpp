// Facts that are missing, damaged or contradict the counts.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "plugins/topology/kubelet/admit.hpp"
#include "tests/plugins/topology/kubelet/random_machine.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Two zones of two cores with two threads each, CPU 0 reserved, two GPUs and one without a zone.
struct Scene {
  Resources resources;
  Report report;

  Scene() {
    report.attributes = {{"topologyManagerPolicy", "restricted"},
                         {"cpuManagerPolicy", "static"},
                         {"memoryManagerPolicy", "Static"},
                         {"reservedCPUs", "0"}};
    report.machine =
        "v1.0\ncpus 0/0/0 0-1+4-5\ncpus 1/0/1 2-3+6-7\n"
        "devices x.io/gpu 0:a 1:b -:c\n";
    report.zones = {zone(0, 3000, 100, 80, 1), zone(1, 4000, 100, 100, 1)};
    report.free =
        "v1.0\ncpus 1,3-7\nzone 0 assignments=1 cells=0 memory=70\n"
        "zone 1 assignments=0 cells=1 memory=100\ndevices x.io/gpu 0-2\n";
  }
  static NrtZone zone(uint32_t id, int64_t cpu, int64_t memory, int64_t free, int64_t gpus) {
    return {
        id, {}, {{"cpu", 4000, cpu, cpu}, {"memory", 200, memory, free}, {"x.io/gpu", 1, 1, gpus}}};
  }
  NodeFacts read() { return FactsReader(resources.intern()).read(parsed(report)); }
  uint32_t gpu() { return resources.index("x.io/gpu"); }
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(FactsDamage, TheUndamagedSceneHasNoProblem) {
  Scene scene;
  const NodeFacts facts = scene.read();
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  EXPECT_EQ(facts.state.cpu_ids(*facts.model).text(), "1,3-7");
  EXPECT_EQ(facts.state.memory(*facts.model, 0)[0], 70);
  EXPECT_TRUE(facts.model->layout && facts.model->reserved);
  EXPECT_EQ(facts.state.device_ids(*facts.model, 0)[0], 0b111U);
}

struct Row {
  const char* from;
  const char* to;
  const char* problem;
};

constexpr std::string_view kMachine = "annotation topology.plimsoll.io/machine";
constexpr std::string_view kFree = "annotation topology.plimsoll.io/free";

TEST(FactsDamage, MachineTexts) {
  const std::string layout = "; the CPU layout is ignored";
  const std::string gpus = "; the devices of \"x.io/gpu\" are taken from the zones' counts";
  const std::pair<Row, std::string> kRows[] = {
      {{"v1.0", "v2.0", ", line 1: version \"v2.0\" cannot be read, only v1"},
       "; the zones' counts decide"},
      {{"v1.0", "cpus", ", line 1: \"cpus\" is not a version such as v1.0"},
       "; the zones' counts decide"},
      {{"0-1+4-5", "0-1+1,5", ", line 2: CPU 1 is listed twice"}, layout},
      {{"2-3+6-7", "2-3+5,7", ", line 3: CPU 5 is listed twice"}, layout},
      {{"2-3+6-7", "2-3+6", ", line 3: cores with different numbers of threads in one entry"},
       layout},
      {{"cpus 1/0/1", "cpus 7/0/1", ", line 3: there is no zone node-7"}, layout},
      {{"1/0/1 2-3+6-7", "1/0/1 2-3,6-7,9", ": zone node-1 has 5 CPUs in it, but a capacity of 4"},
       layout},
      {{"0-1+4-5", "0-1+x", ", line 2: \"x\" is not a number or a range up to 2047"}, layout},
      {{"0-1+4-5", "0-1+4-5000", ", line 2: \"4-5000\" is not a number or a range up to 2047"},
       layout},
      {{"cpus 0/0/0 0-1+4-5", "cpus 0/0 0-1+4-5",
        ", line 2: not of the form \"cpus zone/socket/cache threads+threads\""},
       layout},
      {{"0:a", "5:a", ", line 4: there is no zone node-5"}, gpus},
      {{"0:a", "64:a", ", line 4: \"64\" is not a number or a range up to 63"}, gpus},
      {{"0:a", "0a", ", line 4: \"0a\" is not \"zones:devices\""}, gpus},
      {{"0:a", "0:*", ", line 4: \"0:*\" has no number of devices"}, gpus},
      {{"0:a", "0:*99999", ", line 4: \"0:*99999\" has no number of devices"}, gpus},
      {{"0:a", ":a", ", line 4: \":a\" names no zone; without one it is \"-\""}, gpus},
      {{"0:a", "0:a%", ", line 4: \"a%\" is not a device id: % needs two digits"}, gpus},
      {{"0:a 1:b -:c", "", ", line 4: no devices"}, gpus},
      {{"0:a 1:b -:c", "0:a -:c",
        ", line 4: zone node-1 has 0 healthy devices in it, but allocatable are 1"},
       gpus},
      {{"1:b", "1!:b", ", line 4: zone node-1 has 0 healthy devices in it, but allocatable are 1"},
       gpus},
      {{"0:a", "0:a,d", ", line 4: zone node-0 has 2 healthy devices in it, but allocatable are 1"},
       gpus},
      {{"x.io/gpu", "memory", ", line 4: \"memory\" is no device resource"}, "; it is ignored"},
  };
  for (const auto& [row, instead] : kRows) {
    SCOPED_TRACE(row.problem);
    Scene scene;
    replace(scene.report.machine, row.from, row.to);
    const NodeFacts facts = scene.read();
    ASSERT_FALSE(facts.problems.empty());
    EXPECT_EQ(facts.problems.front(), std::string(kMachine) + row.problem + instead);
    EXPECT_EQ(facts.model->layout != nullptr,
              instead != layout && !std::string_view(row.from).starts_with("v"));
    // The rest counts.
    EXPECT_EQ(facts.model->cpu_totals, (std::vector<int64_t>{4, 4}));
    EXPECT_EQ(facts.state.memory(*facts.model, 0)[0], 70);
    const uint32_t row_of_gpu = facts.model->device_row(scene.gpu());
    ASSERT_NE(row_of_gpu, kNoResourceRow);
    EXPECT_EQ(facts.state.devices(*facts.model, row_of_gpu)[0], 1);
  }
}

TEST(FactsDamage, FreeTexts) {
  const std::string cpus = "; the ids of free CPUs are unknown";
  const std::string groups = "; the memory manager's groups are guessed from the counts";
  const std::string gpus = "; which devices of \"x.io/gpu\" are free is guessed from the counts";
  const std::pair<Row, std::string> kRows[] = {
      {{"v1.0", "v9.1", ", line 1: version \"v9.1\" cannot be read, only v1"},
       "; the zones' counts decide"},
      {{"v1.0", "v1.0 machine=00000000",
        ", line 1: it belongs to a machine text with digest \"00000000\", there is 93bd1206"},
       "; the zones' counts decide"},
      {{"v1.0", "v1.0 zones=00000000",
        ", line 1: it belongs to zones with digest \"00000000\", there is 58ad46f4: another writer "
        "changed "
        "what is available"},
       "; the zones' counts decide"},
      {{"cpus 1,3-7", "cpus 1,3-8", ", line 2: CPUs 8 are not in the CPU layout"}, cpus},
      {{"cpus 1,3-7", "cpus 0-1", ", line 2: CPUs 0 are reserved"}, cpus},
      {{"cpus 1,3-7", "cpus", ", line 2: no list of CPUs; none is \"-\""}, cpus},
      {{"cpus 1,3-7", "cpus 7-3", ", line 2: \"7-3\" is not a CPU id or a range of ids below 2048"},
       cpus},
      {{"zone 0 ", "zone 5 ", ", line 3: there is no zone node-5"}, "; it is ignored"},
      {{"zone 1 ", "zone 0 ", ", line 4: a second line of \"zone 0\""}, "; it is ignored"},
      {{"memory=70", "memory=101",
        ", line 3: memory: \"101\" is not from 0 to 100, the allocatable of node-0"},
       "; what the zone has available decides"},
      {{"memory=70", "memory=-1",
        ", line 3: memory: \"-1\" is not from 0 to 100, the allocatable of node-0"},
       "; what the zone has available decides"},
      {{"memory=70", "hugepages-1Gi=7",
        ", line 3: hugepages-1Gi: \"7\" is not from 0 to 0, the allocatable of node-0"},
       "; what the zone has available decides"},
      {{"assignments=1", "assignments=x", ", line 3: \"x\" is not a number of assignments"},
       groups},
      {{"assignments=0 cells=1", "assignments=0 cells=0-1",
        ", line 4: no assignments, but a group"},
       groups},
      {{"cells=0", "cells=0,9", ", line 3: cells: there is no zone node-9"}, groups},
      {{"cells=0", "cells=1", ", line 3: cells: node-0 itself is missing"}, groups},
      {{"cells=0", "cells=;", ", line 3: \";\" is not a number or a range up to 63"}, groups},
      {{"cells=0 ", "", ": assignments and cells are given for some zones only"}, groups},
      {{"gpu 0-2", "gpu 0-3", ", line 5: \"0-3\" is not a number or a range up to 2"}, gpus},
      {{"gpu 0-2", "gpu 0,0", ", line 5: device 0 is listed twice"}, gpus},
      {{"gpu 0-2", "gpu", ", line 5: no list of devices; none is \"-\""}, gpus},
      {{"x.io/gpu", "x.io/gpus",
        ", line 5: the machine text does not list devices of \"x.io/gpus\""},
       "; which devices of \"x.io/gpus\" are free is guessed from the counts"},
  };
  for (const auto& [row, instead] : kRows) {
    SCOPED_TRACE(row.problem);
    Scene scene;
    replace(scene.report.free, row.from, row.to);
    const NodeFacts facts = scene.read();
    ASSERT_FALSE(facts.problems.empty());
    EXPECT_EQ(facts.problems.front(), std::string(kFree) + row.problem + instead);
    EXPECT_TRUE(facts.model->layout != nullptr);
    EXPECT_EQ(facts.state.knows_cpus(),
              instead != cpus && !std::string_view(row.from).starts_with("v"));
    EXPECT_EQ(facts.state.cpu(*facts.model)[0], 3);
    EXPECT_GT(facts.state.device_ids(*facts.model, 0)[0], 0U);
  }
}

TEST(FactsDamage, PodsThatHoldWhatTheyCannot) {
  const std::pair<std::string, std::string> kRows[] = {
      {"pods x\n", ", line 6: \"x\" is not a number of pods"},
      {"pods 2\nu1 c=2\n", ", line 6: there are fewer pods than 2"},
      {"pods 1\nu1 c=2\npods 0\n", ", line 8: a second line of pods"},
      {"pods 1\n\n", ", line 7: a line without a pod"},
      {"pods 1\nu1 c=9\n", ", line 7: pod \"u1\": \"c=9\" is not what a pod can hold here"},
      {"pods 1\nu1 m=7:4\n", ", line 7: pod \"u1\": \"m=7:4\" is not what a pod can hold here"},
      {"pods 1\nu1 m=0:x\n", ", line 7: pod \"u1\": \"m=0:x\" is not what a pod can hold here"},
      {"pods 1\nu1 d0=3\n", ", line 7: pod \"u1\": \"d0=3\" is not what a pod can hold here"},
      {"pods 1\nu1 d1=0\n", ", line 7: pod \"u1\": \"d1=0\" is not what a pod can hold here"},
      {"pods 1\nu1 c=3\n", ", line 7: pod \"u1\" holds what is free, or another pod's"},
      {"pods 2\nu1 c=2\nu2 c=2\n", ", line 8: pod \"u2\" holds what is free, or another pod's"},
  };
  for (const auto& [lines, problem] : kRows) {
    SCOPED_TRACE(lines);
    Scene scene;
    scene.report.free += lines;
    const NodeFacts facts = scene.read();
    ASSERT_EQ(facts.problems.size(), 1u);
    EXPECT_EQ(facts.problems.front(),
              std::string(kFree) + problem + "; which pods the report counts is guessed");
    EXPECT_EQ(facts.state.cpu_ids(*facts.model).text(), "1,3-7") << "the rest counts";
    EXPECT_FALSE(facts.pods);
  }
}

TEST(FactsDamage, FactsThatContradictTheCounts) {
  Scene scene;
  for (ZoneResource& resource : scene.report.zones[1].resources) {
    if (resource.name != "memory") resource.available = 0;
  }
  const NodeFacts facts = scene.read();
  ASSERT_EQ(facts.problems.size(), 2U);
  EXPECT_EQ(facts.problems[0], std::string(kFree) +
                                   ", line 2: node-1 has 3 of them, but available is 0; the ids of "
                                   "free CPUs are unknown");
  EXPECT_EQ(facts.problems[1],
            std::string(kFree) +
                ", line 5: node-1 has 1 of them, but available is 0; which devices "
                "of \"x.io/gpu\" are free is guessed from the counts");
  EXPECT_EQ(facts.state.cpu(*facts.model)[1], 0);
  EXPECT_EQ(facts.state.device_ids(*facts.model, 0)[0], 0b101U);
}

void unlist(Report& report, std::string_view resource, uint32_t zone_id) {
  for (NrtZone& zone : report.zones) {
    if (zone.id != zone_id) continue;
    std::erase_if(zone.resources, [&](const ZoneResource& r) { return r.name == resource; });
  }
}

// Whether a Guaranteed pod of one container is admitted.
bool admits_pod(const NodeFacts& facts, int64_t cpus, Needs memory, Needs devices = {}) {
  PodDemand pod;
  pod.guaranteed = true;
  ContainerDemand container;
  container.name = "c";
  container.cpu_milli = container.cpu_limit_milli = cpus * 1000;
  container.memory = std::move(memory);
  container.devices = std::move(devices);
  pod.containers.push_back(std::move(container));
  pod.prepare();
  Scratch scratch;
  return admits(*facts.model, facts.state, pod, scratch);
}

// What no zone lists has no say, whatever the settings and the texts know of it: nobody can say
// what of it is free, and a manager that had its say would refuse every pod.
TEST(FactsDamage, ManagersOfWhatNoZoneLists) {
  const Needs memory = {{kMemoryResource, 50}};
  {
    Scene scene;
    EXPECT_TRUE(admits_pod(scene.read(), 2, memory));
    for (const uint32_t zone : {0, 1}) unlist(scene.report, "cpu", zone);
    const NodeFacts facts = scene.read();
    EXPECT_EQ(facts.problems, std::vector<std::string>{
                                  "attribute cpuManagerPolicy: \"static\" is of no use: no zone "
                                  "lists CPUs; the manager has no say"});
    EXPECT_TRUE(admits_pod(facts, 2, memory));
    EXPECT_FALSE(admits_pod(facts, 2, {{kMemoryResource, 101}})) << "memory has its say";
  }
  {
    Scene scene;
    for (const uint32_t zone : {0, 1}) unlist(scene.report, "memory", zone);
    const NodeFacts facts = scene.read();
    ASSERT_EQ(facts.problems.size(), 1U) << facts.problems.back();
    EXPECT_EQ(facts.problems[0],
              "attribute memoryManagerPolicy: \"Static\" is of no use: no zone lists memory; the "
              "manager has no say");
    EXPECT_TRUE(admits_pod(facts, 2, {{kMemoryResource, 1000}}));
    EXPECT_FALSE(admits_pod(facts, 8, memory)) << "CPUs have theirs";
  }
  {  // Huge pages alone do not make a memory manager.
    Scene scene;
    for (NrtZone& zone : scene.report.zones) {
      for (ZoneResource& resource : zone.resources) {
        if (resource.name == "memory") resource.name = "hugepages-1Gi";
      }
    }
    EXPECT_FALSE(scene.read().model->memory_static);
    EXPECT_TRUE(admits_pod(scene.read(), 2, {{kMemoryResource, 1000}}));
  }
  {  // A size of huge pages that no zone lists: with all facts the node has none of it.
    Scene scene;
    const Needs both = {{kMemoryResource, 50}, {scene.resources.index("hugepages-2Mi"), 7}};
    EXPECT_TRUE(scene.read().state.memory_is_exact());
    EXPECT_FALSE(admits_pod(scene.read(), 2, both));
    scene.report.free.clear();
    EXPECT_TRUE(admits_pod(scene.read(), 2, both)) << "from counts nobody can say";
  }
  {  // Devices of the machine text that no zone counts.
    Scene scene;
    for (const uint32_t zone : {0, 1}) unlist(scene.report, "x.io/gpu", zone);
    const NodeFacts facts = scene.read();
    EXPECT_EQ(facts.model->device_row(scene.gpu()), kNoResourceRow);
    EXPECT_TRUE(admits_pod(facts, 2, memory, {{scene.gpu(), 2}}));
  }
}

// What is left of overlapping blocks under policy best-effort.
TEST(FactsDamage, AZoneWithoutAssignmentsMayHaveLessFree) {
  Scene scene;
  replace(scene.report.free, "assignments=1", "assignments=0");
  const NodeFacts facts = scene.read();
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  ASSERT_TRUE(facts.state.knows_groups());
  EXPECT_EQ(facts.state.assignments(*facts.model, 0), 0);
  EXPECT_EQ(facts.state.memory(*facts.model, 0)[0], 70);
}

// Exporters leave a zone's CPUs out if all of them are reserved.
TEST(FactsDamage, AZoneOfReservedCpusNeedNotBeListed) {
  Scene scene;
  unlist(scene.report, "cpu", 0);
  replace(scene.report.free, "cpus 1,3-7", "cpus 2-3,6-7");
  scene.report.attributes.push_back({"reservedCPUs", "0-1,4-5"});
  const NodeFacts facts = scene.read();
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  EXPECT_TRUE(facts.state.knows_cpus());
  EXPECT_EQ(facts.model->cpu_totals, (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(facts.state.cpu(*facts.model)[0], 0);
}

TEST(FactsDamage, Settings) {
  const std::tuple<const char*, const char*, const char*> kRows[] = {
      {"cpuManagerPolicy", "dynamic",
       "\"dynamic\" is neither none nor static; whether the zones have something to hand out "
       "decides"},
      {"memoryManagerPolicy", "static",
       "\"static\" is neither None nor Static; whether the zones have something to hand out "
       "decides"},
      {"topologyManagerOptionPreferClosestNumaNodes", "yes",
       "\"yes\" is neither true nor false; it is as if it were not there"},
      {"cpuManagerPolicyOptions", "full-pcpus-only,align-by-socket=true",
       "\"full-pcpus-only,align-by-socket=true\" is not a list of name=true or name=false, at "
       "\"full-pcpus-only\"; that entry is ignored"},
      {"reservedCPUs", "0-",
       "\"0-\" is not a list of CPUs: \"0-\" is not a CPU id or a range of ids below 2048; "
       "it is as if it were not there"},
      {"reservedCPUs", "0,99",
       "\"0,99\" is not within the CPU layout, which lacks 99; it is as if it were not there"},
      {"kubeletVersion", "1.37",
       "\"1.37\" is no version such as v1.37.2; it is as if it were not there"},
  };
  for (const auto& [name, value, problem] : kRows) {
    Scene scene;
    scene.report.attributes.push_back({name, value});
    const NodeFacts facts = scene.read();
    ASSERT_EQ(facts.problems.size(), 1U) << name;
    EXPECT_EQ(facts.problems[0], "attribute " + std::string(name) + ": " + problem);
    EXPECT_TRUE(facts.model->cpu_static && facts.model->memory_static);
  }
}

// Everything newer is passed over in silence.
TEST(FactsDamage, NewerMinorVersions) {
  Scene scene;
  scene.report.attributes.push_back(
      {"cpuManagerPolicyOptions", "by-moonlight=true,full-pcpus-only=true"});
  scene.report.attributes.push_back({"kubeletFeatureGates", "Other=true"});
  scene.report.attributes.push_back({"somethingElse", "x"});
  replace(scene.report.machine, "v1.0", "v1.9");
  scene.report.machine += "caches 0:1 1:2\n\n";
  replace(scene.report.free, "v1.0", "v1.9 moon=full");
  replace(scene.report.free, "assignments=1", "colour=red assignments=1");
  scene.report.free += "clouds 7\n";
  const NodeFacts facts = scene.read();
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  EXPECT_TRUE(facts.model->managers.cpu_options.full_pcpus_only);
  EXPECT_TRUE(facts.state.knows_cpus());
}

TEST(FactsDamage, EachFactStandsAlone) {
  const char* kDropped[] = {"cpus ", "zone ", "devices "};
  for (const char* dropped : kDropped) {
    for (std::string Report::*part : {&Report::machine, &Report::free}) {
      Scene scene;
      std::string kept;
      std::string_view rest = scene.report.*part;
      while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n') + 1);
        if (!line.starts_with(dropped)) kept += line;
        rest.remove_prefix(line.size());
      }
      scene.report.*part = kept;
      const NodeFacts facts = scene.read();
      EXPECT_EQ(facts.state.cpu(*facts.model)[0], 3) << dropped;
      EXPECT_EQ(facts.state.memory(*facts.model, 0)[0],
                part == &Report::free && std::string_view(dropped) == "zone " ? 80 : 70);
      EXPECT_EQ(facts.state.devices(*facts.model, 0)[0], 1) << dropped;
    }
  }
}

// However the texts are damaged: no crash, and either a problem is named or what is free stays
// within what the zones say.
TEST(FactsDamage, RandomDamageIsNamedOrHarmless) {
  std::mt19937 random(test::test_seed());
  constexpr std::string_view kBytes = "0123456789-+/,:*! \n=%avxz.";
  for (int round = 0; round < 1500 && !::testing::Test::HasFailure(); ++round) {
    Resources resources;
    MachineSpec spec = random_spec(random);
    spec.devices = std::min(spec.devices, 12U);
    const Machine machine = random_machine(spec, resources, random);
    Report report = report_of(machine, resources);
    // Half the time without the digests, so that the damage gets further.
    if (random() % 2 == 0) report.free.replace(0, report.free.find('\n'), "v1.0");
    for (auto edits = 1 + random() % 3; edits > 0; --edits) {
      std::string& text = random() % 2 == 0 ? report.machine : report.free;
      if (text.empty()) continue;
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 5);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), random() % 8));
          break;
        case 2:
          text[at] = static_cast<char>(random() % 128);
          break;
        default:
          text[at] = kBytes[random() % kBytes.size()];
      }
    }
    SCOPED_TRACE(report.machine + report.free);
    const NodeFacts facts = FactsReader(resources.intern()).read(parsed(report));
    const NodeModel& model = *facts.model;
    for (const NrtZone& zone : report.zones) {
      const auto column =
          static_cast<uint32_t>(std::find(model.zone_ids.begin(), model.zone_ids.end(), zone.id) -
                                model.zone_ids.begin());
      for (const ZoneResource& resource : zone.resources) {
        const uint32_t index = resources.index(resource.name);
        if (resource.name == "cpu") {
          EXPECT_LE(
              facts.state.cpu(model)[column] * 1000,
              model.managers.pod_level_resource_managers ? resource.capacity : resource.available);
        } else if (model.memory_row(index) != kNoResourceRow) {
          EXPECT_LE(facts.state.memory(model, model.memory_row(index))[column],
                    resource.allocatable);
          EXPECT_GE(facts.state.memory(model, model.memory_row(index))[column], 0);
        } else {
          EXPECT_LE(facts.state.devices(model, model.device_row(index))[column],
                    resource.available);
        }
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll::topology::kubelet
