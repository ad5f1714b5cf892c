// Node facts through the whole way: encoded, in the JSON of an object, parsed, read.

#include "plugins/topology/report/facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/plugins/topology/kubelet/random_machine.hpp"
#include "tests/plugins/topology/kubelet/random_pod.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology::kubelet {
namespace {

void expect_same_layout(const CpuLayout& a, const CpuLayout& b) {
  ASSERT_TRUE(a.all() == b.all());
  a.all().for_each([&](uint32_t cpu) {
    EXPECT_EQ(a.at(cpu).zone, b.at(cpu).zone) << "cpu " << cpu;
    EXPECT_EQ(a.at(cpu).socket, b.at(cpu).socket) << "cpu " << cpu;
    EXPECT_EQ(a.at(cpu).core, b.at(cpu).core) << "cpu " << cpu;
    EXPECT_EQ(a.at(cpu).uncore, b.at(cpu).uncore) << "cpu " << cpu;
  });
}

template <typename A, typename B>
void expect_same(const A& a, const B& b, const char* what) {
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << what;
}

constexpr size_t kMostText = 6 * 1024;  // see encode_machine()

// Device ids are written while the machine text stays within its bound.
bool expect_ids(const Machine& machine, const Report& report) {
  if (report.machine.find(":*") == std::string::npos) {
    size_t ids = 0;
    for (const DeviceType& type : machine.model.devices) {
      for (const Device& device : type.devices) ids += device.id.size();
    }
    EXPECT_TRUE(ids == 0 || report.machine.size() <= kMostText);
    return true;
  }
  size_t whole = report.machine.size();
  for (const DeviceType& type : machine.model.devices) {
    for (const Device& device : type.devices) whole += device.id.size() + 1;
  }
  EXPECT_GT(whole, kMostText) << "no ids, but room for them";
  return false;
}

void expect_same_devices(const Machine& machine, const NodeFacts& facts, bool with_ids) {
  for (uint32_t row = 0; row < machine.model.devices.size(); ++row) {
    const DeviceType& type = machine.model.devices[row];
    const uint32_t read_row = facts.model->device_row(type.resource);
    ASSERT_NE(read_row, kNoResourceRow);
    const DeviceType& read = facts.model->devices[read_row];
    ASSERT_EQ(read.devices.size(), type.devices.size());
    for (size_t i = 0; i < type.devices.size(); ++i) {
      EXPECT_EQ(read.devices[i].id, with_ids ? type.devices[i].id : "");
      EXPECT_EQ(read.devices[i].zones, type.devices[i].zones);
      EXPECT_EQ(read.devices[i].healthy, type.devices[i].healthy);
    }
    expect_same(facts.state.device_ids(*facts.model, read_row),
                machine.state.device_ids(machine.model, row), "free devices");
  }
}

void expect_same_memory(const Machine& machine, const NodeFacts& facts) {
  for (uint32_t row = 0; row < machine.model.memory.size(); ++row) {
    const MemoryType& type = machine.model.memory[row];
    const uint32_t read_row = facts.model->memory_row(type.resource);
    ASSERT_NE(read_row, kNoResourceRow);
    EXPECT_EQ(facts.model->memory[read_row].allocatable, type.allocatable);
    expect_same(facts.state.memory(*facts.model, read_row),
                machine.state.memory(machine.model, row), "free memory");
  }
  ASSERT_TRUE(facts.state.knows_groups());
  for (uint32_t column = 0; column < machine.model.zones(); ++column) {
    EXPECT_EQ(facts.state.assignments(*facts.model, column),
              machine.state.assignments(machine.model, column));
    EXPECT_EQ(facts.state.group(*facts.model, column), machine.state.group(machine.model, column));
  }
}

void expect_same(const Machine& machine, const NodeFacts& facts, bool with_ids) {
  for (const std::string& problem : facts.problems) ADD_FAILURE() << problem;
  EXPECT_EQ(facts.model->zone_ids, machine.model.zone_ids);
  EXPECT_EQ(facts.model->distances, machine.model.distances);
  EXPECT_EQ(facts.model->managers, machine.model.managers);
  ASSERT_TRUE(facts.model->layout);
  expect_same_layout(*facts.model->layout, *machine.model.layout);
  EXPECT_TRUE(facts.model->reserved == machine.model.reserved);
  if (machine.model.cpu_static) {
    EXPECT_TRUE(facts.state.knows_cpus());
    EXPECT_TRUE(facts.state.cpu_ids(*facts.model) == machine.state.cpu_ids(machine.model));
    expect_same(facts.state.cpu(*facts.model), machine.state.cpu(machine.model), "free CPUs");
  }
  if (machine.model.memory_static) expect_same_memory(machine, facts);
  expect_same_devices(machine, facts, with_ids);
}

TEST(Facts, RandomMachinesComeBackAsTheyWere) {
  std::mt19937 random(test::test_seed());
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    Resources resources;
    const Machine machine = random_machine(random_spec(random), resources, random);
    const Report report = report_of(machine, resources);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + report.machine + report.free);
    expect_same(machine, FactsReader(resources.intern()).read(parsed(report)),
                expect_ids(machine, report));
  }
}

