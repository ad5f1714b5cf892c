// What the loop tells people: a pod's explanation, and the snapshot that is compared with the API
// server.

#include "framework/cycle/inspect/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/plugin.hpp>

#include <atomic>
#include <future>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/cycle/inspect/snapshot.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::explain_test {
namespace {

using namespace std::chrono_literals;
using sdk::Host;
using sdk::Node;
using sdk::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the plugins of the running test are told to do.
struct Orders {
  std::atomic<bool> wait_for_permit{false};
  std::atomic<bool> pre_score_fails{false};
  std::atomic<bool> closed{false};
  std::atomic<int> reserved{0};
  std::atomic<int> explained{0};
};
Orders* g_orders = nullptr;

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

// Gates pods whose name begins with "gated".
class Gate {
 public:
  static constexpr const char* kName = "Gate";
  explicit Gate(Host host, std::string_view) : host_(host) {}
  sdk::Status pre_enqueue(Pod pod) {
    return pod.name().starts_with("gated") ? host_.unschedulable("closed") : sdk::Status::success();
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Pod"), PLIMSOLL_ACTION_UPDATE_POD_LABEL, 0}};
  }

 private:
  Host host_;
};

// PreFilter: a pod named "only-..." wants the nodes big and small; "cursed" is for no node;
// "simple" needs no Cpu filter.
class Cpu {
 public:
  static constexpr const char* kName = "Cpu";
  explicit Cpu(Host host, std::string_view) : host_(host) {}
  sdk::Status pre_filter(plimsoll_cycle&, Pod pod, sdk::NodeNames& narrow) {
    if (pod.name() == "cursed") return host_.unschedulable("for no node");
    if (pod.name() == "simple") return sdk::Status::skip();
    if (pod.name().starts_with("only")) {
      narrow.add("big");
      narrow.add("small");
    }
    return sdk::Status::success();
  }
  sdk::Status filter_node(const plimsoll_cycle&, Pod pod, Node node) const {
    return pod.request("cpu") <= free(node) ? sdk::Status::success()
                                            : host_.unschedulable("Insufficient cpu");
  }
  void explain(const plimsoll_cycle&, Pod, Node node, sdk::Sink& sink) const {
    ++g_orders->explained;
    sink.put(std::to_string(free(node)) + "m free");
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE, 0},
            {sdk::str("Pod"), PLIMSOLL_ACTION_DELETE, 0}};
  }

 private:
  static int64_t free(Node node) {
    return node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
  }
  Host host_;
};

// Scores the free CPUs, normalized to the most.
class Free {
 public:
  static constexpr const char* kName = "Free";
  explicit Free(Host host, std::string_view) : host_(host) {}
  sdk::Status pre_score(plimsoll_cycle&, Pod, sdk::Nodes) {
    return g_orders->pre_score_fails ? host_.error("no paper left") : sdk::Status::success();
  }
  int64_t score_node(const plimsoll_cycle&, Pod, Node node) const {
    return node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
  }
  sdk::Status normalize(const plimsoll_cycle&, Pod, sdk::Nodes, std::span<int64_t> scores) const {
    const int64_t most = *std::max_element(scores.begin(), scores.end());
    for (int64_t& score : scores) score = most == 0 ? 0 : score * 100 / most;
    return sdk::Status::success();
  }

 private:
  Host host_;
};

class Steps {
 public:
  static constexpr const char* kName = "Steps";
  explicit Steps(Host host, std::string_view) : host_(host) {}
  sdk::Status reserve(plimsoll_cycle&, Pod, Node) {
    ++g_orders->reserved;
    return sdk::Status::success();
  }
  void unreserve(plimsoll_cycle&, Pod, std::string_view) { --g_orders->reserved; }
  sdk::Status permit(plimsoll_cycle&, Pod, Node, int64_t& timeout_ms) {
    timeout_ms = 60'000;
    return g_orders->wait_for_permit ? sdk::Status::wait() : sdk::Status::success();
  }
  sdk::Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node, sdk::Token token) {
    return host_.post_binding(cycle, pod, node, token);
  }

 private:
  Host host_;
};

// Accepts everything; nothing comes back through the watch.
class SilentApi : public ApiWriter {
 public:
  void bind(BindRequest, Done done) override { done({}); }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }
};

class ExplainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_orders = &orders_;
    const std::vector<StaticModule> plugins{{"Sort", "1", sdk::create_fn<Sort>},
                                            {"Gate", "1", sdk::create_fn<Gate>},
                                            {"Cpu", "1", sdk::create_fn<Cpu>},
                                            {"Free", "1", sdk::create_fn<Free>},
                                            {"Steps", "1", sdk::create_fn<Steps>}};
    modules_.add_builtin(plugins);
  }
  void TearDown() override {
    if (!loop_.joinable()) return;
    scheduler_->stop();
    loop_.join();
  }

  // Nodes big (8 CPUs), mid (4) and small (2), and a loop; on standby nothing is ever decided.
  void start(bool standby = true) {
    SchedulerOptions options;
    options.standby = standby;
    options.queue.initial_backoff_ms = 60'000;
    options.queue.max_backoff_ms = 60'000;
    ProfileSpec profile;
    profile.scheduler_name = "topo";
    profile.at(ExtensionPoint::kQueueSort) = {{"Sort"}};
    profile.at(ExtensionPoint::kPreEnqueue) = {{"Gate"}};
    profile.at(ExtensionPoint::kPreFilter) = {{"Cpu"}};
    profile.at(ExtensionPoint::kFilter) = {{"Cpu"}};
    profile.at(ExtensionPoint::kPreScore) = {{"Free"}};
    profile.at(ExtensionPoint::kScore) = {{"Free", 3}};
    for (const auto point :
         {ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kBind}) {
      profile.at(point) = {{"Steps"}};
    }
    options.profiles.push_back(profile);
    auto made = Scheduler::create(std::move(options), modules_, symbols_, api_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    scheduler_ = std::move(*made);
    loop_ = std::thread([this] { scheduler_->run(); });
    add_node("big", "8");
    add_node("mid", "4");
    add_node("small", "2");
  }
  void synced() {
    scheduler_->post(KindSynced{"nodes", true});
    scheduler_->post(KindSynced{"pods", true});
  }
  void add_node(const std::string& name, const std::string& cpu) {
    scheduler_->post(
        NodeUpserted{*decode_node(R"({"metadata":{"name":")" + name +
                                      R"("},"status":{"allocatable":{"cpu":")" + cpu + R"("}}})",
                                  symbols_)});
  }
  void add_pod(const std::string& name, const std::string& cpu, const std::string& node = "",
               const std::string& scheduler = "topo", const std::string& nominated = "") {
    scheduler_->post(PodUpserted{
        *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name +
                        R"("},"spec":{"nodeName":")" + node + R"(","schedulerName":")" + scheduler +
                        R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                        R"("}}}]},"status":{"nominatedNodeName":")" + nominated + R"("}})",
                    symbols_)});
  }
  template <typename Function>
  auto on_loop(Function function) {
    std::promise<decltype(function())> promise;
    auto future = promise.get_future();
    scheduler_->post(Task{[&promise, &function] { promise.set_value(function()); }});
    return future.get();
  }
  Explanation explain(const std::string& name, size_t texts = std::numeric_limits<size_t>::max()) {
    return on_loop([&] { return scheduler_->explain({"ns", name, texts}); });
  }
  // Asks until the pod is in that state.
  Explanation explain_once(const std::string& name, ExplainedState state) {
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    Explanation now = explain(name);
    while (now.state != state && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(2ms);
      now = explain(name);
    }
    EXPECT_EQ(now.state, state);
    return now;
  }
  static std::vector<std::string> fits(const PlacementReport& report) {
    std::vector<std::string> names;
    for (const FittingNode& node : report.fitting) names.push_back(node.node);
    return names;
  }
  static std::vector<std::string> refusals(const PlacementReport& report) {
    std::vector<std::string> texts;
    for (const RefusedNode& node : report.refused) {
      texts.push_back(node.node + ": " + node.plugin + ": " + node.reason +
                      (node.text.empty() ? "" : " (" + node.text + ")"));
    }
    return texts;
  }

  Orders orders_;
  SymbolTable symbols_;
  Modules modules_;
  SilentApi api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

