// What is free on a node, from what its kubelet says.

#include "node/kubelet/snapshot.hpp"

#include <gmock/gmock.h>

#include "node/exporter/known_devices.hpp"
#include "node/machine/hwloc_reader.hpp"

namespace plimsoll::node {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr const char* kGpu = "example.com/gpu";

// Two zones of four cores and 32 GiB, CPUs 0 and 4 reserved, two GPUs in each zone. Pod a/web
// (uid-1) holds CPUs 1-2, 4 GiB of zone 0 and gpu-0.
class Snapshot : public ::testing::Test {
 protected:
  Snapshot() {
    settings_.cpu_manager_policy = "static";
    settings_.memory_manager_policy = "Static";
    settings_.topology_manager_policy = "single-numa-node";
    view_.allocatable.cpus = {1, 2, 3, 5, 6, 7};
    for (const int zone : {0, 1}) {
      view_.allocatable.memory[zone]["memory"] = 30 * kGi;
      for (const int i : {0, 1}) {
        view_.allocatable.devices[kGpu]["gpu-" + std::to_string(2 * zone + i)] = {zone};
      }
      MemoryZone& memory = view_.memory.zones[zone];
      memory.group = {zone};
      memory.amounts["memory"] = {30 * kGi, 30 * kGi};
    }
    run("a", "web", "uid-1", {1, 2}, 0, 4 * kGi, "gpu-0");
  }

  // A pod with one container that holds these.
  void run(const std::string& ns, const std::string& name, const std::string& uid,
           const std::vector<std::uint32_t>& cpus, int zone, std::int64_t memory,
           const std::string& gpu) {
    view_.pods.push_back({ns, name, {{"main", cpus, {{kGpu, {gpu}}}}}});
    for (const std::uint32_t cpu : cpus) view_.cpus.held[uid]["main"].add(cpu);
    hold_memory(uid, {zone}, memory);
    view_.devices.entries.push_back({uid, "main", kGpu, {gpu}});
    uids_[{ns, name}].uid = uid;
  }
  void hold_memory(const std::string& uid, const std::vector<int>& zones, std::int64_t bytes) {
    view_.memory.held[uid]["main"].push_back({zones, "memory", bytes});
    std::int64_t left = bytes;
    for (const int id : zones) {
      MemoryZone& zone = view_.memory.zones[id];
      ++zone.assignments;
      zone.group = zones;
      const std::int64_t part = std::min(left, zone.amounts["memory"].free);
      zone.amounts["memory"].free -= part;
      left -= part;
    }
  }
  // The kubelet lists it no more; its files are as they were.
  void end(const std::string& name) {
    std::erase_if(view_.pods, [&](const PodUse& pod) { return pod.name == name; });
    std::erase_if(uids_, [&](const auto& pod) { return pod.first.second == name; });
  }

  NodeReport report() {
    const auto hardware = hardware_from_synthetic("numa:2(memory=34359738368) core:4 pu:1");
    EXPECT_TRUE(hardware) << hardware.error().message;
    kind_ = kind_of_machine(machine_of(*hardware, settings_, view_, unhealthy_), resources_);
    free_ = free_of(kind_, view_, counted_uids(view_, uids_), resources_);
    return zones_of(kind_, free_, resources_);
  }
  static std::vector<std::int64_t> available(const NodeReport& report, const std::string& name) {
    std::vector<std::int64_t> amounts;
    for (const ZoneReport& zone : report.zones) amounts.push_back(amount_of(zone.available, name));
    return amounts;
  }

