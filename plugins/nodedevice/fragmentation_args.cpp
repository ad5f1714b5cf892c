#include "plugins/nodedevice/fragmentation_args.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <plimsoll/quantity.hpp>
#include <set>

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTypicalPods = 512;
constexpr int64_t kMaxWeight = 1'000'000;

class FragmentationReader {
 public:
  explicit FragmentationReader(ArgsProblems& problems) : problems_(problems) {}

  FragmentationArgs read(const Json& value, const std::string& path) {
    FragmentationArgs args;
    if (!problems_.object(value, path, {"measure", "typicalPods"})) return args;
    if (const Json* measure = member(value, "measure")) {
      const std::string name = measure->is_string() ? measure->get<std::string>() : std::string();
      if (name == "Published")
        args.measure = FragmentationMeasure::kPublished;
      else if (name != "Lookahead")
        problem(path + ".measure", "must be Lookahead or Published");
    }
    if (const Json* pods = member(value, "typicalPods"))
      args.typical_pods = read_pods(*pods, path + ".typicalPods");
    return args;
  }

 private:
  void problem(const std::string& path, const std::string& text) { problems_.add(path, text); }

  // The member, or null if it is absent or null.
  static const Json* member(const Json& value, const char* key) {
    const auto it = value.find(key);
    return it == value.end() || it->is_null() ? nullptr : &*it;
  }

  int64_t number(const Json& value, const char* key, const std::string& path, int64_t least,
                 int64_t most, int64_t otherwise) {
    const Json* found = member(value, key);
    if (found == nullptr) return otherwise;
    if (found->is_number_integer()) {
      const bool fits =
          !found->is_number_unsigned() || found->get<uint64_t>() <= static_cast<uint64_t>(most);
      const int64_t given = fits ? found->get<int64_t>() : most + 1;
      if (given >= least && given <= most) return given;
    }
    problem(path + "." + key,
            "must be a number from " + std::to_string(least) + " to " + std::to_string(most));
    return otherwise;
  }

  std::vector<TypicalPod> read_pods(const Json& list, const std::string& path) {
    std::vector<TypicalPod> pods;
    if (!list.is_array() || list.empty()) {
      problem(path, "must be a list of at least one pod");
      return pods;
    }
    if (list.size() > kMaxTypicalPods) {
      problem(path, "must have at most " + std::to_string(kMaxTypicalPods) + " entries");
      return pods;
    }
    std::set<std::string> models;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string at = path + "[" + std::to_string(i) + "]";
      if (!problems_.object(list[i], at, {"cpu", "gpus", "gpuMilli", "models", "weight"})) continue;
      pods.push_back(read_pod(list[i], at));
      models.insert(pods.back().models.begin(), pods.back().models.end());
    }
    if (models.size() > GpuMix::kMaxModels)
      problem(path, "must name at most " + std::to_string(GpuMix::kMaxModels) + " models");
    const bool any_gpu =
        std::any_of(pods.begin(), pods.end(), [](const TypicalPod& pod) { return pod.gpus > 0; });
    if (!pods.empty() && !any_gpu) problem(path, "must have a pod with gpus");
    return pods;
  }

  TypicalPod read_pod(const Json& value, const std::string& path) {
    TypicalPod pod;
    if (const Json* cpu = member(value, "cpu")) {
      const std::string text = cpu->is_string()   ? cpu->get<std::string>()
                               : cpu->is_number() ? cpu->dump()
                                                  : std::string();
      const auto milli = sdk::parse_quantity(text, sdk::QuantityUnit::kMilli);
      if (milli && *milli >= 0)
        pod.cpu_milli = *milli;
      else
        problem(path + ".cpu", "must be an amount of CPU, like 500m or 4");
    }
    pod.gpus = static_cast<int32_t>(number(value, "gpus", path, 0, FreeGpus::kMaxGpus, 0));
    pod.gpu_milli = static_cast<int32_t>(number(value, "gpuMilli", path, 1, kWholeGpu, kWholeGpu));
    pod.weight = number(value, "weight", path, 1, kMaxWeight, 1);
    if (pod.gpus == 0) pod.gpu_milli = 0;
    if (const Json* models = member(value, "models")) {
      if (!models->is_array()) problem(path + ".models", "must be a list");
      for (size_t i = 0; models->is_array() && i < models->size(); ++i) {
        if ((*models)[i].is_string() && !(*models)[i].get<std::string>().empty())
          pod.models.push_back((*models)[i].get<std::string>());
        else
          problem(path + ".models[" + std::to_string(i) + "]", "must be a name");
      }
    }
    std::sort(pod.models.begin(), pod.models.end());
    pod.models.erase(std::unique(pod.models.begin(), pod.models.end()), pod.models.end());
    return pod;
  }

  ArgsProblems& problems_;
};

}  // namespace

FragmentationArgs read_fragmentation(const Json& value, const std::string& path,
                                     ArgsProblems& problems) {
  return FragmentationReader(problems).read(value, path);
}

}  // namespace plimsoll::devices
