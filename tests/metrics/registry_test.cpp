#include "framework/metrics/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>
#include <stdexcept>
#include <thread>

#include "framework/metrics/process_metrics.hpp"
#include "framework/metrics/scheduler_metrics.hpp"
#include "tests/support/prometheus_text.hpp"

namespace plimsoll::metrics {
namespace {

using plimsoll::test::Labels;
using plimsoll::test::parse_metrics;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Registry, PrintsWhatWasCounted) {
  Registry registry;
  const auto pods = registry.counters({"pods_total", "Pods \\ of\nall kinds.", {"profile", "way"}});
  pods.with({"a", "x"}).add();
  pods.with({"a", "x"}).add(2);
  pods.with({"b\"\\\n", "y"}).add();
  const Gauge depth = registry.gauges({"depth", "Depth.", {}}).with({});
  depth.set(5);
  depth.add(-2);
  const auto metrics = parse_metrics(registry.text());
  EXPECT_THAT(metrics.errors, IsEmpty());
  EXPECT_EQ(metrics.value("pods_total", {{"profile", "a"}, {"way", "x"}}), 3);
  EXPECT_EQ(metrics.value("pods_total", {{"profile", "b\"\\\n"}, {"way", "y"}}), 1);
  EXPECT_EQ(metrics.value("depth"), 3);
  EXPECT_EQ(metrics.families.at("pods_total").help, "Pods \\\\ of\\nall kinds.");
  EXPECT_EQ(metrics.families.at("depth").type, "gauge");
}

TEST(Registry, PutsValuesIntoTheBucketOfTheirUpperBound) {
  Registry registry;
  const Histogram time =
      registry.histograms({"time_seconds", "Time.", {}}, exponential_buckets(1, 2, 3)).with({});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 9.0}) time.observe(value);
  const auto metrics = parse_metrics(registry.text());
  EXPECT_THAT(metrics.errors, IsEmpty());
  EXPECT_EQ(metrics.value("time_seconds_bucket", {{"le", "1"}}), 2);
  EXPECT_EQ(metrics.value("time_seconds_bucket", {{"le", "2"}}), 3);
  EXPECT_EQ(metrics.value("time_seconds_bucket", {{"le", "4"}}), 4);
  EXPECT_EQ(metrics.value("time_seconds_bucket", {{"le", "+Inf"}}), 5);
  EXPECT_EQ(metrics.value("time_seconds_count"), 5);
  EXPECT_EQ(metrics.value("time_seconds_sum"), 16);
}

TEST(Registry, ShowsMetricsWithoutLabelsFromTheStart) {
  Registry registry;
  (void)registry.counters({"seen_total", "Seen.", {}});
  (void)registry.counters({"unseen_total", "Unseen.", {"kind"}});
  const auto metrics = parse_metrics(registry.text());
  EXPECT_EQ(metrics.value("seen_total"), 0);
  EXPECT_FALSE(metrics.families.contains("unseen_total") &&
               !metrics.families.at("unseen_total").samples.empty());
  ASSERT_EQ(registry.describe().size(), 2U);
  EXPECT_EQ(registry.describe()[1].name, "unseen_total");
}

TEST(Registry, TakesTheSameSpecTwiceAsOneMetric) {
  Registry registry;
  const Counter first = registry.counters({"a_total", "A.", {"x"}}).with({"1"});
  const Counter second = registry.counters({"a_total", "A.", {"x"}}).with({"1"});
  first.add();
  EXPECT_EQ(second.value(), 1);
}

