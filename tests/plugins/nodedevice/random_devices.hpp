#pragma once
// Nodes and demands at random: few devices, much in use, every kind of hint.

#include <random>
#include <string>
#include <vector>

#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices::test {

class Dice {
 public:
  explicit Dice(uint32_t seed) : random_(seed) {}

  int pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }
  bool flip() { return pick(2) == 0; }
  template <size_t N>
  const char* one_of(const char* const (&texts)[N]) {
    return texts[pick(static_cast<int>(N))];
  }

 private:
  std::mt19937 random_;
};

inline Json random_object(Dice& dice) {
  std::vector<Json> devices;
  const int gpus = dice.pick(9);
  const bool has_tree = dice.pick(3) != 0;
  for (int i = 0; i < gpus; ++i) {
    const std::string pcie = has_tree ? std::to_string(dice.pick(4)) : "";
    devices.push_back(gpu(i, "16Gi", dice.pick(2), pcie, dice.pick(8) != 0));
  }
  const int nics = dice.pick(5);
  for (int i = 0; i < nics; ++i)
    devices.push_back(rdma(i, "0000:" + std::to_string(10 + i) + ":00", dice.pick(2),
                           std::to_string(dice.pick(4)), dice.pick(3)));
  Json object = device_object("n", devices);
  if (dice.pick(4) == 0)
    object["metadata"]["annotations"]["scheduling.koordinator.sh/gpu-partitions"] =
        R"({"1":[{"minors":[0]},{"minors":[1],"allocationScore":2}],"2":[{"minors":[2,3]}]})";
  return object;
}

// Shares that pods before have: any part of any device.
inline void use_some(Dice& dice, NodeState& node) {
  for (const char* name : {"gpu", "rdma"}) {
    const int type = types().find_type(name);
    std::vector<int32_t> minors;
    for (const DeviceState& device : node.type(type).devices)
      if (dice.pick(3) == 0) minors.push_back(device.minor);
    for (const int32_t minor : minors) {
      const int64_t part = 10 * (1 + dice.pick(10));
      const Ask amounts = type == 0 ? Ask{{"koordinator.sh/gpu-core", part},
                                          {"koordinator.sh/gpu-memory", part << 27},
                                          {"koordinator.sh/gpu-memory-ratio", part}}
                                    : Ask{{"koordinator.sh/rdma", part}};
      node.add({share(name, minor, amounts)});
    }
  }
  if (dice.pick(6) == 0) node.add_unknown(0, 1 + dice.pick(2));
}

inline Ask random_ask(Dice& dice) {
  Ask ask;
  switch (dice.pick(5)) {
    case 0:
      ask = {{"nvidia.com/gpu", 1 + dice.pick(4)}};
      break;
    case 1:
      ask = {{"koordinator.sh/gpu", 10 * (1 + dice.pick(10))}};
      break;
    case 2:
      ask = {{"koordinator.sh/gpu-memory", int64_t{1 + dice.pick(16)} << 30}};
      break;
    case 3:
      ask = {{"koordinator.sh/gpu.shared", 2},
             {"koordinator.sh/gpu-memory-ratio", 20 * (1 + dice.pick(8))}};
      break;
    default:
      break;
  }
  if (ask.empty() || dice.flip())
    ask.emplace_back("koordinator.sh/rdma", 10 * (1 + dice.pick(10)) * (dice.flip() ? 1 : 10));
  return ask;
}

inline PodDemand random_demand(Dice& dice) {
  const char* hint = dice.one_of({"", "", R"({"rdma":{"allocateStrategy":"ApplyForAll"}})",
                                  R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})",
                                  R"({"rdma":{"exclusivePolicy":"PCIeLevel"}})",
                                  R"({"rdma":{"vfSelector":{"matchLabels":{"type":"general"}}}})",
                                  R"({"gpu":{"requiredTopologyScope":"PCIe"}})",
                                  R"({"gpu":{"requiredTopologyScope":"NUMANode"}})"});
  const char* joint = dice.one_of({"", R"({"deviceTypes":["gpu","rdma"]})",
                                   R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})",
                                   R"({"deviceTypes":["rdma","gpu"]})",
                                   R"({"deviceTypes":["rdma","gpu"],"requiredScope":"SamePCIe"})"});
  const char* partition = dice.one_of({"", "", "", R"({"allocatePolicy":"Restricted"})"});
  return demand_of(random_ask(dice), hint, joint, partition);
}

}  // namespace plimsoll::devices::test
