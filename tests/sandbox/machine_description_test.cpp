#include "lab/sandbox/machine/machine_description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lab/sandbox/kubelet/machine_nodes.hpp"
#include "lab/sandbox/kubelet/node_kind.hpp"
#include "plugins/topology/report/facts.hpp"
#include "tests/sandbox/units.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr const char* kMachines = "examples/clusters/machines";

// A machine with two zones of 4 CPUs, and what the case changes of its description.
json description(const json& changes = json::object()) {
  json text = {{"hwlocSynthetic", "pack:2 [numa(memory=16GiB)] core:2 pu:2"},
               {"kubelet",
                {{"topologyManagerPolicy", "restricted"},
                 {"cpuManagerPolicy", "static"},
                 {"memoryManagerPolicy", "Static"},
                 {"reservedSystemCPUs", "0"}}}};
  text.merge_patch(changes);
  return text;
}

std::string error_of(const json& changes) {
  const auto machine = read_machine(description(changes).dump(), "");
  return machine ? "no error" : machine.error().message;
}

TEST(MachineDescription, ReadsEverything) {
  const auto machine = read_machine(R"({
    "hwlocXml": "two_sockets_four_zones.xml",
    "memory": [{"numaNode": 2, "amount": "32Gi"}],
    "hugepages": [{"numaNode": 0, "amounts": {"hugepages-1Gi": "2Gi"}}],
    "devices": [
      {"resource": "nvidia.com/gpu", "id": "g1", "zones": [3], "healthy": false},
      {"resource": "acme.io/nic", "id": "n0", "zones": [0, 1]},
      {"resource": "nvidia.com/gpu", "id": "g0", "zones": [0]},
      {"resource": "acme.io/key", "id": "k0"}],
    "kubelet": {
      "topologyManagerPolicy": "best-effort", "topologyManagerScope": "pod",
      "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
      "cpuManagerPolicy": "static", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
      "memoryManagerPolicy": "Static", "reservedSystemCPUs": "0,8",
      "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
      "maxPods": 250, "featureGates": {"PodLevelResourceManagers": true, "Another": false}}})",
                                    kMachines);
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->hardware.zones[2].memory, 32 * kGiB);
  EXPECT_EQ(machine->hardware.zones[0].hugepages, (node::Amounts{{"hugepages-1Gi", 2 * kGiB}}));
  ASSERT_EQ(machine->devices.size(), 4U);
  EXPECT_EQ(machine->devices[0].resource, "acme.io/key");
  EXPECT_THAT(machine->devices[1].zones, ElementsAre(0, 1));
  EXPECT_EQ(machine->devices[2].id, "g1") << "as listed within a resource";
  EXPECT_FALSE(machine->devices[2].healthy);
  const node::KubeletSettings& kubelet = machine->kubelet;
  EXPECT_EQ(kubelet.topology_manager_policy, "best-effort");
  EXPECT_EQ(kubelet.topology_manager_scope, "pod");
  EXPECT_EQ(kubelet.topology_manager_options.at("prefer-closest-numa-nodes"), "true");
  EXPECT_EQ(kubelet.cpu_manager_options.at("full-pcpus-only"), "true");
  EXPECT_THAT(kubelet.reserved_cpus, ElementsAre(0, 8));
  EXPECT_TRUE(kubelet.pod_level_resource_managers);

  // What the kubelet writes into Node.status: the rules of node allocatable.
  const node::Amounts capacity = machine->capacity();
  const node::Amounts allocatable = machine->allocatable();
  EXPECT_EQ(capacity.at("cpu"), 16000);
  EXPECT_EQ(allocatable.at("cpu"), 14000);
  EXPECT_EQ(capacity.at("memory"), 80 * kGiB);
  EXPECT_EQ(machine->allocatable_memory(0).at("memory"), (16 - 2 - 1) * kGiB);
  EXPECT_EQ(allocatable.at("memory"), (80 - 2 - 1 - 1 - 1) * kGiB) << "2 of 1Gi pages, 1 of 2Mi, "
                                                                      "1 of 1Gi, 1 reserved";
  EXPECT_EQ(allocatable.at("hugepages-1Gi"), 3 * kGiB);
  EXPECT_EQ(capacity.at("nvidia.com/gpu"), 2);
  EXPECT_EQ(allocatable.at("nvidia.com/gpu"), 1);
  EXPECT_EQ(allocatable.at("pods"), 250);
}

