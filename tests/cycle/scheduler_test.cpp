// The loop as a whole, with an API server in memory and small plugins.

#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"

#include <gtest/gtest.h>
#include <plimsoll/plugin.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::scheduler_test {
namespace {

using namespace std::chrono_literals;
using sdk::Host;
using sdk::Node;
using sdk::Pod;
using sdk::Token;

// What the plugins below are told to do, and what they have seen.
struct Script {
  std::atomic<bool> reserve_fails{false};
  std::atomic<bool> pre_bind_fails{false};
  std::atomic<bool> pre_bind_rejects{false};
  std::atomic<bool> wait_for_permit{false};
  std::atomic<int64_t> permit_timeout_ms{60'000};
  std::atomic<int> reserved{0};
  // Called by Cpu's filter for each node, by Steps for each what-if that it gets, and for each node
  // that it hears of. Set before the first lists are complete.
  std::function<void()> on_filter, on_what_if, on_node;
  std::string refuses;  // why Cpu refuses everything
  std::mutex mutex;
  std::vector<std::string> calls;  // guarded by mutex

  void saw(std::string call) {
    const std::lock_guard lock(mutex);
    calls.push_back(std::move(call));
  }
  bool has(const std::string& call) {
    const std::lock_guard lock(mutex);
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  }
};
Script* g_script = nullptr;  // of the test that runs

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

class Cpu {
 public:
  static constexpr const char* kName = "Cpu";
  explicit Cpu(Host host, std::string_view) : host_(host) {}
  sdk::Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    if (g_script->on_filter) g_script->on_filter();
    if (!g_script->refuses.empty()) return host_.unschedulable(g_script->refuses);
    const int64_t free =
        node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
    return pod.request("cpu") <= free ? sdk::Status::success()
                                      : host_.unschedulable("Insufficient cpu");
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE, 0},
            {sdk::str("Pod"), PLIMSOLL_ACTION_DELETE, 0}};
  }

 private:
  Host host_;
};

class Steps {
 public:
  static constexpr const char* kName = "Steps";
  explicit Steps(Host host, std::string_view) : host_(host) {}
  sdk::Status reserve(plimsoll_cycle& cycle, Pod pod, Node) {
    host_.annotate(cycle, "test/reserved", "yes");
    if (g_script->reserve_fails) return host_.unschedulable("no seat left");
    ++g_script->reserved;
    g_script->saw("reserve " + std::string(pod.name()));
    return sdk::Status::success();
  }
  // Looks at every node, and then has somebody evicted.
  sdk::Status post_filter(plimsoll_cycle& cycle, Pod pod, sdk::Nodes nodes,
                          std::span<const uint8_t>, sdk::Nomination&) {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (host_.what_if(cycle, pod, nodes[i].slot()) && g_script->on_what_if) {
        g_script->on_what_if();
      }
    }
    host_.api_request({"DELETE", "/api/v1/namespaces/ns/pods/victim", "", ""},
                      [](int, std::string_view) {});
    return host_.unschedulable("nobody is left");
  }
  void node_event(sdk::NodeEvent, Node, uint32_t) {
    if (g_script->on_node) g_script->on_node();
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
    if (!g_script->reserve_fails) --g_script->reserved;
    g_script->saw("unreserve " + std::string(pod.name()));
  }
  sdk::Status permit(plimsoll_cycle&, Pod pod, Node, int64_t& timeout_ms) {
    g_script->saw("permit " + std::string(pod.name()));
    timeout_ms = g_script->permit_timeout_ms;
    return g_script->wait_for_permit ? sdk::Status::wait() : sdk::Status::success();
  }
  sdk::Status pre_bind(plimsoll_cycle&, Pod, std::string_view, Token) {
    if (g_script->pre_bind_rejects)
      return host_.failed(PLIMSOLL_UNSCHEDULABLE, "volume is elsewhere");
    return g_script->pre_bind_fails ? host_.failed(PLIMSOLL_ERROR, "disk is full")
                                    : sdk::Status::success();
  }
  sdk::Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node_name, Token token) {
    return host_.post_binding(cycle, pod, node_name, token);
  }
  void post_bind(plimsoll_cycle&, Pod pod, std::string_view) {
    g_script->saw("post_bind " + std::string(pod.name()));
  }
  void pod_event(sdk::PodEvent type, Pod pod, std::string_view node_name) {
    g_script->saw("event " + std::string(pod.name()) + "@" + std::string(node_name));
    if (type != sdk::PodEvent::kRemoved) return;
    const bool failed = pod->phase == PLIMSOLL_PHASE_FAILED;
    g_script->saw("removed " + std::string(pod.name()) + "@" + std::string(node_name) +
                  (failed ? " failed: " : ": ") + std::string(sdk::view(pod->status_reason)));
  }
  void start() { host = &host_; }
  static inline const Host* host = nullptr;

 private:
  Host host_;
};

