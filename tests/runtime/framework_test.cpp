// The extension points of the scheduling cycle, as kube-scheduler's framework runtime runs them
// (pkg/scheduler/framework/runtime/framework.go).

#include "framework/runtime/framework.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using sdk::Host;
using testing::calls;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::minimal_profile;
using testing::Script;
using testing::scripts;
using testing::World;

using PluginStatus = sdk::Status;

// A function that answers with one code and, for a rejection, one reason.
auto answers(int32_t code, const std::string& reason = "") {
  return [code, reason](const Host& host, auto&&...) {
    if (code == PLIMSOLL_ERROR) return host.error(reason);
    return PluginStatus{code, reason.empty() ? 0 : host.reason(reason)};
  };
}

class FrameworkTest : public ::testing::Test {
 protected:
  // The plugins A, B and C, in this order, at the given points.
  Framework& abc(std::initializer_list<ExtensionPoint> points) {
    ProfileSpec spec = minimal_profile();
    for (ExtensionPoint point : points) spec.at(point) = {{"A"}, {"B"}, {"C"}};
    Framework& framework = world_.make(spec);
    calls().clear();
    return framework;
  }
  Script& a() { return scripts()["A"]; }
  Script& b() { return scripts()["B"]; }
  Script& c() { return scripts()["C"]; }
  const plimsoll_pod& pod() { return pod_.get(); }
  std::vector<const plimsoll_node_info*> rows() { return {&n1_.get(), &n2_.get(), &n3_.get()}; }

  World world_;
  FakePod pod_{"team/a"};
  FakeNode n1_{"n1", 0}, n2_{"n2", 1}, n3_{"n3", 2};
};

// ---- making a profile

TEST_F(FrameworkTest, SaysEverythingThatIsWrongWithAProfile) {
  ProfileSpec spec;
  spec.scheduler_name = "s";
  spec.at(ExtensionPoint::kFilter) = {{"A"}, {"Missing"}, {"A"}, {"Idle"}};
  spec.at(ExtensionPoint::kScore) = {{"Missing"}, {"B", -1}};
  scripts()["B"].create = [](const Host&, std::string_view args) {
    if (args != "{}") throw std::runtime_error("args: " + std::string(args));
  };
  EXPECT_THAT(
      world_.errors_of(spec),
      ElementsAre("FilterPlugin \"Missing\" does not exist",
                  "plugin \"A\" already registered as \"FilterPlugin\"",
                  "plugin \"Idle\" does not extend FilterPlugin plugin",
                  "only one queue sort plugin required for profile with scheduler name \"s\", but "
                  "got 0",
                  "at least one bind plugin is needed for profile with scheduler name \"s\""));
}

TEST_F(FrameworkTest, HandsArgsToPluginsAndReportsTheirErrors) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"A"}, {"B"}};
  spec.args["B"] = R"({"seats":"many"})";
  std::string seen;
  scripts()["A"].create = [&seen](const Host&, std::string_view args) { seen = args; };
  scripts()["B"].create = [](const Host&, std::string_view args) {
    throw std::invalid_argument("seats: expected a number in " + std::string(args));
  };
  EXPECT_THAT(world_.errors_of(spec),
              ElementsAre("initializing plugin \"B\": seats: expected a number in "
                          "{\"seats\":\"many\"}"));
  EXPECT_EQ(seen, "{}");
}

TEST_F(FrameworkTest, RefusesTwoQueueSorts) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kQueueSort) = {{"Sort"}, {"Binder"}};
  EXPECT_THAT(world_.errors_of(spec),
              ElementsAre("plugin \"Binder\" does not extend QueueSortPlugin plugin",
                          "only one queue sort plugin required for profile with scheduler name "
                          "\"test-scheduler\", but got 2"));
}

TEST_F(FrameworkTest, OneInstanceServesAllPoints) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"A"}};
  spec.at(ExtensionPoint::kScore) = {{"A", 7}, {"B"}};
  spec.plugins = {"Idle", "A"};
  Framework& framework = world_.make(spec);
  EXPECT_EQ(framework.plugin_count(), 5U);  // Sort, A, B, Binder, Idle
  const auto scores = framework.at(ExtensionPoint::kScore);
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[0].plugin, framework.at(ExtensionPoint::kFilter)[0].plugin);
  EXPECT_EQ(scores[0].weight, 7);
  EXPECT_EQ(scores[1].weight, 1) << "no weight counts as 1";
  EXPECT_EQ(framework.plugin_name(scores[1].plugin), "B");
  EXPECT_EQ(framework.filter_aspects(scores[0].plugin), uint32_t{PLIMSOLL_ASPECT_LABELS});
}

