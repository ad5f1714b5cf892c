// Pods with resource claims against a real API server. The test is the driver, which publishes
// devices, and the controller, which takes them back. No device is given away twice, wherever
// between two writes the scheduler dies.

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/claims_fixture.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ClaimsTest : public ClaimsFixture {
 protected:
  // A node with this many cards: card-0, card-1, ...
  void add_node(const std::string& name, int cards) {
    json node = node_object(name, {{"cpu", "64"}, {"memory", "64Gi"}, {"pods", "110"}});
    create(kNodes, node);
    json devices = json::array();
    for (int i = 0; i < cards; ++i) {
      devices.push_back(
          {{"name", "card-" + std::to_string(i)}, {"attributes", {{"slot", {{"int", i}}}}}});
    }
    add_slice(name, devices);
  }
  void add_claim(const std::string& name, int count = 1) {
    create(claims(), {{"metadata", {{"name", name}}}, {"spec", claim_spec(count)}});
  }
  void add_pod(const std::string& name, const std::vector<std::string>& of,
               const std::string& priority_class = "") {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
    if (!priority_class.empty()) pod["spec"]["priorityClassName"] = priority_class;
    for (const std::string& claim : of) {
      pod["spec"]["resourceClaims"].push_back({{"name", claim}, {"resourceClaimName", claim}});
    }
    create(pods_path(), pod);
  }
  json claim(const std::string& name) { return client().get(claim_path(name)).json(); }
  // "node/card" of the claim's first device; empty: it has none.
  std::string card_of(const std::string& name) {
    const json found = claim(name);
    const std::string device = text_at(found, "/status/allocation/devices/results/0/device");
    return device.empty()
               ? ""
               : text_at(found, "/status/allocation/devices/results/0/pool") + "/" + device;
  }
  // What the controller does once no pod has the claim any more, or another scheduler for its pod.
  void write_status(const std::string& name, const json& status) {
    change(claim_path(name) + "/status", {{"status", status}});
  }
  void give_to_somebody_else(const std::string& name, const std::string& node,
                             const std::string& card) {
    write_status(name, {{"allocation",
                         {{"devices",
                           {{"results",
                             {{{"request", "card"},
                               {"driver", kCardDriver},
                               {"pool", node},
                               {"device", card}}}}}}}}});
  }
  // Who has each card, from what the API server holds.
  void expect_no_card_twice() {
    std::map<std::string, std::string> owners;
    const auto all = client().list(claims());
    ASSERT_TRUE(all);
    for (const json& each : *all) {
      const std::string name = text_at(each, "/metadata/name");
      const json::json_pointer results("/status/allocation/devices/results");
      if (!each.contains(results)) continue;
      for (const json& result : each.at(results)) {
        const std::string card =
            result.at("pool").get<std::string>() + "/" + result.at("device").get<std::string>();
        const auto [at, is_new] = owners.emplace(card, name);
        EXPECT_TRUE(is_new) << card << ": " << at->second << " and " << name;
      }
    }
  }
  void expect_bound_to_its_card(const std::string& pod, const std::string& claim_name) {
    const std::string node = wait_bound(pod, 60s);
    ASSERT_NE(node, "") << pod << "\n" << tail(log(), 30);
    EXPECT_TRUE(card_of(claim_name).starts_with(node + "/")) << pod << ": " << card_of(claim_name);
    EXPECT_EQ(text_at(claim(claim_name), "/status/reservedFor/0/name"), pod);
  }

  TempDir folder_;
};

