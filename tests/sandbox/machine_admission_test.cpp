// Admission on whole machines: ids, what is reported, and that a report's facts predict its node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/node_admission.hpp"
#include "lab/sandbox/kubelet/node_kind.hpp"
#include "lab/sandbox/kubelet/pod_demand_of.hpp"
#include "lab/sandbox/machine/machine_description.hpp"
#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/report/facts.hpp"
#include "tests/sandbox/units.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;
using nlohmann::json;
using testing::HasSubstr;

// Two sockets, four zones of 2 cores with 2 threads (i and i+8); CPUs 0 and 8 are reserved.
json machine(json kubelet_settings = json::object()) {
  json settings = {{"topologyManagerPolicy", "restricted"},
                   {"cpuManagerPolicy", "static"},
                   {"memoryManagerPolicy", "Static"},
                   {"reservedSystemCPUs", "0,8"}};
  settings.update(kubelet_settings);
  json devices = json::array();
  for (int zone = 0; zone < 4; ++zone) {
    devices.push_back(
        {{"resource", "acme.io/gpu"}, {"id", "g" + std::to_string(zone)}, {"zones", {zone}}});
  }
  devices.push_back({{"resource", "acme.io/nic"}, {"id", "n"}, {"zones", {0, 1}}});
  devices.push_back({{"resource", "acme.io/nic"}, {"id", "sick"}, {"healthy", false}});
  return {{"hwlocXml", "two_sockets_four_zones.xml"},
          {"devices", std::move(devices)},
          {"kubelet", std::move(settings)}};
}

NodeDescription node_with(const json& description) {
  auto read = read_machine(description.dump(), "examples/clusters/machines");
  EXPECT_TRUE(read) << read.error().message;
  return describe_node({{"metadata", {{"name", "n"}}}}, json(),
                       std::make_shared<const node::Machine>(std::move(*read)))
      .value();
}

json container(const std::string& name, const std::string& cpu, const std::string& memory,
               json more = json::object()) {
  json limits = {{"cpu", cpu}, {"memory", memory}};
  limits.update(more);
  return {{"name", name}, {"image", "i"}, {"resources", {{"limits", limits}}}};
}

json pod(const std::string& uid, json containers, json init = json::array()) {
  json object = {
      {"metadata", {{"uid", uid}, {"name", uid}, {"namespace", "d"}}},
      {"spec", {{"containers", std::move(containers)}, {"initContainers", std::move(init)}}}};
  set_pod_defaults(object);
  return object;
}

std::string show(const AdmissionDecision& decision) {
  return decision.admitted ? "ok" : decision.reason;
}

std::string annotation(const node::NodeReport& report, std::string_view name) {
  for (const auto& [key, value] : report.annotations) {
    if (key == name) return value;
  }
  return {};
}

std::int64_t free_of(const node::NodeReport& report, std::size_t zone,
                     const std::string& resource) {
  return node::amount_of(report.zones[zone].available, resource);
}

TEST(MachineAdmission, GivesTheCpusAndDevicesThatAKubeletWould) {
  const auto node = make_node_admission(node_with(machine()));
  const AdmissionDecision decision =
      node->admit(pod("a", {container("c", "2", "1Gi", {{"acme.io/gpu", "1"}})}));
  ASSERT_TRUE(decision.admitted) << decision.message;
  ASSERT_EQ(decision.zones.size(), 1U);
  EXPECT_EQ(decision.zones[0].container, "c");
  EXPECT_EQ(decision.zones[0].zones, (std::map<std::string, std::vector<int>>{
                                         {"cpu", {0}}, {"memory", {0}}, {"acme.io/gpu", {0}}}));
  const std::string free =
      annotation(node->report(node::ReportKind::kFacts), topology::kFreeAnnotation);
  EXPECT_THAT(free, HasSubstr("cpus 2-7,10-15\n")) << "1 and 9 are one core";
  EXPECT_THAT(free, HasSubstr("devices acme.io/gpu 1-3\n"));
  EXPECT_THAT(free, HasSubstr("zone 0 assignments=1 cells=0"));
}