TEST_F(FrameworkTest, StartStopsAtThePluginThatFails) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  b().start = [](const Host& host) { host.watch("", "v1", ""); };
  auto started = framework.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "profile \"test-scheduler\": starting plugin \"B\": cannot watch .v1.");
  EXPECT_THAT(calls(), ElementsAre("A.start", "B.start"));
}

// ---- queue

TEST_F(FrameworkTest, PreEnqueueStopsAtTheFirstRejection) {
  Framework& framework = abc({ExtensionPoint::kPreEnqueue});
  EXPECT_TRUE(framework.run_pre_enqueue(pod()).ok());
  b().pre_enqueue = answers(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "gated");
  calls().clear();
  const Status status = framework.run_pre_enqueue(pod());
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.plugin, "B");
  EXPECT_EQ(world_.message(status), "gated");
  EXPECT_THAT(calls(), ElementsAre("A.pre_enqueue", "B.pre_enqueue"));
}

TEST_F(FrameworkTest, SortKeysOrderPods) {
  Framework& framework = world_.make(minimal_profile());
  FakePod low("team/low"), high("team/high"), odd("team/odd");
  low.priority(1);
  high.priority(10);
  odd.label("unsortable", "");
  std::array<uint8_t, 24> first{}, second{};
  EXPECT_TRUE(framework.sort_key(high.get(), 5, first));
  EXPECT_TRUE(framework.sort_key(low.get(), 1, second));
  EXPECT_LT(first, second);
  EXPECT_FALSE(framework.sort_key(odd.get(), 1, first));
  EXPECT_EQ(first, (std::array<uint8_t, 24>{})) << "an unknown order is still an order";
}

TEST_F(FrameworkTest, KnowsWhichEventsPluginsWant) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kPreEnqueue) = {{"A"}, {"Picky"}, {"Deaf"}};
  Framework& framework = world_.make(spec);
  const auto events = framework.events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_TRUE(events[0].all);
  EXPECT_FALSE(events[1].all);
  ASSERT_EQ(events[1].interests.size(), 1U);
  EXPECT_EQ(view(events[1].interests[0].resource), "Node");
  EXPECT_FALSE(events[2].all);
  EXPECT_TRUE(events[2].interests.empty()) << "never woken";

  plimsoll_event event{};
  event.size = sizeof event;
  event.actions = PLIMSOLL_ACTION_ADD;
  EXPECT_EQ(framework.hint(events[1].plugin, pod(), event), PLIMSOLL_HINT_QUEUE);
  event.actions = PLIMSOLL_ACTION_DELETE;
  EXPECT_EQ(framework.hint(events[1].plugin, pod(), event), PLIMSOLL_HINT_SKIP);
  EXPECT_EQ(framework.hint(events[0].plugin, pod(), event), PLIMSOLL_HINT_QUEUE) << "no hint";
}

// ---- PreFilter

TEST_F(FrameworkTest, PreFilterSkipLeavesFilterOut) {
  Framework& framework = abc({ExtensionPoint::kPreFilter, ExtensionPoint::kFilter});
  a().pre_filter = answers(PLIMSOLL_SKIP);
  auto cycle = framework.new_cycle();
  EXPECT_TRUE(framework.run_pre_filter(*cycle, pod()).status.ok());
  calls().clear();
  EXPECT_TRUE(framework.run_filters_on(*cycle, pod(), n1_.get()).ok());
  EXPECT_TRUE(framework.run_add_pod(*cycle, pod(), pod(), n1_.get()).ok());
  EXPECT_TRUE(framework.run_remove_pod(*cycle, pod(), pod(), n1_.get()).ok());
  EXPECT_THAT(calls(), ElementsAre("B.filter n1", "C.filter n1", "B.add_pod", "C.add_pod",
                                   "B.remove_pod", "C.remove_pod"));
}

TEST_F(FrameworkTest, PreFilterGoesOnAfterUnschedulable) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  a().pre_filter = answers(PLIMSOLL_UNSCHEDULABLE, "first");
  b().pre_filter = answers(PLIMSOLL_PENDING, "second");
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.code, Code::kPending) << "the last rejection is told";
  EXPECT_EQ(out.status.plugin, "B");
  EXPECT_EQ(world_.message(out.status), "second");
  EXPECT_THAT(calls(), ElementsAre("A.pre_filter", "B.pre_filter", "C.pre_filter"));
}

