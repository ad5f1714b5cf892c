#include "bench/devices/fleet.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace plimsoll::bench {
namespace {

using Json = nlohmann::json;

constexpr int kGpus = 8;
constexpr const char* kPrefix = "scheduling.koordinator.sh/";

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

int zone_of(int gpu) {
  return gpu / 4;
}
std::string pcie_of(int gpu) {
  return "pci0000:" + std::to_string(gpu / 2 + 1) + "0";
}

Json topology(int gpu) {
  return {{"socketID", -1}, {"nodeID", zone_of(gpu)}, {"pcieID", pcie_of(gpu)}};
}

std::string partition_table() {
  Json table = Json::object();
  for (int size : {1, 2, 4, 8}) {
    Json partitions = Json::array();
    for (int first = 0; first < kGpus; first += size) {
      Json minors = Json::array();
      for (int minor = first; minor < first + size; ++minor) minors.push_back(minor);
      partitions.push_back({{"minors", minors}, {"gpuLinkType", "NVLink"}, {"allocationScore", 1}});
    }
    table[std::to_string(size)] = partitions;
  }
  return table.dump();
}

int gpus_of(Ask ask) {
  switch (ask) {
    case Ask::kTwo:
    case Ask::kTwoWithNic:
    case Ask::kPartition2:
      return 2;
    case Ask::kFour:
    case Ask::kFourWithNics:
    case Ask::kPartition4:
      return 4;
    case Ask::kEight:
      return 8;
    default:
      return 1;
  }
}

}  // namespace

std::string_view name_of(Ask ask) {
  switch (ask) {
    case Ask::kPercent:
      return "share, percent";
    case Ask::kBytes:
      return "share, bytes";
    case Ask::kOne:
      return "1 GPU";
    case Ask::kTwo:
      return "2 GPUs";
    case Ask::kFour:
      return "4 GPUs";
    case Ask::kEight:
      return "8 GPUs";
    case Ask::kWithNic:
      return "1 GPU and its NIC";
    case Ask::kTwoWithNic:
      return "2 GPUs and their NIC";
    case Ask::kFourWithNics:
      return "4 GPUs and their NICs";
    case Ask::kPartition2:
      return "partition of 2";
    case Ask::kPartition4:
      return "partition of 4";
  }
  return {};
}

std::string_view name_of(Variety variety) {
  switch (variety) {
    case Variety::kIdentical:
      return "identical";
    case Variety::kDifferent:
      return "different";
    case Variety::kSelectors:
      return "different, selectors";
  }
  return {};
}

Ask next_ask(Dice& dice) {
  static constexpr std::pair<Ask, int> kMix[] = {
      {Ask::kPercent, 30},     {Ask::kBytes, 15},     {Ask::kOne, 20},      {Ask::kTwo, 8},
      {Ask::kFour, 5},         {Ask::kEight, 4},      {Ask::kWithNic, 5},   {Ask::kTwoWithNic, 3},
      {Ask::kFourWithNics, 2}, {Ask::kPartition2, 5}, {Ask::kPartition4, 3}};
  int64_t drawn = dice.roll(100);
  for (const auto& [ask, weight] : kMix) {
    if (drawn < weight) return ask;
    drawn -= weight;
  }
  return Ask::kOne;
}

std::string node_name(int node) {
  return "gpu-" + std::to_string(node);
}

NodeRef make_node(int node, SymbolTable& symbols) {
  const Json amounts = {{"cpu", "128"},
                        {"memory", "1Ti"},
                        {"pods", "250"},
                        {"koordinator.sh/gpu", "800"},
                        {"koordinator.sh/gpu-core", "800"},
                        {"koordinator.sh/gpu-memory", "640Gi"},
                        {"koordinator.sh/gpu-memory-ratio", "800"},
                        {"koordinator.sh/rdma", "400"}};
  const Json json = {{"metadata", {{"name", node_name(node)}}},
                     {"status", {{"capacity", amounts}, {"allocatable", amounts}}}};
  return value_or_throw(decode_node(json.dump(), symbols));
}