TEST(MachineAdmission, RefusesWhatOnlyTheMachineCanSay) {
  const auto smt = make_node_admission(
      node_with(machine({{"cpuManagerPolicyOptions", {{"full-pcpus-only", "true"}}}})));
  EXPECT_EQ(show(smt->admit(pod("a", {container("c", "3", "1Gi")}))), "SMTAlignmentError");
  EXPECT_EQ(show(smt->admit(pod("b", {container("c", "4", "1Gi")}))), "ok");
  // Memory over two zones and memory of one of them exclude one another.
  const auto node = make_node_admission(node_with(machine({{"topologyManagerPolicy", "none"}})));
  EXPECT_EQ(show(node->admit(pod("wide", {container("c", "1", "40Gi")}))), "ok");
  EXPECT_EQ(show(node->admit(pod("narrow", {container("c", "1", "20Gi")}))),
            "UnexpectedAdmissionError");
  node->release("wide");
  EXPECT_EQ(show(node->admit(pod("narrow", {container("c", "1", "20Gi")}))), "ok");
}

TEST(MachineAdmission, TryingLeavesNoTrace) {
  const auto node = make_node_admission(node_with(machine()));
  const std::string before =
      annotation(node->report(node::ReportKind::kFacts), topology::kFreeAnnotation);
  EXPECT_EQ(show(node->try_admit(pod("a", {container("c", "4", "1Gi")}))), "ok");
  EXPECT_EQ(show(node->try_admit(pod("b", {container("c", "15", "1Gi")}))),
            "TopologyAffinityError");
  EXPECT_EQ(annotation(node->report(node::ReportKind::kFacts), topology::kFreeAnnotation), before);
}

// resource-topology-exporter sees the app containers only; Plimsoll's agent sees everything.
TEST(MachineAdmission, KindsOfReportsDiffer) {
  const auto node = make_node_admission(node_with(machine()));
  ASSERT_EQ(
      show(node->admit(pod("a", {container("c", "1", "1Gi")}, {container("init", "4", "6Gi")}))),
      "ok");
  EXPECT_EQ(free_of(node->report(node::ReportKind::kFacts), 1, "cpu"), 0);
  EXPECT_EQ(free_of(node->report(node::ReportKind::kCounts), 1, "cpu"), 3000);
  EXPECT_EQ(free_of(node->report(node::ReportKind::kFacts), 1, "memory"), 9 * kGi);
  EXPECT_EQ(annotation(node->report(node::ReportKind::kCounts), topology::kFreeAnnotation), "");
  EXPECT_TRUE(node->started("a")) << "the init container's memory comes free";
  EXPECT_EQ(free_of(node->report(node::ReportKind::kFacts), 1, "memory"), 14 * kGi);
  EXPECT_EQ(free_of(node->report(node::ReportKind::kFacts), 1, "cpu"), 0) << "its CPUs do not";
  EXPECT_FALSE(node->started("a"));

  const auto wide = make_node_admission(node_with(machine()));
  ASSERT_EQ(show(wide->admit(pod("a", {container("c", "8", "20Gi")}))), "ok");
  const node::NodeReport counts = wide->report(node::ReportKind::kCounts);
  EXPECT_EQ(
      free_of(counts, 1, "memory") + free_of(counts, 2, "memory") + free_of(counts, 3, "memory"),
      15 * kGi)
      << "a block is charged in full to each of its zones";
}

TEST(MachineAdmission, ExportersListOnlyWhatManagersHandOut) {
  const auto node = make_node_admission(
      node_with(machine({{"cpuManagerPolicy", "none"}, {"memoryManagerPolicy", "None"}})));
  EXPECT_EQ(show(node->admit(pod("a", {container("c", "12", "60Gi")}))), "ok");
  const node::NodeReport report = node->report(node::ReportKind::kFacts);
  EXPECT_EQ(node::amount_of(report.zones[1].capacity, "cpu"), 4000);
  EXPECT_EQ(node::amount_of(report.zones[1].allocatable, "cpu"), 0);
  EXPECT_FALSE(report.zones[1].allocatable.contains("memory"));
  EXPECT_FALSE(node->holds_exclusively("a"));
}