TEST_F(FrameworkTest, PreFilterStopsAtUnresolvable) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  a().pre_filter = answers(PLIMSOLL_UNSCHEDULABLE, "first");
  b().pre_filter = answers(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "never");
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(world_.message(out.status), "never");
  EXPECT_THAT(calls(), ElementsAre("A.pre_filter", "B.pre_filter"));
}

TEST_F(FrameworkTest, PreFilterRejectsWithATextOfItsOwn) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  a().pre_filter = [](const Host& host, plimsoll_cycle&, sdk::NodeNames&) {
    return host.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "claim \"a\" not found");
  };
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(out.status.plugin, "A");
  EXPECT_EQ(out.status.reason, 0U) << "it is not kept for ever";
  EXPECT_EQ(world_.message(out.status), "claim \"a\" not found");
}

TEST_F(FrameworkTest, PreFilterErrorStopsTheCycle) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  a().pre_filter = answers(PLIMSOLL_ERROR, "no connection");
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.error, "running PreFilter plugin \"A\": no connection");
  b().pre_filter = a().pre_filter = nullptr;
  c().pre_filter = answers(PLIMSOLL_WAIT);
  EXPECT_EQ(framework.run_pre_filter(*cycle, pod()).status.error,
            "running PreFilter plugin \"C\": it returned Wait, which it must not return here");
}

auto narrows_to(const std::vector<std::string>& names) {
  return [names](const Host&, plimsoll_cycle&, sdk::NodeNames& narrow) {
    narrow.only();
    for (const std::string& name : names) narrow.add(name);
    return PluginStatus();
  };
}

TEST_F(FrameworkTest, PreFilterIntersectsNodeNames) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  a().pre_filter = narrows_to({"n3", "n1", "n2", "n1"});
  c().pre_filter = narrows_to({"n2", "n4", "n3"});
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_TRUE(out.status.ok());
  EXPECT_TRUE(out.narrowed);
  EXPECT_THAT(out.node_names, ElementsAre("n2", "n3"));
  EXPECT_EQ(out.absent_nodes.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(world_.message(out.absent_nodes), "node(s) didn't satisfy plugin(s) [A C]");
}

TEST_F(FrameworkTest, PreFilterThatLeavesNoNode) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  b().pre_filter = narrows_to({});
  auto cycle = framework.new_cycle();
  PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(world_.message(out.status), "node(s) didn't satisfy plugin B");
  EXPECT_EQ(out.status.plugin, "B");

  b().pre_filter = narrows_to({"n1"});
  c().pre_filter = narrows_to({"n2"});
  out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(world_.message(out.status), "node(s) didn't satisfy plugin(s) [B C] simultaneously");
}

TEST_F(FrameworkTest, PreFilterListsNarrowingPluginsByName) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kPreFilter) = {{"C"}, {"A"}, {"B"}};
  Framework& framework = world_.make(spec);
  c().pre_filter = narrows_to({"n1", "n2"});
  a().pre_filter = narrows_to({"n2", "n3"});
  auto cycle = framework.new_cycle();
  PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(world_.message(out.absent_nodes), "node(s) didn't satisfy plugin(s) [A C]");
  a().pre_filter = narrows_to({"n3"});
  out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(world_.message(out.status), "node(s) didn't satisfy plugin(s) [A C] simultaneously");
  EXPECT_EQ(out.narrowed_by.size(), 2U);
  a().pre_filter = narrows_to({"n2"});
  b().pre_filter = answers(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "never");
  out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(out.status.plugin, "B");
  EXPECT_THAT(out.narrowed_by, IsEmpty()) << "who rejects is B alone";
  b().pre_filter = answers(PLIMSOLL_UNSCHEDULABLE, "not now");
  out = framework.run_pre_filter(*cycle, pod());
  EXPECT_EQ(world_.message(out.status), "not now");
  EXPECT_EQ(out.narrowed_by.size(), 2U) << "these as well as B";
}

TEST_F(FrameworkTest, PreFilterWithoutNarrowingLooksAtAllNodes) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod());
  EXPECT_TRUE(out.status.ok());
  EXPECT_FALSE(out.narrowed);
}

// ---- Filter

