#include "bench/openb/objects.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::openb {
namespace {

using nlohmann::json;

constexpr const char* kModelLabel = "node.koordinator.sh/gpu-model";

std::string percent(int64_t milli) {
  return std::to_string((milli + 9) / 10);
}

}  // namespace

std::string pod_name(size_t number) {
  return "pod-" + std::to_string(number);
}

std::string node_object(const Machine& machine) {
  json resources{{"cpu", std::to_string(machine.cpu_milli) + "m"},
                 {"memory", std::to_string(machine.memory_mib) + "Mi"},
                 {"pods", "1000"}};
  if (machine.gpus > 0) resources["koordinator.sh/gpu"] = std::to_string(100 * machine.gpus);
  return json{{"apiVersion", "v1"},
              {"kind", "Node"},
              {"metadata",
               {{"name", machine.name},
                {"uid", "uid-" + machine.name},
                {"resourceVersion", "1"},
                {"labels", {{kModelLabel, machine.model}}}}},
              {"status",
               {{"capacity", resources},
                {"allocatable", resources},
                {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}}
      .dump();
}

std::string device_object(const Machine& machine) {
  json devices = json::array();
  for (int i = 0; i < machine.gpus; ++i) {
    devices.push_back({{"type", "gpu"},
                       {"id", "GPU-" + machine.name + "-" + std::to_string(i)},
                       {"minor", i},
                       {"health", true},
                       {"resources",
                        {{"koordinator.sh/gpu-core", "100"},
                         {"koordinator.sh/gpu-memory", "16Gi"},
                         {"koordinator.sh/gpu-memory-ratio", "100"}}},
                       {"topology",
                        {{"socketID", -1},
                         {"nodeID", 2 * i / std::max(machine.gpus, 1)},
                         {"pcieID", "pci0000:0" + std::to_string(i / 2)}}}});
  }
  return json{{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
              {"kind", "Device"},
              {"metadata",
               {{"name", machine.name},
                {"uid", "uid-device-" + machine.name},
                {"resourceVersion", "1"},
                {"labels", {{kModelLabel, machine.model}}}}},
              {"spec", {{"devices", devices}}}}
      .dump();
}

std::string pod_object(size_t number, const Job& job, const std::string& node,
                       const std::vector<std::pair<std::string, std::string>>& annotations) {
  json requests{{"cpu", std::to_string(job.cpu_milli) + "m"},
                {"memory", std::to_string(job.memory_mib) + "Mi"}};
  if (job.gpus > 0) requests["koordinator.sh/gpu"] = percent(job.gpu_total());
  json spec{{"schedulerName", kSchedulerName},
            {"containers",
             {{{"name", "work"},
               {"image", "registry.example/work:1"},
               {"resources", {{"requests", requests}, {"limits", requests}}}}}}};
  if (!job.models.empty()) {
    const json term{
        {"matchExpressions", {{{"key", kModelLabel}, {"operator", "In"}, {"values", job.models}}}}};
    spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {"nodeSelectorTerms", json::array({term})}};
  }
  if (!node.empty()) spec["nodeName"] = node;
  const std::string name = pod_name(number);
  json metadata{{"name", name},
                {"namespace", "default"},
                {"uid", "uid-" + name},
                {"resourceVersion", node.empty() ? "1" : "2"}};
  for (const auto& [key, value] : annotations) metadata["annotations"][key] = value;
  return json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", std::move(metadata)},
              {"spec", std::move(spec)},
              {"status", {{"phase", "Pending"}}}}
      .dump();
}

}  // namespace plimsoll::openb
