#include "plugins/nodedevice/fragmentation/fragmentation_args.hpp"

#include <algorithm>
#include <plimsoll/args.hpp>
#include <set>
#include <string>

namespace plimsoll::devices {
namespace {

constexpr size_t kMaxTypicalPods = 512;
constexpr int64_t kMaxWeight = 1'000'000;

TypicalPod read_pod(sdk::Args& args) {
  TypicalPod pod;
  args.quantity("cpu", sdk::QuantityUnit::kMilli, pod.cpu_milli,
                "an amount of CPU, like 500m or 4");
  pod.gpu_milli = kWholeGpu;
  args.read("gpus", pod.gpus, 0, FreeGpus::kMaxGpus);
  args.read("gpuMilli", pod.gpu_milli, 1, kWholeGpu);
  args.read("weight", pod.weight, 1, kMaxWeight);
  if (pod.gpus == 0) pod.gpu_milli = 0;
  args.each_name(
      "models", [&](const std::string&, const std::string& model) { pod.models.push_back(model); });
  std::sort(pod.models.begin(), pod.models.end());
  pod.models.erase(std::unique(pod.models.begin(), pod.models.end()), pod.models.end());
  return pod;
}

std::vector<TypicalPod> read_pods(sdk::Args& args, size_t count) {
  constexpr const char* kField = "typicalPods";
  std::vector<TypicalPod> pods;
  if (count > kMaxTypicalPods) {
    args.problem(kField, "must have at most " + std::to_string(kMaxTypicalPods) + " entries");
    return pods;
  }
  const bool is_list =
      args.each_object(kField, [&](sdk::Args& entry) { pods.push_back(read_pod(entry)); });
  if (is_list && count == 0) args.problem(kField, "must be a list of at least one pod");
  std::set<std::string> models;
  for (const TypicalPod& pod : pods) models.insert(pod.models.begin(), pod.models.end());
  if (models.size() > GpuMix::kMaxModels)
    args.problem(kField, "must name at most " + std::to_string(GpuMix::kMaxModels) + " models");
  const bool any_gpu =
      std::any_of(pods.begin(), pods.end(), [](const TypicalPod& pod) { return pod.gpus > 0; });
  if (!pods.empty() && !any_gpu) args.problem(kField, "must have a pod with gpus");
  return pods;
}

}  // namespace

FragmentationArgs read_fragmentation(sdk::Args& args) {
  FragmentationArgs out;
  args.choice("measure", out.measure,
              {{"Lookahead", FragmentationMeasure::kLookahead},
               {"Published", FragmentationMeasure::kPublished}});
  if (const auto* pods = args.member("typicalPods"))
    out.typical_pods = read_pods(args, pods->items.size());
  return out;
}

}  // namespace plimsoll::devices
