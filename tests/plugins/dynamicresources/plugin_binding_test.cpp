// From Reserve to the end of PreBind: what is waited for, and what is given back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/pod_groups.h>
#include <plimsoll/services/claimed_resources.h>
#include <plimsoll/services/device_accounts.h>
#include <plimsoll/services/zone_forecast.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/plugins/dynamicresources/plugin_world.hpp"
#include "tests/support/kept_state.hpp"

namespace plimsoll::dra::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class ClaimBindingTest : public testing::Test {
 protected:
  explicit ClaimBindingTest(const std::string& args = "{}") : world_(args) {
    world_.add_node({{"metadata", {{"name", "n"}}}});
    world_.show(std::string(sdk::kDeviceClasses.resource),
                {{"metadata", {{"name", "cards"}}},
                 {"spec", {{"selectors", {{{"cel", {{"expression", "true"}}}}}}}}});
  }
  void add_cards(int count, const Json& more = Json::object()) {
    Json devices = Json::array();
    for (int i = 0; i < count; ++i) {
      devices.push_back({{"name", "card-" + std::to_string(i)}});
      devices.back().update(more);
    }
    world_.show(std::string(sdk::kResourceSlices.resource),
                {{"metadata", {{"name", "s"}}},
                 {"spec",
                  {{"driver", "d"},
                   {"nodeName", "n"},
                   {"pool", {{"name", "n"}, {"generation", 1}, {"resourceSliceCount", 1}}},
                   {"devices", devices}}}});
  }
  void add_claim(const std::string& name) {
    world_.add_claim(
        {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name + "-uid"}}},
         {"spec",
          {{"devices",
            {{"requests", {{{"name", "r"}, {"exactly", {{"deviceClassName", "cards"}}}}}}}}}}});
  }
  // PreFilter to the beginning of PreBind, of a pod with this claim.
  void begin(const std::string& claim) {
    begin_with({{"containers", Json::array()},
                {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", claim}}}}});
  }
  void begin_with(Json spec) {
    spec["schedulerName"] = "s";
    pod_ = sdk::Pod(
        &world_.pod({{"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", "p-uid"}}},
                     {"spec", std::move(spec)}}));
    ASSERT_EQ(world_.plugin->pre_filter(cycle_, pod_).code, PLIMSOLL_SUCCESS);
    ASSERT_EQ(world_.plugin->filter(cycle_, pod_, *world_.nodes[0]).code, PLIMSOLL_SUCCESS);
    ASSERT_EQ(world_.plugin->reserve(cycle_, pod_, *world_.nodes[0]).code, PLIMSOLL_SUCCESS);
    (void)world_.plugin->pre_bind(cycle_, pod_, "n");
  }
  // How PreBind ended; "waits": it has not.
  std::string end() {
    world_.settle();
    if (world_.host.completed.empty()) return "waits";
    const auto& last = world_.host.completed.back();
    return last.code == PLIMSOLL_SUCCESS ? "ok" : last.message;
  }
  // The claim has changed at the API server, and the watch shows it.
  void change(const std::string& claim, const Json& status) {
    Json& object = world_.claim("default/" + claim);
    object["status"].merge_patch(status);
    object["metadata"]["resourceVersion"] =
        std::to_string(std::stoi(object["metadata"]["resourceVersion"].get<std::string>()) + 100);
    world_.show(std::string(sdk::kResourceClaims.resource), object);
  }

  PluginWorld world_;
  sdk::FakeCycle cycle_;
  sdk::Pod pod_;
};

Json has_card_0() {
  return {{"allocation",
           {{"devices",
             {{"results",
               {{{"request", "r"}, {"driver", "d"}, {"pool", "n"}, {"device", "card-0"}}}}}}}}};
}

Json device_status(const char* condition) {
  return {{"devices",
           {{{"driver", "d"},
             {"pool", "n"},
             {"device", "card-0"},
             {"conditions", {{{"type", condition}, {"status", "True"}}}}}}}};
}

TEST_F(ClaimBindingTest, WaitsForConditionsAndCountsThem) {
  add_cards(1, {{"bindingConditions", {"ready"}}, {"bindingFailureConditions", {"broken"}}});
  add_claim("c");
  ASSERT_NO_FATAL_FAILURE(begin("c"));
  EXPECT_EQ(end(), "waits");
  change("c", device_status("other"));
  EXPECT_EQ(end(), "waits");
  change("c", device_status("ready"));
  EXPECT_EQ(end(), "ok");
  EXPECT_EQ(world_.host.metrics["scheduler_dra_bindingconditions_allocations_total{s,d,success}"],
            std::vector<double>{1});
}

// A claim that is made for extended resources is waited for, then written. Each step takes so
// long that the look every few seconds comes in between.
TEST_F(ClaimBindingTest, LooksThatComeBetweenItsWritesDoNoHarm) {
  world_.show(std::string(sdk::kDeviceClasses.resource),
              {{"metadata", {{"name", "cards"}}},
               {"spec",
                {{"extendedResourceName", "example.com/card"},
                 {"selectors", {{{"cel", {{"expression", "true"}}}}}}}}});
  add_cards(1);
  ASSERT_NO_FATAL_FAILURE(begin_with(Json::parse(R"({"containers": [
      {"name": "c", "resources": {"requests": {"example.com/card": "1"}}}]})")));
  int looks = 0;
  while (world_.host.completed.empty()) {
    ASSERT_TRUE(world_.step()) << "nothing is under way, and PreBind has not ended";
    looks += world_.pass_time();
  }
  EXPECT_EQ(end(), "ok");
  EXPECT_GT(looks, 3) << "while it was waited for, and while it was written";
  EXPECT_THAT(world_.host.requests,
              ElementsAre(StartsWith("POST "), StartsWith("PATCH "), StartsWith("PATCH ")))
      << "the claim, its status, the pod's status: each once";
  ASSERT_EQ(world_.claims().size(), 1U);
  const Json& status = world_.claims().begin()->second["status"];
  EXPECT_EQ(status["reservedFor"].size(), 1U);
  EXPECT_EQ(status["allocation"]["devices"]["results"][0]["device"], "card-0");
}