// By resource, since rows of a model that is read may come in another order.
std::map<uint32_t, std::vector<uint64_t>> devices_of(const Allocation& held) {
  std::map<uint32_t, std::vector<uint64_t>> devices;
  for (const DeviceGrant& grant : held.devices) {
    const bool any =
        std::any_of(grant.ids.begin(), grant.ids.end(), [](auto word) { return word != 0; });
    if (any) devices[grant.resource] = grant.ids;
  }
  return devices;
}

std::multiset<std::tuple<uint32_t, bool, ZoneMask, int64_t>> blocks_of(const Allocation& held) {
  std::multiset<std::tuple<uint32_t, bool, ZoneMask, int64_t>> blocks;
  for (const Allocation::Block& each : held.blocks) {
    if (each.block.bytes == 0) continue;
    blocks.emplace(each.block.resource, each.init, each.block.zones, each.block.bytes);
  }
  return blocks;
}

TEST(Facts, PodsComeBackWithWhatTheyHold) {
  std::mt19937 random(test::test_seed());
  size_t pods = 0;
  for (int round = 0; round < 200 && !::testing::Test::HasFailure(); ++round) {
    Resources resources;
    MachineSpec spec = random_spec(random);
    spec.hybrid = false;
    Machine machine;
    do {  // where cores or sockets differ in size a kubelet may give one CPU to two pods
      machine = random_machine(spec, resources, random);
    } while (!machine.model.layout->even());
    Scratch scratch;
    std::vector<PodHolding> holdings;
    for (int i = 0; i < 8; ++i) {
      const PodDemand pod = random_pod(machine.model, random, false);
      const Admission given = admit(machine.model, machine.state, pod, scratch);
      const std::string uid = "uid-" + std::to_string(i);
      if (given.admitted() && !given.allocation.empty())
        holdings.push_back({uid, given.allocation});
    }
    Report report = report_of(machine, resources);
    report.free = encode_free(machine.model, machine.state, resources.name_of(), report.machine,
                              machine.zones, &holdings);
    SCOPED_TRACE("round " + std::to_string(round) + "\n" + report.machine + report.free);
    const NodeFacts facts = FactsReader(resources.intern()).read(parsed(report));
    for (const std::string& problem : facts.problems) ADD_FAILURE() << problem;
    if (report.free.empty()) continue;
    ASSERT_TRUE(facts.pods);
    for (size_t i = 0; i < facts.pods->size(); ++i, ++pods) {
      const auto written = std::find_if(holdings.begin(), holdings.end(), [&](const auto& each) {
        return each.uid == facts.pods->uid(i);
      });
      ASSERT_NE(written, holdings.end());
      const Allocation& held = written->held;
      const Allocation read = facts.pods->held(*facts.model, i);
      EXPECT_TRUE(read.cpu_ids == held.cpu_ids);
      EXPECT_EQ(devices_of(read), devices_of(held));
      EXPECT_EQ(blocks_of(read), blocks_of(held));
      const auto of_init = [](const Allocation::Block& each) { return each.init; };
      EXPECT_EQ(facts.pods->holds_for_init(i),
                std::any_of(read.blocks.begin(), read.blocks.end(), of_init));
      // What is freed is the same, too.
      NodeState one = machine.state;
      NodeState other = facts.state;
      release(machine.model, one, held);
      release(*facts.model, other, read);
      EXPECT_TRUE(!facts.state.knows_cpus() ||
                  one.cpu_ids(machine.model) == other.cpu_ids(*facts.model));
    }
  }
  EXPECT_GT(pods, 100U);
}

