#include "bench/topology/cluster.hpp"

#include <cstdlib>
#include <iostream>

#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::bench {
namespace {

using topology::Policy;
using topology::Scope;
namespace kubelet = topology::kubelet;

constexpr const char* kHugepages = "hugepages-2Mi";
constexpr const char* kDevice = "example.com/gpu";
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr size_t kDistinct = 64;  // 3 * kDistinct different pods fill the nodes
constexpr size_t kAsked = 16;     // measured pods of each kind

struct Amounts {
  int64_t cpus = 0;
  int64_t memory_mib = 0;
  int64_t hugepages_mib = 0;  // even
  int64_t devices = 0;
};

std::string container(const std::string& name, const Amounts& asks, bool sidecar = false) {
  std::string amounts = R"("cpu":")" + std::to_string(asks.cpus) + R"(","memory":")" +
                        std::to_string(asks.memory_mib) + "Mi\"";
  if (asks.hugepages_mib > 0) {
    amounts += R"(,"hugepages-2Mi":")" + std::to_string(asks.hugepages_mib) + "Mi\"";
  }
  if (asks.devices > 0) {
    amounts += ",\"" + std::string(kDevice) + "\":\"" + std::to_string(asks.devices) + "\"";
  }
  return R"({"name":")" + name + R"(","image":"i","resources":{"requests":{)" + amounts +
         "},\"limits\":{" + amounts + "}}" + (sidecar ? R"(,"restartPolicy":"Always"})" : "}");
}

int64_t between(std::mt19937& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

Amounts some_of_all(std::mt19937& random) {
  return {between(random, 1, 16), between(random, 1024, 32 * 1024), 2 * between(random, 64, 1024),
          between(random, 1, 2)};
}

std::string apps(const std::string& list) {
  return R"("containers":[)" + list + "]";
}

// Sockets of four zones, cores of two threads, caches of eight cores.
std::shared_ptr<const kubelet::CpuLayout> layout_of(uint32_t cores_per_zone) {
  std::vector<kubelet::CpuPlace> places;
  const uint32_t cores = cores_per_zone * kZones;
  for (uint32_t cpu = 0; cpu < 2 * cores; ++cpu) {
    const uint32_t core = cpu % cores;
    const uint32_t zone = core / cores_per_zone;
    places.push_back({cpu, zone, zone / 4, core, core / 8});
  }
  return std::make_shared<const kubelet::CpuLayout>(places);
}

// 256, 192 or 128 CPUs, 16 devices.
kubelet::NodeModel machine(size_t type, Policy policy, Scope scope, SymbolTable& symbols) {
  const auto cores_per_zone = static_cast<uint32_t>(type % 3 == 0 ? 16 : type % 3 == 1 ? 12 : 8);
  kubelet::NodeModel model;
  model.managers.policy = policy;
  model.managers.scope = scope;
  model.managers.cpu = model.managers.memory = kubelet::ManagerPolicy::kStatic;
  model.layout = layout_of(cores_per_zone);
  model.reserved.emplace();
  model.reserved->add(0);
  model.reserved->add(cores_per_zone * kZones);
  kubelet::DeviceType devices;
  devices.resource = symbols.resource_index(kDevice);
  for (uint32_t zone = 0; zone < kZones; ++zone) {
    model.zone_ids.push_back(zone);
    for (uint32_t other = 0; other < kZones; ++other) {
      model.distances.push_back(zone == other ? 10 : zone / 4 == other / 4 ? 12 : 32);
    }
    for (int i = 0; i < 2; ++i) {
      const std::string number = std::to_string(100 + 2 * zone + i);
      devices.devices.push_back(
          {"GPU-5fd2a6c4-" + number + "-4d1e-9f0b-0c8f3a7e6" + number, uint64_t{1} << zone, true});
    }
  }
  const int64_t memory = (cores_per_zone * 8 - 2) * kGiB;
  model.memory.push_back({symbols.resource_index("memory"), {}});
  model.memory.push_back({symbols.resource_index(kHugepages), {}});
  // `type` makes models differ in a few bytes, like machines whose firmware reserves some memory.
  model.memory[0].allocatable.assign(kZones, memory - static_cast<int64_t>(type / 3) * 4096);
  model.memory[1].allocatable.assign(kZones, 8 * kGiB);
  model.devices.push_back(std::move(devices));
  model.prepare();
  return model;
}

kubelet::NodeState empty_state(const kubelet::NodeModel& model) {
  kubelet::NodeState state(model);
  state.set_cpu_ids(model, model.layout->all() - *model.reserved);
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    const auto& amounts = model.memory[row].allocatable;
    std::copy(amounts.begin(), amounts.end(), state.memory(model, row).begin());
  }
  for (uint32_t zone = 0; zone < kZones; ++zone) {
    state.set_group(model, zone, 0, uint64_t{1} << zone);
  }
  state.set_device_ids(model, 0, model.device_facts[0].healthy);
  return state;
}

int64_t free_cpus(const kubelet::NodeModel& model, const kubelet::NodeState& state) {
  int64_t sum = 0;
  for (const int64_t each : state.cpu(model)) sum += each;
  return sum;
}

