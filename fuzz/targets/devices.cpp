// Device objects, and the annotations of pods and nodes for devices.

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/allocation/allocator.hpp"

#include "fuzz/target.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"

namespace plimsoll::fuzz {
namespace {

using namespace devices;

const DeviceTypes& types() {
  return DeviceTypes::standard();
}

constexpr const char* kNode = "n1";
constexpr std::string_view kDevice = R"({"metadata": {"name": "n1",
  "annotations": {"scheduling.koordinator.sh/gpu-partitions":
    "{\"2\":[{\"minors\":[0,1],\"gpuLinkType\":\"NVLink\",\"ringBusBandwidth\":\"400Gi\",\"allocationScore\":1}]}"}},
  "spec": {"devices": [
    {"type": "gpu", "id": "GPU-0", "minor": 0, "health": true, "topology": {"socketID": 0, "nodeID": 0, "pcieID": "a"},
     "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}},
    {"type": "gpu", "id": "GPU-1", "minor": 1, "health": true, "topology": {"socketID": 0, "nodeID": 0, "pcieID": "a"},
     "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}},
    {"type": "rdma", "id": "0000:1f:00.0", "minor": 1, "health": true, "topology": {"socketID": 0, "nodeID": 0, "pcieID": "a"},
     "resources": {"koordinator.sh/rdma": "100"},
     "vfGroups": [{"labels": {"type": "general"}, "vfs": [{"minor": 0, "busID": "0000:1f:00.2"}]}]}]}})";

// Calls every function that describes the node as text.
void look_at(const Accounts& accounts) {
  (void)test::accounts_text(accounts);
  (void)accounts_json(accounts);
  if (const NodeState* node = accounts.find(kNode)) (void)explain_doubts(accounts, *node, ~0U);
}

// Allocates all free devices to pods, and releases them.
void allocate_all(Accounts& accounts, const DeviceHints& hints) {
  static const std::vector<std::vector<ResourceQuantity>> kAsks = {
      {{"nvidia.com/gpu", 1}},
      {{"nvidia.com/gpu", 2}},
      {{"koordinator.sh/gpu", 30}},
      {{"koordinator.sh/gpu-core", 10}, {"koordinator.sh/gpu-memory", int64_t{1} << 30}},
      {{"koordinator.sh/rdma", 100}, {"nvidia.com/gpu", 1}}};
  const Scorer scorer(types(), Strategy::kMostAllocated, Scorer::default_weights());
  const Allocator allocator(types(), &scorer);
  const std::string before = test::accounts_text(accounts);
  std::vector<std::string> uids;
  for (const auto& ask : kAsks) {
    const NodeState* node = accounts.find(kNode);
    if (node == nullptr) break;
    const PodDemand demand{parse_device_request(types(), ask).value(), hints};
    Allocation allocation;
    const Verdict verdict = allocator.allocate(*node, {}, demand, allocation);
    require(verdict == allocator.check(*node, {}, demand), "check says what allocate does");
    if (!verdict.fits()) continue;
    require(!allocation.empty(), "who fits gets something");
    const auto read = read_allocation(types(), write_allocation(types(), allocation, *node));
    require(read.problems.empty() && read.shares.size() == allocation.size(),
            "what is written is read");
    uids.push_back("pod-" + std::to_string(uids.size()));
    accounts.reserve(uids.back(), kNode, allocation);
  }
  look_at(accounts);
  for (const std::string& uid : uids) accounts.unreserve(uid);
  require(test::accounts_text(accounts) == before, "what is given back is free again");
}

Accounts accounts_of(std::string_view device) {
  Accounts accounts(types(), [](uint32_t) {});
  accounts.node_added(kNode, 0);
  for (const std::string& problem : accounts.device_changed(kNode, device)) {
    require(!problem.empty(), "a problem says something");
  }
  return accounts;
}

}  // namespace

void device_object(std::string_view input) {
  const auto parsed = parse_device_object(types(), input);
  if (!parsed) require(!parsed.error().empty(), "an error says something");
  Accounts accounts = accounts_of(input);
  look_at(accounts);
  allocate_all(accounts, {});
  accounts.device_deleted(kNode);
  look_at(accounts);
}

// The devices of a pod according to its annotation, on a node with other pods.
void allocation(std::string_view input) {
  static const std::vector<ResourceQuantity> kWhole = {{"nvidia.com/gpu", 1},
                                                       {"koordinator.sh/rdma", 100}};
  Accounts accounts = accounts_of(kDevice);
  const std::string before = test::accounts_text(accounts);
  const auto problems = accounts.pod_assigned({"u1", kNode, input, kWhole, "ns/p1"});
  for (const std::string& problem : problems.unreadable) {
    require(!problem.empty(), "a problem says something");
  }
  const std::string once = test::accounts_text(accounts);
  (void)accounts.pod_assigned({"u1", kNode, input, kWhole, "ns/p1"});
  require(test::accounts_text(accounts) == once, "a pod that is seen twice counts once");
  allocate_all(accounts, {});
  (void)accounts.pod_assigned({"u2", kNode, input, kWhole, "ns/p2"});
  look_at(accounts);
  accounts.pod_removed("u1");
  accounts.pod_removed("u2");
  require(test::accounts_text(accounts) == before, "a pod that is gone leaves nothing");
}

// Links between the devices of a node.
void device_links(std::string_view input) {
  Accounts accounts = accounts_of(kDevice);
  (void)accounts.node_links(kNode, input);
  allocate_all(accounts, {});
  look_at(accounts);
}

// How the devices of a pod are to be chosen.
void device_hints(std::string_view input) {
  const std::string_view hint = take_part(input);
  const std::string_view joint = take_part(input);
  const auto hints = parse_device_hints(types(), hint, joint, take_part(input));
  if (!hints) return require(!hints.error().empty(), "an error says something");
  Accounts accounts = accounts_of(kDevice);
  allocate_all(accounts, *hints);
}

}  // namespace plimsoll::fuzz
