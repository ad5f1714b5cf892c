// A plugin built for ABI 1.0 (tests/plugins/first_sdk, with that version's frozen headers) loads
// and works: every slot of the first version is called as it was then.

#include <gmock/gmock.h>

#include <optional>

#include "framework/runtime/loading/elf_note.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using sdk::FakeNode;
using sdk::FakePod;
using ::testing::ElementsAre;
using testing::minimal_profile;
using testing::World;

// As in first_sdk.c.
struct LogTable {
  uint32_t count;
  char lines[128][64];
};

class FirstSdkTest : public ::testing::Test {
 protected:
  FirstSdkTest() {
    const ModuleRecord& record =
        world_.modules.load_file(std::filesystem::absolute(PLIMSOLL_FIRST_SDK_PLUGIN));
    EXPECT_TRUE(record.loaded) << record.refusal;
    EXPECT_EQ(record.sdk_version, "1.0.0");
    ProfileSpec spec = minimal_profile();
    for (const ExtensionPoint point :
         {ExtensionPoint::kPreEnqueue, ExtensionPoint::kPreFilter, ExtensionPoint::kFilter,
          ExtensionPoint::kPostFilter, ExtensionPoint::kPreScore, ExtensionPoint::kScore,
          ExtensionPoint::kReserve, ExtensionPoint::kPermit, ExtensionPoint::kPreBind,
          ExtensionPoint::kPostBind}) {
      spec.at(point) = {{"FirstSdk", 2}};
    }
    spec.at(ExtensionPoint::kBind) = {{"FirstSdk"}};
    framework_ = &world_.make(spec);
    log_ = static_cast<const LogTable*>(world_.env.services.find("first-sdk/log", 1));
  }

  // What the plugin was called for since the last time.
  std::vector<std::string> calls() {
    std::vector<std::string> result;
    for (; read_ < log_->count; ++read_) result.emplace_back(log_->lines[read_]);
    return result;
  }

  World world_;
  Framework* framework_ = nullptr;
  const LogTable* log_ = nullptr;
  uint32_t read_ = 0;
  FakePod pod_{"default/web"};
  FakePod other_{"default/other"};
  FakeNode good_{"good"};
  FakeNode bad_{"bad"};
};

TEST_F(FirstSdkTest, IsOfTheFirstVersion) {
  const auto note = read_plugin_note(std::filesystem::absolute(PLIMSOLL_FIRST_SDK_PLUGIN));
  ASSERT_TRUE(note) << note.error().message;
  EXPECT_EQ(note->abi_major, 1);
  EXPECT_EQ(note->abi_minor, 0);
  EXPECT_EQ(note->plugin_size, offsetof(plimsoll_plugin, explain) + sizeof(void*));
}

TEST_F(FirstSdkTest, TakesPartInTheSchedulingCycle) {
  ASSERT_NE(log_, nullptr);
  ASSERT_TRUE(framework_->start());
  EXPECT_THAT(world_.backend.watched, ElementsAre("seats.v1.example.com"));
  const auto cycle = framework_->new_cycle();
  EXPECT_TRUE(framework_->run_pre_enqueue(pod_.get()).ok());
  EXPECT_TRUE(framework_->run_pre_filter(*cycle, pod_.get()).status.ok());
  EXPECT_TRUE(framework_->run_filters_on(*cycle, pod_.get(), good_.get()).ok());
  const Status refused = framework_->run_filters_on(*cycle, pod_.get(), bad_.get());
  EXPECT_EQ(refused.code, Code::kUnschedulable);
  EXPECT_EQ(world_.message(refused), "node(s) had a bad name");
  EXPECT_EQ(framework_->explain(refused.plugin_index, *cycle, pod_.get(), bad_.get()), "it is bad");

  const plimsoll_node_info* row = &good_.get();
  EXPECT_TRUE(framework_->run_pre_score(*cycle, pod_.get(), NodeRows(&row, 1)).ok());
  ScoreTable scores;
  EXPECT_TRUE(framework_->run_score(*cycle, pod_.get(), NodeRows(&row, 1), scores).ok());
  EXPECT_THAT(scores.totals, ElementsAre(200));

  EXPECT_TRUE(framework_->run_reserve(*cycle, pod_.get(), good_.get()).ok());
  EXPECT_THAT(cycle->annotations(), ElementsAre(std::pair("example.com/seat", "12")));
  const PermitOutcome permit = framework_->run_permit(*cycle, pod_.get(), good_.get());
  EXPECT_EQ(permit.status.code, Code::kWait);
  ASSERT_EQ(permit.waits.size(), 1U);
  EXPECT_EQ(permit.waits[0].timeout_ms, 1500);
  framework_->run_unreserve(*cycle, pod_.get(), "good");
  EXPECT_THAT(calls(), ElementsAre("start", "pre_enqueue web", "pre_filter web", "pre_score web",
                                   "reserve good", "permit good", "unreserve good"));
}

