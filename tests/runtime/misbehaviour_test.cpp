// Plugins that misbehave once they run: it costs that pod an error that names the plugin.

#include <gmock/gmock.h>

#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using testing::minimal_profile;
using testing::World;

const std::filesystem::path kModules = PLIMSOLL_BROKEN_MODULES;

class MisbehaviourTest : public ::testing::Test {
 protected:
  // A profile with one plugin, made of a C table.
  Framework& with(ExtensionPoint point, plimsoll_plugin_create_fn create) {
    const StaticModule module[] = {{"Bad", "1", create}};
    world_.modules.add_builtin(module);
    ProfileSpec spec = minimal_profile();
    spec.at(point) = {{"Bad"}};
    return world_.make(spec);
  }
  Status filter(Framework& framework) {
    auto cycle = framework.new_cycle();
    return framework.run_filters_on(*cycle, pod_.get(), node_.get());
  }

  World world_;
  FakePod pod_{"team/a"};
  FakeNode node_{"n1"};
};

TEST_F(MisbehaviourTest, ExceptionInFilterOfALoadedModule) {
  ASSERT_TRUE(world_.modules.load_file(kModules / "filter_throws.so").loaded);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kFilter) = {{"FilterThrows"}};
  const Status status = filter(world_.make(spec));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.plugin, "FilterThrows");
  EXPECT_EQ(status.error, "running \"FilterThrows\" filter plugin: no seat map of n1");
}

TEST_F(MisbehaviourTest, ScoreOutOfRangeOfALoadedModule) {
  ASSERT_TRUE(world_.modules.load_file(kModules / "score_out_of_range.so").loaded);
  ProfileSpec spec = minimal_profile();
  spec.at(ExtensionPoint::kScore) = {{"ScoreOutOfRange", 3}};
  Framework& framework = world_.make(spec);
  auto cycle = framework.new_cycle();
  const plimsoll_node_info* row = &node_.get();
  ScoreTable table;
  const Status status = framework.run_score(*cycle, pod_.get(), NodeRows(&row, 1), table);
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.plugin, "ScoreOutOfRange");
  EXPECT_EQ(status.error,
            "applying score defaultWeights on Score plugins: plugin \"ScoreOutOfRange\" returns an "
            "invalid score 101, it should in the range of [0, 100] after normalizing");
}

template <uint8_t kRowCode, uint32_t kReason, int32_t kReturn>
int32_t create_filter(const plimsoll_host*, plimsoll_str, plimsoll_plugin* out) {
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  out->destroy = [](void*) {};
  out->filter = [](const void*, const plimsoll_cycle*, const plimsoll_pod*,
                   const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) -> int32_t {
    for (uint32_t i = 0; i < nodes->count; ++i) {
      codes[i] = kRowCode;
      reasons[i] = kReason;
    }
    return kReturn;
  };
  return PLIMSOLL_SUCCESS;
}

TEST_F(MisbehaviourTest, CodeOutOfRange) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<200, 0, 0>));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it returned code 200, which it must not return here");
}

TEST_F(MisbehaviourTest, CodeThatIsNotLegalInFilter) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_SKIP, 0, 0>));
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it returned Skip, which it must not return here");
}

TEST_F(MisbehaviourTest, RejectionOfTheWholeBatch) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<0, 0, PLIMSOLL_UNSCHEDULABLE>));
  EXPECT_EQ(
      status.error,
      "running \"Bad\" filter plugin: it returned Unschedulable, which it must not return here");
}

TEST_F(MisbehaviourTest, ErrorWithoutText) {
  const Status status = filter(with(ExtensionPoint::kFilter, create_filter<0, 0, PLIMSOLL_ERROR>));
  EXPECT_EQ(status.error, "running \"Bad\" filter plugin: it failed without saying why");
}

TEST_F(MisbehaviourTest, ReasonThatNobodyGaveOut) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_UNSCHEDULABLE, 99999, 0>));
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.error,
            "running \"Bad\" filter plugin: it gave 99999 as its reason, which host->reason did "
            "not return");
}

TEST_F(MisbehaviourTest, RejectionWithoutAReasonGetsOne) {
  const Status status =
      filter(with(ExtensionPoint::kFilter, create_filter<PLIMSOLL_UNSCHEDULABLE, 0, 0>));
  EXPECT_EQ(status.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(status), "rejected by plugin Bad");
}

int32_t create_with_odd_events(const plimsoll_host*, plimsoll_str, plimsoll_plugin* out) {
  *out = plimsoll_plugin{};
  out->size = sizeof *out;
  out->destroy = [](void*) {};
  out->events = [](void*) { return plimsoll_list{nullptr, 5, 0}; };  // no stride, no data
  out->pre_enqueue = [](void*, const plimsoll_pod*, uint32_t*) -> int32_t { return 77; };
  return PLIMSOLL_SUCCESS;
}

TEST_F(MisbehaviourTest, OddListOfEventsIsEmpty) {
  Framework& framework = with(ExtensionPoint::kPreEnqueue, create_with_odd_events);
  ASSERT_EQ(framework.events().size(), 1U);
  EXPECT_FALSE(framework.events()[0].all);
  EXPECT_TRUE(framework.events()[0].interests.empty());
  EXPECT_EQ(framework.run_pre_enqueue(pod_.get()).error,
            "running PreEnqueue plugin \"Bad\": it returned code 77, which it must not return "
            "here");
}

TEST_F(MisbehaviourTest, AnExceptionElsewhereNamesPluginAndPoint) {
  ProfileSpec spec = minimal_profile();
  for (ExtensionPoint point :
       {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kPreScore,
        ExtensionPoint::kScore, ExtensionPoint::kReserve, ExtensionPoint::kPermit}) {
    spec.at(point) = {{"A"}};
  }
  Framework& framework = world_.make(spec);
  auto& script = testing::scripts()["A"];
  const auto thrower = [](auto&&...) -> sdk::Status { throw std::runtime_error("broken"); };
  script.pre_enqueue = thrower;
  script.pre_filter = thrower;
  script.pre_score = thrower;
  script.score_node = [](auto&&...) -> int64_t { throw std::runtime_error("broken"); };
  script.reserve = thrower;
  script.permit = thrower;
  auto cycle = framework.new_cycle();
  const plimsoll_pod& pod = pod_.get();
  const plimsoll_node_info* row = &node_.get();
  ScoreTable table;
  EXPECT_EQ(framework.run_pre_enqueue(pod).error, "running PreEnqueue plugin \"A\": broken");
  EXPECT_EQ(framework.run_pre_filter(*cycle, pod).status.error,
            "running PreFilter plugin \"A\": broken");
  EXPECT_EQ(framework.run_pre_score(*cycle, pod, NodeRows(&row, 1)).error,
            "running PreScore plugin \"A\": broken");
  EXPECT_EQ(framework.run_score(*cycle, pod, NodeRows(&row, 1), table).error,
            "running Score plugins: plugin \"A\" failed with: broken");
  EXPECT_EQ(framework.run_reserve(*cycle, pod, *row).error, "running Reserve plugin \"A\": broken");
  EXPECT_EQ(framework.run_permit(*cycle, pod, *row).status.error,
            "running Permit plugin \"A\": broken");
}

}  // namespace
}  // namespace plimsoll