struct Columns {
  explicit Columns(size_t rows) : codes(rows), reasons(rows), rejectors(rows, kNoPlugin) {}
  FilterColumns out() { return {codes, reasons, rejectors}; }
  std::vector<uint8_t> codes;
  std::vector<uint32_t> reasons;
  std::vector<PluginIndex> rejectors;
};

// Refuses the node of that name.
auto refuses(const std::string& name, int32_t code = PLIMSOLL_UNSCHEDULABLE) {
  return [name, code](const Host& host, const plimsoll_cycle&, sdk::Node node) {
    if (node.name() != name) return PluginStatus();
    return PluginStatus{code, host.reason("not " + name)};
  };
}

TEST_F(FrameworkTest, FirstRefusalOfANodeWins) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  a().filter_node = refuses("n2");
  b().filter_node = refuses("n2", PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
  c().filter_node = refuses("n1", PLIMSOLL_PENDING);
  auto cycle = framework.new_cycle();
  Columns columns(3);
  ASSERT_TRUE(framework.run_filters(*cycle, pod(), rows(), columns.out()).ok());
  EXPECT_THAT(columns.codes, ElementsAre(PLIMSOLL_PENDING, PLIMSOLL_UNSCHEDULABLE, 0));
  EXPECT_EQ(framework.plugin_name(columns.rejectors[0]), "C");
  EXPECT_EQ(framework.plugin_name(columns.rejectors[1]), "A");
  EXPECT_EQ(columns.rejectors[2], kNoPlugin);
  EXPECT_EQ(world_.env.reasons.message(columns.reasons[1]), "not n2");
  EXPECT_THAT(calls(), ElementsAre("A.filter n1", "A.filter n2", "A.filter n3", "B.filter n1",
                                   "B.filter n3", "C.filter n1", "C.filter n3"));
}

TEST_F(FrameworkTest, FilterLeavesRefusedRowsAlone) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  auto cycle = framework.new_cycle();
  Columns columns(3);
  columns.codes[1] = PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE;
  columns.reasons[1] = 42;
  ASSERT_TRUE(framework.run_filters(*cycle, pod(), rows(), columns.out()).ok());
  EXPECT_THAT(columns.codes, ElementsAre(0, PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, 0));
  EXPECT_EQ(columns.reasons[1], 42U);
  EXPECT_EQ(std::count(calls().begin(), calls().end(), "A.filter n2"), 0);
}

TEST_F(FrameworkTest, FilterErrorGivesTheAttemptUp) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  b().filter_node = [](const Host& host, const plimsoll_cycle&, sdk::Node) {
    return host.error("no state");
  };
  auto cycle = framework.new_cycle();
  Columns columns(3);
  const Status status = framework.run_filters(*cycle, pod(), rows(), columns.out());
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.plugin, "B");
  EXPECT_EQ(status.error, "running \"B\" filter plugin: no state");
}

TEST_F(FrameworkTest, FilterOnOneNodeNamesItsPlugin) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  b().filter_node = refuses("n1");
  auto cycle = framework.new_cycle();
  const Status status = framework.run_filters_on(*cycle, pod(), n1_.get());
  EXPECT_EQ(status.code, Code::kUnschedulable);
  EXPECT_EQ(status.plugin, "B");
  EXPECT_EQ(world_.message(status), "not n1");
  EXPECT_TRUE(framework.run_filters_on(*cycle, pod(), n2_.get()).ok());
}

TEST_F(FrameworkTest, AddPodFailureNamesPluginAndPoint) {
  Framework& framework = abc({ExtensionPoint::kPreFilter});
  b().add_pod = answers(PLIMSOLL_ERROR, "too many");
  c().remove_pod = answers(PLIMSOLL_ERROR, "too few");
  auto cycle = framework.new_cycle();
  EXPECT_EQ(framework.run_add_pod(*cycle, pod(), pod(), n1_.get()).error,
            "running AddPod on PreFilter plugin \"B\": too many");
  EXPECT_EQ(framework.run_remove_pod(*cycle, pod(), pod(), n1_.get()).error,
            "running RemovePod on PreFilter plugin \"C\": too few");
}

// ---- PostFilter

auto nominates(int32_t code, const std::string& node, const std::string& reason = "") {
  return [=](const Host& host, std::span<const uint8_t>, sdk::Nomination& nomination) {
    nomination.nominate(node);
    return PluginStatus{code, reason.empty() ? 0 : host.reason(reason)};
  };
}