TEST_F(ClaimsTest, EveryCardOnceAndTheNextPodWaitsForOne) {
  for (const char* node : {"n1", "n2", "n3"}) add_node(node, 4);
  ASSERT_NO_FATAL_FAILURE(start());
  for (int i = 0; i < 12; ++i) {
    const std::string name = "p" + std::to_string(i);
    add_claim(name);
    add_pod(name, {name});
  }
  for (int i = 0; i < 12; ++i) {
    const std::string name = "p" + std::to_string(i);
    ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card(name, name));
  }
  expect_no_card_twice();
  add_pod("beside", {"p3"});  // two pods may have one claim
  EXPECT_EQ(wait_bound("beside"), node_of("p3")) << tail(log(), 30);
  add_claim("late");
  add_pod("late", {"late"});
  EXPECT_THAT(wait_refused("late"), HasSubstr("3 cannot allocate all claims"));
  remove(pods_path("p5"));
  write_status("p5", {{"allocation", nullptr}, {"reservedFor", nullptr}});
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("late", "late"));
  add_pod("early", {"not-made-yet"});
  write_status("p6", {{"allocation", nullptr}, {"reservedFor", nullptr}});
  add_claim("not-made-yet");
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("early", "not-made-yet"));
  // An extended resource behind which the class stands: one claim is made for the pod.
  write_status("p7", {{"allocation", nullptr}, {"reservedFor", nullptr}});
  change(std::string(kDeviceClasses) + "/cards",
         {{"spec", {{"extendedResourceName", "example.com/card"}}}});
  create_pod({.name = "extended",
              .scheduler = kScheduler,
              .requests = {{"cpu", "1"}, {"example.com/card", "1"}}});
  ASSERT_NE(wait_bound("extended"), "") << tail(log(), 30);
  const json told =
      client().get(pods_path("extended")).json()["status"]["extendedResourceClaimStatus"];
  const std::string made = told.value("resourceClaimName", "");
  EXPECT_THAT(made, testing::StartsWith("extended-extended-resources-"));
  EXPECT_EQ(text_at(told, "/requestMappings/0/resourceName"), "example.com/card");
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("extended", made));
  expect_no_card_twice();
}

// The victim's claim has the card until its controller takes it back; nobody else is evicted
// meanwhile, and nobody else gets the card then.
TEST_F(ClaimsTest, APodOfHigherPriorityGetsTheCardOfOneThatIsEvicted) {
  client().post("/apis/scheduling.k8s.io/v1/priorityclasses",
                json{{"metadata", {{"name", "claims-high"}}}, {"value", 1000}});
  for (const char* node : {"n1", "n2"}) add_node(node, 1);
  ASSERT_NO_FATAL_FAILURE(start());
  for (const char* name : {"a", "b"}) {
    add_claim(name);
    add_pod(name, {name});
    ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card(name, name));
  }
  for (const char* name : {"urgent", "late"}) add_claim(name);
  add_pod("urgent", {"urgent"}, "claims-high");
  std::vector<std::string> dying;
  const auto find_dying = [&] {
    dying.clear();
    for (const char* name : {"a", "b"}) {
      const json pod = client().get(pods_path(name)).json();
      if (pod["metadata"].contains("deletionTimestamp")) dying.emplace_back(name);
    }
    return dying.size();
  };
  ASSERT_TRUE(eventually(60s, [&] { return find_dying() == 1; })) << tail(log(), 30);
  const std::string victim = dying.front();
  const std::string card = card_of(victim);
  remove(pods_path(victim));
  add_pod("late", {"late"});
  EXPECT_THAT(wait_refused("late"), HasSubstr("2 cannot allocate all claims"));
  EXPECT_EQ(node_of("urgent"), "");
  // Another event gives it a try.
  create(kNodes, node_object("n3", {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "10"}}));
  EXPECT_TRUE(eventually(60s, [&] {
    return wait_refused("late").find("3 cannot allocate all claims") != std::string::npos;
  }));
  write_status(victim, {{"allocation", nullptr}, {"reservedFor", nullptr}});
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("urgent", "urgent"));
  EXPECT_EQ(card_of("urgent"), card);
  EXPECT_EQ(find_dying(), 0U) << "the other keeps its card";
  EXPECT_EQ(node_of("late"), "");
  expect_no_card_twice();
}