// An API server in memory: binds succeed unless told otherwise, and the watch tells the scheduler.
class MemoryApi : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    std::optional<Error> error;
    {
      const std::lock_guard lock(mutex_);
      if (!bind_errors_.empty()) {
        error = bind_errors_.back();
        bind_errors_.pop_back();
      } else {
        binds_.push_back(request);
      }
    }
    if (error) {
      done(fail(*error));
      return;
    }
    done({});
    if (on_bound) on_bound(request);
  }
  void record_event(EventRecord event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  void patch_condition(ConditionPatch patch, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      patches_.push_back(std::move(patch));
    }
    done({});
  }
  void request(ApiRequest request, Answered done) override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    done(200, "{}");
  }
  std::string node_of(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    for (const BindRequest& bind : binds_) {
      if (bind.name == pod) return bind.node;
    }
    return "";
  }
  bool has_event(const std::string& pod, const std::string& note) {
    const std::lock_guard lock(mutex_);
    for (const EventRecord& event : events_) {
      if (event.name == pod && event.note == note) return true;
    }
    return false;
  }
  bool has_condition(const std::string& pod, const std::string& message) {
    const std::lock_guard lock(mutex_);
    return std::any_of(patches_.begin(), patches_.end(), [&](const ConditionPatch& patch) {
      return patch.name == pod && patch.message == message;
    });
  }
  // The reasons of the conditions written so far.
  std::vector<std::string> condition_reasons() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> reasons;
    for (const ConditionPatch& patch : patches_) {
      if (!patch.reason.empty()) reasons.push_back(patch.reason);
    }
    return reasons;
  }
  std::vector<BindRequest> all_binds() {
    const std::lock_guard lock(mutex_);
    return binds_;
  }
  void fail_next_bind(Error error) {
    const std::lock_guard lock(mutex_);
    bind_errors_.push_back(std::move(error));
  }
  // Of all kinds.
  size_t writes() {
    const std::lock_guard lock(mutex_);
    return binds_.size() + events_.size() + patches_.size() + requests_.size();
  }
  size_t bind_count() {
    const std::lock_guard lock(mutex_);
    return binds_.size();
  }
  std::function<void(const BindRequest&)> on_bound;

 private:
  std::mutex mutex_;  // guards the rest
  std::vector<BindRequest> binds_;
  std::vector<EventRecord> events_;
  std::vector<ConditionPatch> patches_;
  std::vector<ApiRequest> requests_;
  std::vector<Error> bind_errors_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_script = &script_;
    const std::vector<StaticModule> plugins{{"Sort", "1", sdk::create_fn<Sort>},
                                            {"Cpu", "1", sdk::create_fn<Cpu>},
                                            {"Steps", "1", sdk::create_fn<Steps>}};
    modules_.add_builtin(plugins);
    SchedulerOptions options;
    options.queue.initial_backoff_ms = 10;
    options.queue.max_backoff_ms = 20;
    options.binder_threads = 2;
    options.standby = standby_;
    ProfileSpec profile;
    profile.scheduler_name = "topo";
    profile.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
    profile.at(ExtensionPoint::kFilter) = {{"Cpu"}};
    for (const auto point :
         {ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPreBind,
          ExtensionPoint::kBind, ExtensionPoint::kPostBind}) {
      profile.at(point) = {{"Steps"}};
    }
    if (post_filter_) profile.at(ExtensionPoint::kPostFilter) = {{"Steps"}};
    options.profiles.push_back(profile);
    auto made = Scheduler::create(std::move(options), modules_, symbols_, api_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    scheduler_ = std::move(*made);
    api_.on_bound = [this](const BindRequest& bind) {
      scheduler_->post(PodUpserted{pod(bind.name, bind.node, "1", "topo")});
    };
    loop_ = std::thread([this] { scheduler_->run(); });
  }
  void TearDown() override {
    scheduler_->stop();
    if (loop_.joinable()) loop_.join();
  }
  void synced() {
    scheduler_->post(KindSynced{"nodes", true});
    scheduler_->post(KindSynced{"pods", true});
  }
  PodRef pod(const std::string& name, const std::string& node, const std::string& cpu,
             const std::string& scheduler, int priority = 0) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name + R"("},"spec":{"nodeName":")" + node + R"(","schedulerName":")" +
                           scheduler + R"(","priority":)" + std::to_string(priority) +
                           R"(,"containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                           R"("}}}]}})",
                       symbols_);
  }
  void add_pod(const std::string& name, const std::string& cpu = "1", int priority = 0) {
    scheduler_->post(PodUpserted{pod(name, "", cpu, "topo", priority)});
  }
  void add_node(const std::string& name, const std::string& cpu) {
    scheduler_->post(
        NodeUpserted{*decode_node(R"({"metadata":{"name":")" + name +
                                      R"("},"status":{"allocatable":{"cpu":")" + cpu + R"("}}})",
                                  symbols_)});
  }
  template <typename Condition>
  bool eventually(Condition condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(5ms);
    }
    return condition();
  }

  // Conditions were written, all with this reason.
  bool eventually_condition(const std::string& reason) {
    return eventually([&] {
      const auto reasons = api_.condition_reasons();
      return !reasons.empty() && std::all_of(reasons.begin(), reasons.end(),
                                             [&](const auto& each) { return each == reason; });
    });
  }

  bool standby_ = false;
  bool post_filter_ = false;
  Script script_;
  SymbolTable symbols_;
  Modules modules_;
  MemoryApi api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

