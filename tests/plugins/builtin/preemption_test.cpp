// DefaultPreemption and its parts on the SDK's fake host: budgets, the choice of a node, and the
// requests that carry a preemption out, in their order.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <plimsoll/fake_host.hpp>

#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/preemption/disruption_budgets.hpp"
#include "plugins/builtin/preemption/preemption_candidates.hpp"
#include "plugins/builtin/preemption/preemption_executor.hpp"
#include "tests/support/decoded_objects.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using Json = nlohmann::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// ---- budgets

// TestFilterPodsWithPDBViolation, in what it checks.
TEST(Budgets, CountEachPodThatTheySelect) {
  test::DecodedObjects decoded;
  DisruptionBudgets budgets;
  budgets.upsert(decoded(kDisruptionBudgets, "ns", "two",
                         R"({"spec":{"selector":{"matchLabels":{"app":"a"}}},"status":
      {"disruptionsAllowed":1,"disruptedPods":{"later":"2026-01-01T00:00:00Z",
      "gone":"2026-01-01T00:00:00Z"}}})"));
  budgets.upsert(decoded(kDisruptionBudgets, "other", "all",
                         R"({"spec":{"selector":{"matchExpressions":[
      {"key":"app","operator":"Exists"}]}},"status":{"disruptionsAllowed":0}})"));
  FakePod gone("ns/gone"), first("ns/first"), second("ns/second"), b("ns/b"), bare("other/bare"),
      elsewhere("other/elsewhere");
  for (FakePod* pod : {&gone, &first, &second}) pod->label("app", "a");
  b.label("app", "b");
  elsewhere.label("app", "b");
  EXPECT_THAT(budgets.violations({gone, first, second, b, bare, elsewhere}),
              ElementsAre(false, false, true, false, false, true));
  EXPECT_THAT(budgets.violations({first, gone}), ElementsAre(false, false));
  budgets.remove("ns", "two");
  EXPECT_THAT(budgets.violations({first, second}), ElementsAre(false, false));
}

// Since 1.37: a pod that breaks one budget charges no further one, so that one is left for others.
TEST(Budgets, ChargeNothingBehindTheFirstThatBreaks) {
  const auto budget = [](const char* label, int allowed) {
    return R"({"spec":{"selector":{"matchLabels":{")" + std::string(label) +
           R"(":"yes"}}},"status":{"disruptionsAllowed":)" + std::to_string(allowed) + "}}";
  };
  FakePod first("ns/first"), second("ns/second");
  first.label("a", "yes").label("b", "yes");
  second.label("b", "yes");
  test::DecodedObjects decoded;
  DisruptionBudgets budgets;
  budgets.upsert(decoded(kDisruptionBudgets, "ns", "a-allows-none", budget("a", 0)));
  budgets.upsert(decoded(kDisruptionBudgets, "ns", "b-allows-one", budget("b", 1)));
  EXPECT_THAT(budgets.violations({first, second}), ElementsAre(true, false));
  // Budgets are asked by name: one in front is charged although the next one breaks.
  budgets.upsert(decoded(kDisruptionBudgets, "ns", "B-allows-one", budget("b", 1)));
  budgets.remove("ns", "b-allows-one");
  EXPECT_THAT(budgets.violations({first, second}), ElementsAre(true, true));
}

TEST(Budgets, ProtectNothingWithoutASelectorThatSelects) {
  test::DecodedObjects decoded;
  FakePod pod("ns/pod");
  pod.label("app", "a");
  for (const char* spec : {"{}", R"({"selector":null})", R"({"selector":{}})"}) {
    DisruptionBudgets budgets;
    budgets.upsert(
        decoded(kDisruptionBudgets, "ns", "b",
                R"({"spec":)" + std::string(spec) + R"(,"status":{"disruptionsAllowed":0}})"));
    EXPECT_THAT(budgets.violations({pod}), ElementsAre(false)) << spec;
  }
}