// What resource-topology-exporter would list.
std::vector<topology::NrtZone> zones_of(const kubelet::NodeModel& model,
                                        const kubelet::NodeState& state) {
  std::vector<topology::NrtZone> zones;
  for (uint32_t zone = 0; zone < kZones; ++zone) {
    topology::NrtZone& made = zones.emplace_back();
    made.id = zone;
    for (uint32_t other = 0; other < kZones; ++other) {
      made.costs.push_back({other, model.distance(zone, other)});
    }
    const int64_t cpus = model.cpu_totals[zone] * 1000;
    made.resources.push_back(
        {"cpu", cpus, zone == 0 ? cpus - 2000 : cpus, state.cpu(model)[zone] * 1000});
    const int64_t memory = model.memory[0].allocatable[zone];
    made.resources.push_back({"memory", memory + 2 * kGiB, memory, state.memory(model, 0)[zone]});
    const int64_t pages = model.memory[1].allocatable[zone];
    made.resources.push_back({kHugepages, pages, pages, state.memory(model, 1)[zone]});
    made.resources.push_back({kDevice, 2, 2, state.devices(model, 0)[zone]});
  }
  return zones;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\\n") : std::string(1, c);
  return out;
}

std::string zone_json(const topology::NrtZone& zone) {
  std::string json = R"({"name":"node-)" + std::to_string(zone.id) + R"(","type":"Node","costs":[)";
  for (const topology::ZoneCost& cost : zone.costs) {
    json += (json.back() == '[' ? "" : ",") + (R"({"name":"node-)" + std::to_string(cost.zone_id)) +
            R"(","value":)" + std::to_string(cost.value) + "}";
  }
  json += R"(],"resources":[)";
  for (const topology::ZoneResource& resource : zone.resources) {
    const char* unit = resource.name == "cpu" ? "m" : "";
    const auto amount = [&](int64_t value) { return std::to_string(value) + unit; };
    json += (json.back() == '[' ? "" : ",") + (R"({"name":")" + resource.name) +
            R"(","capacity":")" + amount(resource.capacity) + R"(","allocatable":")" +
            amount(resource.allocatable) + R"(","available":")" + amount(resource.available) +
            "\"}";
  }
  return json + "]}";
}

}  // namespace

void give_up(const std::string& why) {
  std::cerr << "topology: " << why << "\n";
  std::exit(1);
}

Pods::Pods() {
  for (const char* name : {kHugepages, kDevice}) {
    // Plugins get the position from the host, pods from their decoder; both must agree.
    if (symbols_.resource_index(name) != sdk::fake_resource_index(name)) {
      give_up(std::string(name) + " has two numbers");
    }
  }
  std::mt19937 random(7);
  for (size_t i = 0; i < kAsked; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    const Amounts all = some_of_all(random);
    plain_.push_back(decode(name, apps(container("c0", all))));
    two_resources_.push_back(decode(name, apps(container("c0", {all.cpus, all.memory_mib, 0, 0}))));
    std::string part[4];
    for (int c = 0; c < 4; ++c) {
      Amounts amounts = some_of_all(random);
      amounts.cpus = (amounts.cpus + 1) / 2;
      amounts.memory_mib /= 4;
      amounts.hugepages_mib = amounts.hugepages_mib / 8 * 2;
      amounts.devices = 1;
      part[c] = container("c" + std::to_string(c), amounts, c == 1);
    }
    four_.push_back(decode(name, R"("initContainers":[)" + part[0] + "," + part[1] + "]," +
                                     apps(part[2] + "," + part[3])));
    ordinary_.push_back(
        decode(name, R"("containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":")" +
                         std::to_string(between(random, 100, 3900)) + R"(m"}}}])"));
  }
  for (size_t i = 0; i < 3 * kDistinct; ++i) {
    Amounts amounts = some_of_all(random);
    amounts.memory_mib /= 2;
    if (i % 3 != 0) amounts.devices = 0;
    if (i % 2 != 0) amounts.hugepages_mib = 0;
    containers_.push_back(apps(container("c0", amounts)));
    filling_.emplace_back(*decode("filling", containers_.back()));
  }
}

PodRef Pods::named(const std::string& name, size_t like, const std::string& node,
                   uint64_t version) {
  return decode(name, containers_[like % containers_.size()], node, version);
}

PodRef Pods::decode(const std::string& name, const std::string& containers, const std::string& node,
                    uint64_t version) {
  std::string json = R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"uid-)" +
                     name + R"(","resourceVersion":")" + std::to_string(version) +
                     R"("},"spec":{)" + containers;
  if (!node.empty()) json += R"(,"nodeName":")" + node + "\"";
  auto pod = decode_pod(json + "}}", symbols_);
  if (!pod) give_up(pod.error().message);
  return *pod;
}

