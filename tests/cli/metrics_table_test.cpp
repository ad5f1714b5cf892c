// docs/operations.md lists every metric of the scheduler, with its type and labels, and none that
// is not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/run/observability.hpp"
#include "cli/run/wiring.hpp"
#include "framework/metrics/rest_client_metrics.hpp"
#include "serving/limits/serving_metrics.hpp"

namespace plimsoll::cli {
namespace {

// Kubernetes 1.37.2: pkg/scheduler/metrics/metrics.go, and the metrics of VolumeBinding.
constexpr std::string_view kOfKubernetes = R"(
cache_size [ALPHA] type
dra_bindingconditions_allocations_total [ALPHA] profile driver status
dra_bindingconditions_wait_duration_seconds [ALPHA] profile driver status
event_handling_duration_seconds [ALPHA] event
framework_extension_point_duration_seconds [STABLE] extension_point status profile
generated_placements_total [ALPHA] profile
goroutines [BETA] operation
inflight_events [ALPHA] event
pending_pods [STABLE] queue
permit_wait_duration_seconds [BETA] result
placement_evaluation_duration_seconds [ALPHA] result profile
placement_evaluations_total [ALPHA] result profile
plugin_evaluation_total [BETA] plugin extension_point profile
plugin_execution_duration_seconds [BETA] plugin extension_point status
pod_scheduled_after_flush_total [ALPHA]
pod_scheduling_attempts [STABLE]
pod_scheduling_sli_duration_seconds [BETA] attempts
podgroup_schedule_attempts_total [ALPHA] result profile
podgroup_scheduling_algorithm_duration_seconds [ALPHA]
podgroup_scheduling_attempt_duration_seconds [ALPHA] result profile
preemption_attempts_total [STABLE]
preemption_evaluation_duration_seconds [ALPHA] preemptor result
preemption_execution_duration_seconds [ALPHA] preemptor result
preemption_goroutines_duration_seconds [ALPHA]!1.37.0 result
preemption_goroutines_execution_total [ALPHA] result
preemption_pdb_violations_total [ALPHA] preemptor
preemption_victims [STABLE]
preemption_workload_disruptions [ALPHA] preemptor
queue_incoming_entities_total [ALPHA] queue event type
queue_incoming_pods_total [STABLE] queue event
queued_entities [ALPHA] queue type
queueing_hint_execution_duration_seconds [ALPHA] plugin event hint
schedule_attempts_total [STABLE] result profile
scheduling_algorithm_duration_seconds [BETA]
scheduling_attempt_duration_seconds [STABLE] result profile
unschedulable_pods [BETA] plugin profile
volume_scheduling_stage_error_total [ALPHA] operation
workload_preemption_attempts_total [ALPHA] result
workload_preemption_victims [ALPHA]
)";

std::string trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

enum class Whose { kScheduler, kPluginsToo };

// name -> "type label, label", of the table in section "Metrics", and of those of the plugins.
std::map<std::string, std::string> documented(Whose whose = Whose::kScheduler) {
  std::map<std::string, std::string> metrics;
  std::ifstream file("docs/operations.md");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      inside = line == "## Metrics" ||
               (whose == Whose::kPluginsToo && line.starts_with("## Metrics of "));
    }
    if (!inside || !line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::string name, type, labels, what;
    std::getline(cells, name, '|');
    std::getline(cells, type, '|');
    std::getline(cells, labels, '|');
    std::getline(cells, what, '|');
    name = trimmed(name);
    EXPECT_GT(trimmed(what).size(), 0U) << name;
    EXPECT_TRUE(
        metrics.emplace(name.substr(1, name.size() - 2), trimmed(type) + " " + trimmed(labels))
            .second)
        << name << " is listed twice";
  }
  return metrics;
}

std::string in_lines(const std::map<std::string, std::string>& metrics) {
  std::string lines;
  for (const auto& [name, what] : metrics) lines.append(name).append(" ").append(what) += '\n';
  return lines;
}

// "[LEVEL]" of the help, and "!version" of what is deprecated, as component-base writes them.
std::string level_of(const std::string& help) {
  std::string text = help.substr(0, help.find(' '));
  const std::string deprecated = text + " (Deprecated since ";
  if (!help.starts_with(deprecated)) return text;
  return text + "!" + help.substr(deprecated.size(), help.find(')') - deprecated.size());
}