TEST_F(SchedulerTest, BindsWhatFitsAndSaysWhyTheRestDoesNot) {
  add_node("n", "2");
  add_pod("a");
  add_pod("b");
  add_pod("c", "3");
  synced();
  EXPECT_TRUE(eventually([&] { return api_.bind_count() == 2; }));
  EXPECT_EQ(api_.node_of("a"), "n");
  EXPECT_EQ(api_.node_of("b"), "n");
  EXPECT_TRUE(eventually([&] { return api_.has_event("a", "Successfully assigned ns/a to n"); }));
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("c", "0/1 nodes are available: 1 Insufficient cpu."); }));
  ASSERT_FALSE(api_.all_binds()[0].annotations.empty());
  EXPECT_EQ(api_.all_binds()[0].annotations[0].first, "test/reserved");
  EXPECT_TRUE(eventually_condition("Unschedulable"));
}

TEST_F(SchedulerTest, ControlCharactersAreNotWritten) {
  script_.refuses = "no \x1b[2Jroom\n\u202e";
  add_node("n", "2");
  add_pod("a");
  synced();
  const std::string wanted = "0/1 nodes are available: 1 no \\u001b[2Jroom\\n\\u202e.";
  EXPECT_TRUE(eventually([&] { return api_.has_event("a", wanted); }));
  EXPECT_TRUE(eventually([&] { return api_.has_condition("a", wanted); }));
}

TEST_F(SchedulerTest, RoomThatAppearsIsUsed) {
  synced();
  add_pod("a");
  EXPECT_TRUE(
      eventually([&] { return api_.has_event("a", "no nodes available to schedule pods"); }));
  add_node("small", "500m");
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("a", "0/1 nodes are available: 1 Insufficient cpu."); }));
  add_node("large", "4");
  EXPECT_TRUE(eventually([&] { return api_.node_of("a") == "large"; }));
}