// Which pods it selects is not known, so none of its namespace is evicted lightly.
TEST(Budgets, ProtectTheWholeNamespaceWhenOneFieldIsWrong) {
  test::DecodedObjects decoded;
  FakePod pod("ns/pod"), bare("ns/bare"), elsewhere("other/pod");
  pod.label("app", "a");
  elsewhere.label("app", "a");
  const auto budget = [](const std::string& field, const char* value) {
    Json json = Json::parse(R"({"metadata":{"labels":{"a":"b"}},
        "spec":{"selector":{"matchLabels":{"app":"b"}, "matchExpressions":[
            {"key":"tier","operator":"In","values":["b"]}]}},
        "status":{"disruptionsAllowed":9,"disruptedPods":{"p":"2026-01-01T00:00:00Z"}}})");
    json[Json::json_pointer(field)] = Json::parse(value);
    return json.dump();
  };
  const std::string expression = "/spec/selector/matchExpressions/0";
  for (const std::string& text :
       {std::string("{"), budget("/metadata/labels", "7"), budget("/spec", "[]"),
        budget("/spec/selector", R"("app=b")"), budget("/spec/selector/matchLabels/app", "true"),
        budget("/spec/selector/matchLabels/app", R"("no label")"),
        budget("/spec/selector/matchExpressions", "{}"), budget(expression + "/key", R"("-")"),
        budget(expression + "/operator", R"("Near")"), budget(expression + "/values", "[]"),
        budget(expression + "/values", "[7]"), budget("/status", "true"),
        budget("/status/disruptionsAllowed", R"("9")"),
        budget("/status/disruptionsAllowed", "-9223372036854775808"),
        budget("/status/disruptionsAllowed", "4294967296"),
        budget("/status/disruptedPods", R"(["pod"])")}) {
    DisruptionBudgets budgets;
    budgets.upsert(decoded(kDisruptionBudgets, "ns", "b", text));
    EXPECT_THAT(budgets.violations({pod, bare, elsewhere}), ElementsAre(true, false, false))
        << text;
    budgets.upsert(decoded(kDisruptionBudgets, "ns", "b",
                           R"({"spec":{"selector":{"matchLabels":{"app":"b"}}}})"));
    EXPECT_THAT(budgets.violations({pod}), ElementsAre(false)) << "it can be read again";
  }
}

// ---- the choice of a node

// Each row beats the next one by one rule of pickOneNodeForPreemption.
TEST(PickCandidate, GoesByTheRulesInTheirOrder) {
  struct Row {
    const char* node;
    int64_t violations;
    std::vector<std::pair<int, int64_t>> victims;  // priority and start
  };
  const std::vector<Row> rows = {
      {"latest start", 0, {{10, 200}, {5, 1}}},
      {"earlier start", 0, {{10, 100}, {5, 900}}},
      {"more victims, equal sum", 0, {{10, 100}, {5, 1}, {INT32_MIN, 1}}},
      {"greater sum", 0, {{10, 900}, {6, 900}}},
      {"higher priority", 0, {{11, 900}}},
      {"a budget broken", 1, {{-5, 900}}},
  };
  std::vector<std::unique_ptr<FakePod>> pods;
  std::vector<std::unique_ptr<Trial>> trials;
  for (const Row& row : rows) {
    std::vector<Pod> victims;
    for (const auto& [priority, start] : row.victims) {
      pods.push_back(std::make_unique<FakePod>("ns/v" + std::to_string(pods.size())));
      pods.back()->priority(priority).started(start);
      victims.emplace_back(*pods.back());
    }
    trials.push_back(std::make_unique<Trial>(row.node, 0, std::move(victims), row.violations));
  }
  Trials candidates;
  for (const auto& trial : trials) candidates.push_back(trial.get());
  while (!candidates.empty()) {
    const std::string expected = candidates.front()->node;
    Trials reversed(candidates.rbegin(), candidates.rend());
    EXPECT_EQ(pick_candidate(candidates, 1000).node, expected);
    EXPECT_EQ(pick_candidate(reversed, 1000).node, expected);
    candidates.erase(candidates.begin());
  }
}

// ---- the dry run

