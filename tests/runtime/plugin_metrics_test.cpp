#include "framework/runtime/plugin/plugin_metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/api/objects.hpp"
#include "framework/runtime/plugin/plugin_instance.hpp"
#include "tests/runtime/support.hpp"
#include "tests/support/prometheus_text.hpp"

namespace plimsoll {
namespace {

using plimsoll::test::parse_metrics;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PluginMetricsTest : public ::testing::Test {
 protected:
  plimsoll_metric_spec spec(uint32_t type, std::string_view name,
                            std::vector<std::string_view> labels = {},
                            std::vector<double> buckets = {}) {
    names_.clear();
    for (const std::string_view label : labels) names_.push_back(str(label));
    buckets_ = std::move(buckets);
    plimsoll_metric_spec made{};
    made.size = sizeof made;
    made.type = type;
    made.name = str(name);
    made.help = str("Help.");
    made.label_names = {names_.data(), static_cast<uint32_t>(names_.size()), sizeof(plimsoll_str)};
    made.buckets = {buckets_.data(), static_cast<uint32_t>(buckets_.size()), sizeof(double)};
    return made;
  }
  void observe(plimsoll_metric* metric, std::vector<std::string_view> values, double value) {
    std::vector<plimsoll_str> texts;
    for (const std::string_view text : values) texts.push_back(str(text));
    PluginMetrics::observe(*metric, texts, value);
  }
  plimsoll::test::Metrics shown() {
    auto metrics = parse_metrics(registry_.text());
    EXPECT_THAT(metrics.errors, IsEmpty());
    return metrics;
  }

  metrics::Registry registry_;
  PluginMetrics plugins_;
  std::vector<plimsoll_str> names_;
  std::vector<double> buckets_;
};

TEST_F(PluginMetricsTest, AreShownBehindThePrefix) {
  plugins_.show_in(registry_);
  auto* seats = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "seats_total", {"zone"}), false);
  auto* own = *plugins_.add(spec(PLIMSOLL_METRIC_GAUGE, "plimsoll_plugin_free"), false);
  auto* times = *plugins_.add(spec(PLIMSOLL_METRIC_HISTOGRAM, "time", {"zone"}, {1, 2}), false);
  observe(seats, {"west"}, 2);
  observe(seats, {"west"}, 1);
  observe(own, {}, 7);
  observe(own, {}, 5);
  observe(times, {"a\xff"}, 1.5);  // not UTF-8
  const auto metrics = shown();
  EXPECT_EQ(metrics.value("plimsoll_plugin_seats_total", {{"zone", "west"}}), 3);
  EXPECT_EQ(metrics.value("plimsoll_plugin_free"), 5);
  EXPECT_EQ(metrics.value("plimsoll_plugin_time_count", {{"zone", "a?"}}), 1);
}

TEST_F(PluginMetricsTest, OfTheSameSpecAreOneAndClashesHaveAText) {
  plugins_.show_in(registry_);
  auto* first = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "a", {"x"}), false);
  auto* second = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "plimsoll_plugin_a", {"x"}), false);
  EXPECT_EQ(first, second);
  const auto clash = plugins_.add(spec(PLIMSOLL_METRIC_GAUGE, "a", {"x"}), false);
  ASSERT_FALSE(clash.has_value());
  EXPECT_THAT(clash.error().message,
              HasSubstr("metric \"plimsoll_plugin_a\" is there already, as a counter"));
  const auto unknown = plugins_.add(spec(9, "b"), false);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, HasSubstr("not 9"));
}

TEST_F(PluginMetricsTest, OnlyBuiltInPluginsUseTheSchedulersNames) {
  plugins_.show_in(registry_);
  (void)registry_.counters({"scheduler_preemption_attempts_total", "Attempts.", {}});
  const auto attempts = spec(PLIMSOLL_METRIC_COUNTER, "scheduler_preemption_attempts_total");
  observe(*plugins_.add(attempts, true), {}, 1);
  observe(*plugins_.add(attempts, false), {}, 4);
  const auto metrics = shown();
  EXPECT_EQ(metrics.value("scheduler_preemption_attempts_total"), 1);
  EXPECT_EQ(metrics.value("plimsoll_plugin_scheduler_preemption_attempts_total"), 4);
}

TEST_F(PluginMetricsTest, AreCheckedAlsoWhereNothingIsShown) {
  auto* metric = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "a", {"x"}), false);
  observe(metric, {"1"}, 1);
  EXPECT_FALSE(plugins_.add(spec(PLIMSOLL_METRIC_GAUGE, "a", {"x"}), false).has_value());
  EXPECT_FALSE(plugins_.add(spec(PLIMSOLL_METRIC_GAUGE, "a b"), false).has_value());
}

TEST_F(PluginMetricsTest, DropValuesThatMakeNoSense) {
  plugins_.show_in(registry_);
  auto* total = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "t_total", {"x"}), false);
  observe(total, {"1"}, 1);
  observe(total, {"1"}, -1);
  observe(total, {"1"}, std::numeric_limits<double>::quiet_NaN());
  observe(total, {}, 1);
  observe(total, {"1", "2"}, 1);
  const auto metrics = shown();
  EXPECT_EQ(metrics.sum("plimsoll_plugin_t_total"), 1);
}

TEST_F(PluginMetricsTest, HaveABoundedNumberOfSeries) {
  plugins_.show_in(registry_);
  auto* total = *plugins_.add(spec(PLIMSOLL_METRIC_COUNTER, "t_total", {"x"}), false);
  for (size_t i = 0; i < PluginMetrics::kMaxSeries + 50; ++i) {
    observe(total, {std::to_string(i)}, 1);
  }
  observe(total, {"0"}, 1);  // a known one is still counted
  const std::string text = registry_.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), PluginMetrics::kMaxSeries + 2);
  EXPECT_THAT(text, HasSubstr("plimsoll_plugin_t_total{x=\"0\"} 2\n"));
}

// Through the table that plugins are given.
TEST_F(PluginMetricsTest, ComeThroughTheHostTable) {
  testing::World world;
  world.env.plugin_metrics.show_in(registry_);
  plimsoll_host_ctx ctx{&world.env, "Seats", "topo", {}};
  const plimsoll_host table = make_host_table(&ctx);
  const sdk::Host host(&table, "Seats");
  host.counter("seats_total", "Seats.", {"zone"}).add(2, "west");
  EXPECT_EQ(shown().value("plimsoll_plugin_seats_total", {{"zone", "west"}}), 2);
  try {
    (void)host.gauge("seats_total", "Seats.");
    FAIL() << "a clash was not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("seats_total"));
  }
  EXPECT_THAT(take_plugin_error(), HasSubstr("is there already, as a counter"));
}

}  // namespace
}  // namespace plimsoll