TEST_F(SchedulerTest, NothingIsScheduledBeforeTheFirstListsAreComplete) {
  add_node("n", "8");
  add_pod("a");
  scheduler_->post(KindSynced{"pods", true});
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(api_.bind_count(), 0U);
  scheduler_->post(KindSynced{"nodes", true});
  EXPECT_TRUE(eventually([&] { return api_.bind_count() == 1; }));
}

// Why a kubelet refused a pod stands in the pod's last version alone, which may come as an update
// or with its deletion. What happened to it elsewhere says nothing of the node that it leaves.
TEST_F(SchedulerTest, PluginsHearHowAPodEnded) {
  const auto ended = [&](const std::string& name, const std::string& node) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name + R"("},"spec":{"nodeName":")" + node +
                           R"(","schedulerName":"topo"},"status":{"phase":"Failed",)"
                           R"("reason":"TopologyAffinityError"}})",
                       symbols_);
  };
  add_node("n", "8");
  synced();
  for (const char* name : {"refused", "deleted", "alive", "elsewhere"}) {
    scheduler_->post(PodUpserted{pod(name, "n", "1", "topo")});
  }
  scheduler_->post(PodUpserted{ended("refused", "n")});
  scheduler_->post(PodDeleted{ended("deleted", "n")});
  scheduler_->post(PodDeleted{pod("alive", "n", "1", "topo")});
  scheduler_->post(PodDeleted{ended("elsewhere", "other")});
  EXPECT_TRUE(eventually([&] { return script_.has("removed elsewhere@n: "); }));
  EXPECT_TRUE(script_.has("removed refused@n failed: TopologyAffinityError"));
  EXPECT_TRUE(script_.has("removed deleted@n failed: TopologyAffinityError"));
  EXPECT_TRUE(script_.has("removed alive@n: "));
}

class StandbyTest : public SchedulerTest {
 protected:
  StandbyTest() { standby_ = true; }
};

TEST_F(StandbyTest, KnowsTheClusterAndSchedulesNothingBeforeItLeads) {
  add_node("n", "2");
  add_pod("a");
  add_pod("b");
  synced();
  ASSERT_TRUE(eventually([&] { return scheduler_->stats().synced; }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(scheduler_->stats().attempts, 0U);
  EXPECT_EQ(api_.bind_count(), 0U);
  // What the leader did last is heard of before anything is decided.
  scheduler_->post(PodUpserted{pod("a", "n", "1", "topo")});
  scheduler_->post(PodUpserted{pod("theirs", "n", "1", "topo")});
  scheduler_->lead();
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("b", "0/1 nodes are available: 1 Insufficient cpu."); }));
  EXPECT_EQ(api_.bind_count(), 0U);
}

// ---- a stop while the loop is busy

class StopTest : public SchedulerTest {
 protected:
  StopTest() { post_filter_ = true; }
  void begin(const char* cpu) {
    for (int i = 0; i < kNodes; ++i) add_node("n" + std::to_string(i), cpu);
    add_pod("a");
    synced();
    loop_.join();
  }
  static constexpr int kNodes = 20'000;
  std::atomic<int> calls_{0};
};

TEST_F(StopTest, AnAttemptThatTakesLongIsGivenUp) {
  script_.on_filter = [this] {
    if (++calls_ == 1) scheduler_->stop();
  };
  begin("4");
  EXPECT_LE(calls_, 100);
  EXPECT_EQ(api_.writes(), 0U);
  EXPECT_FALSE(script_.has("reserve a"));
}

TEST_F(StopTest, HalfADryRunEvictsNobody) {
  script_.on_what_if = [this] {
    if (++calls_ == 1) scheduler_->stop();
  };
  begin("500m");
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(api_.writes(), 0U);
}

TEST_F(StopTest, ABacklogIsNotTakenIn) {
  script_.on_node = [this] {
    if (++calls_ == 1) scheduler_->stop();
  };
  std::promise<void> posted;
  scheduler_->post(Task{[ready = posted.get_future().share()] { ready.wait(); }});
  for (int i = 0; i < kNodes; ++i) add_node("n" + std::to_string(i), "4");
  synced();
  posted.set_value();
  loop_.join();
  EXPECT_EQ(calls_, 1);
}

