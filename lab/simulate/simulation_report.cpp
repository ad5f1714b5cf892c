#include "lab/simulate/simulation_report.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/line/table.hpp"
#include "node/report/node_kind.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

constexpr size_t kPodsShown = 20;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

double share_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double share_of(double part, int64_t whole) {
  return whole <= 0 ? 0 : part / static_cast<double>(whole);
}

bool in_bytes(const std::string& resource) {
  return resource == "memory" || resource.rfind("hugepages-", 0) == 0;
}

// Whole CPUs, GiB, or a number of devices.
std::string amount_text(const std::string& resource, double amount) {
  char text[48];
  if (resource == "cpu")
    std::snprintf(text, sizeof text, "%.0f", amount / 1000);
  else if (in_bytes(resource))
    std::snprintf(text, sizeof text, "%.1f GiB", amount / (1024.0 * 1024 * 1024));
  else
    std::snprintf(text, sizeof text, "%.0f", amount);
  return text;
}

std::string moment_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", seconds);
  return text;
}

std::string use_text(const std::string& resource, double used, int64_t allocatable) {
  return amount_text(resource, used) + " (" + percent(share_of(used, allocatable)) + ")";
}

bool has_hours(const std::string& resource) {
  return resource == "cpu" || node::is_device(resource);
}

// What the nodes have, as they are at the end.
double allocatable_of(const SimulationResult& result, const std::string& resource) {
  double all = 0;
  for (const NodeUse& node : result.nodes) {
    const auto found = node.all.find(resource);
    if (found != node.all.end()) all += static_cast<double>(found->second.allocatable);
  }
  return all;
}

struct Hours {
  double used = 0;
  double allocatable = 0;
};

// By resource: of CPUs, and of devices as their resource counts them.
std::map<std::string, Hours> hours_of(const SimulationResult& result) {
  std::map<std::string, Hours> hours;
  if (!result.window) return hours;
  std::set<std::string> resources{"cpu"};
  for (const NodeUse& node : result.nodes) {
    for (const auto& [name, use] : node.all) {
      if (has_hours(name)) resources.insert(name);
    }
  }
  for (const std::string& name : resources) {
    const double unit = 3600.0 * (name == "cpu" ? 1000 : 1);
    const auto used = result.resource_seconds.find(name);
    hours[name] = {used == result.resource_seconds.end() ? 0 : used->second / unit,
                   allocatable_of(result, name) * (result.window->to - result.window->from) / unit};
  }
  return hours;
}

std::string window_text(const SimulationResult& result) {
  if (!result.window) return "window: no pod came; averages are of the end\n";
  const Window& window = *result.window;
  if (window.to <= window.from) {
    return "window: all pods came at " + moment_text(window.from) +
           "; averages are of that moment (--until SECONDS makes it longer)\n";
  }
  return "window: averages and hours are from the first arrival of a pod (" +
         moment_text(window.from) + ") to " + (result.until ? "--until" : "the last arrival") +
         " (" + moment_text(window.to) + ")\n";
}