TEST_F(ExplainTest, ScoresAndRefusalsOfAPodThatWaits) {
  start();
  add_pod("other", "2", "big", "somebody");
  add_pod("a", "3");
  synced();
  const Explanation said = explain("a");
  EXPECT_TRUE(said.synced);
  EXPECT_TRUE(said.standby);
  EXPECT_EQ(said.state, ExplainedState::kQueued);
  EXPECT_EQ(said.profile, "topo");
  EXPECT_EQ(said.uid, "u-a");
  ASSERT_TRUE(said.queue);
  EXPECT_EQ(said.queue->place, "active");
  EXPECT_EQ(said.queue->pods_there, 1U);
  EXPECT_EQ(said.queue->attempts, 0U);
  ASSERT_TRUE(said.placement);
  const PlacementReport& report = *said.placement;
  EXPECT_EQ(report.nodes, 3U);
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.message, "");
  EXPECT_THAT(fits(report), ElementsAre("big", "mid"));
  EXPECT_EQ(report.chosen, "big");
  ASSERT_THAT(report.score_plugins, SizeIs(1));
  EXPECT_EQ(report.score_plugins[0].plugin, "Free");
  EXPECT_EQ(report.score_plugins[0].weight, 3);
  EXPECT_THAT(report.fitting[0].raw, ElementsAre(6000));
  EXPECT_THAT(report.fitting[0].scores, ElementsAre(100));
  EXPECT_EQ(report.fitting[0].total, 300);
  EXPECT_THAT(report.fitting[1].raw, ElementsAre(4000));
  EXPECT_THAT(report.fitting[1].scores, ElementsAre(66));
  EXPECT_EQ(report.fitting[1].total, 198);
  ASSERT_THAT(report.fitting[0].remarks, SizeIs(1)) << "of the chosen node only";
  EXPECT_EQ(report.fitting[0].remarks[0].text, "6000m free");
  EXPECT_THAT(report.fitting[1].remarks, IsEmpty());
  EXPECT_THAT(refusals(report), ElementsAre("small: Cpu: Insufficient cpu (2000m free)"));
  EXPECT_EQ(orders_.reserved, 0);
}

TEST_F(ExplainTest, NothingFits) {
  start();
  add_pod("huge", "64");
  synced();
  EXPECT_EQ(explain("huge").placement->message, "0/3 nodes are available: 3 Insufficient cpu.");
  orders_.explained = 0;
  const Explanation brief = explain("huge", 1);
  EXPECT_EQ(orders_.explained, 1) << "a plugin is asked no more often than was wanted";
  EXPECT_THAT(brief.placement->refused, SizeIs(3));
  EXPECT_EQ(brief.placement->chosen, "");
}

TEST_F(ExplainTest, TheOnlyNodeIsNotScored) {
  start();
  add_pod("large", "6");
  synced();
  orders_.pre_score_fails = true;  // nobody would notice in the cycle either
  const Explanation said = explain("large");
  EXPECT_EQ(said.placement->chosen, "big");
  EXPECT_THAT(said.placement->score_plugins, IsEmpty());
  EXPECT_EQ(said.placement->error, "");
}

TEST_F(ExplainTest, WhatPreFilterSaid) {
  start();
  for (const char* name : {"cursed", "simple", "only-1"}) add_pod(name, "1");
  synced();
  const Explanation cursed = explain("cursed");
  ASSERT_TRUE(cursed.placement->pre_filter_rejection);
  EXPECT_EQ(cursed.placement->pre_filter_rejection->plugin, "Cpu");
  EXPECT_EQ(cursed.placement->pre_filter_rejection->reason, "for no node");
  EXPECT_EQ(cursed.placement->message, "0/3 nodes are available: for no node.");
  EXPECT_THAT(cursed.placement->refused, IsEmpty());

  const Explanation simple = explain("simple");
  EXPECT_THAT(simple.placement->skipped, ElementsAre("Cpu"));
  EXPECT_THAT(simple.placement->fitting, SizeIs(3));

  const Explanation only = explain("only-1");
  EXPECT_THAT(only.placement->narrowed_by, ElementsAre("Cpu"));
  EXPECT_EQ(only.placement->narrowed_to, 2U);
  EXPECT_THAT(fits(*only.placement), ElementsAre("big", "small"));
  EXPECT_THAT(refusals(*only.placement),
              ElementsAre("mid: : node(s) didn't satisfy plugin(s) [Cpu]"));
}