TEST_F(FrameworkTest, PostFilterFirstSuccessWins) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  a().post_filter = answers(PLIMSOLL_UNSCHEDULABLE, "no victims");
  b().post_filter = nominates(PLIMSOLL_SUCCESS, "n2");
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  const auto out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_TRUE(out.status.ok());
  EXPECT_TRUE(out.override_nomination);
  EXPECT_EQ(out.nominated_node, "n2");
  EXPECT_THAT(calls(), ElementsAre("A.post_filter", "B.post_filter"));
}

TEST_F(FrameworkTest, PostFilterJoinsReasonsAndKeepsTheLastNomination) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  a().post_filter = nominates(PLIMSOLL_UNSCHEDULABLE, "n1", "no victims");
  b().post_filter = answers(PLIMSOLL_UNSCHEDULABLE, "no quota");
  c().post_filter = [](const Host& host, std::span<const uint8_t>, sdk::Nomination& nomination) {
    nomination.clear();
    return host.unschedulable("no luck");
  };
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  const auto out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(out.status.plugin, "A") << "the first that refused";
  EXPECT_EQ(world_.message(out.status), "no victims, no quota, no luck");
  EXPECT_TRUE(out.override_nomination);
  EXPECT_EQ(out.nominated_node, "");
}

TEST_F(FrameworkTest, PostFilterWithoutReasonsAddsNothing) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  const auto silent = [](const Host& host, std::span<const uint8_t>, sdk::Nomination&) {
    return sdk::Status::unschedulable(host.reason({}));
  };
  a().post_filter = silent;
  b().post_filter = answers(PLIMSOLL_UNSCHEDULABLE, "no victims");
  c().post_filter = silent;
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  auto out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(out.status), "no victims");
  b().post_filter = silent;
  out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(out.status), "");
}

TEST_F(FrameworkTest, TheTextsOfUsualReasonsStay) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  bool asked = false;
  a().post_filter = [&](const Host& host, std::span<const uint8_t>, sdk::Nomination&) {
    const uint32_t usual = host.reason("no victims");
    const std::string_view text = host.reason_texts(usual).at(0);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(host.reason_texts(host.reason("no luck")).at(0), "no luck");
    }
    EXPECT_EQ(host.reason_texts(usual).at(0).data(), text.data());
    asked = true;
    return sdk::Status::unschedulable(usual);
  };
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  (void)framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_TRUE(asked);
}

TEST_F(FrameworkTest, PostFilterTextsMayNameAnything) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  const auto says = [](int32_t code, const std::string& text) {
    return [code, text](const Host& host, std::span<const uint8_t>, sdk::Nomination&) {
      return host.failed(code, text);
    };
  };
  a().post_filter = answers(PLIMSOLL_UNSCHEDULABLE, "no victims");
  b().post_filter = says(PLIMSOLL_UNSCHEDULABLE, "pod 17 stays");
  c().post_filter = answers(PLIMSOLL_UNSCHEDULABLE, "no luck");
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  auto out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(out.status), "no victims, pod 17 stays, no luck");
  b().post_filter = says(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "pod 18 stays");
  out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(world_.message(out.status), "pod 18 stays");
}

TEST_F(FrameworkTest, AFilterThatRunsFiltersHarmsOnlyItself) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  bool nested = false;
  auto cycle = framework.new_cycle();
  a().filter_node = [&](const Host&, const plimsoll_cycle& current, sdk::Node) {
    if (!std::exchange(nested, true)) {
      EXPECT_TRUE(framework.run_filters_on(current, pod(), *rows()[0]).ok());
    }
    return sdk::Status::success();
  };
  const std::string second(view(rows()[1]->node->meta.name));
  b().filter_node = [second](const Host& host, const plimsoll_cycle&, sdk::Node node) {
    return node.name() == second ? host.unschedulable("not here") : sdk::Status::success();
  };
  std::vector<uint8_t> codes(3);
  std::vector<uint32_t> reasons(3);
  std::vector<PluginIndex> rejectors(3, kNoPlugin);
  EXPECT_TRUE(framework.run_filters(*cycle, pod(), rows(), {codes, reasons, rejectors}).ok());
  EXPECT_EQ(codes, (std::vector<uint8_t>{0, PLIMSOLL_UNSCHEDULABLE, 0}));
}