// And each that kube-scheduler has, too, is as stable as there, and has its labels.
TEST(MetricsTable, IsComplete) {
  metrics::Registry registry;
  const serving::ServingMetrics serving(registry);
  metrics::RestClientMetrics client(registry, "https://127.0.0.1:6443");
  const std::string config = "examples/profiles/topology.yaml";
  const auto modules = load_modules({});
  ASSERT_TRUE(modules.has_value());
  informer::ServerAccess access;
  access.server = "http://127.0.0.1:1";
  auto loaded = validate(config, *modules);
  ASSERT_TRUE(loaded.ok()) << loaded.report();
  loaded.config.leader_election.leader_elect = false;
  const auto session = Session::create(loaded, *modules, access, &registry);
  ASSERT_TRUE(session.has_value()) << session.error().message;
  const auto collectors = add_session_metrics(registry, **session, *modules, "plimsoll");
  std::map<std::string, std::string> registered;
  std::string of_kubernetes = "\n";
  for (const metrics::Description& metric : registry.describe()) {
    // Of this profile's plugins.
    if (metric.name.starts_with("plimsoll_plugin_") && metric.name != "plimsoll_plugin_info")
      continue;
    if (metric.name.starts_with("scheduler_")) {
      of_kubernetes += metric.name.substr(10) + " " + level_of(metric.help);
      for (const std::string& label : metric.labels) of_kubernetes += " " + label;
      of_kubernetes += "\n";
    }
    std::string labels;
    for (const std::string& label : metric.labels) labels += (labels.empty() ? "" : ", ") + label;
    const char* type = metric.type == metrics::Type::kCounter ? "counter"
                       : metric.type == metrics::Type::kGauge ? "gauge"
                                                              : "histogram";
    registered.emplace(metric.name, std::string(type) + " " + labels);
  }
  EXPECT_EQ(in_lines(documented()), in_lines(registered));
  EXPECT_EQ(of_kubernetes, kOfKubernetes);
}

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

// Series of histograms have endings.
TEST(MetricsTable, HasWhatDashboardAndAlertsShow) {
  std::map<std::string, std::string> metrics = documented(Whose::kPluginsToo);
  for (const std::string& name :
       found_in(text_of("docs/node.md"), "\n\\| `(plimsoll_node_[a-z_]+)`")) {
    metrics.emplace(name, "of plimsoll-node");
  }
  for (const char* file : {"deploy/monitoring/dashboard.json", "deploy/monitoring/rules.yaml"}) {
    const std::set<std::string> names =
        found_in(text_of(file),
                 "\\b((?:plimsoll|scheduler|process|rest_client|leader_election)_[a-z_]+)\\b");
    EXPECT_GT(names.size(), 9U) << file;
    for (const std::string& name : names) {
      const std::string base = std::regex_replace(name, std::regex("_(bucket|sum|count)$"), "");
      const bool series = metrics.contains(base) && metrics.at(base).starts_with("histogram");
      EXPECT_TRUE(name == base ? metrics.contains(name) && !series : series)
          << file << ": " << name;
    }
  }
}

TEST(MetricsTable, IsFollowedByWhatToDoAboutEachAlert) {
  const std::set<std::string> alerts =
      found_in(text_of("deploy/monitoring/rules.yaml"), "alert: ([A-Za-z]+)");
  EXPECT_GT(alerts.size(), 9U);
  EXPECT_EQ(found_in(text_of("docs/operations.md"), "\n\\| `(Plimsoll[A-Za-z]+)` \\|"), alerts);
  // And tried where it fires and where it does not (deploy_alerts_test).
  const std::string tried = text_of("tests/deploy/promtool/alerts_test.yaml");
  EXPECT_EQ(found_in(tried, "alertname: ([A-Za-z]+)\n    exp_alerts:"), alerts);
  EXPECT_EQ(found_in(tried, "alertname: ([A-Za-z]+)\\}"), alerts);
}

}  // namespace
}  // namespace plimsoll::cli
