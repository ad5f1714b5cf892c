#include "lab/sandbox/kubelet/pod_status.hpp"

#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

bool is_sidecar(const json& container) {
  return container.value("restartPolicy", "") == "Always";
}

json container_statuses(const json& pod, const char* list, const std::string& now, bool ended) {
  json statuses = json::array();
  const json& spec = pod.at("spec");
  const auto found = spec.find(list);
  if (found == spec.end() || !found->is_array()) return statuses;
  const bool init = std::string_view(list) == "initContainers";
  for (const json& container : *found) {
    const bool over = ended || (init && !is_sidecar(container));
    json state;
    if (over) {
      state["terminated"] = {
          {"exitCode", 0}, {"reason", "Completed"}, {"startedAt", now}, {"finishedAt", now}};
    } else {
      state["running"] = {{"startedAt", now}};
    }
    statuses.push_back({{"name", container.value("name", "")},
                        {"image", container.value("image", "")},
                        {"imageID", ""},
                        {"ready", !ended},
                        {"started", !over},
                        {"restartCount", 0},
                        {"state", std::move(state)}});
  }
  return statuses;
}

void set_containers(json& pod, bool ended) {
  const std::string now = timestamp_now();
  json& status = pod["status"];
  status["containerStatuses"] = container_statuses(pod, "containers", now, ended);
  json init = container_statuses(pod, "initContainers", now, ended);
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  if (!status.contains("startTime")) status["startTime"] = now;
}

}  // namespace

void set_running(json& pod) {
  pod["status"]["phase"] = "Running";
  pod["status"]["hostIP"] = "127.0.0.1";
  for (const char* type :
       {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    set_condition(pod, type, "True");
  }
  set_containers(pod, false);
}

void set_succeeded(json& pod) {
  pod["status"]["phase"] = "Succeeded";
  set_condition(pod, "PodReadyToStartContainers", "False");
  set_condition(pod, "Initialized", "True", "PodCompleted");
  set_condition(pod, "Ready", "False", "PodCompleted");
  set_condition(pod, "ContainersReady", "False", "PodCompleted");
  set_containers(pod, true);
}

void set_rejected(json& pod, const AdmissionDecision& decision) {
  json& status = pod["status"];
  status["phase"] = "Failed";
  status["reason"] = decision.reason;
  status["message"] = "Pod was rejected: " + decision.message;
  if (!status.contains("startTime")) status["startTime"] = timestamp_now();
}

}  // namespace plimsoll::sandbox
