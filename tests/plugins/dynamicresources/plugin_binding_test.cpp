// From Reserve to the end of PreBind: what is waited for, and what is given back.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <plimsoll/services/device_accounts.h>

#include <map>
#include <string>

#include "tests/plugins/dynamicresources/plugin_world.hpp"

namespace plimsoll::dra::test {
namespace {

using ::testing::HasSubstr;

class ClaimBindingTest : public testing::Test {
 protected:
  ClaimBindingTest() {
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
    const Json pod{{"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", "p-uid"}}},
                   {"spec",
                    {{"schedulerName", "s"},
                     {"containers", Json::array()},
                     {"resourceClaims", {{{"name", "c"}, {"resourceClaimName", claim}}}}}}};
    pod_ = sdk::Pod(&world_.pod(pod));
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

// As `plimsoll top` has it.
TEST_F(ClaimBindingTest, ShowsWhoHasWhichDevices) {
  const auto shown = [this](std::optional<uint32_t> slot) {
    const auto* source = world_.host.handle().find_service<plimsoll_state_source>(
        "plimsoll.io/state/DynamicResources", 1);
    std::string text;
    const auto put = [](void* sink, const void* bytes, size_t len) {
      static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
    };
    if (slot)
      source->describe_nodes(source->self, &*slot, 1, put, &text);
    else
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
  sdk::FakeCycle next;
  ASSERT_EQ(world_.plugin->pre_filter(next, pod_).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(world_.plugin->filter(next, pod_, *world_.nodes[0]).reasons,
            "resourceclaim not available on the node");
  EXPECT_EQ(world_.plugin->post_filter(next, pod_, {}, {}).reasons,
            "deallocation of ResourceClaim completed");
  world_.settle();
  EXPECT_FALSE(world_.claim("default/c")["status"].contains("allocation"));
}

// Another scheduler's write of the same card came first in the watch.
TEST_F(ClaimBindingTest, WhoComesSecondGivesBack) {
  add_cards(1);
  add_claim("ours");
  add_claim("theirs");
  ASSERT_NO_FATAL_FAILURE(begin("ours"));
  change("theirs",
         {{"allocation",
           {{"devices",
             {{"results",
               {{{"request", "r"}, {"driver", "d"}, {"pool", "n"}, {"device", "card-0"}}}}}}}}});
  EXPECT_THAT(end(), HasSubstr("claim default/theirs was given one of its devices first"));
  EXPECT_FALSE(world_.claim("default/ours")["status"].contains("allocation"));
  EXPECT_TRUE(world_.claim("default/theirs")["status"].contains("allocation"));
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
  add_card("V");  // the slice has another card in its place now
  EXPECT_EQ(filter("c"), "fits");
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

}  // namespace
}  // namespace plimsoll::dra::test