TEST_F(FrameworkTest, PostFilterStopsAtUnresolvableAndError) {
  Framework& framework = abc({ExtensionPoint::kPostFilter});
  a().post_filter = nominates(PLIMSOLL_UNSCHEDULABLE, "n1", "no victims");
  b().post_filter = answers(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, "not eligible");
  auto cycle = framework.new_cycle();
  const std::vector<uint8_t> codes(3, PLIMSOLL_UNSCHEDULABLE);
  auto out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(world_.message(out.status), "not eligible");
  EXPECT_FALSE(out.override_nomination) << "the result is that of the plugin which stopped it";
  b().post_filter = answers(PLIMSOLL_ERROR, "broken");
  out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.error, "broken") << "as it is: it ends the sentence of a FitError";
  EXPECT_EQ(out.status.plugin, "B");
  b().post_filter = answers(PLIMSOLL_WAIT);
  out = framework.run_post_filters(*cycle, pod(), rows(), codes);
  EXPECT_EQ(out.status.error,
            "running PostFilter plugin \"B\": it returned Wait, which it must not return here");
  EXPECT_EQ(std::count(calls().begin(), calls().end(), "C.post_filter"), 0);
}

TEST_F(FrameworkTest, NoPostFilterIsUnschedulable) {
  Framework& framework = world_.make(minimal_profile());
  auto cycle = framework.new_cycle();
  const auto out = framework.run_post_filters(*cycle, pod(), {}, {});
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(out.status), "");
  EXPECT_FALSE(out.override_nomination);
}

// ---- Score

TEST_F(FrameworkTest, ScoresAreNormalizedWeightedAndSummed) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kPreScore) = {{"C"}};
  spec.at(ExtensionPoint::kScore) = {{"A", 2}, {"B"}, {"C", 100}};
  Framework& framework = world_.make(spec);
  a().score_node = [](const Host&, sdk::Node node) { return int64_t{node.slot()} * 1000; };
  a().normalize = [](const Host&, std::span<int64_t> scores) {
    sdk::normalize_scores(scores, false);
    return PluginStatus();
  };
  b().score_node = [](const Host&, sdk::Node node) { return node.name() == "n1" ? 100 : 0; };
  c().pre_score = answers(PLIMSOLL_SKIP);
  auto cycle = framework.new_cycle();
  ASSERT_TRUE(framework.run_pre_score(*cycle, pod(), rows()).ok());
  ScoreTable table;
  ASSERT_TRUE(framework.run_score(*cycle, pod(), rows(), table, true).ok());
  EXPECT_THAT(table.totals, ElementsAre(100, 100, 200));
  ASSERT_EQ(table.parts.size(), 2U) << "C is skipped";
  EXPECT_EQ(framework.plugin_name(table.parts[0].plugin), "A");
  EXPECT_THAT(table.parts[0].weighted, ElementsAre(0, 100, 200));
  EXPECT_THAT(table.parts[1].weighted, ElementsAre(100, 0, 0));
  ASSERT_TRUE(framework.run_score(*cycle, pod(), rows(), table).ok());
  EXPECT_THAT(table.parts, IsEmpty());
}

TEST_F(FrameworkTest, ANegativeWeightTurnsThePreferenceAround) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kScore) = {{"A", -2}};
  Framework& framework = world_.make(spec);
  a().score_node = [](const Host&, sdk::Node node) { return node.name() == "n1" ? 100 : 0; };
  auto cycle = framework.new_cycle();
  ScoreTable table;
  ASSERT_TRUE(framework.run_score(*cycle, pod(), rows(), table).ok());
  EXPECT_THAT(table.totals, ElementsAre(-200, 0, 0));
}

TEST_F(FrameworkTest, ScoreOutOfRangeNamesThePlugin) {
  Framework& framework = abc({ExtensionPoint::kScore});
  b().score_node = [](const Host&, sdk::Node node) { return node.name() == "n3" ? -1 : 100; };
  auto cycle = framework.new_cycle();
  ScoreTable table;
  const Status status = framework.run_score(*cycle, pod(), rows(), table);
  EXPECT_EQ(status.error,
            "applying score defaultWeights on Score plugins: plugin \"B\" returns an invalid score "
            "-1 for node n3, it should in the range of [0, 100] after normalizing");
  b().normalize = answers(PLIMSOLL_ERROR, "no maximum");
  EXPECT_EQ(framework.run_score(*cycle, pod(), rows(), table).error,
            "running Normalize on Score plugins: plugin \"B\" failed with: no maximum");
}