std::string xml_error(const std::string& file, const std::filesystem::path& folder) {
  const auto machine = read_machine(json{{"hwlocXml", file}}.dump(), folder);
  return machine ? "no error" : machine.error().message;
}

// Whoever writes a Node names files of whoever simulates it.
TEST(MachineDescription, ReadsRegularFilesOfItsFolderOnly) {
  const test::TempDir dir;
  const std::string text = *test::read_file(std::string(kMachines) + "/two_sockets_four_zones.xml");
  const auto folder = dir / "clusters";
  std::filesystem::create_directories(folder / "machines");
  ASSERT_TRUE(test::write_file(folder / "machines" / "good.xml", text));
  ASSERT_TRUE(test::write_file(dir / "secret.xml", text));
  std::filesystem::create_directories(dir / "clusters-of-others");
  ASSERT_TRUE(test::write_file(dir / "clusters-of-others" / "a.xml", text));
  std::filesystem::create_symlink("machines/good.xml", folder / "near.xml");
  std::filesystem::create_symlink(dir / "secret.xml", folder / "far.xml");
  ASSERT_EQ(::mkfifo((folder / "fifo.xml").c_str(), 0600), 0);
  for (const std::string& good :
       {std::string("machines/good.xml"), std::string("machines/../near.xml"),
        (folder / "machines" / "good.xml").string()}) {
    EXPECT_EQ(xml_error(good, folder), "no error") << good;
  }
  for (const std::string& far :
       {std::string("../secret.xml"), std::string("far.xml"), (dir / "secret.xml").string(),
        std::string("/dev/zero"), std::string("machines/../../clusters-of-others/a.xml")}) {
    EXPECT_THAT(xml_error(far, folder), HasSubstr("is outside of the folder of the cluster file"))
        << far;
  }
  EXPECT_THAT(xml_error("fifo.xml", folder), HasSubstr("fifo.xml: is not a regular file"));
  EXPECT_THAT(xml_error("machines", folder), HasSubstr("machines: is not a regular file"));
  EXPECT_THAT(xml_error("zero", "/dev"), HasSubstr("/dev/zero: is not a regular file"));
}

// Larger than memory, and never read.
TEST(MachineDescription, AFileThatIsTooLargeIsNotRead) {
  const test::TempDir dir;
  ASSERT_TRUE(test::write_file(dir / "large.xml", ""));
  std::filesystem::resize_file(dir / "large.xml", std::uintmax_t{1} << 40U);
  EXPECT_THAT(xml_error("large.xml", dir.path()), HasSubstr("large.xml: is larger than 16 MiB"));
}