TEST_F(ExplainTest, AnErrorEndsIt) {
  start();
  add_pod("a", "1");
  synced();
  orders_.pre_score_fails = true;
  const Explanation said = explain("a");
  EXPECT_EQ(said.placement->error, "running PreScore plugin \"Free\": no paper left");
  EXPECT_EQ(said.placement->chosen, "");
}

TEST_F(ExplainTest, WhoHoldsThePodBackAndWhatItWaitsFor) {
  start(false);
  add_pod("huge", "64");
  add_pod("gated-1", "1");
  synced();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (explain("huge").queue->place != "unschedulable" &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(2ms);
  }
  const ExplainedQueuePlace huge = *explain("huge").queue;
  EXPECT_EQ(huge.place, "unschedulable");
  EXPECT_EQ(huge.attempts, 1U);
  EXPECT_GT(huge.backoff_left_ms, 0);
  EXPECT_LE(huge.backoff_left_ms, 60'000);
  ASSERT_THAT(huge.rejectors, SizeIs(1));
  EXPECT_EQ(huge.rejectors[0].plugin, "Cpu");
  EXPECT_EQ(huge.rejectors[0].kind, ExplainedRejector::Kind::kRejected);
  EXPECT_THAT(huge.rejectors[0].waits_for,
              ElementsAre("Node/Add", "Node/UpdateNodeAllocatable", "Pod/Delete"));

  const ExplainedQueuePlace gated = *explain("gated-1").queue;
  EXPECT_EQ(gated.place, "gated");
  ASSERT_THAT(gated.rejectors, SizeIs(1));
  EXPECT_EQ(gated.rejectors[0].plugin, "Gate");
  EXPECT_EQ(gated.rejectors[0].kind, ExplainedRejector::Kind::kGate);
  EXPECT_EQ(gated.rejectors[0].text, "closed");
  EXPECT_THAT(gated.rejectors[0].waits_for, ElementsAre("Pod/UpdatePodLabel"));
}

TEST_F(ExplainTest, APodThatHasANodeIsLookedAtWithoutIt) {
  start();
  add_pod("a", "6", "big");
  synced();
  const Explanation said = explain("a");
  EXPECT_EQ(said.state, ExplainedState::kBound);
  EXPECT_EQ(said.node, "big");
  EXPECT_FALSE(said.queue);
  EXPECT_THAT(fits(*said.placement), ElementsAre("big")) << "its own room counts as free";
  EXPECT_THAT(refusals(*said.placement), ElementsAre("mid: Cpu: Insufficient cpu (4000m free)",
                                                     "small: Cpu: Insufficient cpu (2000m free)"));
  EXPECT_EQ(said.placement->fitting[0].remarks[0].text, "8000m free");
  add_pod("b", "3");
  EXPECT_THAT(fits(*explain("b").placement), ElementsAre("mid")) << "nothing has changed by asking";
}

TEST_F(ExplainTest, WaitingOnPermitAndBinding) {
  start(false);
  orders_.wait_for_permit = true;
  add_pod("a", "6");
  synced();
  const Explanation waiting = explain_once("a", ExplainedState::kWaitingOnPermit);
  EXPECT_EQ(waiting.node, "big");
  ASSERT_THAT(waiting.waits, SizeIs(1));
  EXPECT_EQ(waiting.waits[0].plugin, "Steps");
  EXPECT_GT(waiting.waits[0].left_ms, 0);
  EXPECT_EQ(waiting.placement->chosen, "big");
  orders_.wait_for_permit = false;
  add_pod("b", "1");
  EXPECT_EQ(explain_once("b", ExplainedState::kBinding).node, "mid")
      << "the API server has not told of it yet";
}

TEST_F(ExplainTest, RoomThatIsKeptForNominatedPods) {
  start();
  add_pod("first", "3", "", "topo", "mid");
  add_pod("second", "3");
  synced();
  const Explanation first = explain("first");
  EXPECT_EQ(first.nominated_node, "mid");
  EXPECT_TRUE(first.placement->nominated_node_taken);
  EXPECT_THAT(fits(*first.placement), ElementsAre("mid"));
  const Explanation second = explain("second");
  EXPECT_THAT(fits(*second.placement), ElementsAre("big"));
  ASSERT_THAT(second.placement->refused, SizeIs(2));
  EXPECT_EQ(second.placement->refused[0].node, "mid");
  EXPECT_THAT(second.placement->refused[0].kept_for, ElementsAre("ns/first"));
  EXPECT_THAT(second.placement->refused[1].kept_for, IsEmpty());
}

TEST_F(ExplainTest, PodsThatAreNotKnown) {
  start();
  add_pod("foreign", "1", "", "somebody");
  add_pod("placed", "1", "mid", "somebody");
  EXPECT_FALSE(explain("foreign").synced);
  synced();
  const Explanation foreign = explain("foreign");
  EXPECT_EQ(foreign.state, ExplainedState::kUnknown);
  EXPECT_THAT(foreign.profiles, ElementsAre("topo"));
  EXPECT_FALSE(foreign.placement);
  const Explanation placed = explain("placed");
  EXPECT_EQ(placed.state, ExplainedState::kBound);
  EXPECT_EQ(placed.scheduler_name, "somebody");
  EXPECT_EQ(placed.profile, "topo") << "whose plugins were asked";
}

TEST_F(ExplainTest, TheSnapshotHasEverything) {
  start(false);
  orders_.wait_for_permit = true;
  add_pod("placed", "1500m", "gone", "somebody");
  add_pod("gated-1", "1");
  add_pod("a", "6");
  synced();
  explain_once("a", ExplainedState::kWaitingOnPermit);
  const StateSnapshot state = on_loop([this] { return scheduler_->snapshot(); });
  EXPECT_TRUE(state.synced);
  ASSERT_THAT(state.nodes, SizeIs(3));
  EXPECT_EQ(view(state.nodes[0].node->meta.name), "big");
  EXPECT_EQ(state.nodes[0].allocatable[PLIMSOLL_RESOURCE_CPU], 8000);
  EXPECT_EQ(state.nodes[0].requested[PLIMSOLL_RESOURCE_CPU], 6000);
  std::vector<std::string> placed;
  for (const auto& pod : state.placed) {
    placed.push_back(full_name(*pod.pod) + "@" + std::string(view(pod.pod->node_name)) +
                     (pod.assumed ? " assumed" : ""));
  }
  EXPECT_THAT(placed, ::testing::UnorderedElementsAre("ns/placed@gone", "ns/a@big assumed"));
  ASSERT_THAT(state.queued, SizeIs(1)) << "what is assumed is told of once";
  EXPECT_EQ(state.queued[0].place, "gated");
  EXPECT_THAT(state.queued[0].rejected_by, ElementsAre("Gate"));
}

std::vector<std::string> names_of(const StateSnapshot& state) {
  std::vector<std::string> names;
  for (const auto& node : state.nodes) names.emplace_back(view(node.node->meta.name));
  return names;
}

TEST_F(ExplainTest, TheSnapshotHasWhatChangedSinceAnother) {
  start();
  synced();
  const auto ask = [this](std::optional<StateMark> since, const std::string& node = "") {
    return on_loop([&] { return scheduler_->snapshot({.node = node, .since = since}); });
  };
  const StateMark begin = ask({}).mark;
  const StateSnapshot quiet = ask(begin);
  EXPECT_TRUE(quiet.changes_only);
  EXPECT_THAT(quiet.nodes, IsEmpty());
  EXPECT_EQ(quiet.names, std::nullopt);
  add_pod("a", "1", "mid");
  add_pod("b", "1", "mid");
  add_pod("c", "1", "elsewhere");
  const StateSnapshot changed = ask(begin);
  EXPECT_THAT(names_of(changed), ElementsAre("mid"));
  EXPECT_THAT(changed.placed, SizeIs(2)) << "the pods of that node, and no others";
  EXPECT_EQ(changed.names, std::nullopt) << "no node came or went";
  EXPECT_THAT(names_of(ask(changed.mark)), IsEmpty());
  scheduler_->post(NodeDeleted{"small"});
  add_node("new", "2");
  const StateSnapshot other = ask(changed.mark);
  EXPECT_THAT(names_of(other), ElementsAre("new"));
  EXPECT_THAT(other.names,
              ::testing::Optional(::testing::UnorderedElementsAre("big", "mid", "new")));
  // A mark of a scheduler that saw more.
  const StateSnapshot whole = ask(StateMark{other.mark.changes + 1, other.mark.node_set, {}});
  EXPECT_FALSE(whole.changes_only);
  EXPECT_THAT(whole.nodes, SizeIs(3));
  EXPECT_THAT(whole.placed, SizeIs(3));
  const StateSnapshot one = ask({}, "mid");
  EXPECT_THAT(names_of(one), ElementsAre("mid"));
  EXPECT_THAT(one.placed, SizeIs(2));
  EXPECT_THAT(names_of(ask({}, "nobody")), IsEmpty());
}

// Of many nodes that changed, those that are asked for first, and then those that changed first.
TEST_F(ExplainTest, TheSnapshotTellsOfAFewNodesAtATime) {
  start();
  synced();
  StateChoice choice{.since = on_loop([this] { return scheduler_->snapshot().mark; }), .most = 1};
  const auto ask = [&] {
    StateSnapshot said = on_loop([&] { return scheduler_->snapshot(choice); });
    choice.since = said.mark;
    return said;
  };
  add_pod("a", "1", "small");
  add_pod("b", "1", "mid");
  add_pod("c", "1", "big");
  choice.first = {"nobody", "big"};
  const StateSnapshot shown = ask();
  EXPECT_TRUE(shown.changes_only);
  EXPECT_THAT(names_of(shown), ElementsAre("big"));
  EXPECT_THAT(shown.placed, SizeIs(1));
  EXPECT_THAT(shown.mark.untold, SizeIs(2));
  choice.first.clear();
  add_pod("d", "1", "small");
  add_pod("e", "1", "big");
  EXPECT_THAT(names_of(ask()), ElementsAre("small"));
  EXPECT_THAT(names_of(ask()), ElementsAre("mid"));
  const StateSnapshot last = ask();
  EXPECT_THAT(names_of(last), ElementsAre("big")) << "it has changed once more";
  EXPECT_THAT(last.mark.untold, IsEmpty());
  EXPECT_THAT(names_of(ask()), IsEmpty());
  // A node that goes, before anything was told of its change, is none, and takes no turn.
  add_pod("f", "1", "mid");
  add_pod("g", "1", "small");
  add_pod("h", "1", "big");
  EXPECT_THAT(names_of(ask()), ElementsAre("mid"));
  scheduler_->post(NodeDeleted{"small"});
  const StateSnapshot gone = ask();
  EXPECT_THAT(names_of(gone), ElementsAre("big"));
  EXPECT_THAT(gone.mark.untold, IsEmpty());
  EXPECT_THAT(gone.names, ::testing::Optional(::testing::UnorderedElementsAre("big", "mid")));
}

TEST_F(ExplainTest, NodesInViewLeaveAQuarterForOthers) {
  start();
  synced();
  StateChoice choice{.since = on_loop([this] { return scheduler_->snapshot().mark; }), .most = 4};
  for (int i = 0; i < 8; ++i) add_node("n" + std::to_string(i), "4");
  choice.first = {"n0", "n1", "n2", "n3", "n4", "n5"};
  const StateSnapshot one = on_loop([&] { return scheduler_->snapshot(choice); });
  EXPECT_THAT(names_of(one), ::testing::UnorderedElementsAre("n0", "n1", "n2", "n6"));
  choice.since = one.mark;
  choice.first.clear();
  const StateSnapshot two = on_loop([&] { return scheduler_->snapshot(choice); });
  EXPECT_THAT(names_of(two), ::testing::UnorderedElementsAre("n3", "n4", "n5", "n7"));
  EXPECT_THAT(two.mark.untold, IsEmpty());
}

// Beyond the changes that are remembered there is only the whole.
TEST_F(ExplainTest, TheSnapshotIsWholeForWhoIsFarBehind) {
  start();
  synced();
  const StateMark begin = on_loop([this] { return scheduler_->snapshot().mark; });
  for (int i = 0; i < (1 << 17) + 1; ++i) {
    add_node("mid", "4");
    add_node("mid", "5");
  }
  const StateSnapshot state = on_loop([&] { return scheduler_->snapshot({.since = begin}); });
  EXPECT_FALSE(state.changes_only);
  EXPECT_THAT(state.nodes, SizeIs(3));
}

}  // namespace
}  // namespace plimsoll::explain_test