std::string hours_text(const SimulationResult& result) {
  std::string out;
  for (const auto& [name, hours] : hours_of(result)) {
    char text[96];
    std::snprintf(text, sizeof text, " hours: %.1f of %.1f", hours.used, hours.allocatable);
    const bool gpus = name.ends_with("/gpu") && !name.starts_with("koordinator.sh/");
    out += (name == "cpu" ? "CPU" : gpus ? "GPU (" + name + ")" : name) + text;
    if (hours.allocatable > 0) out += " (" + percent(hours.used / hours.allocatable) + ")";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string report_text(const SimulationResult& result) {
  const sandbox::KubeletStats& kubelets = result.kubelets;
  std::string out = "\nTopology report\n";
  out += "refused by kubelets: " + std::to_string(kubelets.rejected) + " of " +
         std::to_string(kubelets.admitted + kubelets.rejected) + " bound pods, " +
         std::to_string(kubelets.topology_rejections) + " with TopologyAffinityError\n";
  for (const auto& [reason, count] : kubelets.rejections) {
    out += "  " + reason + ": " + std::to_string(count) + "\n";
  }
  out += "held back: " + std::to_string(result.held_back.size()) +
         " pods that wait though a node would take them";
  const auto unsure = std::count_if(result.held_back.begin(), result.held_back.end(),
                                    [](const auto& pod) { return !pod.not_tried.empty(); });
  if (unsure > 0) out += ", " + std::to_string(unsure) + " with rules that are not tried here";
  out += "\n";
  for (size_t i = 0; i < result.held_back.size() && i < kPodsShown; ++i) {
    const HeldBackPod& pod = result.held_back[i];
    out += "  " + pod.pod + " (" + pod.node + " would";
    for (std::size_t rule = 0; rule < pod.not_tried.size(); ++rule) {
      out += (rule == 0 ? "; not tried: " : ", ") + pod.not_tried[rule];
    }
    out += "): " + (pod.message.empty() ? "no decision yet" : pod.message) + "\n";
  }
  if (result.held_back.size() > kPodsShown) {
    out += "  and " + std::to_string(result.held_back.size() - kPodsShown) + " more\n";
  }
  out += "cross-zone: " + std::to_string(kubelets.cross_zone_pods) + " of " +
         std::to_string(kubelets.exclusive_pods) + " pods with CPUs, memory or devices of their " +
         "own, " + std::to_string(kubelets.cross_zone_containers) + " containers\n";
  out += "predictions: " + std::to_string(kubelets.predictions_right) + " of " +
         std::to_string(kubelets.predicted_pods) + " right (" +
         percent(share_of(kubelets.predictions_right, kubelets.predicted_pods)) + "), " +
         std::to_string(kubelets.exclusive_pods - kubelets.predicted_pods) + " pods without one\n";
  out += "reports: " + std::to_string(kubelets.reports) + " written, " +
         std::to_string(kubelets.reports_lost) + " lost, " +
         std::to_string(kubelets.agent_restarts) + " agent restarts\n";
  out += window_text(result) + hours_text(result);
  if (result.zone_use.empty()) return out;
  Table table({"RESOURCE", "ALLOCATABLE", "AT THE END", "ON AVERAGE", "PEAK", "ZONES AT THE END",
               "SPREAD"});
  for (const auto& [name, use] : result.zone_use) {
    table.add({name, amount_text(name, static_cast<double>(use.allocatable)),
               use_text(name, static_cast<double>(use.used), use.allocatable),
               use_text(name, use.mean, use.allocatable),
               use_text(name, static_cast<double>(use.peak), use.allocatable),
               percent(use.emptiest) + " to " + percent(use.fullest), percent(use.spread)});
  }
  out += "zone utilisation (spread: fullest less emptiest zone of a node, on average):\n" +
         table.text();
  return out;
}

json report_json(const SimulationResult& result) {
  const sandbox::KubeletStats& kubelets = result.kubelets;
  json held_back = json::array();
  for (const HeldBackPod& pod : result.held_back) {
    held_back.push_back({{"pod", pod.pod},
                         {"node", pod.node},
                         {"message", pod.message},
                         {"notTried", pod.not_tried}});
  }
  json zones = json::object();
  for (const auto& [name, use] : result.zone_use) {
    zones[name] = {{"allocatable", use.allocatable},
                   {"used", use.used},
                   {"mean", use.mean},
                   {"peak", use.peak},
                   {"fullestZone", use.fullest},
                   {"emptiestZone", use.emptiest},
                   {"spread", use.spread}};
  }
  json hours = json::object();
  for (const auto& [name, of] : hours_of(result)) {
    hours[name] = {{"used", of.used}, {"allocatable", of.allocatable}};
  }
  json window;
  if (result.window) {
    window = {{"from", result.window->from},
              {"to", result.window->to},
              {"end", result.until ? "until" : "last arrival"}};
  }
  return {{"rejections", kubelets.rejections},
          {"topologyAffinityErrors", kubelets.topology_rejections},
          {"heldBack", std::move(held_back)},
          {"zones", std::move(zones)},
          {"window", std::move(window)},
          {"hours", std::move(hours)},
          {"exclusivePods", kubelets.exclusive_pods},
          {"crossZonePods", kubelets.cross_zone_pods},
          {"crossZoneContainers", kubelets.cross_zone_containers},
          {"predictedPods", kubelets.predicted_pods},
          {"predictionsRight", kubelets.predictions_right},
          {"reportsLost", kubelets.reports_lost},
          {"agentRestarts", kubelets.agent_restarts}};
}

}  // namespace plimsoll::cli