Cluster::Cluster(Pods& pods, const ClusterSpec& spec) : pods_(pods), spec_(spec) {
  nodes_.reserve(spec.nodes);
  for (size_t i = 0; i < spec.nodes; ++i) add(i);
  for (sdk::FakeNode& info : infos_) rows_.push_back(&info.get());
  all_.size = sizeof all_;
  all_.count = static_cast<uint32_t>(rows_.size());
  all_.rows = rows_.data();
  host_.now = 1'767'225'600'000;
}

void Cluster::add(size_t number) {
  Node& node = nodes_.emplace_back();
  node.name = "node-" + std::to_string(number);
  const Policy policy = spec_.policy.value_or(static_cast<Policy>(number % 4));
  const Scope scope = spec_.scope.value_or(static_cast<Scope>(number / 4 % 2));
  const size_t type = number / 8 % 3 + (spec_.alone ? 3 * number : 0);
  const kubelet::NodeModel model = machine(type, policy, scope, pods_.symbols());
  kubelet::NodeState state = empty_state(model);
  const int64_t enough = free_cpus(model, state) * between(random_, 5, 70) / 100;
  for (int refused = 0; refused < 4 && free_cpus(model, state) > enough;) {
    const auto like = static_cast<size_t>(between(random_, 0, 3 * kDistinct - 1));
    const bool taken = kubelet::admit(model, state, pods_.filling()[like], scratch_).admitted();
    if (!taken) ++refused;
    if (!taken || !spec_.pods) continue;
    const std::string name = node.name + "-" + std::to_string(node.pods.size());
    node.pods.push_back(pods_.named(name, like, node.name, 1'000 + number));
  }
  for (const bool more : {false, true}) {
    node.reports[more ? 1 : 0] = report_json(model, state, node, more);
    // Admits a pod that the plugins do not know.
    static_cast<void>(kubelet::admit(model, state, pods_.filling()[number % kDistinct], scratch_));
  }
  sdk::FakeNode& info = infos_.emplace_back(node.name, static_cast<uint32_t>(number));
  int64_t cpus = 0;
  for (const int64_t total : model.cpu_totals) cpus += total * 1000;
  info.allocatable("cpu", cpus).allocatable("memory", 8 * model.memory[0].allocatable[0]);
}

std::string Cluster::report_json(const kubelet::NodeModel& model, const kubelet::NodeState& state,
                                 const Node& node, bool more) {
  const std::vector<topology::NrtZone> zones = zones_of(model, state);
  std::string json = R"({"metadata":{"name":")" + node.name + R"(","resourceVersion":")" +
                     (more ? "2" : "1") + "\"";
  std::vector<topology::NrtAttribute> attributes;
  if (spec_.facts) {
    const auto name_of = [this](uint32_t index) { return pods_.symbols().resource_name(index); };
    const std::string machine_text = kubelet::encode_machine(model, name_of);
    const std::string free_text = kubelet::encode_free(model, state, name_of, machine_text, zones);
    facts_bytes_ = std::max(facts_bytes_, machine_text.size() + free_text.size());
    json += R"(,"annotations":{")" + std::string(topology::kMachineAnnotation) + R"(":")" +
            escaped(machine_text) + R"(",")" + std::string(topology::kFreeAnnotation) + R"(":")" +
            escaped(free_text) + "\"}";
    attributes = kubelet::encode_settings(model);
  } else {
    attributes = {{"topologyManagerPolicy", std::string(to_string(model.managers.policy))},
                  {"topologyManagerScope", std::string(to_string(model.managers.scope))}};
  }
  if (spec_.pods) {
    std::vector<uint64_t> hashes;
    for (const PodRef& pod : node.pods) {
      hashes.push_back(topology::pod_hash(sdk::view(pod->meta.ns), sdk::view(pod->meta.name)));
    }
    attributes.push_back({"nodeTopologyPodsFingerprint",
                          topology::fingerprint_text(topology::fingerprint_sum(hashes))});
  }
  json += R"(},"attributes":[)";
  for (const topology::NrtAttribute& each : attributes) {
    json += (json.back() == '[' ? "" : ",") + (R"({"name":")" + each.name) + R"(","value":")" +
            each.value + "\"}";
  }
  json += R"(],"zones":[)";
  for (const topology::NrtZone& zone : zones) {
    json += (json.back() == '[' ? "" : ",") + zone_json(zone);
  }
  return json + "]}";
}

void Cluster::tell(topology::NodeResourceTopologyMatch& plugin) {
  for (const plimsoll_node_info* row : rows_) {
    plugin.node_event(sdk::NodeEvent::kAdded, sdk::Node(row), 0);
  }
  for (const Node& node : nodes_) {
    for (const PodRef& pod : node.pods) {
      plugin.pod_event(sdk::PodEvent::kAssigned, sdk::Pod(pod.get()), node.name);
    }
  }
  for (const Node& node : nodes_) {
    plugin.object_event(
        {sdk::ObjectEvent::kUpsert, topology::kNrtResource, node.name, "", node.reports[0]});
  }
  host_.touched.clear();
}

size_t Cluster::pod_count() const {
  size_t count = 0;
  for (const Node& node : nodes_) count += node.pods.size();
  return count;
}

}  // namespace plimsoll::bench