// Errors of the host and of plugins have one place for their text, which every filter takes over.
class DryRunTest : public ::testing::Test {
 protected:
  DryRunTest() {
    preemptor_.priority(100);
    for (FakeNode* node : {&lost_, &found_}) node->add(victim_);
    host_.add(found_);  // the host does not know the other one: its what-if fails
    host_.what_if_verdict = [this](const FakeWhatIf& what_if) {
      host_.error.clear();
      return what_if.pods.empty() ? verdict_ : "too full";
    };
  }
  DryRun run() {
    FakeCycle cycle;
    const std::array<PotentialNode, 2> nodes{{{lost_, 0}, {found_, 1}}};
    return dry_run_.run(*cycle.get(), preemptor_, nodes, {0, 2});
  }

  FakeHost host_;
  Host handle_{host_.handle("DefaultPreemption")};
  DisruptionBudgets budgets_;
  PreemptionDryRun dry_run_{handle_, budgets_};
  FakePod preemptor_{"ns/urgent"}, victim_{"ns/victim"};
  FakeNode lost_{"lost", 0}, found_{"found", 1};
  std::string verdict_;  // without the victim
};

TEST_F(DryRunTest, TheTextOfAnErrorOutlivesTheNodesAfterIt) {
  verdict_ = "hopeless";
  const DryRun result = run();
  EXPECT_THAT(result.candidates, IsEmpty());
  EXPECT_TRUE(result.failed);
  EXPECT_EQ(host_.error, "there is no node lost");
  EXPECT_THAT(result.others, SizeIs(1));
}

TEST_F(DryRunTest, ACandidateCountsInSpiteOfAnErrorElsewhere) {
  const DryRun result = run();
  ASSERT_THAT(result.candidates, SizeIs(1));
  EXPECT_EQ(result.candidates[0]->node, "found");
  EXPECT_FALSE(result.failed);
}

TEST_F(DryRunTest, AnErrorThatHasPassedIsNone) {
  verdict_ = "hopeless";
  const auto verdict = host_.what_if_verdict;
  host_.what_if_verdict = [&](const FakeWhatIf& what_if) {
    host_.add(lost_);
    return verdict(what_if);
  };
  const DryRun result = run();
  EXPECT_FALSE(result.failed);
  EXPECT_THAT(result.others, SizeIs(2));
}

// ---- what is kept for the next pod of the class

class Keeper final : public DryRunKeeper {
 public:
  [[nodiscard]] std::unique_ptr<KeptDryRuns>* kept() const override { return &kept_; }
  void hold_reason(uint32_t reason) const override { reasons.push_back(reason); }
  [[nodiscard]] std::vector<std::string_view> look_beyond() const override { return beyond; }
  [[nodiscard]] bool has_nominated(uint32_t) const override { return nominated; }
  [[nodiscard]] bool is_check() const override { return check; }
  void differs(const plimsoll_node_info& node, std::string_view before,
               std::string_view now) const override {
    differences.push_back(std::string(Node(&node).name()) + ": " + std::string(before) + " | " +
                          std::string(now));
  }
  void forget(uint32_t slot) { kept_->forget(slot); }

  bool check = false;
  bool nominated = false;
  std::vector<std::string_view> beyond;
  mutable std::vector<std::string> differences;
  mutable std::vector<uint32_t> reasons;

 private:
  mutable std::unique_ptr<KeptDryRuns> kept_;
};

struct Affinity final : AffinityBasis {
  [[nodiscard]] uint64_t of(const plimsoll_cycle&, Pod, Node,
                            std::span<const Pod> nominated) const override {
    return number + 10 * nominated.size();
  }
  uint64_t number = 0;
};

class KeptTrialsTest : public ::testing::Test {
 protected:
  KeptTrialsTest() {
    victim_.label("app", "a");
    for (FakeNode* node : {&first_, &second_}) host_.add(*node);
    first_.add(victim_);
    second_.add(other_victim_);
    host_.what_if_verdict = [this](const FakeWhatIf& what_if) {
      ++filters_;
      return what_if.pods.empty() ? verdict_ : "too full";
    };
  }
  DryRun run(int32_t priority = 100) {
    filters_ = 0;
    FakeCycle cycle;
    FakePod preemptor("ns/urgent");
    preemptor.priority(priority);
    std::vector<PotentialNode> nodes;
    for (FakeNode* node : nodes_) nodes.push_back({*node, node->slot()});
    return dry_run_.run(*cycle.get(), preemptor, nodes,
                        {0, nodes.size(), nullptr, &keeper_, &affinity_});
  }