TEST(MachineDescription, NamesEveryProblemWithItsField) {
  EXPECT_EQ(error_of(json::object()), "no error");
  EXPECT_THAT(error_of({{"gpus", 4}}), HasSubstr("gpus: unknown field; there are hwlocXml"));
  EXPECT_THAT(
      error_of({{"hwlocSynthetc", "pack:2"}, {"hwlocSynthetic", nullptr}}),
      HasSubstr("hwlocSynthetc: unknown field, did you mean \"hwlocSynthetic\"?; name the"));
  EXPECT_THAT(error_of({{"kubelet", {{"cpuPolicy", "static"}}}}),
              HasSubstr("kubelet.cpuPolicy: unknown field"));
  EXPECT_THAT(error_of({{"hwlocXml", "a.xml"}}), HasSubstr("either \"hwlocXml\""));
  EXPECT_THAT(error_of({{"hwlocSynthetic", nullptr}}), HasSubstr("either \"hwlocXml\""));
  EXPECT_THAT(error_of({{"hwlocSynthetic", nullptr}, {"hwlocXml", "missing.xml"}}),
              HasSubstr("missing.xml: cannot be read; a path begins at"));
  EXPECT_THAT(error_of({{"hwlocSynthetic", "x"}}), HasSubstr("hwlocSynthetic: not a synthetic"));
  EXPECT_THAT(error_of({{"devices", json::array({{{"resource", "gpu"}, {"id", ""}}})}}),
              testing::AllOf(HasSubstr("devices[0].resource: must be"),
                             HasSubstr("; devices[0].id: must not be empty")));
  EXPECT_THAT(
      error_of({{"devices", json::array({{{"resource", "a/b"}, {"id", "1"}, {"zones", {7}}}})}}),
      HasSubstr("devices[0].zones: must be the id of a NUMA node of the machine: 0, 1"));
  const json twice = {{"resource", "a/b"}, {"id", "1"}};
  EXPECT_THAT(error_of({{"devices", json::array({twice, twice})}}),
              HasSubstr("a/b has two devices \"1\""));
  EXPECT_THAT(error_of({{"memory", json::array({{{"numaNode", 0}, {"amount", "-1"}}})}}),
              HasSubstr("memory[0].amount: is negative"));
  EXPECT_THAT(
      error_of({{"hugepages", json::array({{{"numaNode", 0}, {"amounts", {{"memory", "1"}}}}})}}),
      HasSubstr("hugepages[0].amounts.memory: must be hugepages-SIZE"));
  EXPECT_THAT(error_of({{"kubelet", 5}}), HasSubstr("kubelet: must be an object"));
  EXPECT_THAT(read_machine("[]", "").error().message, HasSubstr("must be a JSON object"));
  EXPECT_THAT(read_machine("{", "").error().message, HasSubstr("must be a JSON object"));
}

// What a real kubelet says no to at its start.
TEST(MachineDescription, RefusesWhatAKubeletWouldNotStartWith) {
  const auto kubelet = [](const json& settings) { return error_of({{"kubelet", settings}}); };
  EXPECT_THAT(kubelet({{"topologyManagerPolicy", "strict"}}),
              HasSubstr("topologyManagerPolicy: is \"strict\"; a kubelet knows none, best-effort"));
  EXPECT_THAT(kubelet({{"reservedSystemCPUs", nullptr}}), HasSubstr("at least one CPU"));
  EXPECT_THAT(kubelet({{"reservedSystemCPUs", "0-9"}}), HasSubstr("the machine has no CPU 8"));
  EXPECT_THAT(kubelet({{"reservedSystemCPUs", "0-"}}), HasSubstr("kubelet.reservedSystemCPUs: "));
  EXPECT_THAT(kubelet({{"cpuManagerPolicyOptions", {{"full", "true"}}}}),
              HasSubstr("unknown option full"));
  EXPECT_THAT(kubelet({{"cpuManagerPolicyOptions",
                        {{"full-pcpus-only", "true"}, {"distribute-cpus-across-cores", "true"}}}}),
              HasSubstr("exclude one another"));
  EXPECT_THAT(kubelet({{"topologyManagerPolicy", "single-numa-node"},
                       {"cpuManagerPolicyOptions", {{"align-by-socket", "true"}}}}),
              HasSubstr("align-by-socket"));
  EXPECT_THAT(kubelet({{"topologyManagerPolicyOptions", {{"max-allowable-numa-nodes", "4"}}}}),
              HasSubstr("must be 8 or more"));
  EXPECT_THAT(kubelet({{"reservedMemory",
                        json::array({{{"numaNode", 1}, {"limits", {{"memory", "17Gi"}}}}})}}),
              HasSubstr("NUMA node 1 has less memory"));
  EXPECT_THAT(error_of({{"hwlocSynthetic", "pack:9 [numa] core:1 pu:1"}}),
              HasSubstr("set max-allowable-numa-nodes"));
  EXPECT_EQ(error_of({{"hwlocSynthetic", "pack:9 [numa] core:1 pu:1"},
                      {"kubelet",
                       {{"topologyManagerPolicyOptions", {{"max-allowable-numa-nodes", "16"}}}}}}),
            "no error");
}

