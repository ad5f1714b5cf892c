// TestRunPreFilterPlugins, TestRunPreFilterExtensionAddPod and -RemovePod, TestFilterPlugins,
// TestPostFilterPlugins.

#include <gmock/gmock.h>

#include "tests/runtime/tables.hpp"

namespace plimsoll {
namespace {

using namespace plimsoll::testing;  // NOLINT: the codes of the tables
using sdk::FakeNode;
using sdk::FakePod;

class FilterTable : public ::testing::Test {
 protected:
  // A profile at the point, and at the others that go with it.
  Framework& with(const Codes& codes, std::initializer_list<ExtensionPoint> points) {
    ProfileSpec spec = minimal_profile();
    for (ExtensionPoint point : points) {
      for (size_t i = 0; i < codes.size(); ++i) spec.at(point).push_back({plugin_letter(i)});
    }
    scripts().clear();
    calls().clear();
    return world_.make(spec);
  }
  World world_;
  FakePod pod_{"team/a"};
  FakeNode node_{"n1"};
};

TEST_F(FilterTable, PreFilter) {
  struct Row {
    const char* name;
    Codes codes;
    const char* skipped;
    const char* status;
  };
  const Row rows[] = {
      {"all succeed", {kSuccess, kSuccess}, "", "Success"},
      {"one succeeds, another fails",
       {kSuccess, kError},
       "",
       "Error: running PreFilter plugin \"B\": injected"},
      {"one skips, another fails",
       {kSkip, kError},
       "A",
       "Error: running PreFilter plugin \"B\": injected"},
      {"all skip", {kSkip, kSkip, kSkip}, "ABC", "Success"},
      {"some skip", {kSkip, kSuccess, kSkip, kSuccess}, "AC", "Success"},
      {"after Unschedulable the others run",
       {kUnschedulable, kSkip},
       "B",
       "Unschedulable by A: injected"},
      {"after Pending the others run", {kPending, kSkip}, "B", "Pending by A: injected"},
      {"after UnschedulableAndUnresolvable none runs",
       {kUnresolvable, kSkip},
       "",
       "UnschedulableAndUnresolvable by A: injected"},
      {"UnschedulableAndUnresolvable wins over an earlier Unschedulable",
       {kUnschedulable, kUnresolvable, kSkip},
       "",
       "UnschedulableAndUnresolvable by B: injected"},
      {"an error wins over an earlier Unschedulable",
       {kUnschedulable, kError, kSkip},
       "",
       "Error: running PreFilter plugin \"B\": injected"},
      {"of two Unschedulable the later is told",
       {kUnschedulable, kUnschedulable, kSkip},
       "C",
       "Unschedulable by B: injected"},
      {"Wait is not legal here",
       {kWait, kSkip},
       "",
       "Error: running PreFilter plugin \"A\": it returned Wait, which it must not return here"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Framework& framework = with(row.codes, {ExtensionPoint::kPreFilter});
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].pre_filter = injected(row.codes[i]);
    }
    auto cycle = framework.new_cycle();
    const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod_.get());
    EXPECT_EQ(text_of(world_, out.status), row.status);
    EXPECT_EQ(letters(framework, cycle->skip_filter), row.skipped);
    EXPECT_FALSE(out.narrowed);
  }
}

TEST_F(FilterTable, PreFilterThatLeavesNoNodeStopsTheRest) {
  Framework& framework = with({kSuccess, kSkip}, {ExtensionPoint::kPreFilter});
  scripts()["A"].pre_filter = [](const sdk::Host&, plimsoll_cycle&, sdk::NodeNames& names) {
    names.only();
    return sdk::Status();
  };
  scripts()["B"].pre_filter = injected(kSkip);
  auto cycle = framework.new_cycle();
  const PreFilterOutcome out = framework.run_pre_filter(*cycle, pod_.get());
  EXPECT_EQ(text_of(world_, out.status),
            "UnschedulableAndUnresolvable by A: node(s) didn't satisfy plugin A");
  EXPECT_TRUE(out.narrowed);
  EXPECT_TRUE(out.node_names.empty());
  EXPECT_EQ(letters(framework, cycle->skip_filter), "");
}