TEST_F(SchedulerTest, PodsOfOtherSchedulersAreCountedAndLeftAlone) {
  add_node("n", "2");
  scheduler_->post(PodUpserted{pod("theirs", "", "1", "default-scheduler")});
  scheduler_->post(PodUpserted{pod("placed", "n", "2", "default-scheduler")});
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("a", "0/1 nodes are available: 1 Insufficient cpu."); }));
  scheduler_->post(PodDeleted{pod("placed", "n", "2", "default-scheduler")});
  EXPECT_TRUE(eventually([&] { return api_.node_of("a") == "n"; }));
  EXPECT_EQ(api_.bind_count(), 1U);
}

TEST_F(SchedulerTest, FailedBindGivesEverythingBackAndIsTriedAgain) {
  api_.fail_next_bind(Error{ErrorCode::kUnavailable, "the server is on fire"});
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return api_.node_of("a") == "n"; }));
  EXPECT_TRUE(script_.has("unreserve a"));
  EXPECT_TRUE(eventually([&] { return scheduler_->stats().scheduled == 1; }));
  EXPECT_EQ(script_.reserved, 1);
  EXPECT_EQ(scheduler_->stats().bind_errors, 1U);
  EXPECT_TRUE(eventually_condition("SchedulerError"));
}

TEST_F(SchedulerTest, FailedPreBindDoesNotBind) {
  script_.pre_bind_fails = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("unreserve a"); }));
  EXPECT_EQ(api_.bind_count(), 0U);
  script_.pre_bind_fails = false;
  EXPECT_TRUE(eventually([&] { return api_.node_of("a") == "n"; }));
}

TEST_F(SchedulerTest, FailedReserveIsUnreservedAndExplained) {
  script_.reserve_fails = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(
      eventually([&] { return api_.has_event("a", "0/1 nodes are available: 1 no seat left."); }));
  EXPECT_TRUE(script_.has("unreserve a"));
  EXPECT_EQ(api_.bind_count(), 0U);
  EXPECT_TRUE(eventually([&] { return scheduler_->stats().assumed_pods == 0; }));
}

TEST_F(SchedulerTest, PermitWaitsUntilAllowed) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  std::this_thread::sleep_for(30ms);
  EXPECT_EQ(api_.bind_count(), 0U);
  Steps::host->allow_waiting("u-a");
  EXPECT_TRUE(eventually([&] { return api_.node_of("a") == "n"; }));
  EXPECT_TRUE(eventually([&] { return script_.has("post_bind a"); }));
}

TEST_F(SchedulerTest, PermitIsRejectedOrTimesOut) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  script_.permit_timeout_ms = 20;
  Steps::host->reject_waiting("u-a", "not today");
  EXPECT_TRUE(
      eventually([&] { return api_.has_event("a", "0/1 nodes are available: 1 not today."); }));
  EXPECT_EQ(script_.reserved, 0);
  add_node("m", "1");  // wakes it
  EXPECT_TRUE(eventually([&] {
    return api_.has_event(
        "a",
        "0/1 nodes are available: 1 rejected due to timeout after waiting 20ms at plugin Steps.");
  }));
}

TEST_F(SchedulerTest, RejectionInPreBindIsUnschedulable) {
  script_.pre_bind_rejects = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return api_.has_event("a", "volume is elsewhere"); }));
  EXPECT_EQ(api_.bind_count(), 0U);
  EXPECT_TRUE(eventually_condition("Unschedulable"));
}

TEST_F(SchedulerTest, NodeThatVanishesWhileAPodWaitsIsNotBoundTo) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  scheduler_->post(NodeDeleted{"n"});
  Steps::host->allow_waiting("u-a");
  EXPECT_TRUE(eventually([&] { return api_.has_event("a", "node n is gone"); }));
  EXPECT_EQ(api_.bind_count(), 0U);
  EXPECT_EQ(script_.reserved, 0);
}