TEST_F(FrameworkTest, PreScoreMustNotReject) {
  Framework& framework = abc({ExtensionPoint::kPreScore});
  b().pre_score = answers(PLIMSOLL_UNSCHEDULABLE, "no");
  auto cycle = framework.new_cycle();
  EXPECT_EQ(framework.run_pre_score(*cycle, pod(), rows()).error,
            "running PreScore plugin \"B\": it returned Unschedulable, which it must not return "
            "here");
}

TEST_F(FrameworkTest, AllScoreBeforeAnyNormalizesAndAllNormalizeBeforeTheRangeCheck) {
  Framework& framework = abc({ExtensionPoint::kScore});
  auto cycle = framework.new_cycle();
  ScoreTable table;
  a().score_node = [](const Host&, sdk::Node) { return int64_t{101}; };
  b().normalize = answers(PLIMSOLL_ERROR, "no maximum");
  EXPECT_EQ(framework.run_score(*cycle, pod(), rows(), table).error,
            "running Normalize on Score plugins: plugin \"B\" failed with: no maximum");
  c().score_node = [](const Host&, sdk::Node) -> int64_t { throw std::runtime_error("no seats"); };
  EXPECT_EQ(framework.run_score(*cycle, pod(), rows(), table).error,
            "running Score plugins: plugin \"C\" failed with: no seats");
}

// ---- Reserve and Permit

TEST_F(FrameworkTest, UnreserveTellsAllInReverse) {
  Framework& framework = abc({ExtensionPoint::kReserve});
  b().reserve = answers(PLIMSOLL_UNSCHEDULABLE, "taken");
  auto cycle = framework.new_cycle();
  const Status status = framework.run_reserve(*cycle, pod(), n1_.get());
  EXPECT_EQ(status.code, Code::kUnschedulable);
  EXPECT_EQ(status.plugin, "B");
  framework.run_unreserve(*cycle, pod(), "n1");
  EXPECT_THAT(calls(),
              ElementsAre("A.reserve", "B.reserve", "C.unreserve", "B.unreserve", "A.unreserve"));
}

TEST_F(FrameworkTest, PermitCollectsWaitsAndClampsTheirTimeouts) {
  Framework& framework = abc({ExtensionPoint::kPermit});
  const auto waits = [](int64_t ms) {
    return [ms](const Host&, int64_t& timeout_ms) {
      timeout_ms = ms;
      return PluginStatus::wait();
    };
  };
  a().permit = waits(3'600'000);
  c().permit = waits(-5);
  auto cycle = framework.new_cycle();
  PermitOutcome out = framework.run_permit(*cycle, pod(), n1_.get());
  EXPECT_EQ(out.status.code, Code::kWait);
  ASSERT_EQ(out.waits.size(), 2U);
  EXPECT_EQ(out.waits[0].plugin, "A");
  EXPECT_EQ(out.waits[0].timeout_ms, 15 * 60 * 1000);
  EXPECT_EQ(out.waits[1].timeout_ms, 0);

  b().permit = answers(PLIMSOLL_UNSCHEDULABLE, "no quorum");
  calls().clear();
  out = framework.run_permit(*cycle, pod(), n1_.get());
  EXPECT_EQ(out.status.code, Code::kUnschedulable);
  EXPECT_EQ(out.status.plugin, "B");
  EXPECT_TRUE(out.waits.empty());
  EXPECT_THAT(calls(), ElementsAre("A.permit", "B.permit"));
}

// ---- signatures

TEST_F(FrameworkTest, SignsWithTheDecidingPlugins) {
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"A"}};
  spec.at(ExtensionPoint::kScore) = {{"B"}};
  spec.at(ExtensionPoint::kPermit) = {{"C"}};
  Framework& framework = world_.make(spec);
  const auto put = [](const char* text) {
    return [text](const Host&, sdk::Pod, sdk::Sink& sink) {
      sink.put(text);
      return PluginStatus();
    };
  };
  a().sign = put("ab");
  b().sign = put("c");
  c().sign = put("permit does not count");
  std::string first, second, third;
  EXPECT_TRUE(framework.run_sign(pod(), first).none());
  a().sign = put("a");
  b().sign = put("bc");
  EXPECT_TRUE(framework.run_sign(pod(), second).none());
  EXPECT_NE(first, second) << "fragments of two plugins do not run together";
  b().sign = answers(PLIMSOLL_SKIP);
  const PluginMask unsigned_plugins = framework.run_sign(pod(), third);
  EXPECT_EQ(unsigned_plugins.count(), 1U);
  EXPECT_TRUE(unsigned_plugins.test(framework.at(ExtensionPoint::kScore)[0].plugin));
  EXPECT_NE(third, second);
}