TEST_F(FilterTable, AddPodAndRemovePod) {
  struct Row {
    const char* name;
    Codes codes;
    const char* skipped;
    const char* status;  // after "Error: running AddPod on PreFilter plugin "
  };
  const Row rows[] = {
      {"all succeed", {kSuccess, kSuccess}, "", ""},
      {"one fails", {kSuccess, kError}, "", "\"B\": injected"},
      {"one that would fail is skipped", {kSuccess, kError}, "B", ""},
      {"the first failure ends it", {kError, kError}, "", "\"A\": injected"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Framework& framework = with(row.codes, {ExtensionPoint::kPreFilter});
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].add_pod = injected(row.codes[i]);
      scripts()[plugin_letter(i)].remove_pod = injected(row.codes[i]);
    }
    auto cycle = framework.new_cycle();
    cycle->skip_filter = mask_of(framework, row.skipped);
    const auto want = [&row](const char* what) {
      const std::string failure(row.status);
      return failure.empty()
                 ? "Success"
                 : std::string("Error: running ") + what + " on PreFilter plugin " + failure;
    };
    EXPECT_EQ(text_of(world_, framework.run_add_pod(*cycle, pod_.get(), pod_.get(), node_.get())),
              want("AddPod"));
    EXPECT_EQ(
        text_of(world_, framework.run_remove_pod(*cycle, pod_.get(), pod_.get(), node_.get())),
        want("RemovePod"));
  }
}

TEST_F(FilterTable, Filter) {
  struct Row {
    const char* name;
    Codes codes;
    const char* skipped;
    const char* status;
  };
  const Row rows[] = {
      {"Success", {kSuccess}, "", "Success"},
      {"Error", {kError}, "", "Error: running \"A\" filter plugin: injected"},
      {"Unschedulable", {kUnschedulable}, "", "Unschedulable by A: injected"},
      {"UnschedulableAndUnresolvable",
       {kUnresolvable},
       "",
       "UnschedulableAndUnresolvable by A: injected"},
      {"Pending", {kPending}, "", "Pending by A: injected"},
      {"Error and Error", {kError, kError}, "", "Error: running \"A\" filter plugin: injected"},
      {"Unschedulable twice", {kUnschedulable, kUnschedulable}, "", "Unschedulable by A: injected"},
      {"UnschedulableAndUnresolvable, then Unschedulable",
       {kUnresolvable, kUnschedulable},
       "",
       "UnschedulableAndUnresolvable by A: injected"},
      {"Success twice", {kSuccess, kSuccess}, "", "Success"},
      {"Success, and one skipped", {kSuccess, kError}, "B", "Success"},
      {"Error, then Success",
       {kError, kSuccess},
       "",
       "Error: running \"A\" filter plugin: injected"},
      {"Success, then Error",
       {kSuccess, kError},
       "",
       "Error: running \"B\" filter plugin: injected"},
      {"Success, then Unschedulable",
       {kSuccess, kUnschedulable},
       "",
       "Unschedulable by B: injected"},
      {"Unschedulable ends the node, so a later Error is not met",
       {kUnschedulable, kError},
       "",
       "Unschedulable by A: injected"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Framework& framework = with(row.codes, {ExtensionPoint::kFilter});
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].filter_node = injected(row.codes[i]);
    }
    auto cycle = framework.new_cycle();
    cycle->skip_filter = mask_of(framework, row.skipped);
    const Status status = framework.run_filters_on(*cycle, pod_.get(), node_.get());
    EXPECT_EQ(text_of(world_, status), row.status);
    EXPECT_TRUE(status.ok() || !status.plugin.empty());
  }
}