TEST(Facts, ThePodsOfAFullNodeTakeLessThan16KiB) {
  std::mt19937 random(test::test_seed());
  Resources resources;
  MachineSpec spec{.zones = 8, .cores_per_zone = 32, .threads = 2};
  spec.devices = 250;
  Machine machine;
  do {
    machine = random_machine(spec, resources, random);
  } while (!machine.model.cpu_static || !machine.model.memory_static);
  const NodeModel& model = machine.model;
  std::vector<PodHolding> pods;
  for (uint32_t i = 0; i < 250; ++i) {
    PodHolding pod;
    char uid[40];
    std::snprintf(uid, sizeof uid, "6f1c0a8e-3c1d-4f0e-9a53-0d6f2b7c%04x", i);
    pod.uid = uid;
    pod.held.cpu_ids.add(i);
    pod.held.cpu_ids.add(i + 256);
    pod.held.known_cpu_ids = true;
    pod.held.blocks.push_back(
        {0, false, {kMemoryResource, model.memory_row(kMemoryResource), 1, int64_t{48} << 30}});
    DeviceGrant grant;
    grant.ids.resize(4);
    grant.ids[i / 64] = uint64_t{1} << (i % 64);
    pod.held.devices.push_back(std::move(grant));
    pods.push_back(std::move(pod));
  }
  const std::string with = encode_free(model, machine.state, resources.name_of(), "", {}, &pods);
  const std::string without = encode_free(model, machine.state, resources.name_of(), "", {});
  EXPECT_LE(with.size() - without.size(), 16U << 10) << with;
  EXPECT_NE(with.find("0d6f2b7c00f9 c=249,505 m=0:48Gi d0=249\n"), std::string::npos) << with;
}

size_t size_of(const Report& report) {
  size_t size = report.machine.size() + report.free.size() + kMachineAnnotation.size() +
                kFreeAnnotation.size();
  for (const NrtAttribute& attribute : report.attributes) {
    size += attribute.name.size() + attribute.value.size();
  }
  return size;
}

TEST(Facts, LargeMachinesStaySmall) {
  std::mt19937 random(test::test_seed());
  for (const Numbering numbering :
       {Numbering::kSiblingsLast, Numbering::kSiblingsTogether, Numbering::kShuffled}) {
    Resources resources;
    MachineSpec spec{.zones = 8, .cores_per_zone = 16, .threads = 2, .numbering = numbering};
    spec.devices = 8;  // of each of two resources
    Machine machine;
    do {  // its zones list everything
      machine = random_machine(spec, resources, random);
    } while (!machine.model.cpu_static || !machine.model.memory_static);
    machine.model.managers = {Policy::kRestricted,
                              Scope::kPod,
                              true,
                              16,
                              ManagerPolicy::kStatic,
                              {true, true, true, true, true, true},
                              ManagerPolicy::kStatic,
                              true};
    // Ids as long as a partition of a GPU has them.
    for (DeviceType& type : machine.model.devices) {
      for (Device& device : type.devices) {
        device.id = "MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/11/0";
      }
    }
    const Report report = report_of(machine, resources);
    RecordProperty("bytes_" + std::to_string(static_cast<int>(numbering)),
                   static_cast<int>(size_of(report)));
    EXPECT_LE(size_of(report), 8192U) << report.machine << report.free;
    EXPECT_NE(report.machine.find("MIG-GPU"), std::string::npos) << "ids belong into 8 KiB";
    EXPECT_TRUE(FactsReader(resources.intern()).read(parsed(report)).problems.empty());
  }
}

TEST(Facts, TooManyIdsBecomeNumbers) {
  std::mt19937 random(test::test_seed());
  Resources resources;
  MachineSpec spec;
  spec.devices = 2000;
  const Machine machine = random_machine(spec, resources, random);
  const Report report = report_of(machine, resources);
  EXPECT_EQ(report.machine.find("gpu-0"), std::string::npos);
  const NodeFacts facts = FactsReader(resources.intern()).read(parsed(report));
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  const uint32_t row = facts.model->device_row(resources.index("example.com/gpu"));
  ASSERT_EQ(facts.model->devices[row].devices.size(), 2000U);
  EXPECT_EQ(facts.model->devices[row].devices[0].id, "");
  expect_same(facts.state.device_ids(*facts.model, row), machine.state.device_ids(machine.model, 0),
              "free devices");
}