  static constexpr int kOneNode = 2;  // filters: without the victim, and with it
  FakeHost host_;
  Host handle_{host_.handle("DefaultPreemption")};
  test::DecodedObjects decoded_;
  DisruptionBudgets budgets_;
  PreemptionDryRun dry_run_{handle_, budgets_};
  Keeper keeper_;
  Affinity affinity_;
  FakePod victim_{"ns/victim"}, other_victim_{"ns/other"};
  FakeNode first_{"first", 0}, second_{"second", 1};
  std::vector<FakeNode*> nodes_{&first_, &second_};
  std::string verdict_;  // without victims
  int filters_ = 0;
};

TEST_F(KeptTrialsTest, OnlyNodesThatChangedAreTriedAgain) {
  EXPECT_THAT(run().candidates, SizeIs(2));
  EXPECT_EQ(filters_, 2 * kOneNode);
  EXPECT_THAT(run().candidates, SizeIs(2));
  EXPECT_EQ(filters_, 0);
  keeper_.forget(1);
  const DryRun again = run();
  EXPECT_EQ(filters_, kOneNode);
  ASSERT_THAT(again.candidates, SizeIs(2));
  EXPECT_EQ(again.candidates[1]->node, "second");
  EXPECT_EQ(again.candidates[1]->victims.front().name(), "other");
}

TEST_F(KeptTrialsTest, ARejectionIsKeptAndAnErrorIsNot) {
  verdict_ = "hopeless";
  EXPECT_THAT(run().others, SizeIs(2));
  EXPECT_THAT(run().others, SizeIs(2));
  EXPECT_EQ(filters_, 0);
  FakeNode lost("lost", 2);
  lost.add(victim_);
  nodes_ = {&lost};
  EXPECT_TRUE(run().failed);
  host_.add(lost);
  EXPECT_THAT(run().others, SizeIs(1));
}

// Whoever keeps the trial has to keep its reason.
TEST_F(KeptTrialsTest, TheReasonOfAKeptRejectionIsHeld) {
  verdict_ = "hopeless";
  const DryRun first = run();
  ASSERT_THAT(first.others, SizeIs(2));
  EXPECT_THAT(keeper_.reasons, Each(first.others.front()->status.reason));
}

TEST_F(KeptTrialsTest, AnotherPriorityBeginsAnew) {
  static_cast<void>(run());
  static_cast<void>(run(101));
  EXPECT_EQ(filters_, 2 * kOneNode);
}

TEST_F(KeptTrialsTest, ABudgetConcernsThoseWhomItSelects) {
  const auto allow = [this](int disruptions) {
    budgets_.upsert(decoded_(kDisruptionBudgets, "ns", "b",
                             R"({"spec":{"selector":{"matchLabels":{"app":"a"}}},
        "status":{"disruptionsAllowed":)" +
                                 std::to_string(disruptions) + "}}"));
  };
  static_cast<void>(run());
  allow(0);
  const DryRun guarded = run();
  EXPECT_EQ(filters_, 2 * kOneNode) << "a new one may select anybody";
  ASSERT_THAT(guarded.candidates, SizeIs(2));
  EXPECT_EQ(guarded.candidates[0]->node, "second");
  EXPECT_EQ(guarded.candidates[1]->rank.violations, 1);
  allow(1);
  EXPECT_EQ(run().candidates[0]->rank.violations, 0);
  EXPECT_EQ(filters_, kOneNode) << "the other node's pod is none of its";
  budgets_.remove("ns", "b");
  static_cast<void>(run());
  EXPECT_EQ(filters_, 2 * kOneNode);
}

// Which of two victims is spared may depend on the time then.
TEST_F(KeptTrialsTest, WhatDependsOnTheTimeIsNotKept) {
  FakePod late("ns/late");
  late.started(handle_.now_ms() + 1000);
  second_.add(late);
  static_cast<void>(run());
  static_cast<void>(run());
  EXPECT_EQ(filters_, 1 + 2);  // without both, and with each
}

