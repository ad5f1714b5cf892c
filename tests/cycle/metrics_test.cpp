// What the scheduler measures: pods are driven through the loop, and the text that a Prometheus
// server would scrape is read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/plugin.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "tests/support/prometheus_text.hpp"

namespace plimsoll::metrics_test {
namespace {

using namespace std::chrono_literals;
using plimsoll::test::Labels;
using plimsoll::test::Metrics;
using plimsoll::test::parse_metrics;
using sdk::Host;
using sdk::Node;
using sdk::Pod;
using sdk::Token;
using ::testing::IsEmpty;

class Sort {
 public:
  static constexpr const char* kName = "Sort";
  Sort(Host, std::string_view) {}
  sdk::SortKey sort_key(Pod pod, int64_t queued_ms) {
    sdk::SortKey key;
    key.descending(pod->priority).ascending(queued_ms);
    return key;
  }
};

// Takes pods whose CPU fits; holds back pods named "gated..."; lets pods named "wait..." wait.
class Rules {
 public:
  static constexpr const char* kName = "Rules";
  explicit Rules(Host host, std::string_view)
      : host_(host), looked_(host.counter("rules_looks_total", "Looks.", {"profile"})) {}
  sdk::Status pre_enqueue(Pod pod) {
    return pod.name().starts_with("gated") ? host_.unresolvable("gated") : sdk::Status::success();
  }
  sdk::Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    looked_.add(1, "topo");
    const int64_t free =
        node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
    return pod.request("cpu") <= free ? sdk::Status::success()
                                      : host_.unschedulable("Insufficient cpu");
  }
  int64_t score_node(const plimsoll_cycle&, Pod, Node) const { return 50; }
  sdk::Status permit(plimsoll_cycle&, Pod pod, Node, int64_t& timeout_ms) {
    timeout_ms = 60'000;
    if (!pod.name().starts_with("wait")) return sdk::Status::success();
    if (pod.name() == "wait-no") host_.reject_waiting(pod.uid(), "no");
    if (pod.name() == "wait-yes") host_.allow_waiting(pod.uid());
    return sdk::Status::wait();
  }
  sdk::Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node_name, Token token) {
    return host_.post_binding(cycle, pod, node_name, token);
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0}};
  }
  sdk::Hint hint(Pod, const plimsoll_event&) { return sdk::Hint::kQueue; }

 private:
  Host host_;
  sdk::CounterMetric looked_;
};

// Binds succeed, but for pods named "refused...".
class MemoryApi : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    if (request.name.starts_with("refused")) {
      done(fail(ErrorCode::kConflict, "bound already"));
      return;
    }
    done({});
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }
};

class MetricsTest : public ::testing::Test {
 protected:
  void start(bool measured = true) {
    const std::vector<StaticModule> plugins{{"Sort", "1", sdk::create_fn<Sort>},
                                            {"Rules", "1", sdk::create_fn<Rules>}};
    modules_.add_builtin(plugins);
    SchedulerOptions options;
    options.binder_threads = 2;
    options.queue.initial_backoff_ms = 60'000;  // a refused pod is not tried again by itself
    options.queue.max_backoff_ms = 60'000;
    if (measured) options.metrics = &registry_;
    ProfileSpec profile;
    profile.scheduler_name = "topo";
    profile.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
    for (const auto point :
         {ExtensionPoint::kPreEnqueue, ExtensionPoint::kFilter, ExtensionPoint::kScore,
          ExtensionPoint::kPermit, ExtensionPoint::kBind}) {
      profile.at(point) = {{"Rules"}};
    }
    options.profiles.push_back(profile);
    auto made = Scheduler::create(std::move(options), modules_, symbols_, api_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    scheduler_ = std::move(*made);
    loop_ = std::thread([this] { scheduler_->run(); });
  }
  void TearDown() override {
    scheduler_->stop();
    loop_.join();
  }
  void synced() {
    scheduler_->post(KindSynced{"nodes", true});
    scheduler_->post(KindSynced{"pods", true});
  }
  PodRef pod(const std::string& name, const std::string& cpu) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name +
                           R"("},"spec":{"schedulerName":"topo","containers":[{"name":"c",)"
                           R"("resources":{"requests":{"cpu":")" +
                           cpu + R"("}}}]}})",
                       symbols_);
  }
  void add_pod(const std::string& name, const std::string& cpu = "1") {
    scheduler_->post(PodUpserted{pod(name, cpu)});
  }
  void remove_pod(const std::string& name) { scheduler_->post(PodDeleted{pod(name, "1")}); }
  void add_node(const std::string& name, const std::string& cpu) {
    scheduler_->post(
        NodeUpserted{*decode_node(R"({"metadata":{"name":")" + name +
                                      R"("},"status":{"allocatable":{"cpu":")" + cpu + R"("}}})",
                                  symbols_)});
  }
  Metrics scrape() {
    Metrics metrics = parse_metrics(registry_.text());
    EXPECT_THAT(metrics.errors, IsEmpty());
    return metrics;
  }
  // Scrapes until the value is there; the last scrape is kept in seen_.
  ::testing::AssertionResult reaches(const std::string& sample, const Labels& labels,
                                     double expected) {
    std::optional<double> last;
    for (int i = 0; i < 6000; ++i) {
      seen_ = scrape();
      last = seen_.value(sample, labels);
      if (last == expected) return ::testing::AssertionSuccess();
      std::this_thread::sleep_for(5ms);
    }
    return ::testing::AssertionFailure()
           << sample << " is " << (last ? std::to_string(*last) : "not there") << ", not "
           << expected;
  }
  static Labels attempts(const std::string& result) {
    return {{"result", result}, {"profile", "topo"}};
  }

  metrics::Registry registry_;
  SymbolTable symbols_;
  Modules modules_;
  MemoryApi api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
  Metrics seen_;
};