// The example of docs/topology.md.
TEST(Facts, TextsAreReadable) {
  Resources resources;
  Machine machine;
  NodeModel& model = machine.model;
  model.zone_ids = {0, 1};
  model.managers.policy = Policy::kRestricted;
  model.managers.scope = Scope::kPod;
  model.managers.cpu = ManagerPolicy::kStatic;
  model.managers.cpu_options.full_pcpus_only = true;
  model.managers.memory = ManagerPolicy::kStatic;
  std::vector<CpuPlace> places;
  for (uint32_t cpu = 0; cpu < 32; ++cpu) {
    places.push_back({cpu, cpu / 8 % 2, cpu / 8 % 2, cpu % 16, cpu / 4 % 4});
  }
  model.layout = std::make_shared<const CpuLayout>(places);
  model.reserved = *CpuSet::parse("0,16");
  model.memory = {{kMemoryResource, {33554432000, 34359738368}}};
  model.devices = {
      {resources.index("example.com/gpu"),
       {{"gpu-a", 1, true}, {"gpu-b", 1, true}, {"gpu-c", 2, true}, {"gpu-d", 2, false}},
       {}}};
  model.prepare();
  machine.state = NodeState(model);
  machine.state.set_cpu_ids(model, *CpuSet::parse("2-15,18-31"));
  model.managers.kubelet_minor = 37;
  machine.state.memory(model, 0)[0] = 29259464704;
  machine.state.memory(model, 0)[1] = 34359738368;
  machine.state.set_group(model, 0, 1, 1);
  machine.state.set_group(model, 1, 0, 2);
  const std::string gpu = "example.com/gpu";
  machine.zones = {{1,
                    {},
                    {{gpu, 1, 1, 1},
                     {"cpu", 16000, 16000, 16000},
                     {"memory", 34359738368, 34359738368, 34359738368}}},
                   {0,
                    {},
                    {{"memory", 34359738368, 33554432000, 29259464704},
                     {"cpu", 16000, 14000, 12000},
                     {gpu, 2, 2, 1}}}};
  const uint64_t free = 0b101;
  machine.state.set_device_ids(model, 0, {&free, 1});
  const Report report = report_of(machine, resources);
  std::string attributes;
  for (const NrtAttribute& each : report.attributes)
    attributes += each.name + "=" + each.value + "\n";
  EXPECT_EQ(attributes,
            "topologyManagerPolicy=restricted\n"
            "topologyManagerScope=pod\n"
            "cpuManagerPolicy=static\n"
            "cpuManagerPolicyOptions=full-pcpus-only=true\n"
            "memoryManagerPolicy=Static\n"
            "reservedCPUs=0,16\n"
            "kubeletVersion=v1.37\n");
  EXPECT_EQ(report.machine,
            "v1.0\n"
            "cpus 0/0/0 0-3+16-19\n"
            "cpus 0/0/1 4-7+20-23\n"
            "cpus 1/1/2 8-11+24-27\n"
            "cpus 1/1/3 12-15+28-31\n"
            "devices example.com/gpu 0:gpu-a,gpu-b 1:gpu-c 1!:gpu-d\n");
  EXPECT_EQ(report.free,
            "v1.0 machine=076a0002 zones=8985fbc1\n"
            "cpus 2-15,18-31\n"
            "zone 0 assignments=1 cells=0 memory=29259464704\n"
            "zone 1 assignments=0 cells=1 memory=34359738368\n"
            "devices example.com/gpu 0,2\n");
  const NodeFacts facts = FactsReader(resources.intern()).read(parsed(report));
  EXPECT_TRUE(facts.problems.empty()) << facts.problems.front();
  EXPECT_EQ(facts.state.cpu_ids(*facts.model).text(), "2-15,18-31");
}

TEST(Facts, NodesOfOneKindShareAModel) {
  std::mt19937 random(test::test_seed());
  Resources resources;
  Machine machine = random_machine({.zones = 8, .cores_per_zone = 16}, resources, random);
  const Report first = report_of(machine, resources);
  FactsReader reader(resources.intern());
  std::vector<NodeFacts> nodes;
  nodes.push_back(reader.read(parsed(first)));
  for (NrtZone& zone : machine.zones) {
    for (ZoneResource& resource : zone.resources) resource.available = resource.allocatable;
  }
  const NrtObject second = parsed(report_of(machine, resources));
  for (int i = 0; i < 1000; ++i) nodes.push_back(reader.read(second));
  for (const NodeFacts& node : nodes) EXPECT_EQ(node.model, nodes[0].model);
  EXPECT_EQ(reader.models(), 1U);

  Report other = first;
  other.attributes.push_back({"cpuManagerPolicyOptions", "align-by-socket=true"});
  EXPECT_NE(reader.read(parsed(other)).model, nodes[0].model);
  nodes.clear();
  EXPECT_EQ(reader.models(), 0U);
}

// Problems of the fixed part come with every report, not only with the first.
TEST(Facts, ProblemsOfASharedModelAreRepeated) {
  std::mt19937 random(test::test_seed());
  Resources resources;
  Report report = report_of(random_machine({}, resources, random), resources);
  report.attributes.push_back({"memoryManagerPolicy", "sometimes"});
  FactsReader reader(resources.intern());
  const NodeFacts first = reader.read(parsed(report));
  const NodeFacts second = reader.read(parsed(report));
  ASSERT_EQ(first.problems.size(), 1U);
  EXPECT_EQ(second.problems, first.problems);
  EXPECT_EQ(second.model, first.model);
}

}  // namespace
}  // namespace plimsoll::topology::kubelet