TEST_F(FirstSdkTest, TakesPartInWhatIfs) {
  const auto cycle = framework_->new_cycle();
  ASSERT_TRUE(framework_->run_pre_filter(*cycle, pod_.get()).status.ok());
  const auto what_if = cycle->clone();
  ASSERT_TRUE(framework_->run_add_pod(*what_if, pod_.get(), other_.get(), good_.get()).ok());
  EXPECT_FALSE(framework_->run_filters_on(*what_if, pod_.get(), good_.get()).ok());
  EXPECT_TRUE(framework_->run_filters_on(*cycle, pod_.get(), good_.get()).ok());
  ASSERT_TRUE(framework_->run_remove_pod(*what_if, pod_.get(), other_.get(), good_.get()).ok());
  EXPECT_TRUE(framework_->run_filters_on(*what_if, pod_.get(), good_.get()).ok());

  const plimsoll_node_info* row = &bad_.get();
  const uint8_t code = PLIMSOLL_UNSCHEDULABLE;
  const PostFilterOutcome post = framework_->run_post_filters(*cycle, pod_.get(), NodeRows(&row, 1),
                                                              std::span<const uint8_t>(&code, 1));
  EXPECT_EQ(post.status.code, Code::kUnschedulable);
  EXPECT_FALSE(post.override_nomination);
  EXPECT_EQ(world_.message(post.status), "node(s) had a bad name");
  EXPECT_THAT(calls(), ElementsAre("pre_filter web", "add_pod other", "remove_pod other",
                                   "post_filter web"));
}

TEST_F(FirstSdkTest, TakesPartInTheBindingCycle) {
  const auto cycle = framework_->new_cycle();
  ASSERT_TRUE(framework_->run_pre_bind_pre_flight(*cycle, pod_.get(), "good").ok());
  // The pod outlives the test's binding.
  const BindTarget target{cycle, PodRef(&pod_.get(), [](const plimsoll_pod*) {}), "good"};
  const Framework::Post at_once = [](const std::function<void()>& run) { run(); };
  std::optional<Status> ended;
  framework_->run_pre_binds(target, at_once, [&](Status status) { ended = std::move(status); });
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok()) << world_.message(*ended);
  ended.reset();
  framework_->run_binds(target, at_once, [&](Status status) { ended = std::move(status); });
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->ok()) << world_.message(*ended);
  framework_->run_post_bind(target);
  ASSERT_EQ(world_.backend.posts.size(), 1U);
  EXPECT_EQ(world_.backend.posts[0].node, "good");
  EXPECT_THAT(calls(),
              ElementsAre("pre_flight good", "pre_bind good", "bind good", "post_bind good"));
}

TEST_F(FirstSdkTest, HearsOfEvents) {
  ASSERT_TRUE(framework_->start());
  framework_->node_event(PLIMSOLL_NODE_ADDED, good_.get(), ~0U);
  framework_->pod_event(PLIMSOLL_POD_ASSIGNED, other_.get(), "good");
  framework_->object_event(PLIMSOLL_OBJECT_UPSERT, "seats.v1.example.com", "twelve", "", "{}");
  plimsoll_event event{};
  event.size = sizeof event;
  event.resource = sdk::str("Node");
  event.actions = PLIMSOLL_ACTION_ADD;
  event.new_node = good_.get().node;
  PluginIndex first = kNoPlugin;
  for (const EventInterests& registered : framework_->events()) {
    if (framework_->plugin_name(registered.plugin) != "FirstSdk") continue;
    first = registered.plugin;
    ASSERT_EQ(registered.interests.size(), 1U);
    EXPECT_EQ(view(registered.interests[0].resource), "Node");
  }
  ASSERT_NE(first, kNoPlugin);
  EXPECT_EQ(framework_->hint(first, pod_.get(), event), PLIMSOLL_HINT_QUEUE);
  std::string signature;
  EXPECT_FALSE(framework_->run_sign(pod_.get(), signature).test(first));
  EXPECT_NE(signature.find("default"), signature.npos);
  EXPECT_THAT(calls(), ElementsAre("start", "node_event good", "pod_event other",
                                   "object_event twelve", "hint good"));
}

}  // namespace
}  // namespace plimsoll
