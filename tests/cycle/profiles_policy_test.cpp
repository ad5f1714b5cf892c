// Who hears of an event, and what is made of the answers.

#include "framework/cycle/profiles_policy.hpp"

#include <gtest/gtest.h>
#include <plimsoll/services/pre_queueing_hint.h>
#include <plimsoll/plugin.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::Host;
using sdk::Pod;

// Filters that reject nothing; what differs is what they register and say.
template <typename Self>
struct Filter {
  Filter(Host, std::string_view) {}
  sdk::Status filter_node(const plimsoll_cycle&, Pod, sdk::Node) const {
    return sdk::Status::success();
  }
};

template <typename Self>
struct Skipping : Filter<Self> {
  using Filter<Self>::Filter;
  sdk::Hint hint(Pod, const plimsoll_event&) { return sdk::Hint::kSkip; }
};

struct NodeAdd : Skipping<NodeAdd> {
  static constexpr const char* kName = "NodeAdd";
  using Skipping::Skipping;
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL, 0}};
  }
};
struct NodeTaint : Skipping<NodeTaint> {
  static constexpr const char* kName = "NodeTaint";
  using Skipping::Skipping;
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0},
            {sdk::str("Node"), PLIMSOLL_ACTION_UPDATE_NODE_TAINT, 0}};
  }
};
struct Nothing : Skipping<Nothing> {
  static constexpr const char* kName = "Nothing";
  using Skipping::Skipping;
  std::vector<plimsoll_event_interest> events() { return {}; }
};
struct ByName : Skipping<ByName> {
  static constexpr const char* kName = "ByName";
  ByName(Host host, std::string_view args) : Skipping(host, args) {
    static const plimsoll_pre_queueing_hint kNamed{
        sizeof kNamed, 0, nullptr, [](void*, const plimsoll_event* event) {
          return int32_t{event->actions == PLIMSOLL_ACTION_ADD};
        }};
    (void)host.publish(PLIMSOLL_PRE_QUEUEING_HINT_SERVICE_PREFIX "ByName",
                       PLIMSOLL_PRE_QUEUEING_HINT_VERSION, &kNamed);
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("berths"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE, 0}};
  }
};
struct NoHints : Filter<NoHints> {
  static constexpr const char* kName = "NoHints";
  using Filter::Filter;
};

class ProfilesPolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<StaticModule> plugins{{"NodeAdd", "1", sdk::create_fn<NodeAdd>},
                                            {"NodeTaint", "1", sdk::create_fn<NodeTaint>},
                                            {"Nothing", "1", sdk::create_fn<Nothing>},
                                            {"ByName", "1", sdk::create_fn<ByName>},
                                            {"NoHints", "1", sdk::create_fn<NoHints>}};
    world_.modules.add_builtin(plugins);
    for (const char* scheduler : {"one", "two"}) {
      ProfileSpec spec = testing::minimal_profile();
      spec.scheduler_name = scheduler;
      spec.at(ExtensionPoint::kFilter) = {{"NodeTaint"}, {"NodeAdd"}};
      if (scheduler == std::string("two")) {
        spec.at(ExtensionPoint::kFilter) = {{"NodeAdd"}, {"Nothing"}, {"ByName"}, {"NoHints"}};
      }
      EXPECT_TRUE(policy_.add(world_.make(spec)));
    }
  }
  PodRef pod(const std::string& scheduler) {
    return *decode_pod(
        R"({"metadata":{"name":"p","uid":"u"},"spec":{"schedulerName":")" + scheduler + R"("}})",
        world_.symbols);
  }
  ClusterEvent event(std::string_view resource, uint32_t actions) {
    ClusterEvent made;
    made.resource = resource;
    made.actions = actions;
    return made;
  }
  // "one/NodeAdd=Skip", ... of all that are interested.
  std::vector<std::string> answers(const ClusterEvent& event) {
    std::vector<std::string> texts;
    for (const PluginKey key : policy_.interested(event)) {
      Framework& framework = *world_.frameworks.at(key >> 16);
      const QueueHint hint = policy_.hint(*pod(framework.scheduler_name()), key, event);
      texts.push_back(framework.scheduler_name() + "/" +
                      std::string(framework.plugin_name(static_cast<PluginIndex>(key & 0xffff))) +
                      (hint == QueueHint::kQueue ? "=Queue" : "=Skip"));
    }
    return texts;
  }

  using Texts = std::vector<std::string>;
  testing::World world_;
  ClusterState cluster_;
  ProfilesPolicy policy_{world_.env, cluster_};
};

TEST_F(ProfilesPolicyTest, EachProfileIsAskedByItself) {
  EXPECT_EQ(policy_.profile(*pod("one")), 0);
  EXPECT_EQ(policy_.profile(*pod("two")), 1);
  EXPECT_EQ(policy_.framework_for(*pod("two")), world_.frameworks[1].get());
  EXPECT_EQ(policy_.framework_for(*pod("three")), nullptr);
  EXPECT_FALSE(policy_.add(*world_.frameworks[0])) << "a schedulerName is there once";
  EXPECT_EQ(
      answers(event("Node", PLIMSOLL_ACTION_ADD)),
      (Texts{"one/NodeTaint=Skip", "one/NodeAdd=Skip", "two/NodeAdd=Skip", "two/NoHints=Queue"}));
}

// buildQueueingHintMap, kubernetes/kubernetes#109437.
TEST_F(ProfilesPolicyTest, WhoRegisteredNewNodesHearsOfTaintsWithoutBeingAsked) {
  EXPECT_EQ(
      answers(event("Node", PLIMSOLL_ACTION_UPDATE_NODE_TAINT)),
      (Texts{"one/NodeTaint=Skip", "one/NodeAdd=Queue", "two/NodeAdd=Queue", "two/NoHints=Queue"}));
}

TEST_F(ProfilesPolicyTest, WithoutAListEveryEventWithAnEmptyOneNone) {
  EXPECT_EQ(answers(event("AssignedPod", PLIMSOLL_ACTION_DELETE)), Texts{"two/NoHints=Queue"});
  EXPECT_EQ(answers(event("widgets.v1.example.com", PLIMSOLL_ACTION_ADD)),
            Texts{"two/NoHints=Queue"});
  EXPECT_EQ(answers(unschedulable_timeout_event()), Texts{})
      << "a wildcard is for those who registered it";
}

TEST_F(ProfilesPolicyTest, APluginMaySayThatAnEventHelpsOnlyWhoNamesItsObject) {
  const auto narrowed = [&](uint32_t action) {
    Texts texts;
    for (const PluginKey key : policy_.interested(event("berths", action))) {
      texts.push_back(
          std::string(world_.frameworks.at(key >> 16)->plugin_name(static_cast<PluginIndex>(key))) +
          (policy_.named_only(key, event("berths", action)) ? "=named" : "=all"));
    }
    return texts;
  };
  EXPECT_EQ(narrowed(PLIMSOLL_ACTION_ADD), (Texts{"ByName=named", "NoHints=all"}));
  EXPECT_EQ(narrowed(PLIMSOLL_ACTION_UPDATE), (Texts{"ByName=all", "NoHints=all"}));
}

TEST_F(ProfilesPolicyTest, APluginsOwnCallConcernsItInEveryProfile) {
  ClusterEvent call = event(kResourceRequeue, PLIMSOLL_ACTION_ALL);
  call.label = "NodeAdd";
  EXPECT_EQ(answers(call), (Texts{"one/NodeAdd=Queue", "two/NodeAdd=Queue"}));
}

}  // namespace
}  // namespace plimsoll