TEST(Registry, RefusesWrongAndClashingSpecs) {
  struct Case {
    Type type;
    Spec spec;
    std::vector<double> buckets;
    std::string error;
  };
  const std::vector<Case> cases{
      {Type::kCounter, {"1a", "", {}}, {}, "metric \"1a\": a name has letters"},
      {Type::kCounter, {"a b", "", {}}, {}, "metric \"a b\": a name has letters"},
      {Type::kCounter, {"a", "", {"x-y"}}, {}, "\"x-y\" cannot be the name of a label"},
      {Type::kCounter, {"a", "", {"__x"}}, {}, "\"__x\" cannot be the name of a label"},
      {Type::kHistogram, {"a", "", {"le"}}, {1}, "\"le\" cannot be the name of a label"},
      {Type::kCounter, {"a", "", {"x", "x"}}, {}, "label \"x\" is given twice"},
      {Type::kGauge, {"a", "", {}}, {1}, "only histograms have buckets"},
      {Type::kHistogram, {"a", "", {}}, {}, "a histogram needs buckets"},
      {Type::kHistogram, {"a", "", {}}, {1, 1}, "the bounds of buckets are finite and rise"},
      {Type::kHistogram, {"a", "", {}}, {2, 1}, "the bounds of buckets are finite and rise"},
      {Type::kHistogram,
       {"a", "", {}},
       {1, std::numeric_limits<double>::infinity()},
       "the bounds of buckets are finite and rise"},
      {Type::kGauge,
       {"taken", "", {"x"}},
       {},
       "is there already, as a counter with the labels [x]"},
      {Type::kCounter, {"taken", "", {"y"}}, {}, "is there already, as a counter"},
  };
  Registry registry;
  (void)registry.counters({"taken", "Taken.", {"x"}});
  for (const Case& c : cases) {
    const auto added = registry.add(c.type, c.spec, c.buckets);
    ASSERT_FALSE(added.has_value()) << c.error;
    EXPECT_THAT(added.error().message, HasSubstr(c.error));
  }
  EXPECT_THROW((void)registry.gauges({"taken", "Taken.", {"x"}}), std::logic_error);
  EXPECT_THROW((void)registry.counters({"taken", "Taken.", {"x"}}).with({"1", "2"}),
               std::logic_error);
  EXPECT_EQ(registry.describe().size(), 1U);
}

TEST(Registry, HandlesWithoutARegistryDoNothing) {
  Counter().add();
  Counter().raise_to(3);
  Gauge().set(1);
  Histogram().observe(1);
  EXPECT_FALSE(Family<Counter>().with({"x", "y"}));
  EXPECT_EQ(Counter().value(), 0);
}

TEST(Registry, RaisesTotalsThatAreCountedElsewhere) {
  Registry registry;
  const Counter total = registry.counters({"t_total", "T.", {}}).with({});
  total.raise_to(5);
  total.raise_to(3);  // a counter never falls
  EXPECT_EQ(total.value(), 5);
}

TEST(Registry, AsksCollectorsUntilTheirTokenIsGone) {
  Registry registry;
  const Gauge gauge = registry.gauges({"g", "G.", {}}).with({});
  {
    const Registry::Collector token = registry.on_collect([gauge] { gauge.add(1); });
    (void)registry.text();
    (void)registry.text();
  }
  (void)registry.text();
  EXPECT_EQ(gauge.value(), 2);
}