TEST_F(KeptTrialsTest, WhatInterPodAffinityRestsOnIsPartOfIt) {
  keeper_.beyond = {"InterPodAffinity"};
  static_cast<void>(run());
  static_cast<void>(run());
  EXPECT_EQ(filters_, 0);
  affinity_.number = 1;
  static_cast<void>(run());
  EXPECT_EQ(filters_, 2 * kOneNode);
  FakePod ahead("ns/ahead"), behind("ns/behind");
  ahead.priority(100);
  keeper_.nominated = true;
  host_.nominated["first"] = {&ahead.get(), &behind.get()};
  host_.nominated["second"] = {&behind.get()};
  static_cast<void>(run());
  EXPECT_EQ(filters_, kOneNode) << "such a pod may have terms, too";
  static_cast<void>(run());
  EXPECT_EQ(filters_, 0);
  keeper_.beyond = {"InterPodAffinity", "PodTopologySpread"};
  static_cast<void>(run());
  EXPECT_EQ(filters_, 2 * kOneNode);
}

TEST_F(KeptTrialsTest, ACheckTriesAllAndTellsWhatDiffers) {
  static_cast<void>(run());
  keeper_.check = true;
  EXPECT_THAT(run().candidates, SizeIs(2));
  EXPECT_EQ(filters_, 2 * kOneNode);
  EXPECT_THAT(keeper_.differences, IsEmpty());
  first_.add(other_victim_);  // and nobody tells of it
  EXPECT_EQ(run().candidates[0]->victims.size(), 2U);
  EXPECT_THAT(keeper_.differences,
              ElementsAre("first: 0 violations, victims victim | 0 violations, victims victim "
                          "other"));
}

// ---- carrying it out

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    preemptor_.priority(100);
    for (FakePod* pod : {&preemptor_, &a_, &b_, &c_}) host_.pods.push_back(&pod->get());
  }
  void start(std::vector<Pod> victims) { executor_.start(preemptor_, "n", victims, 0); }
  // Runs what waits for its turn on the loop, once.
  void turn() {
    for (auto& task : std::exchange(host_.deferred, {})) task.run();
  }
  bool running() { return executor_.is_running("uid-urgent"); }

  FakeHost host_;
  PreemptionExecutor executor_{host_.handle("DefaultPreemption"), "DefaultPreemption"};
  FakePod preemptor_{"ns/urgent"}, a_{"ns/a"}, b_{"ns/b"}, c_{"ns/c"};
};

TEST_F(ExecutorTest, TheLastVictimComesLastAndAlone) {
  start({a_, b_, c_});
  EXPECT_THAT(host_.requests, ElementsAre(StartsWith("PATCH /api/v1/namespaces/ns/pods/a/status"),
                                          StartsWith("PATCH /api/v1/namespaces/ns/pods/b/status")));
  EXPECT_THAT(host_.requests[0], HasSubstr("plimsoll: preempting to accommodate a higher"));
  EXPECT_THAT(host_.requests[0], HasSubstr(R"("metadata":{"uid":"uid-a"})"));
  turn();
  ASSERT_THAT(host_.requests, SizeIs(4));
  EXPECT_THAT(host_.requests[2], StartsWith("DELETE /api/v1/namespaces/ns/pods/a "));
  EXPECT_THAT(host_.requests[2], HasSubstr(R"("preconditions":{"uid":"uid-a"})"));
  turn();
  ASSERT_THAT(host_.requests, SizeIs(5));
  EXPECT_THAT(host_.requests[4], HasSubstr("pods/c/status"));
  turn();
  EXPECT_THAT(host_.requests.back(), StartsWith("DELETE /api/v1/namespaces/ns/pods/c "));
  EXPECT_TRUE(running());
  turn();
  EXPECT_FALSE(running());
  EXPECT_THAT(host_.events, SizeIs(3));
  EXPECT_THAT(host_.activated, IsEmpty());
}