TEST_F(MetricsTest, CountsAttemptsAndTheirParts) {
  start();
  add_node("n1", "4");
  add_node("n2", "4");
  synced();
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  add_pod("large", "8");
  add_pod("refused");
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("scheduled"), 3));
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("unschedulable"), 1));
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("error"), 1));
  const auto count = [this](const std::string& name, const Labels& labels = {}) {
    return seen_.value("scheduler_" + name + "_count", labels);
  };
  EXPECT_EQ(count("scheduling_attempt_duration_seconds", attempts("scheduled")), 3);
  EXPECT_EQ(count("scheduling_attempt_duration_seconds", attempts("error")), 1);
  EXPECT_EQ(count("scheduling_algorithm_duration_seconds"), 5);
  EXPECT_EQ(count("pod_scheduling_attempts"), 3);
  EXPECT_EQ(count("pod_scheduling_sli_duration_seconds", {{"attempts", "1"}}), 3);
  const auto point = [](const std::string& name, const std::string& status) {
    return Labels{{"extension_point", name}, {"status", status}, {"profile", "topo"}};
  };
  const std::string points = "framework_extension_point_duration_seconds";
  EXPECT_EQ(count(points, point("PreFilter", "Success")), 5);
  EXPECT_EQ(count(points, point("Filter", "Success")), 5);
  EXPECT_EQ(count(points, point("Score", "Success")), 4);
  EXPECT_EQ(count(points, point("Reserve", "Success")), 4);
  EXPECT_EQ(count(points, point("Permit", "Success")), 4);
  EXPECT_EQ(count(points, point("PreBind", "Success")), 4);
  EXPECT_EQ(count(points, point("Bind", "Success")), 3);
  EXPECT_EQ(count(points, point("Bind", "Error")), 1);
  EXPECT_EQ(count(points, point("Unreserve", "Success")), 1);
  EXPECT_EQ(count(points, point("PreEnqueue", "Success")), 6);  // "refused" again, for its backoff
  const auto asked = [this](const std::string& at) {
    return seen_.value("scheduler_plugin_evaluation_total",
                       {{"plugin", "Rules"}, {"extension_point", at}, {"profile", "topo"}});
  };
  EXPECT_EQ(asked("Filter"), 10);  // 5 pods, 2 nodes
  EXPECT_EQ(asked("Score"), 8);    // 4 pods had a choice
  EXPECT_EQ(seen_.value("plimsoll_plugin_rules_looks_total", {{"profile", "topo"}}), 10);
  EXPECT_EQ(seen_.value("plimsoll_bind_errors_total"), 1);
}

