// Nodes as they might be, with the builtin filters: what is added and removed leaves no trace,
// rooms of nominated pods are kept, and a dry run of preemption names the victims that are needed
// and no others.

#include "framework/placement/what_if.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "framework/api/decode/decode.hpp"
#include "plugins/builtin/builtin.hpp"
#include "plugins/builtin/preemption/preemption_candidates.hpp"
#include "tests/runtime/support.hpp"
#include "tests/support/decoded_objects.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::json;
using builtin::DisruptionBudgets;
using builtin::DryRun;
using builtin::PreemptionDryRun;
using builtin::Trial;
using testing::World;

// A plugin whose only part is to tell the test of its host.
const sdk::Host* g_host = nullptr;
class Spy {
 public:
  static constexpr const char* kName = "Spy";
  Spy(sdk::Host host, std::string_view) : host_(host) { g_host = &host_; }
  sdk::Status reserve(plimsoll_cycle&, sdk::Pod, sdk::Node) { return sdk::Status::success(); }
  void unreserve(plimsoll_cycle&, sdk::Pod, std::string_view) {}

 private:
  sdk::Host host_;
};

struct PodText {
  std::string name;
  int cpu = 0;
  int priority = 0;
  int port = 0;
  std::string app = "a";
  int started = 0;
  std::string node = {};
  std::string nominated = {};
};

class WhatIfTest : public ::testing::Test {
 protected:
  WhatIfTest() {
    world_.modules.add_builtin(builtin_modules());
    const std::vector<StaticModule> spy{{"Spy", "1", sdk::create_fn<Spy>}};
    world_.modules.add_builtin(spy);
    ProfileSpec spec;
    spec.scheduler_name = "topo";
    spec.at(ExtensionPoint::kQueueSort) = {{"PrioritySort"}};
    spec.at(ExtensionPoint::kPreFilter) = {{"NodePorts"}};
    spec.at(ExtensionPoint::kFilter) = {{"NodePorts"}, {"NodeResourcesFit"}};
    spec.at(ExtensionPoint::kReserve) = {{"Spy"}};
    spec.at(ExtensionPoint::kBind) = {{"DefaultBinder"}};
    framework_ = &world_.make(spec);
    world_.backend.on_what_if = [this](const CycleContext& cycle, const plimsoll_pod& pod,
                                       uint32_t slot) -> std::unique_ptr<WhatIf> {
      const NodeInfo* node = cluster_->node_at(slot);
      if (node == nullptr) return nullptr;
      return make_what_if(*framework_, cycle, pod, *node, nominator_);
    };
  }
  void add_node(const std::string& name, int cpu, int pods = 110) {
    const Json node = {
        {"metadata", {{"name", name}}},
        {"status",
         {{"allocatable", {{"cpu", std::to_string(cpu)}, {"pods", std::to_string(pods)}}}}}};
    cluster_->upsert_node(*decode_node(node.dump(), world_.symbols));
  }
  PodRef pod(const PodText& text) {
    Json container = {{"name", "c"},
                      {"resources", {{"requests", {{"cpu", std::to_string(text.cpu)}}}}}};
    if (text.port != 0) container["ports"] = {{{"hostPort", text.port}, {"containerPort", 1}}};
    char started[40];
    std::snprintf(started, sizeof started, "2026-01-01T%02d:%02d:00Z", text.started / 60 % 24,
                  text.started % 60);
    Json made = {{"metadata",
                  {{"name", text.name},
                   {"namespace", "ns"},
                   {"uid", "u-" + text.name},
                   {"labels", {{"app", text.app}}}}},
                 {"spec", {{"priority", text.priority}, {"containers", {container}}}},
                 {"status", {{"startTime", started}}}};
    if (!text.node.empty()) made["spec"]["nodeName"] = text.node;
    if (!text.nominated.empty()) made["status"]["nominatedNodeName"] = text.nominated;
    return *decode_pod(made.dump(), world_.symbols);
  }
  std::shared_ptr<CycleContext> cycle_for(const plimsoll_pod& pod) {
    auto cycle = framework_->new_cycle();
    EXPECT_FALSE(framework_->run_pre_filter(*cycle, pod).status.is_error());
    return cycle;
  }
  Code verdict(const plimsoll_pod& pod, const NodeInfo& node) {
    return filter_with_nominated(*framework_, *cycle_for(pod), pod, node, nominator_).code;
  }
  // The verdict on the node if these pods were gone.
  Code verdict_without(const plimsoll_pod& pod, const std::string& node,
                       const std::vector<sdk::Pod>& gone, const plimsoll_pod* but = nullptr) {
    NodeInfo copy(*cluster_->node(node));
    for (sdk::Pod each : gone) {
      if (&*each != but) copy.remove_pod(each.uid());
    }
    return verdict(pod, copy);
  }
  std::vector<Code> verdicts(const plimsoll_pod& pod) {
    const auto& rows = cluster_->rows();
    std::vector<uint8_t> codes(rows.size());
    std::vector<uint32_t> reasons(rows.size());
    std::vector<PluginIndex> rejectors(rows.size(), kNoPlugin);
    EXPECT_TRUE(run_filters_with_nominated(*framework_, *cycle_for(pod), pod, rows,
                                           {codes, reasons, rejectors}, *cluster_, nominator_)
                    .ok());
    std::vector<Code> result;
    for (const uint8_t code : codes) result.push_back(static_cast<Code>(code));
    return result;
  }