// Half of the pods get cards by minor, half by claims, of the same cards: UUIDs and bus ids say so.
TEST_F(ClaimsTest, ACardIsInOneBook) {
  constexpr int kHosts = 3;
  constexpr int kCards = 4;
  for (int n = 0; n < kHosts; ++n) {
    const std::string name = "n" + std::to_string(n);
    create(kNodes, node_object(name, {{"cpu", "64"},
                                      {"memory", "64Gi"},
                                      {"pods", "110"},
                                      {"koordinator.sh/gpu", std::to_string(100 * kCards)}}));
    const Resources zone{{"cpu", "32"}, {"memory", "32Gi"}};
    create(kNrts, nrt_object({.node = name, .zones = {zone, zone}}));
    json in_slice = json::array();
    std::vector<json> in_object;
    for (int i = 0; i < kCards; ++i) {
      const std::string uuid = "GPU-" + name + "-" + std::to_string(i);
      const std::string bus = "0000:0" + std::to_string(i + 1) + ":00.0";
      json card = gpu_device(i, 0);
      card["id"] = uuid;
      card["topology"]["busID"] = bus;
      in_object.push_back(card);
      json attributes = json::object();
      if (i % 2 == 0)
        attributes["uuid"] = {{"string", uuid}};
      else
        attributes["resource.kubernetes.io/pciBusID"] = {{"string", bus}};
      in_slice.push_back({{"name", "card-" + std::to_string(i)}, {"attributes", attributes}});
    }
    add_slice(name, in_slice);
    create(kDevices, device_object(name, in_object));
  }
  ASSERT_NO_FATAL_FAILURE(start());
  constexpr int kPods = kHosts * kCards;  // of each kind; of both together half find a card
  for (int i = 0; i < kPods; ++i) {
    const std::string number = std::to_string(i);
    add_claim("c" + number);
    add_pod("c" + number, {"c" + number});
    create_pod({.name = "m" + number,
                .scheduler = kScheduler,
                .requests = {{"cpu", "1"}, {"koordinator.sh/gpu", "100"}}});
  }
  const auto bound = [&] {
    int count = 0;
    for (int i = 0; i < kPods; ++i) {
      for (const char* kind : {"c", "m"}) {
        if (!node_of(kind + std::to_string(i)).empty()) ++count;
      }
    }
    return count;
  };
  EXPECT_TRUE(eventually(60s, [&] { return bound() == kPods; })) << bound() << tail(log(), 30);
  std::map<std::string, std::string> owners;
  const auto own = [&](const std::string& card, const std::string& pod) {
    const auto [at, is_new] = owners.emplace(card, pod);
    EXPECT_TRUE(is_new) << card << ": " << at->second << " and " << pod;
  };
  int by_claim = 0;
  for (int i = 0; i < kPods; ++i) {
    const std::string claimed = card_of("c" + std::to_string(i));
    if (!claimed.empty()) {
      ++by_claim;
      own(claimed, "c" + std::to_string(i));
    }
    EXPECT_EQ(claimed.empty(), node_of("c" + std::to_string(i)).empty()) << i << claimed;
    const std::string pod = "m" + std::to_string(i);
    const json object = client().get(pods_path(pod)).json();
    const std::string text =
        texts_at(object, "/metadata/annotations")["scheduling.koordinator.sh/device-allocated"];
    if (!text_at(object, "/spec/nodeName").empty()) {
      EXPECT_NE(text, "") << pod << " is bound without a card";
    }
    if (text.empty()) continue;
    const json allocated = json::parse(text);
    for (const json& share : allocated.at("gpu")) {
      own(text_at(object, "/spec/nodeName") + "/card-" +
              std::to_string(share.at("minor").get<int>()),
          pod);
    }
  }
  EXPECT_EQ(owners.size(), static_cast<std::size_t>(kPods)) << by_claim << " by claims";
  EXPECT_GT(by_claim, 0);
  EXPECT_LT(by_claim, kPods) << wait_refused("m0");
}

// The API server lets two schedulers give one card away. Who comes second takes another one, for
// each of its claims.
TEST_F(ClaimsTest, WhoComesSecondGivesTheCardBack) {
  add_node("n", 4);
  for (const char* name : {"ours", "ours-too", "theirs", "theirs-too"}) add_claim(name);
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {}, folder_)));
  (*proxy)->hold(ApiProxy::What::kRequest, "PATCH", "/resourceclaims/ours/status");
  add_pod("pod", {"ours", "ours-too"});
  ASSERT_TRUE((*proxy)->wait_held(30s)) << tail(log(), 30);
  give_to_somebody_else("theirs", "n", "card-0");
  give_to_somebody_else("theirs-too", "n", "card-1");
  ASSERT_TRUE((*proxy)->pass_on(30s));
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("pod", "ours"));
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("pod", "ours-too"));
  EXPECT_EQ(card_of("theirs"), "n/card-0");
  EXPECT_EQ(card_of("theirs-too"), "n/card-1");
  expect_no_card_twice();
  EXPECT_THAT(all_logs(), HasSubstr("theirs was given one of its devices first"));
}