TEST_F(FilterTable, PostFilter) {
  struct Row {
    const char* name;
    Codes codes;
    const char* status;
    const char* ran;
  };
  const Row rows[] = {
      {"a single plugin makes the pod schedulable", {kSuccess}, "Success", "A"},
      {"a fails, b makes it schedulable", {kUnschedulable, kSuccess}, "Success", "AB"},
      {"a makes it schedulable, b is not asked", {kSuccess, kUnschedulable}, "Success", "A"},
      {"an error ends it", {kError, kSuccess}, "Error: injected", "A"},
      {"a fails, b says that nothing helps",
       {kUnschedulable, kUnresolvable},
       "UnschedulableAndUnresolvable by B: injected",
       "AB"},
      {"both fail",
       {kUnschedulable, kUnschedulable},
       "Unschedulable by A: injected, injected",
       "AB"},
      {"Pending is a failure like others",
       {kPending, kUnschedulable},
       "Unschedulable by A: injected, injected",
       "AB"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Framework& framework = with(row.codes, {ExtensionPoint::kPostFilter});
    for (size_t i = 0; i < row.codes.size(); ++i) {
      scripts()[plugin_letter(i)].post_filter = injected(row.codes[i]);
    }
    calls().clear();
    auto cycle = framework.new_cycle();
    const plimsoll_node_info* node = &node_.get();
    const uint8_t code = PLIMSOLL_UNSCHEDULABLE;
    const PostFilterOutcome out =
        framework.run_post_filters(*cycle, pod_.get(), NodeRows(&node, 1), std::span(&code, 1));
    EXPECT_EQ(text_of(world_, out.status), row.status);
    std::string ran;
    for (const std::string& call : calls()) ran += call.front();
    EXPECT_EQ(ran, row.ran);
    EXPECT_FALSE(out.override_nomination);
  }
}

// Which nomination comes of it: PostFilterResult with ModeNoop or ModeOverride.
TEST_F(FilterTable, PostFilterNominations) {
  struct Answer {
    int32_t code;
    const char* node;  // "-": none, "": cleared
  };
  struct Row {
    const char* name;
    std::vector<Answer> answers;
    const char* nominated;
  };
  const Row rows[] = {
      {"nobody nominates", {{kUnschedulable, "-"}, {kUnschedulable, "-"}}, "-"},
      {"the last that nominates counts", {{kUnschedulable, "n1"}, {kUnschedulable, "n2"}}, "n2"},
      {"one that does not leaves it alone", {{kUnschedulable, "n1"}, {kUnschedulable, "-"}}, "n1"},
      {"clearing is a nomination too", {{kUnschedulable, "n1"}, {kUnschedulable, ""}}, ""},
      {"success replaces what came before", {{kUnschedulable, "n1"}, {kSuccess, "n2"}}, "n2"},
      {"also if it nominates nothing", {{kUnschedulable, "n1"}, {kSuccess, "-"}}, "-"},
      {"the same of Unresolvable", {{kUnschedulable, "n1"}, {kUnresolvable, ""}}, ""},
      {"an error nominates nothing", {{kUnschedulable, "n1"}, {kError, "n2"}}, "-"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Framework& framework = with(Codes(row.answers.size(), kSuccess), {ExtensionPoint::kPostFilter});
    for (size_t i = 0; i < row.answers.size(); ++i) {
      const Answer answer = row.answers[i];
      scripts()[plugin_letter(i)].post_filter =
          [answer](const sdk::Host& host, std::span<const uint8_t>, sdk::Nomination& nomination) {
            const std::string_view node(answer.node);
            if (node.empty()) {
              nomination.clear();
            } else if (node != "-") {
              nomination.nominate(std::string(node));
            }
            return injected(answer.code)(host);
          };
    }
    auto cycle = framework.new_cycle();
    const PostFilterOutcome out = framework.run_post_filters(*cycle, pod_.get(), {}, {});
    EXPECT_EQ(out.override_nomination ? out.nominated_node : "-", row.nominated);
  }
}

}  // namespace
}  // namespace plimsoll