TEST(Registry, IsCountedAndReadByManyThreads) {
  Registry registry;
  const auto family = registry.counters({"n_total", "N.", {"thread"}});
  const Histogram time = registry.histograms({"h", "H.", {}}, {1, 2}).with({});
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&family, &time, i] {
      for (int round = 0; round < kRounds; ++round) {
        family.with({std::to_string(i)}).add();
        time.observe(round % 3);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_THAT(parse_metrics(registry.text()).errors, IsEmpty());
  for (std::thread& thread : threads) thread.join();
  const auto metrics = parse_metrics(registry.text());
  EXPECT_EQ(metrics.sum("n_total"), kThreads * kRounds);
  EXPECT_EQ(metrics.value("h_count"), kThreads * kRounds);
}

TEST(ProcessMetrics, SayWhatTheKernelSays) {
  Registry registry;
  const auto token = add_process_metrics(registry);
  const auto metrics = parse_metrics(registry.text());
  EXPECT_THAT(metrics.errors, IsEmpty());
  EXPECT_GT(metrics.value("process_resident_memory_bytes").value_or(0), 1e6);
  EXPECT_GE(metrics.value("process_virtual_memory_bytes").value_or(0),
            metrics.value("process_resident_memory_bytes").value_or(0));
  EXPECT_GE(metrics.value("process_open_fds").value_or(0), 3);
  EXPECT_GE(metrics.value("process_max_fds").value_or(0),
            metrics.value("process_open_fds").value_or(0));
  EXPECT_GE(metrics.value("process_cpu_seconds_total").value_or(-1), 0);
  EXPECT_GE(metrics.value("plimsoll_process_threads").value_or(0), 1);
  const double now = static_cast<double>(time(nullptr));
  const double started = metrics.value("process_start_time_seconds").value_or(0);
  EXPECT_LE(started, now + 2);
  EXPECT_GT(started, now - 24 * 3600.0);
}

// kube-scheduler's buckets (reference: pkg/scheduler/metrics/metrics.go).
TEST(SchedulerMetrics, HasKubeSchedulersBuckets) {
  Registry registry;
  SchedulerMetrics metrics(registry);
  ProfileMetrics profile(metrics, "p", {"A"});
  profile.attempt(AttemptResult::kScheduled, 0.5);
  profile.extension_point(Point::kFilter, 0, 0.5);
  profile.plugin_execution(0, Point::kScore, 1, 0.5);
  metrics.observe_scheduled(1, 0.5, true);
  metrics.observe_permit_wait(2, 0.5);
  metrics.placement_evaluated(true, "p", 0.5);
  const auto text = parse_metrics(registry.text());
  EXPECT_THAT(text.errors, IsEmpty());
  struct Case {
    std::string name;
    std::string first, last;
    size_t count;
  };
  for (const Case& c : std::vector<Case>{
           {"scheduler_scheduling_attempt_duration_seconds", "0.001", "16.384", 15},
           {"scheduler_scheduling_algorithm_duration_seconds", "0.001", "16.384", 15},
           {"scheduler_framework_extension_point_duration_seconds", "0.0001", "0.2048", 12},
           {"scheduler_plugin_execution_duration_seconds", "1e-05", "0.02216837820053101", 20},
           {"scheduler_pod_scheduling_sli_duration_seconds", "0.01", "5242.88", 20},
           {"scheduler_pod_scheduling_attempts", "1", "16", 5},
           {"scheduler_podgroup_scheduling_algorithm_duration_seconds", "0.001", "16.384", 15},
           {"scheduler_placement_evaluation_duration_seconds", "0.001", "16.384", 15},
           {"scheduler_permit_wait_duration_seconds", "0.001", "16.384", 15}}) {
    std::vector<std::string> bounds;
    for (const auto& sample : text.families.at(c.name).samples) {
      if (sample.name == c.name + "_bucket") bounds.push_back(sample.labels.at("le"));
    }
    ASSERT_EQ(bounds.size(), c.count + 1) << c.name;
    EXPECT_DOUBLE_EQ(std::stod(bounds.front()), std::stod(c.first)) << c.name;
    EXPECT_NEAR(std::stod(bounds[c.count - 1]), std::stod(c.last), 1e-12) << c.name;
    EXPECT_EQ(bounds.back(), "+Inf") << c.name;
  }
  EXPECT_EQ(
      text.value("scheduler_schedule_attempts_total", {{"result", "scheduled"}, {"profile", "p"}}),
      1);
  EXPECT_EQ(text.value("scheduler_plugin_execution_duration_seconds_count",
                       {{"plugin", "A"}, {"extension_point", "Score"}, {"status", "Error"}}),
            1);
  EXPECT_EQ(text.value("scheduler_pod_scheduled_after_flush_total"), 1);
  EXPECT_EQ(
      text.value("scheduler_permit_wait_duration_seconds_count", {{"result", "Unschedulable"}}), 1);
}

TEST(SchedulerMetrics, LabelsTheSliByTheNumberOfAttempts) {
  Registry registry;
  SchedulerMetrics metrics(registry);
  for (const uint32_t attempts : {1U, 14U, 15U, 16U, 400U})
    metrics.observe_scheduled(attempts, 1, false);
  const auto text = parse_metrics(registry.text());
  const std::string count = "scheduler_pod_scheduling_sli_duration_seconds_count";
  EXPECT_EQ(text.value(count, {{"attempts", "1"}}), 1);
  EXPECT_EQ(text.value(count, {{"attempts", "14"}}), 1);
  EXPECT_EQ(text.value(count, {{"attempts", "15+"}}), 3);
}

TEST(ProfileMetrics, SamplesOneCycleInTen) {
  Registry registry;
  SchedulerMetrics metrics(registry);
  ProfileMetrics profile(metrics, "p", {"A"});
  int sampled = 0;
  for (int i = 0; i < 10'000; ++i) sampled += profile.sample() ? 1 : 0;
  EXPECT_NEAR(sampled, 1000, 150);
}

}  // namespace
}  // namespace plimsoll::metrics