// ---- events and the host

TEST_F(FrameworkTest, TellsPluginsOfEvents) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  b().start = [](const Host& host) { host.watch("example.com", "v1", "seats"); };
  ASSERT_TRUE(framework.start());
  calls().clear();
  framework.node_event(PLIMSOLL_NODE_ADDED, n1_.get(), 0);
  framework.pod_event(PLIMSOLL_POD_ASSIGNED, pod(), "n1");
  framework.object_event(PLIMSOLL_OBJECT_UPSERT, "seats.v1.example.com", "s1", "", "{}");
  framework.object_event(PLIMSOLL_OBJECT_UPSERT, "others.v1.example.com", "o1", "", "{}");
  EXPECT_THAT(calls(), ElementsAre("A.node_event n1", "B.node_event n1", "C.node_event n1",
                                   "A.pod_event a n1", "B.pod_event a n1", "C.pod_event a n1",
                                   "B.object_event seats.v1.example.com s1"));
}

TEST_F(FrameworkTest, PluginsReachTheScheduler) {
  Framework& framework = abc({ExtensionPoint::kReserve});
  world_.backend.nodes = {&n1_, &n2_};
  static const int kTable = 7;
  a().reserve = [this](const Host& host, plimsoll_cycle& cycle) {
    EXPECT_EQ(host.node("n2").slot(), 1U);
    EXPECT_EQ(host.node(0U).name(), "n1");
    EXPECT_FALSE(host.node("n9"));
    EXPECT_EQ(host.slot_count(), 2U);
    EXPECT_EQ(host.now_ms(), 1234);
    EXPECT_EQ(host.resource_index("memory"), uint32_t{PLIMSOLL_RESOURCE_MEMORY});
    EXPECT_EQ(host.intern("zone").symbol, host.intern("zone").symbol);
    EXPECT_TRUE(host.publish("table", 2, &kTable));
    EXPECT_FALSE(host.publish("table", 3, &kTable)) << "the name is taken";
    host.touch_node(1);
    host.requeue_rejected();
    host.emit_event(pod_, true, "Odd", "Looking", "look here");
    host.allow_waiting("uid-b");
    host.reject_waiting("uid-c", "no quorum");
    EXPECT_TRUE(host.cancel_binding("uid-binding", "preempted"));
    EXPECT_FALSE(host.cancel_binding("uid-bound", "preempted"));
    host.annotate(cycle, "seat", "1");
    host.annotate(cycle, "seat", "2");
    return PluginStatus();
  };
  b().reserve = [](const Host& host, plimsoll_cycle&) {
    EXPECT_EQ(host.find_service<int>("table", 2), &kTable);
    EXPECT_EQ(host.find_service<int>("table", 3), nullptr) << "too old";
    EXPECT_EQ(host.find_service<int>("chair", 0), nullptr);
    return PluginStatus();
  };
  auto cycle = framework.new_cycle();
  ASSERT_TRUE(framework.run_reserve(*cycle, pod(), n1_.get()).ok());
  EXPECT_THAT(world_.backend.touched, ElementsAre(std::pair(1U, uint32_t{PLIMSOLL_ASPECT_PLUGIN})));
  EXPECT_THAT(world_.backend.requeued, ElementsAre("A"));
  EXPECT_THAT(world_.backend.events, ElementsAre("test-scheduler a Warning Odd Looking look here"));
  EXPECT_THAT(world_.backend.waiting,
              ElementsAre("A allows uid-b", "A rejects uid-c: no quorum",
                          "cancel uid-binding: preempted", "cancel uid-bound: preempted"));
  EXPECT_THAT(cycle->annotations(), ElementsAre(std::pair("seat", "2")));
}

TEST_F(FrameworkTest, Explains) {
  Framework& framework = abc({ExtensionPoint::kFilter});
  auto cycle = framework.new_cycle();
  const PluginIndex index = framework.at(ExtensionPoint::kFilter)[0].plugin;
  EXPECT_EQ(framework.explain(index, *cycle, pod(), n1_.get()), "nothing to say about n1");
}

}  // namespace
}  // namespace plimsoll
