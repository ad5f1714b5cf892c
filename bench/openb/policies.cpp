#include "bench/openb/policies.hpp"

#include <nlohmann/json.hpp>

#include "bench/openb/objects.hpp"

namespace plimsoll::openb {
namespace {

using nlohmann::json;

json typical_pods_json(const Trace& trace) {
  json list = json::array();
  for (const devices::TypicalPod& pod : typical_pods(trace)) {
    json entry{{"cpu", std::to_string(pod.cpu_milli) + "m"}, {"weight", pod.weight}};
    if (pod.gpus > 0) {
      entry["gpus"] = pod.gpus;
      entry["gpuMilli"] = pod.gpu_milli;
    }
    if (!pod.models.empty()) entry["models"] = pod.models;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

const std::vector<Policy>& all_policies() {
  static const std::vector<Policy> kPolicies = {
      {"Lookahead", "FragmentationGradient"},
      {"Learned", "FragmentationGradient, mix learned"},
      {"Published", "FragmentationGradient, measure Published"},
      {"LeastAllocated", "LeastAllocated (Koordinator's default)"},
      {"MostAllocated", "MostAllocated"},
  };
  return kPolicies;
}

std::string profile_of(const std::string& policy, const Trace& trace) {
  json args{{"apiVersion", "kubescheduler.config.k8s.io/v1"}, {"kind", "DeviceShareArgs"}};
  json configs = json::array();
  json scores = json::array({{{"name", "NodeDevice"}}});
  if (policy == "LeastAllocated" || policy == "MostAllocated") {
    args["scoringStrategy"] = {{"type", policy}};
    scores.push_back({{"name", "NodeResourcesFit"}});
    configs.push_back(
        {{"name", "NodeResourcesFit"},
         {"args",
          {{"scoringStrategy",
            {{"type", policy},
             {"resources",
              {{{"name", "cpu"}, {"weight", 1}}, {{"name", "memory"}, {"weight", 1}}}}}}}}});
  } else {
    json fragmentation = json::object();
    if (policy == "Published") fragmentation["measure"] = "Published";
    if (policy != "Learned") fragmentation["typicalPods"] = typical_pods_json(trace);
    args["scoringStrategy"] = {{"type", "FragmentationGradient"}, {"fragmentation", fragmentation}};
  }
  configs.push_back({{"name", "NodeDevice"}, {"args", args}});
  const json any = json::array({{{"name", "*"}}});
  return json{{"apiVersion", "kubescheduler.config.k8s.io/v1"},
              {"kind", "KubeSchedulerConfiguration"},
              {"leaderElection", {{"leaderElect", false}}},
              {"profiles",
               {{{"schedulerName", kSchedulerName},
                 {"plugins",
                  {{"multiPoint", {{"enabled", {{{"name", "NodeDevice"}}}}}},
                   {"score", {{"disabled", any}, {"enabled", scores}}},
                   // All pods have one priority.
                   {"postFilter", {{"disabled", {{{"name", "DefaultPreemption"}}}}}}}},
                 {"pluginConfig", configs}}}}}
      .dump(1);
}

}  // namespace plimsoll::openb