TEST_F(SchedulerTest, UpdateOfAWaitingPodIsWhatIsTriedAgain) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  add_pod("a", "3");  // larger than the node now
  Steps::host->reject_waiting("u-a", "not today");
  add_node("m", "1");
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("a", "0/2 nodes are available: 2 Insufficient cpu."); }));
}

TEST_F(SchedulerTest, PodDeletedWhileItWaitsIsLetGo) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  scheduler_->post(PodDeleted{pod("a", "", "1", "topo")});
  EXPECT_TRUE(eventually([&] { return script_.has("unreserve a"); }));
  script_.wait_for_permit = false;
  add_pod("b");
  EXPECT_TRUE(eventually([&] { return api_.node_of("b") == "n"; }));
  EXPECT_EQ(api_.bind_count(), 1U);
  EXPECT_EQ(scheduler_->stats().queue.in_flight, 0U);
}

// handleAssumedPodDeletion.
TEST_F(SchedulerTest, WhatIsAssumedOfAPodIsFreeOnceItsDeletionBegins) {
  script_.wait_for_permit = true;
  add_node("n", "1");
  add_pod("a");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("permit a"); }));
  add_pod("b");
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("b", "0/1 nodes are available: 1 Insufficient cpu."); }));
  script_.wait_for_permit = false;
  scheduler_->post(PodUpserted{
      *decode_pod(R"({"metadata":{"name":"a","namespace":"ns","uid":"u-a",)"
                  R"("deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"schedulerName":"topo"}})",
                  symbols_)});
  EXPECT_TRUE(eventually([&] { return api_.node_of("b") == "n"; }));
  EXPECT_EQ(api_.node_of("a"), "");
  EXPECT_TRUE(script_.has("unreserve a"));
  EXPECT_TRUE(eventually([&] { return api_.has_event("a", "skip schedule deleting pod: ns/a"); }));
}

TEST_F(SchedulerTest, HigherPriorityGoesFirst) {
  add_node("n", "1");
  add_pod("low", "1", 1);
  add_pod("high", "1", 9);
  synced();
  EXPECT_TRUE(eventually([&] { return api_.bind_count() == 1; }));
  EXPECT_EQ(api_.node_of("high"), "n");
}

TEST_F(SchedulerTest, ManyPodsFillTheNodesExactly) {
  for (int i = 0; i < 10; ++i) add_node("n" + std::to_string(i), "10");
  for (int i = 0; i < 150; ++i) add_pod("p" + std::to_string(i));
  synced();
  EXPECT_TRUE(eventually([&] { return api_.bind_count() == 100; }));
  EXPECT_TRUE(eventually([&] { return scheduler_->stats().queue.unschedulable == 50; }));
  std::map<std::string, int> per_node;
  for (const BindRequest& bind : api_.all_binds()) ++per_node[bind.node];
  for (const auto& [node, pods] : per_node) EXPECT_EQ(pods, 10) << node;
  EXPECT_EQ(script_.reserved, 100);
}

TEST_F(SchedulerTest, PluginsHearOfNodesBeforePods) {
  scheduler_->post(PodUpserted{pod("early", "n", "1", "other")});
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(script_.has("event early@n"));
  add_node("n", "2");
  synced();
  EXPECT_TRUE(eventually([&] { return script_.has("event early@n"); }));
}

TEST(SchedulerCreate, SaysEverythingThatIsWrongWithTheProfiles) {
  Modules modules;
  SymbolTable symbols;
  MemoryApi api;
  SchedulerOptions options;
  const auto none = Scheduler::create(options, modules, symbols, api);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "at least one profile is required");
  ProfileSpec profile;
  profile.scheduler_name = "x";
  profile.at(ExtensionPoint::kFilter) = {{"Missing"}};
  options.profiles = {profile};
  const auto missing = Scheduler::create(options, modules, symbols, api);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message.find("\"Missing\" does not exist"), std::string::npos)
      << missing.error().message;
}

}  // namespace
}  // namespace plimsoll::scheduler_test