json node(const std::string& name, const json& machine) {
  return {{"metadata", {{"name", name}, {"annotations", {{kMachineAnnotation, machine.dump()}}}}},
          {"status", {{"allocatable", {{"cpu", "99"}, {"ephemeral-storage", "5Gi"}}}}}};
}

TEST(MachineDescription, AnyLimitOfNumaNodesIsTaken) {
  const auto limit = [](const char* value) {
    const json options = {{"max-allowable-numa-nodes", value}};
    const auto machine = read_machine(
        description({{"kubelet", {{"topologyManagerPolicyOptions", options}}}}).dump(), "");
    return machine ? std::to_string(node::managers_of(machine->kubelet).max_numa_nodes)
                   : machine.error().message;
  };
  EXPECT_EQ(limit("8"), "8");
  EXPECT_EQ(limit("65544"), "65535") << "and not 8";
  EXPECT_EQ(limit("1000000"), "65535");
  for (const char* wrong : {"7", "-9", "8x", ""}) {
    EXPECT_THAT(limit(wrong), HasSubstr("max-allowable-numa-nodes must be 8 or more")) << wrong;
  }
}

TEST(MachineLibrary, ReadsEachDescriptionOnce) {
  MachineLibrary library(kMachines);
  const auto a = library.machine_of(node("a", description()));
  const auto b = library.machine_of(node("b", description()));
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->get(), b->get());
  const auto none = library.machine_of({{"metadata", {{"name", "c"}}}});
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
  const auto bad = library.machine_of(node("d", {{"hwlocXml", "no.xml"}}));
  EXPECT_THAT(bad.error().message, HasSubstr("node d: annotation sandbox.plimsoll.io/machine: "));
}

TEST(MachineNodes, MakesObjectsAgreeWithTheMachine) {
  ObjectStore store({.seed = 1});
  ASSERT_TRUE(store.create(kNodes, node("n", description())));
  ASSERT_TRUE(store.create(kNodes, {{"metadata", {{"name", "plain"}}}}));
  MachineLibrary library;
  const auto installed = install_machine_nodes(store, library);
  ASSERT_TRUE(installed) << installed.error().message;
  const json status = (*store.get(kNodes, {"", "n"}))->parse()["status"];
  EXPECT_EQ(status["capacity"]["cpu"], "8");
  EXPECT_EQ(status["allocatable"]["cpu"], "7");
  EXPECT_EQ(status["allocatable"]["ephemeral-storage"], "5Gi");
  const json nrt = (*store.get(kNodeResourceTopologies, {"", "n"}))->parse();
  ASSERT_EQ(nrt["zones"].size(), 2U);
  EXPECT_EQ(nrt["zones"][0]["name"], "node-0");
  EXPECT_EQ(nrt["zones"][0]["type"], "Node");
  EXPECT_EQ(nrt["zones"][1]["costs"],
            json::parse(R"([{"name":"node-0","value":20},{"name":"node-1","value":10}])"));
  std::map<std::string, json> resources;
  for (const json& resource : nrt["zones"][0]["resources"]) resources[resource["name"]] = resource;
  EXPECT_EQ(resources["cpu"]["capacity"], "4");
  EXPECT_EQ(resources["cpu"]["allocatable"], "3");
  EXPECT_EQ(resources["cpu"]["available"], "3");
  EXPECT_EQ(resources["memory"]["available"], std::to_string(16 * kGiB));
  EXPECT_EQ(store.count(kNodeResourceTopologies), 1U);
}