  World world_;
  Framework* framework_;
  std::optional<ClusterState> cluster_{std::in_place};
  Nominator nominator_{[](std::string_view) {}};
};

TEST_F(WhatIfTest, WhatIsAddedAndRemovedIsSeenThereAndNowhereElse) {
  add_node("n", 4);
  const PodRef old = pod({.name = "old", .cpu = 3, .port = 80, .node = "n"});
  cluster_->upsert_pod(old);
  const PodRef wanted = pod({.name = "wanted", .cpu = 2, .port = 80});
  const uint64_t log = cluster_->log_end();
  const auto cycle = cycle_for(*wanted);
  const auto what_if = make_what_if(*framework_, *cycle, *wanted, *cluster_->node("n"), nominator_);
  EXPECT_EQ(what_if->filter().code, Code::kUnschedulable);
  EXPECT_TRUE(what_if->remove_pod(*old).ok());
  EXPECT_TRUE(what_if->filter().ok());
  EXPECT_EQ(what_if->node().pod_count, 0U);
  EXPECT_TRUE(what_if->add_pod(*old).ok());
  EXPECT_EQ(what_if->filter().code, Code::kUnschedulable);
  EXPECT_TRUE(what_if->remove_pod(*old).ok());
  const Status twice = what_if->remove_pod(*old);
  EXPECT_TRUE(twice.is_error());
  EXPECT_EQ(twice.error, "no corresponding pod old in pods of node n");
  EXPECT_EQ(cluster_->node("n")->pods().size(), 1U);
  EXPECT_EQ(cluster_->log_end(), log);
}

// TestFilterPluginsWithNominatedPods and addGENominatedPods: only pods of at least the same
// priority count, never the pod itself.
TEST_F(WhatIfTest, RoomOfNominatedPodsIsKept) {
  add_node("n", 4);
  struct Row {
    int priority;
    const char* name;
    Code expected;
  };
  for (const Row& row : {Row{5, "other", Code::kSuccess}, Row{10, "other", Code::kUnschedulable},
                         Row{11, "other", Code::kUnschedulable}, Row{10, "me", Code::kSuccess}}) {
    nominator_.add(pod({.name = row.name, .cpu = 3, .priority = row.priority, .nominated = "n"}),
                   Nominating::keep());
    const PodRef me = pod({.name = "me", .cpu = 2, .priority = 10});
    EXPECT_EQ(verdict(*me, *cluster_->node("n")), row.expected) << row.priority << row.name;
    EXPECT_EQ(verdicts(*me), std::vector<Code>{row.expected}) << row.priority << row.name;
    nominator_.remove("u-" + std::string(row.name));
  }
}