// A claim for extended resources that is still to be made, and one that cannot be removed.
TEST_F(ClaimBindingTest, WhatAPodWithoutItsClaimHadWakesWhoWaits) {
  world_.show(std::string(sdk::kDeviceClasses.resource),
              {{"metadata", {{"name", "cards"}}},
               {"spec",
                {{"extendedResourceName", "example.com/card"},
                 {"selectors", {{{"cel", {{"expression", "true"}}}}}}}}});
  add_cards(1);
  const Json spec = Json::parse(R"({"containers": [
      {"name": "c", "resources": {"requests": {"example.com/card": "1"}}}]})");
  ASSERT_NO_FATAL_FAILURE(begin_with(spec));
  world_.plugin->unreserve(cycle_, pod_, "n");
  EXPECT_EQ(world_.host.requeued, 1);
  world_.host.deferred.clear();

  ASSERT_NO_FATAL_FAILURE(begin_with(spec));
  EXPECT_EQ(end(), "ok");
  EXPECT_EQ(world_.host.requeued, 1) << "its claim has the device";
  sdk::FakeCycle next;
  ASSERT_EQ(world_.plugin->pre_filter(next, pod_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(world_.plugin->filter(next, pod_, *world_.nodes[0]).reasons,
            "cannot schedule extended resource claim");
  world_.host.deferred.clear();
  world_.host.answer = [](const plimsoll_api_request&) {
    return std::pair<int32_t, std::string>(500, "");
  };
  EXPECT_EQ(world_.plugin->post_filter(next, pod_, {}, {}).reasons,
            "deletion of ResourceClaim completed");
  world_.settle();
  EXPECT_EQ(world_.pass_time(), 1);
  EXPECT_THAT(world_.host.activated, ElementsAre("p-uid")) << "it is tried again";
}

// As `plimsoll top` has it.
TEST_F(ClaimBindingTest, ShowsWhoHasWhichDevices) {
  const auto shown = [this](std::optional<uint32_t> slot) {
    const auto* source = world_.host.handle().find_service<plimsoll_state_source>(
        "plimsoll.io/state/DynamicResources", 1);
    std::string text;
    const auto put = [](void* sink, const void* bytes, size_t len) {
      static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
    };
    if (slot) return Json::parse(kept_state(*source, {*slot}));
    source->describe(source->self, put, &text);
    return Json::parse(text);
  };
  world_.host.add(*world_.nodes[0]);
  const uint32_t slot = world_.nodes[0]->slot();
  const auto devices = [&] {
    const Json all = shown({});
    EXPECT_EQ(shown(slot), all);
    EXPECT_EQ(shown(slot + 1), Json::parse(R"({"nodes":{}})"));
    return all["nodes"]["n"]["claimDevices"]["d"]["n"];
  };
  const auto touched = [this] { return std::exchange(world_.host.touched, {}).size(); };
  add_cards(2);
  EXPECT_GT(touched(), 0U) << "a picture of the node has to be drawn anew";
  EXPECT_EQ(devices(), Json::parse(R"({"card-0":{"claims":[]},"card-1":{"claims":[]}})"));
  add_claim("c");
  ASSERT_NO_FATAL_FAILURE(begin("c"));
  EXPECT_GT(touched(), 0U);
  EXPECT_EQ(devices()["card-0"]["claims"],
            Json::parse(R"([{"claim":"default/c","state":"promised","pods":[]}])"));
  EXPECT_EQ(devices()["card-1"]["claims"], Json::array());
  EXPECT_EQ(end(), "ok");
  EXPECT_GT(touched(), 0U);
  EXPECT_EQ(devices()["card-0"]["claims"],
            Json::parse(R"([{"claim":"default/c","state":"bound","pods":["default/p"]}])"));
  change("c", {{"allocation", nullptr}, {"reservedFor", nullptr}});
  EXPECT_GT(touched(), 0U);
  EXPECT_EQ(devices()["card-0"]["claims"], Json::array());
  add_cards(1, {{"taints", {{{"key", "hot"}, {"effect", "NoSchedule"}}}}});
  EXPECT_EQ(devices(), Json::parse(R"({"card-0":{"claims":[],"taints":["hot:NoSchedule"]}})"));
}

TEST_F(ClaimBindingTest, ADeviceThatFailsEndsIt) {
  add_cards(1, {{"bindingConditions", {"ready"}}, {"bindingFailureConditions", {"broken"}}});
  add_claim("c");
  ASSERT_NO_FATAL_FAILURE(begin("c"));
  EXPECT_EQ(end(), "waits");
  change("c", device_status("broken"));
  EXPECT_THAT(end(), HasSubstr("device binding failed: claim=c, condition=broken"));
  // The next attempt finds that no node will do, and gives the device back.
  world_.plugin->unreserve(cycle_, pod_, "n");
  world_.settle();
  (void)world_.pass_time();  // what waited for the devices
  sdk::FakeCycle next;
  ASSERT_EQ(world_.plugin->pre_filter(next, pod_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(world_.plugin->filter(next, pod_, *world_.nodes[0]).reasons,
            "resourceclaim not available on the node");
  Json& stored = world_.claim("default/c");
  const Json version = stored["metadata"]["resourceVersion"];
  stored["metadata"]["resourceVersion"] = "9999999";  // somebody else has changed it
  EXPECT_EQ(world_.plugin->post_filter(next, pod_, {}, {}).reasons,
            "deallocation of ResourceClaim completed");
  EXPECT_TRUE(stored["status"].contains("allocation"));
  EXPECT_EQ(world_.pass_time(), 1) << "the pod is to be tried again";
  stored["metadata"]["resourceVersion"] = version;
  EXPECT_EQ(world_.plugin->post_filter(next, pod_, {}, {}).reasons,
            "deallocation of ResourceClaim completed");
  world_.settle();
  EXPECT_FALSE(stored["status"].contains("allocation"));
}

// Another scheduler's write of the same card came first in the watch.
TEST_F(ClaimBindingTest, WhoComesSecondGivesBack) {
  add_cards(1);
  add_claim("ours");
  add_claim("theirs");
  ASSERT_NO_FATAL_FAILURE(begin("ours"));
  change("theirs", has_card_0());
  EXPECT_THAT(end(), HasSubstr("claim default/theirs was given one of its devices first"));
  EXPECT_FALSE(world_.claim("default/ours")["status"].contains("allocation"));
  EXPECT_TRUE(world_.claim("default/theirs")["status"].contains("allocation"));
}

// A scheduler that has died wrote it, after the next one gave the card away.
TEST_F(ClaimBindingTest, AWriteThatArrivesLateGivesBack) {
  const Json has_card = has_card_0();
  add_cards(1);
  add_claim("first");
  add_claim("late");
  change("first", has_card);
  change("late", has_card);
  change("late", {{"reservedFor", {{{"resource", "pods"}, {"name", "p"}, {"uid", "p-uid"}}}}});
  const auto refusal = [&](const char* pod_uid) {
    const Json pod{{"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", pod_uid}}},
                   {"spec",
                    {{"containers", Json::array()},
                     {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", "late"}}}}}}};
    pod_ = sdk::Pod(&world_.pod(pod));
    EXPECT_EQ(world_.plugin->pre_filter(cycle_, pod_).code, PLIMSOLL_SUCCESS);
    return world_.plugin->filter(cycle_, pod_, *world_.nodes[0]).reasons;
  };
  EXPECT_EQ(refusal("another-uid"), "") << "the pod that has it is bound, or will be";
  EXPECT_EQ(refusal("p-uid"), "resourceclaim not available on the node");
  EXPECT_EQ(world_.plugin->post_filter(cycle_, pod_, {}, {}).reasons,
            "deallocation of ResourceClaim completed");
  world_.settle();
  EXPECT_FALSE(world_.claim("default/late")["status"].contains("allocation"));
  EXPECT_TRUE(world_.claim("default/first")["status"].contains("allocation"));
  EXPECT_EQ(refusal("p-uid"), "cannot allocate all claims");
}

// Rules change, again and again, for what their status says.
TEST_F(ClaimBindingTest, ATaintRuleChangesTheDevicesThatItSelects) {
  world_.host.add(*world_.nodes[0]);
  add_cards(2, {{"taints", {{{"key", "own"}, {"effect", "None"}}}}});
  add_claim("c");
  const auto rule = [this](const char* name, const Json& selector, const char* key) {
    world_.show(
        std::string(sdk::kDeviceTaintRules.resource),
        {{"metadata", {{"name", name}}},
         {"spec",
          {{"deviceSelector", selector}, {"taint", {{"key", key}, {"effect", "NoSchedule"}}}}}});
  };
  const auto verdict = [this] {
    sdk::FakeCycle cycle;
    const sdk::Pod pod(
        &world_.pod({{"metadata", {{"name", "q"}, {"namespace", "default"}, {"uid", "q-uid"}}},
                     {"spec",
                      {{"containers", Json::array()},
                       {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", "c"}}}}}}}));
    (void)world_.plugin->pre_filter(cycle, pod);
    return world_.plugin->filter(cycle, pod, *world_.nodes[0]).reasons;
  };
  const auto touched = [this] { return !std::exchange(world_.host.touched, {}).empty(); };
  ASSERT_EQ(verdict(), "");
  (void)touched();
  rule("one", {{"driver", "another"}}, "hot");
  EXPECT_FALSE(touched());
  rule("one", {{"driver", "d"}, {"device", "card-0"}}, "hot");
  EXPECT_TRUE(touched());
  EXPECT_EQ(verdict(), "");
  rule("all", {{"pool", "n"}}, "hot");
  EXPECT_EQ(verdict(), "cannot allocate all claims");
  (void)touched();
  rule("all", {{"pool", "n"}}, "hot");
  EXPECT_FALSE(touched()) << "it says what it said";
  rule("one", {{"pool", "another"}}, "hot");
  EXPECT_EQ(verdict(), "cannot allocate all claims") << "the same taint by another rule";
  rule("all", {{"device", "card-1"}}, "cold");
  EXPECT_EQ(verdict(), "");
  rule("one", Json::object(), "hot");
  EXPECT_EQ(verdict(), "cannot allocate all claims");
  add_cards(3);
  EXPECT_EQ(verdict(), "cannot allocate all claims") << "the slice is new, the rule is not";
  const std::string resource(sdk::kDeviceTaintRules.resource);
  for (const char* name : {"one", "all"}) {
    world_.host.objects[resource].erase({"", name});
    world_.plugin->object_event(PLIMSOLL_OBJECT_DELETE, resource, name, "");
  }
  EXPECT_EQ(verdict(), "");
}

// Several pods that name one claim, decided on together.
class GangTest : public ClaimBindingTest {
 protected:
  GangTest() {
    table_.size = sizeof table_;
    table_.self = this;
    table_.decision = [](void* self, const plimsoll_pod*, void*,
                         void (*)(void*, const plimsoll_pod*)) {
      return static_cast<GangTest*>(self)->decision_;
    };
    EXPECT_TRUE(world_.host.handle().publish(PLIMSOLL_POD_GROUPS_SERVICE,
                                             PLIMSOLL_POD_GROUPS_VERSION, &table_));
    add_cards(2);
    add_claim("shared");
  }
  ~GangTest() override { world_.plugin.reset(); }

  struct Member {
    sdk::Pod pod;
    std::unique_ptr<sdk::FakeCycle> cycle;
  };
  [[nodiscard]] Member member(const std::string& name,
                              const std::vector<const char*>& claims = {"shared"}) {
    Json named = Json::array();
    for (const char* claim : claims)
      named.push_back({{"name", claim}, {"resourceClaimName", claim}});
    return {sdk::Pod(&world_.pod(
                {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
                 {"spec", {{"containers", Json::array()}, {"resourceClaims", named}}}})),
            std::make_unique<sdk::FakeCycle>()};
  }
  // Why it has no place; empty: it has one.
  std::string place(Member& member) {
    const auto begun = world_.plugin->pre_filter(*member.cycle, member.pod);
    if (begun.code != PLIMSOLL_SUCCESS) return begun.reasons;
    const auto verdict = world_.plugin->filter(*member.cycle, member.pod, *world_.nodes[0]);
    if (verdict.code != PLIMSOLL_SUCCESS) return verdict.reasons;
    return world_.plugin->reserve(*member.cycle, member.pod, *world_.nodes[0]).reasons;
  }
  void bind(Member& member) { (void)world_.plugin->pre_bind(*member.cycle, member.pod, "n"); }
  [[nodiscard]] std::vector<std::string> users() {
    std::vector<std::string> names;
    for (const Json& user : world_.claim("default/shared")["status"]["reservedFor"])
      names.push_back(user["name"]);
    return names;
  }

  plimsoll_pod_groups table_{};
  uint64_t decision_ = 7;
};

// The first to be bound is not the one that was placed first.
TEST_F(GangTest, OneAllocationServesAllPodsThatShareTheClaim) {
  std::vector<Member> members;
  for (const char* name : {"a", "b", "c", "d"}) members.push_back(member(name));
  for (Member& each : members) ASSERT_EQ(place(each), "");
  decision_ = 0;  // it is made
  for (const size_t each : {2, 3, 0, 1}) bind(members[each]);
  world_.settle();
  ASSERT_EQ(world_.host.completed.size(), 4U);
  for (const auto& each : world_.host.completed) EXPECT_EQ(each.message, "");
  EXPECT_THAT(users(), UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(world_.claim("default/shared")["status"]["allocation"]["devices"]["results"].size(),
            1U);
  // Its protection, four reservations, and nobody was in the way of another.
  EXPECT_EQ(world_.host.requests.size(), 5U);
}

TEST_F(GangTest, OthersDoNotBuildOnWhatIsNotWritten) {
  Member first = member("a");
  Member alone = member("alone");
  Member other = member("other");
  ASSERT_EQ(place(first), "");
  decision_ = 0;
  EXPECT_EQ(place(alone), "resource claim default/shared is in the process of being allocated");
  decision_ = 8;
  EXPECT_EQ(place(other), "resource claim default/shared is in the process of being allocated");
}

// A claim under two names is one claim.
TEST_F(GangTest, APodMayNameAClaimTwice) {
  Member pod = member("a", {"shared", "shared"});
  ASSERT_EQ(place(pod), "");
  bind(pod);
  EXPECT_EQ(end(), "ok");
  EXPECT_THAT(users(), ElementsAre("a"));
  EXPECT_EQ(world_.claim("default/shared")["status"]["allocation"]["devices"]["results"].size(),
            1U);
}

// A write of before, of which no answer came: the API server takes no user twice.
TEST_F(GangTest, WhoIsAUserAlreadyIsNotAddedAgain) {
  Member first = member("a");
  ASSERT_EQ(place(first), "");
  bind(first);
  ASSERT_EQ(end(), "ok");
  Member second = member("b");
  decision_ = 0;
  ASSERT_EQ(place(second), "");
  Json& claim = world_.claim("default/shared");
  claim["metadata"]["resourceVersion"] = "900";  // the watch does not show it yet
  claim["status"]["reservedFor"].push_back({{"resource", "pods"}, {"name", "b"}, {"uid", "b"}});
  bind(second);
  EXPECT_EQ(end(), "ok");
  EXPECT_THAT(users(), ElementsAre("a", "b"));
}

// Others were refused for what only this process knew, and nothing is written when it goes.
TEST_F(GangTest, ADecisionThatIsDroppedWakesWhoWaits) {
  Member first = member("a");
  Member second = member("b");
  ASSERT_EQ(place(first), "");
  ASSERT_EQ(place(second), "");
  world_.plugin->unreserve(*first.cycle, first.pod, "n");
  EXPECT_EQ(world_.host.requeued, 0) << "the other one has it now";
  world_.plugin->unreserve(*second.cycle, second.pod, "n");
  EXPECT_EQ(world_.host.requeued, 1);
  Member third = member("c");
  ASSERT_EQ(place(third), "");
  bind(third);
  ASSERT_EQ(end(), "ok");
  world_.plugin->unreserve(*third.cycle, third.pod, "n");
  EXPECT_EQ(world_.host.requeued, 1) << "the claim keeps its devices";
}

// The pod that was to get it its devices is not bound: another one of them allocates it.
TEST_F(GangTest, WhoIsLeftWritesTheAllocation) {
  std::vector<Member> members;
  for (const char* name : {"a", "b", "c"}) members.push_back(member(name));
  for (Member& each : members) ASSERT_EQ(place(each), "");
  bind(members[2]);
  bind(members[1]);
  EXPECT_EQ(end(), "waits");
  world_.plugin->unreserve(*members[0].cycle, members[0].pod, "n");
  EXPECT_EQ(end(), "ok");
  ASSERT_EQ(world_.host.completed.size(), 2U);
  EXPECT_EQ(world_.host.completed[0].message, "");
  EXPECT_THAT(users(), UnorderedElementsAre("b", "c"));
  EXPECT_EQ(world_.claim("default/shared")["status"]["allocation"]["devices"]["results"].size(),
            1U);
}

// The API server would refuse the reservation of one more: the group had run in part.
TEST_F(GangTest, NoMoreArePlacedThanCanUseTheClaim) {
  std::vector<Member> members;
  for (int i = 0; i < 257; ++i) members.push_back(member("p" + std::to_string(i)));
  for (int i = 0; i < 256; ++i) ASSERT_EQ(place(members[static_cast<size_t>(i)]), "") << i;
  EXPECT_EQ(place(members.back()),
            "resource claim default/shared is used by 256 pods already, and no more can use it");
  Member& last = members[255];
  EXPECT_EQ(world_.host.requeued, 0);
  world_.plugin->unreserve(*last.cycle, last.pod, "n");
  EXPECT_EQ(world_.host.requeued, 1) << "one more can use it";
  ASSERT_EQ(place(last), "");
  Json status = has_card_0();
  for (int i = 0; i < 256; ++i) {
    const std::string pod = "p" + std::to_string(i);
    status["reservedFor"].push_back({{"resource", "pods"}, {"name", pod}, {"uid", pod}});
  }
  change("shared", status);  // all of them are bound
  EXPECT_EQ(place(members.back()),
            "resource claim default/shared is used by 256 pods already, and no more can use it");
}

// Nobody waits for a pod that was placed later: each would wait for the other, for ever.
TEST_F(GangTest, TheFirstThatIsLeftWritesTheAllocation) {
  add_claim("own");
  Member first = member("a");
  Member second = member("z", {"shared", "own"});
  Member third = member("b", {"own", "shared"});
  for (Member* each : {&first, &second, &third}) ASSERT_EQ(place(*each), "");
  bind(third);
  bind(second);
  EXPECT_EQ(end(), "waits");
  world_.plugin->unreserve(*first.cycle, first.pod, "n");
  EXPECT_EQ(end(), "ok");
  EXPECT_EQ(world_.host.completed.size(), 2U);
  EXPECT_THAT(users(), UnorderedElementsAre("z", "b"));
}

// All of them are taken back, in any order: the claim is free for the next decision.
TEST_F(GangTest, WhatIsTakenBackIsNobodysAnyMore) {
  for (const bool first_goes_first : {true, false}) {
    Member first = member("a");
    Member second = member("b");
    ASSERT_EQ(place(first), "");
    ASSERT_EQ(place(second), "");
    Member& one = first_goes_first ? first : second;
    Member& other = first_goes_first ? second : first;
    world_.plugin->unreserve(*one.cycle, one.pod, "n");
    world_.plugin->unreserve(*other.cycle, other.pod, "n");
    ++decision_;
  }
  Member again = member("b");
  ASSERT_EQ(place(again), "");
  bind(again);
  EXPECT_EQ(end(), "ok");
  EXPECT_THAT(users(), ElementsAre("b"));
}

// Another scheduler had the card first: nobody reserves it, and nobody writes it once more.
TEST_F(GangTest, NobodyReservesWhatAnotherClaimHadFirst) {
  add_claim("theirs");
  Member first = member("a");
  Member second = member("b");
  ASSERT_EQ(place(first), "");
  ASSERT_EQ(place(second), "");
  bind(first);
  bind(second);
  change("theirs", has_card_0());
  world_.settle();
  ASSERT_EQ(world_.host.completed.size(), 2U);
  for (const auto& each : world_.host.completed)
    EXPECT_THAT(each.message, HasSubstr("claim default/theirs was given one of its devices first"));
  EXPECT_FALSE(world_.claim("default/shared")["status"].contains("allocation"));
  EXPECT_THAT(users(), ElementsAre());
  for (Member* each : {&first, &second}) world_.plugin->unreserve(*each->cycle, each->pod, "n");
  world_.settle();
  world_.host.completed.clear();
  ++decision_;
  Member again = member("a");  // on the other card
  ASSERT_EQ(place(again), "");
  bind(again);
  EXPECT_EQ(end(), "ok");
}

// While a pod of the group waits, others take the claim's devices back and give it others.
TEST_F(GangTest, DevicesAreThoseThatThePodWasPlacedBy) {
  Member first = member("a");
  ASSERT_EQ(place(first), "");
  bind(first);
  ASSERT_EQ(end(), "ok");
  Member second = member("b");
  decision_ = 0;
  ASSERT_EQ(place(second), "");
  Json other = has_card_0();
  other["allocation"]["devices"]["results"][0]["device"] = "card-1";
  change("shared", other);
  bind(second);
  EXPECT_EQ(end(), "claim default/shared got allocated elsewhere in the meantime");
  EXPECT_THAT(users(), ElementsAre("a"));
}

// The same, while the watch does not show it yet.
TEST_F(GangTest, AConflictIsNoReasonToReserveOtherDevices) {
  Member first = member("a");
  ASSERT_EQ(place(first), "");
  bind(first);
  ASSERT_EQ(end(), "ok");
  Member second = member("b");
  decision_ = 0;
  ASSERT_EQ(place(second), "");
  for (const bool has_any : {true, false}) {
    Json& claim = world_.claim("default/shared");
    const Json before = claim;
    claim["metadata"]["resourceVersion"] = "900";
    if (has_any) {
      claim["status"]["allocation"]["devices"]["results"][0]["device"] = "card-1";
    } else {
      claim["status"] = Json::object();
    }
    bind(second);
    EXPECT_EQ(end(), std::string("claim default/shared ") +
                         (has_any ? "got allocated elsewhere" : "lost its devices") +
                         " in the meantime");
    claim = before;
  }
}

// The pod that wrote the allocation goes before anybody has seen that another claim was first.
TEST_F(GangTest, WhatIsWrittenAndNotSeenIsNotBuiltOn) {
  add_claim("theirs");
  Member first = member("a");
  Member second = member("b");
  ASSERT_EQ(place(first), "");
  ASSERT_EQ(place(second), "");
  bind(second);
  ASSERT_EQ(end(), "waits");
  bind(first);
  const auto is_due = [](const auto& task) { return task.delay_ms == 0; };
  while (std::ranges::any_of(world_.host.deferred, is_due)) ASSERT_TRUE(world_.step());
  ASSERT_THAT(users(), ElementsAre("a"));
  change("theirs", has_card_0());
  world_.host.bindings_cancelled.push_back("a");
  (void)world_.pass_time();
  ASSERT_EQ(world_.host.completed.size(), 1U);
  world_.plugin->unreserve(*first.cycle, first.pod, "n");
  EXPECT_THAT(end(), HasSubstr("claim default/theirs was given one of its devices first"));
  EXPECT_THAT(users(), ElementsAre());
}

// A pod that goes while its write is under way leaves nothing that is reserved, nor holds others
// up.
TEST_F(GangTest, AWriteThatIsAnsweredAfterTheEndIsTakenBack) {
  Member first = member("a");
  Member second = member("b");
  Member third = member("c");
  for (Member* each : {&first, &second, &third}) ASSERT_EQ(place(*each), "");
  bind(second);
  ASSERT_EQ(end(), "waits");
  bind(first);
  while (users() != std::vector<std::string>{"a", "b"}) ASSERT_TRUE(world_.step());
  world_.host.bindings_cancelled.push_back("b");
  const size_t ended = world_.host.completed.size();
  (void)world_.pass_time();
  ASSERT_EQ(world_.host.completed.size(), ended + 1);
  EXPECT_EQ(world_.host.completed.back().message, "the pod is not to be bound any more");
  world_.plugin->unreserve(*second.cycle, second.pod, "n");
  bind(third);
  EXPECT_EQ(end(), "ok");
  EXPECT_THAT(users(), UnorderedElementsAre("a", "c"));
}

// A group without room gives back what only its waiting pods have, and what binds them.
TEST_F(GangTest, AGroupWithoutRoomGivesBackWhatItsClaimsHave) {
  Member first = member("a");
  Member second = member("b");
  ASSERT_EQ(place(first), "");
  bind(first);
  ASSERT_EQ(end(), "ok");
  const auto* table = world_.host.handle().find_service<plimsoll_claimed_resources>(
      PLIMSOLL_CLAIMED_RESOURCES_SERVICE, PLIMSOLL_CLAIMED_RESOURCES_VERSION);
  ASSERT_NE(table, nullptr);
  const auto give_back = [&](std::vector<const plimsoll_pod*> pods) {
    const int32_t claims = table->give_back(table->self, pods.data(), pods.size());
    world_.settle();
    return claims;
  };
  EXPECT_EQ(give_back({second.pod.operator->()}), 0) << "a has it, too";
  Member third = member("c");
  decision_ = 0;
  ASSERT_EQ(place(third), "");
  EXPECT_EQ(give_back({second.pod.operator->(), first.pod.operator->()}), 0) << "c is being bound";
  world_.plugin->unreserve(*third.cycle, third.pod, "n");
  EXPECT_TRUE(world_.claim("default/shared")["status"].contains("allocation"));
  EXPECT_EQ(give_back({second.pod.operator->(), first.pod.operator->()}), 1);
  EXPECT_FALSE(world_.claim("default/shared")["status"].contains("allocation"));
  EXPECT_EQ(give_back({second.pod.operator->(), first.pod.operator->()}), 0) << "it has none";
}

// What-ifs: pods that share a claim take its devices once, and only where these are.
TEST_F(GangTest, AWhatIfCountsASharedClaimOnce) {
  world_.add_node({{"metadata", {{"name", "other"}}}});
  add_claim("own");
  Member first = member("a");
  Member second = member("b");
  Member third = member("c");
  Member alone = member("d", {"own"});
  const auto verdict = [&](Member& of, std::vector<Member*> others, size_t node) {
    EXPECT_EQ(world_.plugin->pre_filter(*of.cycle, of.pod).code, PLIMSOLL_SUCCESS);
    for (Member* other : others) {
      EXPECT_EQ(world_.plugin->add_pod(*of.cycle, of.pod, other->pod, *world_.nodes[0]).code,
                PLIMSOLL_SUCCESS);
    }
    return world_.plugin->filter(*of.cycle, of.pod, *world_.nodes[node]).code;
  };
  EXPECT_EQ(verdict(alone, {&first, &second}, 0), PLIMSOLL_SUCCESS) << "one of two cards is left";
  EXPECT_EQ(verdict(third, {&first, &second, &alone}, 0), PLIMSOLL_SUCCESS) << "it has its card";
  EXPECT_NE(verdict(third, {&first}, 1), PLIMSOLL_SUCCESS) << "the card is on the other node";
  // Another order is tried: what was put on is taken away, the last one first.
  add_claim("another");
  Member other = member("e", {"another"});
  EXPECT_EQ(verdict(alone, {&first, &second}, 0), PLIMSOLL_SUCCESS);
  for (Member* each : {&second, &first}) {
    (void)world_.plugin->remove_pod(*alone.cycle, alone.pod, each->pod, *world_.nodes[0]);
  }
  for (Member* each : {&second, &other}) {
    (void)world_.plugin->add_pod(*alone.cycle, alone.pod, each->pod, *world_.nodes[0]);
  }
  EXPECT_NE(world_.plugin->filter(*alone.cycle, alone.pod, *world_.nodes[0]).code, PLIMSOLL_SUCCESS)
      << "both cards are taken";
}

// Devices that are CPUs, and a ledger of zones.
class GangWithCpusTest : public GangTest {
 protected:
  GangWithCpusTest() {
    ledger_.size = sizeof ledger_;
    ledger_.self = this;
    ledger_.hold = [](void* self, plimsoll_list holdings) {
      for (const auto& each : sdk::List<plimsoll_zone_holding>(holdings))
        static_cast<GangWithCpusTest*>(self)->asks_again_ = sdk::view(each.pod_uid);
    };
    EXPECT_TRUE(world_.host.handle().publish(PLIMSOLL_ZONE_FORECAST_SERVICE,
                                             PLIMSOLL_ZONE_FORECAST_VERSION, &ledger_));
    world_.plugin->start();
    add_cards(
        1, {{"attributes", {{"resource.kubernetes.io/numaNode", {{"int", 0}}}}},
            {"nodeAllocatableResources", {{"cpu", {{"mapping", {{"deviceMultiplier", "4"}}}}}}}});
  }

  plimsoll_zone_forecast ledger_{};
  std::string asks_again_ = "nobody asked";
};

// Only the first one is shown to have the claim: still it is not one pod's own CPUs.
TEST_F(GangWithCpusTest, WhatSeveralShareIsNobodysOwn) {
  Member first = member("a");
  Member second = member("b");
  ASSERT_EQ(place(first), "");
  EXPECT_EQ(asks_again_, "a");
  ASSERT_EQ(place(second), "");
  EXPECT_EQ(asks_again_, "");
  bind(first);
  ASSERT_EQ(end(), "ok");
  EXPECT_THAT(users(), ElementsAre("a"));
  EXPECT_EQ(asks_again_, "");
  world_.plugin->unreserve(*second.cycle, second.pod, "n");
  EXPECT_EQ(asks_again_, "a");
}

// The other book, as NodeDevice would keep it.
class DeviceBooksTest : public ClaimBindingTest {
 protected:
  DeviceBooksTest() {
    table_.size = sizeof table_;
    table_.self = this;
    table_.join = [](void* self, void* ctx, void (*changed)(void*, plimsoll_str)) {
      static_cast<DeviceBooksTest*>(self)->ctx_ = ctx;
      static_cast<DeviceBooksTest*>(self)->changed_ = changed;
    };
    table_.in_use = [](void* self, plimsoll_str, const plimsoll_device_identity* device) {
      return static_cast<DeviceBooksTest*>(self)->given_ == sdk::view(device->uuid) ? 1 : 0;
    };
    table_.hold = [](void* self, plimsoll_str holder, plimsoll_str node, plimsoll_list devices) {
      std::string& text =
          static_cast<DeviceBooksTest*>(self)->held_[std::string(sdk::view(holder))];
      text.clear();
      for (const auto& each : sdk::List<plimsoll_device_identity>(devices)) {
        text += std::string(sdk::view(node)) + ":" + std::string(sdk::view(each.uuid)) + " ";
      }
    };
    EXPECT_TRUE(world_.host.handle().publish(PLIMSOLL_DEVICE_ACCOUNTS_SERVICE,
                                             PLIMSOLL_DEVICE_ACCOUNTS_VERSION, &table_));
    world_.plugin->start();
  }
  ~DeviceBooksTest() override { world_.plugin.reset(); }  // it uses the table to its end
  // One card, of this UUID.
  void add_card(const char* uuid) {
    add_cards(1, {{"attributes", {{"uuid", {{"string", uuid}}}}}});
  }
  void give(const char* uuid) {
    given_ = uuid;
    changed_(ctx_, sdk::str("n"));
  }
  std::string filter(const std::string& claim) {
    sdk::FakeCycle cycle;
    const Json pod{{"metadata", {{"name", "q"}, {"namespace", "default"}, {"uid", "q-uid"}}},
                   {"spec",
                    {{"containers", Json::array()},
                     {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", claim}}}}}}};
    const sdk::Pod asking(&world_.pod(pod));
    (void)world_.plugin->pre_filter(cycle, asking);
    const auto verdict = world_.plugin->filter(cycle, asking, *world_.nodes[0]);
    return verdict.code == PLIMSOLL_SUCCESS ? "fits" : verdict.reasons;
  }

  plimsoll_device_accounts table_{};
  void* ctx_ = nullptr;
  void (*changed_)(void*, plimsoll_str) = nullptr;
  std::string given_ = "nobody's";
  std::map<std::string, std::string> held_;
};

TEST_F(DeviceBooksTest, WhatTheOtherBookGaveIsInUse) {
  add_card("U");
  add_claim("c");
  EXPECT_EQ(filter("c"), "fits");
  give("U");
  EXPECT_EQ(filter("c"), "cannot allocate all claims");
  give("another");
  EXPECT_EQ(filter("c"), "fits");
  give("U");
  change("c",
         {{"allocation",
           {{"devices",
             {{"results",
               {{{"request", "r"}, {"driver", "d"}, {"pool", "n"}, {"device", "card-0"}}}}}}}}});
  EXPECT_EQ(filter("c"), "resourceclaim not available on the node") << "a write that came late";
  change("c", {{"allocation", nullptr}});
  add_card("V");  // the slice has another card in its place now
  EXPECT_EQ(filter("c"), "fits");
}

// No object changes: only this says that the card is free.
TEST_F(DeviceBooksTest, WhatComesFreeInTheOtherBookWakesWhoWaits) {
  add_card("U");
  give("U");
  EXPECT_EQ(world_.host.requeued, 0);
  give("U");
  EXPECT_EQ(world_.host.requeued, 0);
  give("nobody's");
  EXPECT_EQ(world_.host.requeued, 1);
  give("U");
  add_card("V");  // another card has its place: an event of the slice
  EXPECT_EQ(world_.host.requeued, 2) << "the device can be had";
}

TEST_F(DeviceBooksTest, TheOtherBookIsToldWhatClaimsHave) {
  add_card("U");
  add_claim("c");
  ASSERT_NO_FATAL_FAILURE(begin("c"));
  EXPECT_EQ(held_["default/c"], "n:U ") << "from Reserve on";
  EXPECT_EQ(end(), "ok");
  EXPECT_EQ(held_["default/c"], "n:U ");
  add_card("V");
  EXPECT_EQ(held_["default/c"], "n:V ") << "the driver says otherwise now";
  change("c", {{"allocation", nullptr}});
  EXPECT_EQ(held_["default/c"], "");
}

// A ledger that says where the kubelet puts every pod.
class DeviceOrderTest : public ClaimBindingTest {
 protected:
  explicit DeviceOrderTest(const char* order = "topology")
      : ClaimBindingTest(Json{{"deviceOrder", order}}.dump()) {
    table_ = {sizeof table_, 0, this, ask, [](void*, void*) {}, zones, nullptr};
    EXPECT_TRUE(world_.host.handle().publish(PLIMSOLL_ZONE_FORECAST_SERVICE,
                                             PLIMSOLL_ZONE_FORECAST_VERSION, &table_));
    // Zone 0 by the standard name, 1 by a driver's own, and a card that says nothing.
    world_.show(std::string(sdk::kResourceSlices.resource),
                {{"metadata", {{"name", "s"}}},
                 {"spec",
                  {{"driver", "d"},
                   {"nodeName", "n"},
                   {"pool", {{"name", "n"}, {"generation", 1}, {"resourceSliceCount", 1}}},
                   {"devices",
                    {card("a", "resource.kubernetes.io/numaNode", 0), card("b", "old/numaNode", 1),
                     card("c", "other", 1)}}}}});
  }
  ~DeviceOrderTest() override { world_.plugin.reset(); }
  static Json card(const char* name, const char* attribute, int zone) {
    return {{"name", name}, {"attributes", {{attribute, {{"int", zone}}}}}};
  }
  static void* ask(void* self, const plimsoll_pod*) {
    return static_cast<DeviceOrderTest*>(self)->tied_ ? self : nullptr;
  }
  static int32_t zones(void* self, void*, uint32_t, plimsoll_str, uint64_t* mask) {
    *mask = static_cast<DeviceOrderTest*>(self)->mask_;
    return static_cast<DeviceOrderTest*>(self)->known_ ? *mask != 0 : -1;
  }
  // What the claim gets; else why the node is refused.
  std::string given(const std::string& claim) {
    add_claim(claim);
    sdk::FakeCycle cycle;
    const sdk::Pod pod(
        &world_.pod({{"metadata", {{"name", claim}, {"namespace", "default"}, {"uid", claim}}},
                     {"spec",
                      {{"containers", Json::array()},
                       {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", claim}}}}}}}));
    (void)world_.plugin->pre_filter(cycle, pod);
    const auto verdict = world_.plugin->filter(cycle, pod, *world_.nodes[0]);
    if (verdict.code != PLIMSOLL_SUCCESS) return verdict.reasons;
    EXPECT_EQ(world_.plugin->reserve(cycle, pod, *world_.nodes[0]).code, PLIMSOLL_SUCCESS);
    world_.host.completed.clear();
    (void)world_.plugin->pre_bind(cycle, pod, "n");
    EXPECT_EQ(end(), "ok");
    return world_.claim("default/" +
                        claim)["status"]["allocation"]["devices"]["results"][0]["device"];
  }

  plimsoll_zone_forecast table_{};
  bool tied_ = true, known_ = true;
  uint64_t mask_ = 0b10;
};

TEST_F(DeviceOrderTest, DevicesGoWhereThePodGoes) {
  EXPECT_EQ(given("first"), "b");
  EXPECT_EQ(given("second"), "c") << "a device without a zone is near every one";
  EXPECT_EQ(given("third"), "a") << "better there than nowhere";
}

TEST_F(DeviceOrderTest, WithoutAForecastTheOrderIsTheReferences) {
  tied_ = false;
  EXPECT_EQ(given("untied"), "a");
  tied_ = true;
  known_ = false;
  EXPECT_EQ(given("unknown"), "b");
}

class RequiredZonesTest : public DeviceOrderTest {
 protected:
  RequiredZonesTest() : DeviceOrderTest("require") {}
};

TEST_F(RequiredZonesTest, ANodeWithoutSuchDevicesIsRefused) {
  EXPECT_EQ(given("first"), "b");
  EXPECT_EQ(given("second"), "c");
  EXPECT_EQ(given("third"), "no devices for the claims in the NUMA zones of the pod");
  known_ = false;
  EXPECT_EQ(given("unknown"), "the NUMA zones of the pod are not known");
  tied_ = false;
  EXPECT_EQ(given("untied"), "a") << "no kubelet ties it to zones";
}

TEST_F(RequiredZonesTest, APodOrAReportMayHelp) {
  std::vector<std::string> resources;
  for (const auto& each : world_.plugin->events()) {
    resources.emplace_back(sdk::view(each.resource));
  }
  EXPECT_THAT(resources, ::testing::Contains("Pod"));
  EXPECT_THAT(resources,
              ::testing::Contains("noderesourcetopologies.v1alpha2.topology.node.k8s.io"));
}

// Devices that are CPUs of their node (KEP-5517).
class FootprintTest : public ClaimBindingTest {
 protected:
  FootprintTest() : ClaimBindingTest(R"({"featureGates":{"DRANodeAllocatableResources":true}})") {
    world_.nodes[0]->allocatable("cpu", 4000);
    add_cards(
        2, {{"nodeAllocatableResources", {{"cpu", {{"mapping", {{"deviceMultiplier", "2"}}}}}}}});
    add_claim("c");
  }
};

TEST_F(FootprintTest, IsToldToThePodAndTakenBack) {
  ASSERT_NO_FATAL_FAILURE(begin("c"));
  ASSERT_EQ(world_.host.amounts_added["p-uid"].size(), 1U);
  EXPECT_EQ(world_.host.amounts_added["p-uid"][0].mapped, 2000);
  EXPECT_EQ(end(), "ok");
  EXPECT_EQ(world_.pod_patch["metadata"]["uid"], "p-uid");
  EXPECT_EQ(world_.pod_patch["status"]["nodeAllocatableResourceClaimStatuses"],
            Json::parse(R"([{"resourceClaimName": "c",
                             "mapping": [{"name": "cpu", "quantity": "2"}]}])"));
  world_.plugin->unreserve(cycle_, pod_, "n");
  EXPECT_EQ(world_.pod_patch["metadata"]["uid"], "p-uid");
  EXPECT_EQ(world_.pod_patch["status"]["nodeAllocatableResourceClaimStatuses"], Json::array());
}

}  // namespace
}  // namespace plimsoll::dra::test
