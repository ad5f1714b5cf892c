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
#include "framework/metrics/scheduler_metrics.hpp"
#include "serving/limits/serving_metrics.hpp"

namespace plimsoll::cli {
namespace {

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

TEST(MetricsTable, IsComplete) {
  metrics::Registry registry;
  metrics::SchedulerMetrics scheduler(registry);
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
  const auto session = Session::create(loaded, *modules, access);
  ASSERT_TRUE(session.has_value()) << session.error().message;
  const auto collectors = add_session_metrics(registry, **session, *modules, "plimsoll");
  std::map<std::string, std::string> registered;
  for (const metrics::Description& metric : registry.describe()) {
    std::string labels;
    for (const std::string& label : metric.labels) labels += (labels.empty() ? "" : ", ") + label;
    const char* type = metric.type == metrics::Type::kCounter ? "counter"
                       : metric.type == metrics::Type::kGauge ? "gauge"
                                                              : "histogram";
    registered.emplace(metric.name, std::string(type) + " " + labels);
  }
  EXPECT_EQ(documented(), registered);
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