// What runs before the simulation holds what the last report shows as used.
TEST(MachineAdmission, RestoredPodsExplainWhatAReportShowsAsUsed) {
  const auto zone = [](int id, const char* free) {
    return json{
        {"name", "node-" + std::to_string(id)},
        {"type", "Node"},
        {"resources",
         {{{"name", "cpu"}, {"capacity", "8"}, {"allocatable", "8"}, {"available", free}}}}};
  };
  const json node = {{"metadata", {{"name", "n"}}},
                     {"status", {{"allocatable", {{"cpu", "16"}, {"memory", "64Gi"}}}}}};
  const json nrt = {
      {"zones", {zone(0, "8"), zone(1, "2")}},
      {"attributes", {{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}}}}};
  const auto admission = make_node_admission(describe_node(node, nrt).value());
  EXPECT_EQ(free_of(admission->zones(), 1, "cpu"), 2000);
  admission->restore(pod("old", {container("c", "5", "1Gi")}));
  EXPECT_EQ(free_of(admission->zones(), 0, "cpu"), 8000);
  EXPECT_EQ(free_of(admission->zones(), 1, "cpu"), 2000);
  admission->restore(pod("unreported", {container("c", "3", "1Gi")}));
  EXPECT_EQ(free_of(admission->zones(), 0, "cpu"), 5000) << "not in the report yet";
  admission->release("old");
  EXPECT_EQ(free_of(admission->zones(), 1, "cpu"), 7000) << "one CPU is used by nobody known";
  admission->release("unreported");
  EXPECT_EQ(free_of(admission->zones(), 0, "cpu"), 8000);
}

// Memory that is used by nobody known lies in blocks too, so that nothing is grouped with its zone.
TEST(MachineAdmission, MemoryThatNobodyExplainsIsABlock) {
  const auto zone = [](int id, const char* free) {
    return json{{"name", "node-" + std::to_string(id)},
                {"type", "Node"},
                {"resources",
                 {{{"name", "cpu"}, {"capacity", "8"}, {"allocatable", "8"}, {"available", "8"}},
                  {{"name", "memory"},
                   {"capacity", "32Gi"},
                   {"allocatable", "32Gi"},
                   {"available", free}}}}};
  };
  const json node = {{"metadata", {{"name", "n"}}},
                     {"status", {{"allocatable", {{"cpu", "16"}, {"memory", "64Gi"}}}}}};
  json nrt = {{"metadata", {{"name", "n"}}},
              {"zones", {zone(0, "32Gi"), zone(1, "20Gi")}},
              {"attributes", {{{"name", "topologyManagerPolicy"}, {"value", "best-effort"}}}}};
  const auto admission = make_node_admission(describe_node(node, nrt).value());
  const auto read = [&] {
    node::write_report(nrt, admission->report(node::ReportKind::kFacts));
    ResourceIndex resources;
    return kubelet::FactsReader(
               [&](std::string_view name) { return resources.of(std::string(name)); })
        .read(topology::parse_nrt(nrt.dump()).value());
  };
  kubelet::NodeFacts facts = read();
  EXPECT_THAT(facts.problems, testing::IsEmpty());
  ASSERT_TRUE(facts.state.knows_groups());
  EXPECT_EQ(facts.state.assignments(*facts.model, 0), 0);
  EXPECT_EQ(facts.state.assignments(*facts.model, 1), 1);
  const json wide = pod("wide", {container("c", "1", "40Gi")});
  EXPECT_FALSE(admission->try_admit(wide).admitted) << "a group cannot have a used zone in it";
  // One pod explains a part, another one the rest: what they leave is free and in no group.
  admission->restore(pod("a", {container("c", "500m", "4Gi")}));
  EXPECT_EQ(read().state.assignments(*facts.model, 1), 2) << "the pod's and nobody's";
  admission->release("a");
  facts = read();
  EXPECT_EQ(facts.state.assignments(*facts.model, 1), 1);
  EXPECT_EQ(free_of(admission->zones(), 1, "memory"), 24 * kGi);
  admission->restore(pod("b", {container("c", "500m", "8Gi")}));
  EXPECT_EQ(read().state.assignments(*facts.model, 1), 1) << "the pod's";
  EXPECT_FALSE(admission->try_admit(wide).admitted);
  admission->release("b");
  facts = read();
  EXPECT_THAT(facts.problems, testing::IsEmpty());
  EXPECT_EQ(facts.state.assignments(*facts.model, 1), 0);
  EXPECT_TRUE(admission->try_admit(wide).admitted);
}