std::string device_json(int node) {
  Json devices = Json::array();
  for (int gpu = 0; gpu < kGpus; ++gpu)
    devices.push_back({{"type", "gpu"},
                       {"id", "GPU-" + std::to_string(node) + "-" + std::to_string(gpu)},
                       {"minor", gpu},
                       {"health", true},
                       {"labels", {{"slot", std::to_string(gpu)}}},
                       {"resources",
                        {{"koordinator.sh/gpu-core", "100"},
                         {"koordinator.sh/gpu-memory", "80Gi"},
                         {"koordinator.sh/gpu-memory-ratio", "100"}}},
                       {"topology", topology(gpu)}});
  for (int nic = 0; nic < kGpus / 2; ++nic)
    devices.push_back({{"type", "rdma"},
                       {"id", "0000:" + std::to_string(nic + 1) + "9:00.0"},
                       {"minor", nic},
                       {"health", true},
                       {"resources", {{"koordinator.sh/rdma", "100"}}},
                       {"topology", topology(2 * nic)}});
  Json json = {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
               {"kind", "Device"},
               {"metadata", {{"name", node_name(node)}}},
               {"spec", {{"devices", devices}}}};
  if (node % 2 == 0) {
    json["metadata"]["labels"]["node.koordinator.sh/gpu-partition-policy"] = "Honor";
    json["metadata"]["annotations"][std::string(kPrefix) + "gpu-partitions"] = partition_table();
  }
  return json.dump();
}

PodRef make_pod(int number, Ask ask, Variety variety, Dice& dice, SymbolTable& symbols) {
  const bool varies = variety != Variety::kIdentical;
  const int gpus = gpus_of(ask);
  const int64_t cpu = varies ? 500 + dice.roll(3500) : 2000;
  const int64_t memory = varies ? 256 + dice.roll(8000) : 4096;
  Json requests = {{"cpu", std::to_string(cpu * gpus) + "m"},
                   {"memory", std::to_string(memory * gpus) + "Mi"}};
  if (ask == Ask::kPercent) {
    const std::string percent = std::to_string(varies ? 5 + dice.roll(90) : 40);
    requests["koordinator.sh/gpu-core"] = percent;
    requests["koordinator.sh/gpu-memory-ratio"] = percent;
  } else if (ask == Ask::kBytes) {
    const int64_t mib = varies ? 2048 + dice.roll(60'000) : 20'480;
    requests["koordinator.sh/gpu-core"] = std::to_string(varies ? 5 + dice.roll(60) : 25);
    requests["koordinator.sh/gpu-memory"] = std::to_string(mib) + "Mi";
  } else {
    requests["koordinator.sh/gpu"] = std::to_string(100 * gpus);
  }
  Json annotations = Json::object();
  Json hints = Json::object();
  if (ask == Ask::kWithNic || ask == Ask::kTwoWithNic || ask == Ask::kFourWithNics) {
    requests["koordinator.sh/rdma"] = std::to_string(varies ? 5 + dice.roll(25) : 20);
    annotations[std::string(kPrefix) + "device-joint-allocate"] =
        R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})";
  }
  if (ask == Ask::kPartition2 || ask == Ask::kPartition4)
    annotations[std::string(kPrefix) + "gpu-partition-spec"] = R"({"allocatePolicy":"BestEffort"})";
  if (variety == Variety::kSelectors) {
    const Json not_in = {{"key", "slot"},
                         {"operator", "NotIn"},
                         {"values", Json::array({"none-" + std::to_string(number)})}};
    hints["gpu"]["selector"]["matchExpressions"] = Json::array({not_in});
    annotations[std::string(kPrefix) + "device-allocate-hint"] = hints.dump();
  }
  const std::string name = "p" + std::to_string(number);
  const Json json = {
      {"metadata",
       {{"name", name},
        {"namespace", "bench"},
        {"uid", "uid-" + name},
        {"annotations", annotations}}},
      {"spec",
       {{"schedulerName", "bench"},
        {"containers",
         Json::array({{{"name", "c"},
                       {"image", "i"},
                       {"resources", {{"requests", requests}, {"limits", requests}}}}})}}}};
  return value_or_throw(decode_pod(json.dump(), symbols));
}

}  // namespace plimsoll::bench