TEST_F(MetricsTest, FollowsThePodsThroughTheQueues) {
  start();
  add_node("n", "2");
  synced();
  add_pod("gated-1");
  add_pod("large", "8");
  const auto incoming = [](const std::string& queue, const std::string& event) {
    return Labels{{"queue", queue}, {"event", event}};
  };
  const std::string name = "scheduler_queue_incoming_pods_total";
  ASSERT_TRUE(reaches(name, incoming("unschedulable", "ScheduleAttemptFailure"), 1));
  EXPECT_EQ(seen_.value(name, incoming("unschedulable", "UnscheduledPodAdd")), 1);
  EXPECT_EQ(seen_.value(name, incoming("active", "UnscheduledPodAdd")), 1);
  ASSERT_TRUE(reaches("scheduler_pending_pods", {{"queue", "unschedulable"}}, 1));
  ASSERT_TRUE(reaches("scheduler_pending_pods", {{"queue", "gated"}}, 1));
  EXPECT_EQ(seen_.value("scheduler_pending_pods", {{"queue", "active"}}), 0);
  // Each pod is an entity of its own.
  EXPECT_EQ(seen_.value("scheduler_queued_entities", {{"queue", "gated"}, {"type", "pod"}}), 1);
  EXPECT_EQ(seen_.value("scheduler_queue_incoming_entities_total",
                        {{"queue", "active"}, {"event", "UnscheduledPodAdd"}, {"type", "pod"}}),
            1);
  const Labels held{{"plugin", "Rules"}, {"profile", "topo"}};
  EXPECT_EQ(seen_.value("scheduler_unschedulable_pods", held), 2);
  // A node wakes both: the gate holds one back again, the other is tried in its backoff.
  add_node("n2", "2");
  ASSERT_TRUE(reaches(name, incoming("backoff", "NodeAdd"), 1));
  ASSERT_TRUE(reaches(name, incoming("active", "PopFromBackoffQ"), 1));
  ASSERT_TRUE(reaches(name, incoming("unschedulable", "ScheduleAttemptFailure"), 2));
  remove_pod("large");
  remove_pod("gated-1");
  ASSERT_TRUE(reaches("scheduler_unschedulable_pods", held, 0));
  ASSERT_TRUE(reaches("scheduler_pending_pods", {{"queue", "gated"}}, 0));
  EXPECT_EQ(seen_.value("scheduler_inflight_events", {{"event", "PodPopped"}}), 0);
  EXPECT_EQ(seen_.sum("scheduler_inflight_events"), 0);
  EXPECT_GE(seen_.sum("scheduler_event_handling_duration_seconds_count", {{"event", "NodeAdd"}}),
            2);
  EXPECT_EQ(seen_.sum("scheduler_event_handling_duration_seconds_count",
                      {{"event", "UnscheduledPodAdd"}}),
            2);
}

TEST_F(MetricsTest, TimesOneHintInTen) {
  start();
  add_node("n", "1");
  synced();
  for (int i = 0; i < 20; ++i) add_pod("large-" + std::to_string(i), "8");
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("unschedulable"), 20));
  add_node("n2", "1");
  ASSERT_TRUE(reaches("scheduler_queueing_hint_execution_duration_seconds_count",
                      {{"plugin", "Rules"}, {"event", "NodeAdd"}, {"hint", "Queue"}}, 2));
}

TEST_F(MetricsTest, TimesTheWaitOnPermit) {
  start();
  add_node("n", "8");
  synced();
  add_pod("wait");
  ASSERT_TRUE(reaches("plimsoll_waiting_pods", {}, 1));
  EXPECT_EQ(seen_.value("scheduler_cache_size", {{"type", "assumed_pods"}}), 1);
  add_pod("wait-yes");
  add_pod("wait-no");
  const std::string waits = "scheduler_permit_wait_duration_seconds_count";
  ASSERT_TRUE(reaches(waits, {{"result", "Success"}}, 1));
  ASSERT_TRUE(reaches(waits, {{"result", "Unschedulable"}}, 1));
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("scheduled"), 1));
  ASSERT_TRUE(reaches("scheduler_goroutines", {{"operation", "binding"}}, 0));
}

TEST_F(MetricsTest, TimesThePluginsOfATenthOfTheAttempts) {
  start();
  add_node("n", "1k");
  synced();
  for (int i = 0; i < 300; ++i) add_pod("p" + std::to_string(i), "1");
  ASSERT_TRUE(reaches("scheduler_schedule_attempts_total", attempts("scheduled"), 300));
  const auto timed =
      seen_.value("scheduler_plugin_execution_duration_seconds_count",
                  {{"plugin", "Rules"}, {"extension_point", "Filter"}, {"status", "Success"}});
  ASSERT_TRUE(timed.has_value());
  EXPECT_GT(*timed, 5);
  EXPECT_LT(*timed, 90);
  ASSERT_TRUE(reaches("scheduler_cache_size", {{"type", "pods"}}, 300));
  EXPECT_EQ(seen_.value("scheduler_cache_size", {{"type", "nodes"}}), 1);
  EXPECT_EQ(seen_.value("plimsoll_initial_sync"), 1);
}

TEST_F(MetricsTest, MeasuresNothingUnlessAsked) {
  start(false);
  add_node("n", "4");
  synced();
  add_pod("a");
  for (int i = 0; i < 6000 && scheduler_->stats().scheduled == 0; ++i) {
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_EQ(scheduler_->stats().scheduled, 1U);
  EXPECT_TRUE(registry_.describe().empty());
}

}  // namespace
}  // namespace plimsoll::metrics_test