  KubeletSettings settings_;
  KubeletView view_;
  PodUids uids_;
  std::map<std::string, std::map<std::string, std::vector<int>>> unhealthy_;
  ResourceIndex resources_;
  NodeKind kind_;
  topology::kubelet::NodeState free_;
};

// strconv.ParseBool and strconv.Atoi of the kubelet.
TEST_F(Snapshot, OptionsAreReadAsTheKubeletReadsThem) {
  settings_.cpu_manager_options = {{"full-pcpus-only", "True"}, {"align-by-socket", "yes"}};
  settings_.topology_manager_options = {{"prefer-closest-numa-nodes", "1"},
                                        {"max-allowable-numa-nodes", "+16"}};
  report();
  EXPECT_TRUE(kind_.model->managers.cpu_options.full_pcpus_only);
  EXPECT_FALSE(kind_.model->managers.cpu_options.align_by_socket);
  EXPECT_TRUE(kind_.model->managers.prefer_closest);
  EXPECT_EQ(kind_.model->managers.max_numa_nodes, 16);
}

// The device manager says 0 until a plugin has registered again, and the Node later still.
TEST(KnownDevicesTest, ANodeThatLagsBehindTakesNothingAway) {
  KnownDevices known;
  Allocatable now;
  now.devices[kGpu] = {{"gpu-0", {0}}, {"gpu-1", {0}}, {"gpu-2", {1}}, {"gpu-3", {1}}};
  EXPECT_TRUE(known.unhealthy(now, {{kGpu, 4}}).empty());
  for (const char* id : {"gpu-1", "gpu-3"}) now.devices[kGpu].erase(id);
  EXPECT_EQ(known.unhealthy(now, {{kGpu, 0}})[kGpu].size(), 2U);
  EXPECT_EQ(known.unhealthy(now, {{kGpu, 4}})[kGpu].size(), 2U);
  EXPECT_EQ(known.unhealthy(now, {{kGpu, 3}})[kGpu].size(), 1U) << "one was taken away";
  EXPECT_EQ(known.unhealthy(now, {{kGpu, 4}})[kGpu].size(), 1U);
}

TEST_F(Snapshot, WhatAPodHoldsIsNotFree) {
  const NodeReport seen = report();
  EXPECT_THAT(available(seen, "cpu"), ElementsAre(1000, 3000));
  EXPECT_THAT(available(seen, "memory"), ElementsAre(26 * kGi, 30 * kGi));
  EXPECT_THAT(available(seen, kGpu), ElementsAre(1, 2));
  EXPECT_EQ(amount_of(seen.zones[0].allocatable, "cpu"), 3000);
  EXPECT_EQ(amount_of(seen.zones[0].capacity, "cpu"), 4000);
  EXPECT_EQ(amount_of(seen.zones[0].allocatable, "memory"), 30 * kGi);
  EXPECT_EQ(free_.cpu_ids(*kind_.model).text(), "3,5-7");
  EXPECT_EQ(kind_.model->reserved->text(), "0,4");
  EXPECT_TRUE(is_consistent(view_, uids_));
}

// The files keep a pod that is gone until the next one comes. A report that believes them says that
// the node is full, and so no next pod comes.
TEST_F(Snapshot, AGonePodHoldsNothingWhateverTheFilesSay) {
  end("web");
  const NodeReport seen = report();
  EXPECT_THAT(available(seen, "cpu"), ElementsAre(3000, 3000));
  EXPECT_THAT(available(seen, "memory"), ElementsAre(30 * kGi, 30 * kGi));
  EXPECT_THAT(available(seen, kGpu), ElementsAre(2, 2));
  EXPECT_EQ(free_.assignments(*kind_.model, 0), 0);
}

TEST_F(Snapshot, AGonePodLeavesItsGroup) {
  run("a", "wide", "uid-2", {5}, 1, 0, "gpu-2");
  view_.memory.held.erase("uid-2");
  view_.memory.zones[1].assignments = 0;
  hold_memory("uid-2", {0, 1}, 40 * kGi);
  report();
  EXPECT_EQ(free_.group(*kind_.model, 0), 3U);
  EXPECT_EQ(free_.assignments(*kind_.model, 0), 2);
  end("wide");
  const NodeReport seen = report();
  // As the memory manager gives back: to the lowest zone first, whoever holds memory there.
  EXPECT_THAT(available(seen, "memory"), ElementsAre(30 * kGi, 26 * kGi));
  EXPECT_EQ(free_.group(*kind_.model, 1), 2U) << "nobody binds it to the other";
  EXPECT_EQ(free_.assignments(*kind_.model, 0), 1);
}

// Plain init containers are in the files alone.
TEST_F(Snapshot, LeftoversOfInitContainersCount) {
  view_.cpus.held["uid-1"]["init"].add(3);
  view_.devices.entries.push_back({"uid-1", "init", kGpu, {"gpu-1"}});
  const NodeReport seen = report();
  EXPECT_THAT(available(seen, "cpu"), ElementsAre(0, 3000));
  EXPECT_THAT(available(seen, kGpu), ElementsAre(0, 2));
  EXPECT_TRUE(is_consistent(view_, uids_));
}

// A pod that holds CPUs as a whole (gate PodLevelResourceManagers): a has some of them alone, b and
// c share the rest. The files name all of it; the list names the pod's and a's from 1.37 on, and
// before that each container's.
TEST_F(Snapshot, WhatAPodHoldsAsAWholeIsNotFree) {
  for (const char* name : {"a", "b", "c"}) {
    for (const std::uint32_t cpu : {5U, 6U, 7U}) {
      if ((cpu == 5) == (name[0] == 'a')) view_.cpus.held["uid-2"][name].add(cpu);
    }
  }
  for (const std::uint32_t cpu : {5U, 6U, 7U}) view_.cpus.held_by_pods["uid-2"].add(cpu);
  uids_[{"a", "whole"}].uid = "uid-2";
  const std::vector<ContainerUse> before{{"a", {5}, {}}, {"b", {6, 7}, {}}, {"c", {6, 7}, {}}};
  view_.pods.push_back({"a", "whole", before});
  EXPECT_TRUE(is_consistent(view_, uids_)) << "a kubelet 1.36";
  view_.pods.back() = {"a", "whole", {{"a", {5}, {}}, {"b", {}, {}}, {"c", {}, {}}}, {5, 6, 7}};
  EXPECT_TRUE(is_consistent(view_, uids_)) << "a kubelet 1.37";
  EXPECT_THAT(available(report(), "cpu"), ElementsAre(1000, 0));

  // The list is ahead of the files, or they of it.
  const KubeletView whole = view_;
  view_.cpus.held_by_pods.clear();
  view_.cpus.held.erase("uid-2");
  EXPECT_FALSE(is_consistent(view_, uids_));
  EXPECT_THAT(available(report(), "cpu"), ElementsAre(1000, 0)) << "the list counts as well";
  view_ = whole;
  view_.pods.back().cpus.clear();
  EXPECT_FALSE(is_consistent(view_, uids_));
  view_ = whole;
  view_.pods.back().containers[0].cpus = {6};
  EXPECT_FALSE(is_consistent(view_, uids_)) << "what a container has alone is compared";
}

std::string text_of(const std::vector<topology::kubelet::PodHolding>& pods) {
  std::string text;
  for (const auto& [uid, held] : pods) {
    text += uid + " c=" + held.cpu_ids.text();
    for (const auto& [container, init, block] : held.blocks) {
      text += (init ? " i.m=" : " m=") + std::to_string(block.zones) + ":" +
              std::to_string(block.bytes / kGi);
    }
    for (const auto& grant : held.devices) text += " d=" + std::to_string(grant.ids.at(0));
    text += '\n';
  }
  return text;
}

TEST_F(Snapshot, WhatEachPodHoldsIsNamed) {
  view_.cpus.held["uid-1"]["init"].add(3);
  view_.memory.held["uid-1"]["init"].push_back({{1}, "memory", kGi});
  view_.devices.entries.push_back({"uid-1", "init", kGpu, {"gpu-1"}});
  report();
  EXPECT_EQ(text_of(holdings_of(kind_, view_, uids_, resources_)),
            "uid-1 c=1-3 i.m=2:1 m=1:4 d=3\n");
  // A static pod is in the files by the hash that its mirror names.
  uids_[{"a", "web"}] = {"uid-of-mirror", "uid-1", {}};
  EXPECT_EQ(text_of(holdings_of(kind_, view_, uids_, resources_)),
            "uid-of-mirror c=1-3 i.m=2:1 m=1:4 d=3\n");
  // One of the same name is gone at the API server, and its kubelet still has it.
  uids_[{"a", "web"}] = {"uid-2", "", {"uid-1"}};
  view_.cpus.held["uid-2"]["main"].add(5);
  EXPECT_EQ(text_of(holdings_of(kind_, view_, uids_, resources_)),
            "uid-2 c=5\nuid-1 c=1-3 i.m=2:1 m=1:4 d=3\n");
  uids_.clear();
  EXPECT_EQ(text_of(holdings_of(kind_, view_, uids_, resources_)), "") << "no UID is known";
}

// A pod that the kubelet lists and the API server has not told of yet may be any that the files
// name.
TEST_F(Snapshot, WhileAPodIsNotKnownNothingIsTakenFromTheFiles) {
  uids_.clear();
  EXPECT_THAT(available(report(), "cpu"), ElementsAre(1000, 3000));
  // Another pod of that UID is known not to be there.
  uids_[{"a", "old"}].uid = "uid-1";
  view_.pods[0].containers.clear();
  EXPECT_THAT(available(report(), "cpu"), ElementsAre(3000, 3000));
}

TEST_F(Snapshot, APodUnderAdmissionIsSeen) {
  view_.cpus.held["uid-1"]["main"].add(3);  // the files are ahead
  EXPECT_FALSE(is_consistent(view_, uids_));
  view_.cpus.held["uid-1"]["main"] = {};
  EXPECT_FALSE(is_consistent(view_, uids_));
  EXPECT_THAT(available(report(), "cpu"), ElementsAre(1000, 3000)) << "the list counts as well";
}

TEST_F(Snapshot, UnhealthyDevicesStayInTheirZones) {
  view_.allocatable.devices[kGpu].erase("gpu-3");
  unhealthy_[kGpu]["gpu-3"] = {1};
  const NodeReport seen = report();
  EXPECT_THAT(available(seen, kGpu), ElementsAre(1, 1));
  EXPECT_EQ(amount_of(seen.zones[1].capacity, kGpu), 2);
  EXPECT_EQ(amount_of(seen.zones[1].allocatable, kGpu), 1);
}

TEST_F(Snapshot, AZoneThatIsNotThereIsNone) {
  view_.allocatable.devices[kGpu]["gpu-7"] = {7};
  EXPECT_THAT(available(report(), kGpu), ElementsAre(1, 2));
}

TEST_F(Snapshot, ManagersThatAreOffListNothing) {
  settings_ = {};
  view_ = {};
  uids_.clear();
  const NodeReport seen = report();
  EXPECT_EQ(seen.zones.size(), 2U);
  EXPECT_EQ(amount_of(seen.zones[0].allocatable, "cpu"), 0);
  EXPECT_FALSE(seen.zones[0].allocatable.contains("memory"));
}

}  // namespace
}  // namespace plimsoll::node