// What a file says of another machine would contradict what the agent knows of this one.
TEST(MachineNodes, ReplacesWhatTheFileSays) {
  ObjectStore store({.seed = 1});
  json object = node("n", description());
  for (const char* list : {"capacity", "allocatable"}) {
    object["status"][list].update({{"nvidia.com/gpu", "8"},
                                   {"hugepages-1Gi", "4Gi"},
                                   {"hugepages-2Mi", "0"},
                                   {"koordinator.sh/gpu-core", "800"},
                                   {"ephemeral-storage", "5Gi"}});
  }
  ASSERT_TRUE(store.create(kNodes, std::move(object)));
  const json gpu = {
      {"name", "nvidia.com/gpu"}, {"capacity", "4"}, {"allocatable", "4"}, {"available", "4"}};
  ASSERT_TRUE(
      store.create(kNodeResourceTopologies,
                   {{"metadata", {{"name", "n"}, {"labels", {{"kept", "yes"}}}}},
                    {"topologyPolicies", {"SingleNUMANodePodLevel"}},
                    {"zones",
                     {{{"name", "node-0"}, {"type", "Node"}, {"resources", {gpu}}},
                      {{"name", "node-5"}, {"type", "Node"}, {"resources", {gpu}}},
                      {{"name", "socket-0"}, {"type", "Socket"}}}},
                    {"attributes",
                     {{{"name", "topologyManagerScope"}, {"value", "pod"}},
                      {{"name", "topologyManagerOptionPreferClosestNumaNodes"}, {"value", "true"}},
                      {{"name", "cpuManagerPolicyOptions"}, {"value", "full-pcpus-only=true"}},
                      {{"name", "colour"}, {"value", "red"}}}}}));
  MachineLibrary library;
  ASSERT_TRUE(install_machine_nodes(store, library));

  const json status = (*store.get(kNodes, {"", "n"}))->parse()["status"];
  for (const char* list : {"capacity", "allocatable"}) {
    std::vector<std::string> names;
    for (const auto& [name, amount] : status[list].items()) names.push_back(name);
    EXPECT_THAT(names, ElementsAre("cpu", "ephemeral-storage", "koordinator.sh/gpu-core", "memory",
                                   "pods"));
  }
  const json nrt = (*store.get(kNodeResourceTopologies, {"", "n"}))->parse();
  EXPECT_EQ(nrt["metadata"]["labels"]["kept"], "yes");
  EXPECT_FALSE(nrt.contains("topologyPolicies"));
  EXPECT_EQ(nrt["zones"].size(), 2U);
  ResourceIndex resources;
  topology::kubelet::FactsReader reader(
      [&](std::string_view name) { return resources.of(std::string(name)); });
  const auto facts = reader.read(topology::parse_nrt(nrt.dump()).value());
  EXPECT_THAT(facts.problems, ElementsAre());
  EXPECT_EQ(facts.model->managers,
            node::managers_of(read_machine(description().dump(), "")->kubelet));
  EXPECT_TRUE(facts.state.knows_cpus() && facts.state.knows_groups());
  EXPECT_TRUE(facts.model->devices.empty());
}

TEST(MachineNodes, ChangesNothingWhenADescriptionIsWrong) {
  ObjectStore store({.seed = 1});
  ASSERT_TRUE(store.create(kNodes, node("good", description())));
  ASSERT_TRUE(store.create(kNodes, node("bad", {{"hwlocSynthetic", "?"}})));
  ASSERT_TRUE(store.create(kNodes, node("worse", {})));
  MachineLibrary library;
  const auto installed = install_machine_nodes(store, library);
  ASSERT_FALSE(installed);
  EXPECT_THAT(installed.error().message,
              testing::AllOf(HasSubstr("node bad: "), HasSubstr("\nnode worse: ")));
  EXPECT_EQ(store.count(kNodeResourceTopologies), 0U);
}

}  // namespace
}  // namespace plimsoll::sandbox