// Random clusters. The seed of a failure is in its text.
class RandomPreemptions : public WhatIfTest {
 protected:
  int pick(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  PodText random_pod(const std::string& name) {
    return {.name = name,
            .cpu = 1 + pick(3),
            .priority = pick(4) * 10 - 10,
            .port = pick(3) == 0 ? 80 + pick(1) : 0,
            .app = std::string(1, static_cast<char>('a' + pick(2))),
            .started = pick(20)};
  }
  void fill() {
    const int nodes = 1 + pick(4);
    for (int n = 0; n < nodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      add_node(node, 4 + pick(8), 3 + pick(6));
      const int pods = pick(7);
      for (int p = 0; p < pods; ++p) {
        PodText text = random_pod(node + "-" + std::to_string(p));
        text.node = node;
        cluster_->upsert_pod(pod(text));
      }
      if (pick(3) == 0) {
        PodText text = random_pod("nominated-" + node);
        text.nominated = node;
        nominator_.add(pod(text), Nominating::keep());
      }
    }
    for (int b = pick(3); b > 0; --b) {
      const Json budget = {
          {"spec",
           {{"selector",
             {{"matchLabels", {{"app", std::string(1, static_cast<char>('a' + pick(2)))}}}}}}},
          {"status", {{"disruptionsAllowed", pick(2)}}}};
      budgets_.upsert(
          decoded_(sdk::kDisruptionBudgets, "ns", "b" + std::to_string(b), budget.dump()));
    }
  }
  void check_candidate(const plimsoll_pod& wanted, const Trial& candidate) {
    ASSERT_FALSE(candidate.victims.empty());
    EXPECT_EQ(verdict_without(wanted, candidate.node, candidate.victims), Code::kSuccess);
    for (sdk::Pod victim : candidate.victims) {
      EXPECT_LT(victim->priority, wanted.priority);
      // Each of them has to go: with it, and without all others, there is no room.
      EXPECT_NE(verdict_without(wanted, candidate.node, candidate.victims, &*victim),
                Code::kSuccess)
          << victim.name();
    }
    EXPECT_TRUE(
        std::is_sorted(candidate.victims.begin(), candidate.victims.end(),
                       [](sdk::Pod a, sdk::Pod b) { return builtin::more_important(a, b, 0); }));
  }
  void check_other(const plimsoll_pod& wanted, const std::string& node) {
    std::vector<sdk::Pod> lower;
    for (const PodRef& each : cluster_->node(node)->pods()) {
      if (each->priority < wanted.priority) lower.emplace_back(each.get());
    }
    if (lower.empty()) return;
    EXPECT_NE(verdict_without(wanted, node, lower), Code::kSuccess) << node;
  }

  std::mt19937 random_;
  test::DecodedObjects decoded_;
  DisruptionBudgets budgets_;
};

TEST_F(RandomPreemptions, VictimsMakeRoomAndNoneIsSuperfluous) {
  size_t candidates = 0;
  size_t others = 0;
  const unsigned first = test::test_seed();
  for (unsigned seed = first; seed < first + 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    cluster_.emplace();
    budgets_ = {};
    for (int n = 0; n < 8; ++n) nominator_.remove("u-nominated-n" + std::to_string(n));
    ASSERT_NO_FATAL_FAILURE(fill());
    PodText text = random_pod("wanted");
    text.priority += 20;
    const PodRef wanted = pod(text);
    const auto cycle = cycle_for(*wanted);
    std::vector<builtin::PotentialNode> potential;
    const std::vector<Code> codes = verdicts(*wanted);
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] != Code::kUnschedulable) continue;
      potential.push_back({sdk::Node(cluster_->rows()[i]), cluster_->row_slots()[i]});
    }
    if (potential.empty()) continue;
    const uint64_t log = cluster_->log_end();
    const PreemptionDryRun dry_run(*g_host, budgets_);
    const DryRun found =
        dry_run.run(*cycle, sdk::Pod(wanted.get()), potential, {seed, potential.size()});
    EXPECT_FALSE(found.failed);
    EXPECT_EQ(found.candidates.size() + found.others.size(), potential.size());
    EXPECT_EQ(cluster_->log_end(), log);
    EXPECT_EQ(verdicts(*wanted), codes);
    for (const Trial* candidate : found.candidates) check_candidate(*wanted, *candidate);
    for (const Trial* other : found.others) check_other(*wanted, other->node);
    candidates += found.candidates.size();
    others += found.others.size();
    if (HasFailure()) break;
  }
  // The clusters are such that both happen often.
  EXPECT_GT(candidates, 100U);
  EXPECT_GT(others, 100U);
}

TEST(WantedCandidates, AShareAndALeastNumberOfTheNodes) {
  EXPECT_EQ(builtin::wanted_candidates(5000, 10, 100), 500U);
  EXPECT_EQ(builtin::wanted_candidates(200, 10, 100), 100U);
  EXPECT_EQ(builtin::wanted_candidates(30, 10, 100), 30U);
  EXPECT_EQ(builtin::wanted_candidates(1000, 0, 7), 7U);
  EXPECT_EQ(builtin::wanted_candidates(1000, 100, 0), 1000U);
}

}  // namespace
}  // namespace plimsoll