TEST_F(ExecutorTest, TheLastVictimIsSparedIfThePreemptorIsGone) {
  start({a_, b_});
  std::erase(host_.pods, &preemptor_.get());
  turn();  // the condition of a
  turn();  // its deletion
  EXPECT_FALSE(running());
  EXPECT_THAT(host_.requests, SizeIs(2));
  EXPECT_THAT(host_.requests, Not(Contains(HasSubstr("/pods/b"))));
}

// Its event may come before the answer to its deletion: nothing else would wake the preemptor.
TEST_F(ExecutorTest, TheEndOfTheLastVictimIsEnough) {
  start({a_});
  EXPECT_TRUE(running());
  host_.pods.clear();
  EXPECT_FALSE(running());
}

// PreEnqueue keeps it out of the queue, and no event opens that gate.
TEST_F(ExecutorTest, WhoWasHeldBackIsWokenInTheEnd) {
  start({a_});
  EXPECT_TRUE(executor_.holds_back("uid-urgent"));
  EXPECT_FALSE(executor_.holds_back("uid-other"));
  for (int i = 0; i < 2; ++i) turn();
  EXPECT_FALSE(running());
  EXPECT_THAT(host_.activated, IsEmpty());  // not before the loop's next turn
  turn();
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
}

// The last victim of the first is gone before the answer to its deletion comes.
TEST_F(ExecutorTest, APreemptionThatEndsLeavesANewerOneAlone) {
  start({a_});
  turn();
  host_.pods = {&preemptor_.get(), &b_.get()};
  EXPECT_FALSE(executor_.holds_back("uid-urgent"));
  start({b_});
  turn();  // the answers to the deletion of a, and to the condition of b
  EXPECT_TRUE(running());
  turn();
  EXPECT_FALSE(running());
}

TEST_F(ExecutorTest, WhoTerminatesAlreadyIsLeftAlone) {
  a_.terminating();
  start({a_});
  EXPECT_THAT(host_.requests, IsEmpty());
  EXPECT_FALSE(running());
}

TEST_F(ExecutorTest, AVictimThatIsGoneWakesThePreemptor) {
  host_.answer_status = 404;
  start({a_, b_});
  for (int i = 0; i < 4; ++i) turn();
  EXPECT_FALSE(running());
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
  EXPECT_THAT(host_.events, IsEmpty());
}

TEST_F(ExecutorTest, ANameThatBelongsToAnotherPodIsNoVictim) {
  host_.answer_status = 409;
  host_.answer_body = R"({"message":"Precondition failed: UID in precondition: x"})";
  start({a_});
  for (int i = 0; i < 3; ++i) turn();
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
  EXPECT_THAT(host_.logs, IsEmpty());
}

TEST_F(ExecutorTest, AFailureSparesTheLastVictimAndIsTriedAgainEverLater) {
  host_.answer_status = 403;
  std::vector<int64_t> delays;
  for (int attempt = 0; attempt < 8; ++attempt) {
    host_.requests.clear();
    start({a_, b_});
    turn();
    EXPECT_THAT(host_.requests, ElementsAre(HasSubstr("pods/a/status")));
    EXPECT_FALSE(running());
    ASSERT_THAT(host_.deferred, SizeIs(1));
    delays.push_back(host_.deferred[0].delay_ms);
    turn();
    EXPECT_THAT(host_.activated, SizeIs(attempt + 1));
    host_.pods.push_back(&preemptor_.get());
  }
  EXPECT_EQ(delays[0], 0);
  EXPECT_TRUE(std::is_sorted(delays.begin(), delays.end()));
  EXPECT_EQ(delays.back(), 10'000);
}

TEST_F(ExecutorTest, FailuresOfPreemptorsThatAreGoneAreForgotten) {
  host_.answer_status = 403;
  FakePod stays("ns/stays");
  host_.pods.push_back(&stays.get());
  executor_.start(stays, "n", {a_}, 0);
  turn();
  for (int i = 0; i < 1000; ++i) {
    FakePod gone("ns/gone-" + std::to_string(i));
    executor_.start(gone, "n", {a_}, 0);
    turn();
    EXPECT_LE(executor_.failing(), 64U);
  }
  host_.drop_deferred();
  executor_.start(stays, "n", {a_}, 0);
  turn();
  ASSERT_THAT(host_.deferred, SizeIs(1));
  EXPECT_GT(host_.deferred[0].delay_ms, 0);  // its first failure is remembered
}

// Who waits on Permit is asked for all victims at once: the list may be long.
TEST_F(ExecutorTest, WhoWaitsIsAskedOnceForTheFirstVictimsAndOnceForTheLast) {
  static int asked;
  asked = 0;
  plimsoll_host table = *host_.table();
  table.waiting_pods = [](plimsoll_host_ctx*) {
    ++asked;
    return plimsoll_list{};
  };
  PreemptionExecutor executor(Host(&table, "DefaultPreemption"), "DefaultPreemption");
  FakePod d("ns/d");
  executor.start(preemptor_, "n", {a_, b_, c_, d}, 0);
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 2; ++i) turn();
  EXPECT_EQ(asked, 2);
  for (int i = 0; i < 2; ++i) turn();
  EXPECT_FALSE(executor.is_running("uid-urgent"));
}