// A reader of the object decides as the node does, whatever happened on it.
TEST(MachineAdmission, FactsPredictTheNode) {
  std::mt19937 random(test::test_seed());
  const auto pick = [&](std::vector<const char*> choices) {
    return choices[random() % choices.size()];
  };
  for (int life = 0; life < 12; ++life) {
    json settings = {
        {"topologyManagerPolicy", pick({"none", "best-effort", "restricted", "single-numa-node"})},
        {"topologyManagerScope", pick({"container", "pod"})},
        {"cpuManagerPolicyOptions", {{"full-pcpus-only", pick({"true", "false"})}}},
        {"memoryManagerPolicy", pick({"Static", "Static", "None"})}};
    const NodeDescription description = node_with(machine(settings));
    const auto node = make_node_admission(description);
    ResourceIndex resources;
    const kubelet::InternResource index = [&](std::string_view name) {
      return resources.of(std::string(name));
    };
    kubelet::FactsReader reader(index);
    kubelet::Scratch scratch;
    json nrt = {{"metadata", {{"name", "n"}}}};
    std::vector<std::string> there;
    int admitted = 0;
    for (int step = 0; step < 40; ++step) {
      json init = json::array();
      if (random() % 3 == 0) init.push_back(container("i", pick({"1", "4"}), pick({"1Gi", "3Gi"})));
      json more = json::object();
      if (random() % 3 == 0) more["acme.io/gpu"] = pick({"1", "2"});
      const std::string uid = "p" + std::to_string(step);
      const json next = pod(uid,
                            {container("c", pick({"1", "2", "3", "4", "6", "500m"}),
                                       pick({"1Gi", "5Gi", "18Gi"}), more)},
                            init);
      node::write_report(nrt, node->report(node::ReportKind::kFacts));
      const auto parsed = topology::parse_nrt(nrt.dump());
      ASSERT_TRUE(parsed) << parsed.error();
      kubelet::NodeFacts facts = reader.read(*parsed);
      EXPECT_THAT(facts.problems, testing::IsEmpty());
      const auto demand = pod_demand_of(next, pod_amounts(next).value(), resources);
      const kubelet::Admission predicted =
          kubelet::admit(*facts.model, facts.state, demand, scratch);
      const AdmissionDecision decision = node->admit(next);
      if (decision.reason.starts_with("OutOf")) continue;
      ASSERT_EQ(predicted.admitted(), decision.admitted)
          << "life " << life << " step " << step << " " << decision.message << settings;
      EXPECT_EQ(kubelet::to_string(predicted.reason), decision.reason);
      if (decision.admitted) there.push_back(uid), ++admitted;
      if (random() % 2 == 0 && !there.empty()) (void)node->started(there.back());
      if (random() % 2 == 0 && !there.empty()) {
        node->release(there[random() % there.size()]);
      }
    }
    EXPECT_GT(admitted, 0);
  }
}

}  // namespace
}  // namespace plimsoll::sandbox