// The claim changes between the decision and its write: what is written then is the same decision.
TEST_F(ClaimsTest, AClaimThatChangesMeanwhileIsReadAgain) {
  add_node("n", 1);
  add_claim("ours");
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {}, folder_)));
  (*proxy)->hold(ApiProxy::What::kRequest, "PATCH", "/resourceclaims/ours");
  add_pod("pod", {"ours"});
  ASSERT_TRUE((*proxy)->wait_held(30s)) << tail(log(), 30);
  change(claim_path("ours"), {{"metadata", {{"labels", {{"changed", "meanwhile"}}}}}});
  ASSERT_TRUE((*proxy)->pass_on(30s));
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("pod", "ours"));
  EXPECT_EQ(claim("ours")["metadata"]["labels"]["changed"], "meanwhile");
  EXPECT_TRUE(events("pod", "FailedScheduling").empty());
}

// A device that has to be attached first: the pod is bound when its driver says that it is.
TEST_F(ClaimsTest, ConditionsOfADeviceAreWaitedFor) {
  create(kNodes, node_object("n", {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "10"}}));
  create(kSlices, {{"metadata", {{"name", "fabric"}}},
                   {"spec",
                    {{"driver", kCardDriver},
                     {"allNodes", true},
                     {"pool", {{"name", "fabric"}, {"generation", 1}, {"resourceSliceCount", 1}}},
                     {"devices",
                      {{{"name", "card-0"},
                        {"bindsToNode", true},
                        {"bindingConditions", {"example.com/attached"}},
                        {"bindingFailureConditions", {"example.com/broken"}}}}}}}});
  add_claim("ours");
  ASSERT_NO_FATAL_FAILURE(start());
  add_pod("pod", {"ours"});
  EXPECT_THAT(wait_event("pod", "BindingConditionsPending"), HasSubstr("on node n"));
  EXPECT_EQ(node_of("pod"), "");
  write_status("ours", {{"devices",
                         {{{"driver", kCardDriver},
                           {"pool", "fabric"},
                           {"device", "card-0"},
                           {"conditions",
                            {{{"type", "example.com/attached"},
                              {"status", "True"},
                              {"reason", "Attached"},
                              {"message", ""},
                              {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}}}}}});
  EXPECT_EQ(wait_bound("pod"), "n") << tail(log(), 30);
}

// Two claims: four writes, and the Binding. The scheduler dies when the write at this place has
// left it; the next one finds what those before it did, and the dead one's write arrives late.
struct KilledBefore {
  const char* name;
  const char* method;
  const char* path;
};
void PrintTo(const KilledBefore& where, std::ostream* out) {
  *out << where.name;
}

class KilledBetweenClaimsTest : public ClaimsTest,
                                public testing::WithParamInterface<KilledBefore> {};

TEST_P(KilledBetweenClaimsTest, NoCardIsGivenTwice) {
  const KilledBefore& where = GetParam();
  add_node("n1", 2);
  add_node("n2", 2);
  for (const char* name : {"a", "b", "other"}) add_claim(name);
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {}, folder_)));
  (*proxy)->hold(ApiProxy::What::kRequest, where.method, where.path);
  add_pod("pod", {"a", "b"});
  ASSERT_TRUE((*proxy)->wait_held(30s)) << tail(log(), 30);
  scheduler().kill();
  ASSERT_NO_FATAL_FAILURE(start());
  add_pod("other", {"other"});
  (void)(*proxy)->pass_on(30s);
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("pod", "a"));
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("pod", "b"));
  ASSERT_NO_FATAL_FAILURE(expect_bound_to_its_card("other", "other"));
  expect_no_card_twice();
}

INSTANTIATE_TEST_SUITE_P(
    Writes, KilledBetweenClaimsTest,
    testing::Values(KilledBefore{"FirstProtection", "PATCH", "/resourceclaims/a"},
                    KilledBefore{"FirstStatus", "PATCH", "/resourceclaims/a/status"},
                    KilledBefore{"SecondProtection", "PATCH", "/resourceclaims/b"},
                    KilledBefore{"SecondStatus", "PATCH", "/resourceclaims/b/status"},
                    KilledBefore{"Binding", "POST", "/pods/pod/binding"}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace plimsoll::test