TEST_F(ExecutorTest, BindingsThatCanBeCalledOffCostNoRequest) {
  host_.bindings_can_be_cancelled = true;
  start({a_, b_});
  EXPECT_THAT(host_.cancelled, ElementsAre("uid-a", "uid-b"));
  EXPECT_THAT(host_.requests, IsEmpty());
  EXPECT_FALSE(running());
  EXPECT_THAT(host_.events,
              ElementsAre("Normal Preempted: Preempted by pod uid-urgent on node n (in "
                          "kube-scheduler memory).",
                          HasSubstr("Preempted by pod uid-urgent")));
}

TEST_F(ExecutorTest, LowerNominationsToTheNodeEnd) {
  FakePod low("ns/low"), in_memory("ns/in-memory"), high("ns/high");
  low.priority(50).nominated_to("n");
  in_memory.priority(50);
  high.priority(100).nominated_to("n");
  host_.nominated["n"] = {&low.get(), &in_memory.get(), &high.get()};
  start({a_});
  EXPECT_EQ(host_.nominations,
            (std::map<std::string, std::string>{{"in-memory", ""}, {"low", ""}}));
  ASSERT_THAT(host_.requests, SizeIs(1));  // the victim's turn comes when it is answered
  EXPECT_THAT(host_.requests[0], StartsWith("PATCH /api/v1/namespaces/ns/pods/low/status"));
  EXPECT_THAT(host_.requests[0], HasSubstr(R"({"nominatedNodeName":null})"));
  turn();
  EXPECT_THAT(host_.requests.back(), HasSubstr("pods/a/status"));
}

// ---- the plugin

class PluginTest : public ::testing::Test {
 protected:
  PluginTest() {
    plugin_.size = sizeof plugin_;
    EXPECT_EQ(default_preemption().create(host_.table(), str("{}"), &plugin_), PLIMSOLL_SUCCESS);
    preemptor_.priority(100);
    second_->add(victim_);
    for (FakeNode* node : {&first_, &*second_}) host_.add(*node);
    host_.what_if_verdict = [](const FakeWhatIf& what_if) {
      return what_if.pods.empty() ? "" : "too full";
    };
    for (FakePod* pod : {&preemptor_, &victim_}) host_.pods.push_back(&pod->get());
  }
  ~PluginTest() override { plugin_.destroy(plugin_.self); }
  // The node that the pod is nominated to then, or what refuses it.
  std::string post_filter(std::vector<uint8_t> codes) {
    FakeCycle cycle;
    const std::vector<const plimsoll_node_info*> rows{&first_.get(), &second_->get()};
    const plimsoll_nodes nodes{sizeof nodes, 2, rows.data(), nullptr, nullptr};
    plimsoll_str nominated{};
    uint32_t reason = 0;
    const int32_t code = plugin_.post_filter(plugin_.self, cycle.get(), &preemptor_.get(), &nodes,
                                             codes.data(), &nominated, &reason);
    return code == PLIMSOLL_SUCCESS ? std::string(view(nominated)) : host_.error;
  }
  int32_t pre_enqueue() {
    uint32_t reason = 0;
    return plugin_.pre_enqueue(plugin_.self, &preemptor_.get(), &reason);
  }

