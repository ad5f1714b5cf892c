#pragma once
// Device objects for tests, and short ways to ask for devices.

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugins/nodedevice/allocation/allocator.hpp"
#include "plugins/nodedevice/devices/device_object.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"

namespace plimsoll::devices::test {

using Json = nlohmann::json;
using Ask = std::vector<std::pair<std::string, int64_t>>;

inline const DeviceTypes& types() {
  return DeviceTypes::standard();
}

// Views of the names in `ask`, which outlives them.
inline std::vector<ResourceQuantity> quantities(const Ask& ask) {
  std::vector<ResourceQuantity> out;
  for (const auto& [name, value] : ask) out.push_back({name, value});
  return out;
}

inline Json gpu(int minor, const std::string& memory, int numa = -1, const std::string& pcie = "",
                bool healthy = true) {
  Json device = {{"type", "gpu"},
                 {"id", "GPU-" + std::to_string(minor)},
                 {"minor", minor},
                 {"health", healthy},
                 {"resources",
                  {{"koordinator.sh/gpu-core", "100"},
                   {"koordinator.sh/gpu-memory", memory},
                   {"koordinator.sh/gpu-memory-ratio", "100"}}}};
  if (!pcie.empty()) device["topology"] = {{"socketID", -1}, {"nodeID", numa}, {"pcieID", pcie}};
  return device;
}

// With `vfs` virtual functions from function number 2 on, in one group {type: general}.
inline Json rdma(int minor, const std::string& bus, int numa, const std::string& pcie, int vfs) {
  Json functions = Json::array();
  for (int i = 0; i < vfs; ++i)
    functions.push_back({{"minor", i}, {"busID", bus + "." + std::to_string(i + 2)}});
  return {{"type", "rdma"},
          {"id", bus + ".0"},
          {"minor", minor},
          {"health", true},
          {"resources", {{"koordinator.sh/rdma", "100"}}},
          {"topology", {{"socketID", -1}, {"nodeID", numa}, {"pcieID", pcie}}},
          {"vfGroups", Json::array({{{"labels", {{"type", "general"}}}, {"vfs", functions}}})}};
}

inline Json device_object(const std::string& name, const std::vector<Json>& devices) {
  return {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "Device"},
          {"metadata", {{"name", name}}},
          {"spec", {{"devices", devices}}}};
}

// Eight GPUs, two on each PCIe id with one NIC: ids 0 and 1 on NUMA zone 0, 2 and 3 on zone 1.
inline Json fixture_a(const std::string& name = "node-1") {
  std::vector<Json> devices;
  for (int i = 0; i < 8; ++i) devices.push_back(gpu(i, "80Gi", i / 4, std::to_string(i / 2)));
  const char* buses[] = {"0000:1f:00", "0000:3f:00", "0000:51:00", "0000:b8:00"};
  for (int i = 0; i < 4; ++i) devices.push_back(rdma(i + 1, buses[i], i / 2, std::to_string(i), 6));
  return device_object(name, devices);
}

inline NodeState node_of(const Json& object) {
  auto parsed = parse_device_object(types(), object.dump());
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error());
  NodeState node;
  node.name = object["metadata"]["name"];
  if (parsed) node.set_object(std::make_shared<const NodeDevices>(*std::move(parsed)));
  return node;
}

inline PodDemand demand_of(const Ask& ask, const std::string& hint = "",
                           const std::string& joint = "", const std::string& partition = "") {
  auto request = parse_device_request(types(), quantities(ask));
  auto hints = parse_device_hints(types(), hint, joint, partition);
  EXPECT_TRUE(request.has_value()) << (request ? "" : request.error());
  EXPECT_TRUE(hints.has_value()) << (hints ? "" : hints.error());
  if (!request || !hints) return {};
  return {*std::move(request), *std::move(hints)};
}

inline DeviceShare share(const std::string& type, int minor, const Ask& amounts) {
  DeviceShare out;
  out.type = types().find_type(type);
  out.minor = minor;
  for (const auto& [name, value] : amounts)
    out.amounts.set(types().find_dim(out.type, name), value);
  return out;
}

// As a pod is given it that asks for nvidia.com/gpu.
inline DeviceShare whole_gpu(int minor, int64_t memory = int64_t{80} << 30) {
  DeviceShare whole = share("gpu", minor,
                            {{"koordinator.sh/gpu-core", 100},
                             {"koordinator.sh/gpu-memory", memory},
                             {"koordinator.sh/gpu-memory-ratio", 100}});
  whole.follows = 1U << types().type(whole.type).memory_dim;
  return whole;
}

// "gpu 0 1; rdma 1(0000:1f:00.2)", or the reason of the refusal.
inline std::string outcome(const NodeState& node, const PodDemand& demand,
                           const NodeLabels& labels = {}, const Scorer* scorer = nullptr) {
  Allocation allocation;
  const Allocator allocator(types(), scorer);
  const Verdict verdict = allocator.allocate(node, labels, demand, allocation);
  EXPECT_EQ(verdict, allocator.check(node, labels, demand)) << "check and allocate disagree";
  if (!verdict.fits())
    return reason_text(types(), verdict.reason, verdict.type) +
           (verdict.unresolvable ? " (unresolvable)" : "");
  std::string text;
  int last = -1;
  for (const DeviceShare& given : allocation) {
    if (given.type != last) text += (text.empty() ? "" : "; ") + types().type(given.type).name;
    last = given.type;
    text += " " + std::to_string(given.minor);
    for (const VirtualFunction& vf : given.vfs) text += "(" + vf.bus_id + ")";
  }
  return text;
}

}  // namespace plimsoll::devices::test
