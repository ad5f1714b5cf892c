// docs/operations.md lists every metric, with its type and labels, and none that is not there.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "cli/observability.hpp"
#include "cli/wiring.hpp"
#include "framework/metrics/rest_client_metrics.hpp"
#include "framework/metrics/scheduler_metrics.hpp"

namespace plimsoll::cli {
namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// name -> "type label, label", of the table in section "Metrics".
std::map<std::string, std::string> documented() {
  std::map<std::string, std::string> metrics;
  std::ifstream file("docs/operations.md");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Metrics";
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

}  // namespace
}  // namespace plimsoll::cli