  FakeHost host_;
  FakePod preemptor_{"ns/urgent"}, victim_{"ns/victim"};
  FakeNode first_{"first", 0};
  std::optional<FakeNode> second_{std::in_place, "second", 1};
  plimsoll_plugin plugin_{};
};

TEST_F(PluginTest, RoomThatIsOnItsWayIsWaitedForButNotForEver) {
  preemptor_.nominated_to("first");
  const std::vector<uint8_t> codes{PLIMSOLL_PENDING, PLIMSOLL_UNSCHEDULABLE};
  const std::string waits =
      "preemption: not eligible due to room about to be free on the nominated node.";
  EXPECT_EQ(post_filter(codes), waits);
  ASSERT_EQ(host_.deferred.size(), 1U);
  EXPECT_EQ(host_.deferred[0].delay_ms, 120'000) << "nothing else may wake it then";
  host_.now += 119'999;
  EXPECT_EQ(post_filter(codes), waits);
  EXPECT_EQ(host_.deferred.size(), 1U);
  host_.now += 1;
  host_.deferred[0].run();
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
  EXPECT_EQ(post_filter(codes), "second");
}

// Whoever evicted them: the last that goes wakes the preemptor, once; so does the end of the node.
TEST_F(PluginTest, ThePodsThatItWaitedForWakeItWhenTheyAreGone) {
  preemptor_.nominated_to("second");
  host_.nominated["second"] = {&preemptor_.get()};
  FakePod other("ns/other");
  victim_.terminating("PreemptionByScheduler");
  other.terminating("PreemptionByScheduler");
  const auto on_second = [&](const std::vector<FakePod*>& pods) {
    second_.emplace("second", 1);
    for (FakePod* pod : pods) second_->add(*pod);
  };
  const auto leaves = [&](FakePod& pod, const std::vector<FakePod*>& left) {
    on_second(left);
    plugin_.pod_event(plugin_.self, PLIMSOLL_POD_REMOVED, &pod.get(), str("second"));
    return std::exchange(host_.activated, {});
  };
  const auto refuse = [&] {
    EXPECT_EQ(post_filter({PLIMSOLL_UNSCHEDULABLE, PLIMSOLL_UNSCHEDULABLE}),
              "preemption: not eligible due to a terminating pod on the nominated node.");
  };
  on_second({&victim_, &other});
  EXPECT_THAT(leaves(other, {&victim_}), IsEmpty()) << "nobody waits yet";
  on_second({&victim_, &other});
  refuse();
  EXPECT_THAT(leaves(other, {&victim_}), IsEmpty());
  EXPECT_THAT(leaves(victim_, {}), ElementsAre("uid-urgent"));
  EXPECT_THAT(leaves(victim_, {}), IsEmpty());

  on_second({&victim_});
  refuse();
  plugin_.node_event(plugin_.self, PLIMSOLL_NODE_REMOVED, &first_.get(), 0);
  EXPECT_THAT(host_.activated, IsEmpty());
  plugin_.node_event(plugin_.self, PLIMSOLL_NODE_REMOVED, &second_->get(), 0);
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
}

TEST_F(PluginTest, PreEnqueueHoldsThePreemptorBackAndWakesItInTheEnd) {
  EXPECT_EQ(pre_enqueue(), PLIMSOLL_SUCCESS);
  EXPECT_EQ(post_filter({PLIMSOLL_UNSCHEDULABLE, PLIMSOLL_UNSCHEDULABLE}), "second");
  EXPECT_EQ(pre_enqueue(), PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
  for (int i = 0; i < 3; ++i) {
    for (auto& task : std::exchange(host_.deferred, {})) task.run();
  }
  EXPECT_EQ(pre_enqueue(), PLIMSOLL_SUCCESS);
  EXPECT_THAT(host_.activated, ElementsAre("uid-urgent"));
}

}  // namespace
}  // namespace plimsoll::builtin
