#include "bench/support/controller_pod.hpp"

#include <nlohmann/json.hpp>

namespace plimsoll::bench {

using nlohmann::json;

json controller_pod(int number) {
  json containers = json::array();
  for (const char* name : {"server", "proxy"}) {
    json environment = json::array();
    for (int i = 0; i < 8; ++i) {
      environment.push_back({{"name", "SETTING_" + std::to_string(i)},
                             {"value", "value-of-it-" + std::to_string(i)}});
    }
    const json probe = {{"httpGet", {{"path", "/healthz"}, {"port", 8080}}}, {"periodSeconds", 10}};
    containers.push_back({{"name", name},
                          {"image", "registry.example.com/team/" + std::string(name) + ":v1.2.3"},
                          {"env", environment},
                          {"livenessProbe", probe},
                          {"readinessProbe", probe},
                          {"ports", {{{"containerPort", 8080}, {"name", "http"}}}},
                          {"resources",
                           {{"requests", {{"cpu", "250m"}, {"memory", "512Mi"}}},
                            {"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}}},
                          {"volumeMounts", {{{"name", "config"}, {"mountPath", "/etc/config"}}}}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", "web-" + std::to_string(number)},
            {"namespace", "default"},
            {"labels", {{"app", "web"}, {"tier", "front"}, {"pod-template-hash", "6d4cf56db6"}}},
            {"annotations", {{"example.com/checksum", std::string(64, 'c')}}}}},
          {"spec",
           {{"schedulerName", "nobody"},
            {"containers", containers},
            {"volumes", {{{"name", "config"}, {"configMap", {{"name", "web"}}}}}}}}};
}

json controller_pod_status() {
  const std::string now = "2026-01-01T00:00:00Z";
  json statuses = json::array();
  for (const char* name : {"server", "proxy"}) {
    statuses.push_back({{"name", name},
                        {"image", "registry.example.com/team/" + std::string(name) + ":v1.2.3"},
                        {"imageID", "registry.example.com/team/web@sha256:" + std::string(64, 'a')},
                        {"containerID", "containerd://" + std::string(64, 'b')},
                        {"ready", true},
                        {"restartCount", 0},
                        {"state", {{"running", {{"startedAt", now}}}}}});
  }
  json conditions = json::array();
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    conditions.push_back({{"type", type}, {"status", "True"}, {"lastTransitionTime", now}});
  }
  return {{"status",
           {{"phase", "Running"},
            {"hostIP", "10.0.0.1"},
            {"podIP", "10.1.2.3"},
            {"startTime", now},
            {"conditions", conditions},
            {"containerStatuses", statuses}}}};
}

}  // namespace plimsoll::bench
