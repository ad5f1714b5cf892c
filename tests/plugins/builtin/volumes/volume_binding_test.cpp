// VolumeBinding where single cases cannot show it: several pods over one volume, writes that are
// cut off, objects that go meanwhile, and objects of strangers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/volumes/storage.hpp"
#include "tests/plugins/builtin/volumes/plugin_on_fake_host.hpp"

namespace plimsoll::volumes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr std::string_view kStorageClasses = sdk::kStorageClasses.resource;
constexpr const char* kNoVolume = "node(s) didn't find available persistent volumes to bind";
constexpr const char* kConflict = "node(s) didn't match PersistentVolume's node affinity";

Json volume_json(const std::string& name, const std::string& version = "1") {
  return {{"metadata", {{"name", name}, {"resourceVersion", version}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"capacity", {{"storage", "1Gi"}}},
            {"storageClassName", "local"}}},
          {"status", {{"phase", "Available"}}}};
}

Json claim_json(const std::string& name, const std::string& version = "1") {
  return {{"metadata",
           {{"name", name},
            {"namespace", "team"},
            {"uid", "uid of " + name},
            {"resourceVersion", version}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"resources", {{"requests", {{"storage", "1Gi"}}}}},
            {"storageClassName", "local"}}},
          {"status", {{"phase", "Pending"}}}};
}

Json bound_claim(const std::string& name, const std::string& volume) {
  Json claim = claim_json(name, "9");
  claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
  claim["spec"]["volumeName"] = volume;
  return claim;
}

// "pv", bound to the claim "a".
Json volume_of_claim() {
  Json volume = volume_json("pv", "12");
  volume["spec"]["claimRef"] = {{"name", "a"}, {"namespace", "team"}, {"uid", "uid of a"}};
  return volume;
}

FakePod& with_claim(FakePod& pod, const std::string& claim) {
  return pod.volume("persistentVolumeClaim", claim);
}

class VolumeBindingTest : public testing::Test {
 protected:
  VolumeBindingTest() {
    host_.add(node_);
    host_.add(other_);
    put_class("kubernetes.io/no-provisioner");
  }

  void put_class(const std::string& provisioner) {
    plugin_.put(kStorageClasses, "", "local",
                Json{{"metadata", {{"name", "local"}}},
                     {"provisioner", provisioner},
                     {"volumeBindingMode", "WaitForFirstConsumer"}}
                    .dump());
  }
  void put(const Json& object) {
    const Json& meta = object.at("metadata");
    const std::string ns = meta.value("namespace", "");
    plugin_.put(ns.empty() ? kVolumes : kClaims, ns, meta.at("name").get<std::string>(),
                object.dump());
  }
  const volumes::StorageStore& state() { return volumes::Storage::shared(host_.handle())->objects; }

  // One attempt up to Reserve; the text of what ended it, or nothing.
  std::string reserve(FakeCycle& cycle, FakePod& pod) {
    std::string text = plugin_.pre_filter(cycle, pod);
    if (text.empty()) text = plugin_.filter(cycle, pod, node_);
    uint32_t reason = 0;
    if (text.empty() && plugin_.slots().reserve(plugin_.slots().self, cycle.get(), &pod.get(),
                                                &node_.get(), &reason) != PLIMSOLL_SUCCESS) {
      text = "reserve: " + host_.error;
    }
    return text;
  }
  void unreserve(FakeCycle& cycle, FakePod& pod) {
    plugin_.slots().unreserve(plugin_.slots().self, cycle.get(), &pod.get(), str("n1"));
  }
  void pre_bind(FakeCycle& cycle, FakePod& pod) {
    host_.pods = {&pod.get()};
    EXPECT_EQ(plugin_.slots().pre_bind(plugin_.slots().self, cycle.get(), &pod.get(), str("n1"),
                                       reinterpret_cast<plimsoll_token*>(&host_)),
              PLIMSOLL_WAIT);
  }
  // Tasks of the loop that are due now, in order; `most` of them.
  void run_tasks(size_t most = 100) {
    for (size_t i = 0; i < host_.deferred.size() && most > 0; ++i) {
      auto task = host_.deferred[i];
      if (task.fn == nullptr || task.delay_ms > 0) continue;
      host_.deferred[i].fn = nullptr;
      --most;
      task.run();
    }
  }
  // The pod's claim "a" gets the volume "pv", whose next version is 12.
  void begin_binding(FakeCycle& cycle, FakePod& pod) {
    put(volume_json("pv", "5"));
    put(claim_json("a", "7"));
    with_claim(pod, "a");
    ASSERT_EQ(reserve(cycle, pod), "");
    answer_version("12");
    pre_bind(cycle, pod);
  }
  // The pod's claim "a" is provisioned: all is written, and PreBind waits until it is bound.
  void begin_provisioning(FakeCycle& cycle, FakePod& pod) {
    put_class("driver.example.com");
    put(claim_json("a"));
    with_claim(pod, "a");
    ASSERT_EQ(reserve(cycle, pod), "");
    answer_version("2");
    pre_bind(cycle, pod);
    run_tasks();
  }
  void tick() {
    const size_t count = host_.deferred.size();
    for (size_t i = 0; i < count; ++i) {
      auto task = host_.deferred[i];
      if (task.fn == nullptr) continue;
      host_.deferred[i].fn = nullptr;
      task.run();
    }
  }
  void answer_version(const std::string& version) {
    host_.answer_body = Json{{"metadata", {{"resourceVersion", version}}}}.dump();
  }

  FakeHost host_;
  FakeNode node_{"n1"};
  FakeNode other_{"n2"};
  PluginOnFakeHost plugin_{host_, builtin::volume_binding()};
};

// As since Kubernetes 1.37: the more of the node's storage is left, the better.
TEST_F(VolumeBindingTest, ScoresNodesByTheStorageThatIsLeft) {
  put_class("driver.example.com");
  plugin_.put(sdk::kCsiDrivers.resource, "", "driver.example.com",
              R"({"metadata": {"name": "driver.example.com"}, "spec": {"storageCapacity": true}})");
  for (const auto& [node, capacity] : {std::pair("n1", "10Gi"), std::pair("n2", "2Gi")}) {
    const Json object{{"metadata", {{"name", node}, {"namespace", "team"}}},
                      {"storageClassName", "local"},
                      {"capacity", capacity},
                      {"nodeTopology", {{"matchLabels", {{"name", node}}}}}};
    plugin_.put(sdk::kCsiStorageCapacities.resource, "team", node, object.dump());
  }
  node_.label("name", "n1");
  other_.label("name", "n2");
  put(claim_json("a"));
  FakePod pod("team/p"), bare("team/bare");
  with_claim(pod, "a");
  FakeCycle cycle, bare_cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  EXPECT_EQ(plugin_.score(cycle, pod, node_), 90);
  EXPECT_EQ(plugin_.score(cycle, pod, other_), 50);
  EXPECT_EQ(plugin_.pre_filter(bare_cycle, bare), "skip");
  EXPECT_EQ(plugin_.score(bare_cycle, bare, node_), std::nullopt);
}

TEST_F(VolumeBindingTest, TwoPodsNeverGetOneVolume) {
  put(volume_json("pv"));
  put(claim_json("a"));
  put(claim_json("b"));
  FakePod first("team/first"), second("team/second");
  with_claim(first, "a");
  with_claim(second, "b");
  FakeCycle one, two, three;
  EXPECT_EQ(reserve(one, first), "");
  EXPECT_EQ(reserve(two, second), kNoVolume);
  EXPECT_EQ(host_.requeued, 0);
  unreserve(one, first);
  EXPECT_EQ(host_.requeued, 1) << "who waits for the volume is tried again";
  EXPECT_EQ(reserve(three, second), "") << "what is given back is free again";
  unreserve(two, second);
  EXPECT_EQ(host_.requeued, 1) << "it had nothing";
}

// Members of a group that is decided on: one chooses of the volumes of a class, and those that
// share its claim go where it is.
TEST_F(VolumeBindingTest, AMemberThatAWhatIfAddsTakesItsVolumes) {
  for (const char* volume : {"pv", "pv-2"}) put(volume_json(volume));
  for (const char* claim : {"a", "b"}) put(claim_json(claim));
  FakePod pod("team/p"), added("team/added"), sharing("team/sharing");
  with_claim(pod, "a");
  with_claim(added, "b");
  with_claim(sharing, "a");
  DecidedGroup group{&pod, &added, &sharing};
  ASSERT_TRUE(group.publish(host_, plugin_));
  const auto& slots = plugin_.slots();
  const auto change = [&](FakeCycle& cycle, FakePod& other, FakeNode& node, bool adds) {
    (adds ? slots.add_pod : slots.remove_pod)(slots.self, cycle.get(), &pod.get(), &other.get(),
                                              &node.get());
  };
  for (group.decision = 1; group.decision < 3; ++group.decision) {
    FakeCycle cycle;
    ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
    change(cycle, added, other_, true);
    EXPECT_EQ(plugin_.filter(cycle, pod, node_), kNoVolume) << "which one it takes is not known";
    change(cycle, sharing, node_, true);
    EXPECT_EQ(plugin_.filter(cycle, pod, node_), "") << "its own claim is bound there";
    EXPECT_EQ(plugin_.filter(cycle, pod, other_), kNoVolume);
    change(cycle, added, other_, false);
    EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
    EXPECT_EQ(plugin_.filter(cycle, pod, other_), kNoVolume);
    change(cycle, sharing, node_, false);
    EXPECT_EQ(plugin_.filter(cycle, pod, other_), "");
  }
  group.decision = 0;
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
  change(cycle, added, node_, true);
  change(cycle, sharing, other_, true);
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "") << "kube-scheduler has no AddPod here";
  EXPECT_EQ(state().assumed(), 0U);
}

// What is assumed for a claim that two pods share ends with the second of them.
TEST_F(VolumeBindingTest, UndoingOnePodLeavesWhatAnotherRestsOn) {
  put(volume_json("pv"));
  put(claim_json("shared"));
  put(claim_json("other"));
  FakePod first("team/first"), second("team/second"), third("team/third");
  with_claim(first, "shared");
  with_claim(second, "shared");
  with_claim(third, "other");
  for (const bool in_order : {true, false}) {
    FakeCycle one, two, refused, fits;
    EXPECT_EQ(reserve(one, first), "");
    EXPECT_EQ(reserve(two, second), "");
    in_order ? unreserve(one, first) : unreserve(two, second);
    EXPECT_EQ(state().assumed(), 1U);
    EXPECT_EQ(reserve(refused, third), kNoVolume) << in_order;
    in_order ? unreserve(two, second) : unreserve(one, first);
    EXPECT_EQ(state().assumed(), 0U);
    EXPECT_EQ(reserve(fits, third), "");
    unreserve(fits, third);
  }
  // The same of the node that a volume is made for.
  put_class("driver.example.com");
  plugin_.erase(kVolumes, "", "pv");
  for (const bool in_order : {true, false}) {
    FakeCycle one, two, refused;
    EXPECT_EQ(reserve(one, first), "");
    EXPECT_EQ(reserve(two, second), "");
    in_order ? unreserve(one, first) : unreserve(two, second);
    EXPECT_EQ(state().claim("team", "shared")->selected_node(), "n1") << in_order;
    in_order ? unreserve(two, second) : unreserve(one, first);
    EXPECT_EQ(state().claim("team", "shared")->selected_node(), std::nullopt);
  }
}

TEST_F(VolumeBindingTest, TwoProfilesShareWhatIsAssumed) {
  PluginOnFakeHost profile(host_, builtin::volume_binding());
  put(volume_json("pv"));
  put(claim_json("a"));
  put(claim_json("b"));
  FakePod first("team/first"), second("team/second");
  with_claim(first, "a");
  with_claim(second, "b");
  FakeCycle cycle;
  EXPECT_EQ(reserve(cycle, first), "");
  EXPECT_EQ(profile.verdict(second, node_), kNoVolume);
}

TEST_F(VolumeBindingTest, WritesAndWaitsUntilBound) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  begin_binding(cycle, pod);
  run_tasks();
  ASSERT_THAT(host_.requests, SizeIs(1));
  EXPECT_THAT(host_.requests[0], HasSubstr("PATCH /api/v1/persistentvolumes/pv "));
  EXPECT_THAT(host_.requests[0], HasSubstr(R"("resourceVersion":"5")"));
  EXPECT_THAT(host_.requests[0], HasSubstr(R"("uid":"uid of a")"));
  EXPECT_THAT(host_.completed, IsEmpty());
  const Json written = volume_of_claim();
  put(bound_claim("a", "pv"));
  EXPECT_THAT(host_.completed, IsEmpty()) << "the volume is seen as it was before the write";
  put(written);
  put(bound_claim("a", "pv"));
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(state().assumed(), 0U) << "the events ended what was assumed";
}

// The claim's controller may have chosen another volume before it saw what was written here.
TEST_F(VolumeBindingTest, AClaimThatGetsAnotherVolumeEndsTheWait) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  begin_binding(cycle, pod);
  run_tasks();
  const Json written = volume_of_claim();
  put(written);
  put(bound_claim("a", "other"));
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].code, PLIMSOLL_ERROR);
  EXPECT_THAT(host_.completed[0].message,
              HasSubstr(R"("team/a" got persistentvolume "other" instead of "pv")"));
}

TEST_F(VolumeBindingTest, AClaimThatIsCreatedAgainEndsTheWait) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  begin_binding(cycle, pod);
  run_tasks(1);
  Json another = claim_json("a", "8");
  another["metadata"]["uid"] = "another";
  put(another);
  run_tasks();
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].code, PLIMSOLL_ERROR);
  EXPECT_THAT(host_.completed[0].message, HasSubstr("was deleted and created again"));
}

TEST_F(VolumeBindingTest, ABindingThatIsCancelledWritesNothingMore) {
  for (const char* name : {"a", "b"}) {
    put(volume_json(std::string("pv-") + name));
    put(claim_json(name));
  }
  FakePod pod("team/pod");
  with_claim(pod, "a");
  with_claim(pod, "b");
  FakeCycle cycle;
  ASSERT_EQ(reserve(cycle, pod), "");
  answer_version("2");
  pre_bind(cycle, pod);
  run_tasks(1);
  ASSERT_THAT(host_.requests, SizeIs(1));
  host_.bindings_cancelled.emplace_back(sdk::view(pod.get().meta.uid));
  run_tasks();
  EXPECT_THAT(host_.requests, SizeIs(1));
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].code, PLIMSOLL_SUCCESS);
}

TEST_F(VolumeBindingTest, UnreserveWhileAWriteIsUnderWay) {
  put(volume_json("pv"));
  put(claim_json("a"));
  FakePod pod("team/pod");
  with_claim(pod, "a");
  FakeCycle cycle;
  ASSERT_EQ(reserve(cycle, pod), "");
  answer_version("2");
  pre_bind(cycle, pod);
  run_tasks(1);  // the request is sent; the loop has not heard the answer
  ASSERT_THAT(host_.requests, SizeIs(1));
  unreserve(cycle, pod);
  EXPECT_EQ(state().assumed(), 0U);
  run_tasks();
  EXPECT_THAT(host_.completed, IsEmpty());
  EXPECT_THAT(host_.requests, SizeIs(1)) << "nothing more is written";
}

TEST_F(VolumeBindingTest, AfterACrashBetweenTwoWritesTheRestIsWritten) {
  // The volume was written, the other claim not yet.
  Json volume = volume_json("pv", "12");
  volume["spec"]["claimRef"] = {
      {"name", "a"}, {"namespace", "team"}, {"uid", "uid of a"}, {"kind", "PersistentVolumeClaim"}};
  put(volume);
  put_class("driver.example.com");
  put(claim_json("a"));
  put(claim_json("b"));
  FakePod pod("team/pod");
  with_claim(pod, "a");
  with_claim(pod, "b");
  FakeCycle cycle;
  ASSERT_EQ(reserve(cycle, pod), "");
  answer_version("13");
  pre_bind(cycle, pod);
  run_tasks();
  ASSERT_THAT(host_.requests, SizeIs(2));
  EXPECT_EQ(host_.requests[0],
            R"(PATCH /api/v1/persistentvolumes/pv {"metadata":{"resourceVersion":"12"}})")
      << "it is the claim's already";
  EXPECT_THAT(host_.requests[1], HasSubstr("/api/v1/namespaces/team/persistentvolumeclaims/b {"));
  EXPECT_THAT(host_.requests[1], HasSubstr(R"("volume.kubernetes.io/selected-node":"n1")"));
}

TEST_F(VolumeBindingTest, ClaimDeletedWhileAssumed) {
  put_class("driver.example.com");
  put(claim_json("a"));
  FakePod pod("team/pod");
  with_claim(pod, "a");
  FakeCycle cycle;
  ASSERT_EQ(reserve(cycle, pod), "");
  EXPECT_EQ(state().assumed(), 1U);
  answer_version("2");
  pre_bind(cycle, pod);
  run_tasks();
  plugin_.erase(kClaims, "team", "a");
  EXPECT_EQ(state().assumed(), 0U);
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].message,
            "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"team/a\" "
            "not found");
}

// What was there before a change is overwritten by ObjectsOfHost: at whatever moment objects change
// or go, an attempt reads what is there, or says that it is gone.
TEST_F(VolumeBindingTest, ObjectsMayChangeOrGoAtAnyMomentOfAnAttempt) {
  const auto put_all = [this](const std::string& version) {
    put_class("driver.example.com");
    Json volume = volume_json("pv", version);
    volume["metadata"]["labels"] = {{"tier", "a"}};
    volume["spec"]["nodeAffinity"] = {
        {"required",
         {{"nodeSelectorTerms",
           {{{"matchExpressions",
              {{{"key", "name"}, {"operator", "In"}, {"values", {"n1"}}}}}}}}}}};
    put(volume);
    Json claim = claim_json("a", version);
    claim["spec"]["selector"] = {{"matchLabels", {{"tier", "a"}}}};
    put(claim);
    put(claim_json("b", version));
    put(bound_claim("c", "pv"));
  };
  const auto erase_all = [this] {
    plugin_.erase(kVolumes, "", "pv");
    for (const char* claim : {"a", "b", "c"}) plugin_.erase(kClaims, "team", claim);
    plugin_.erase(kStorageClasses, "", "local");
  };
  node_.label("name", "n1");
  FakePod pod("team/pod");
  for (const char* claim : {"a", "b", "c"}) with_claim(pod, claim);
  answer_version("3");
  enum Moment { kFiltered, kReserved, kBinding, kWritten, kEnd };
  for (int moment = kFiltered; moment < kEnd; ++moment) {
    for (const bool goes : {false, true}) {
      SCOPED_TRACE(std::to_string(moment) + (goes ? ", gone" : ", changed"));
      put_all("1");
      FakeCycle cycle;
      ASSERT_EQ(plugin_.pre_filter(cycle, pod), "");
      EXPECT_EQ(plugin_.filter(cycle, pod, node_), "");
      const auto change_now = [&](Moment now) {
        if (now == moment) goes ? erase_all() : put_all("2");
      };
      const auto reserve_now = [&] {
        uint32_t reason = 0;
        return plugin_.slots().reserve(plugin_.slots().self, cycle.get(), &pod.get(), &node_.get(),
                                       &reason);
      };
      change_now(kFiltered);
      if (moment == kFiltered) {
        EXPECT_NE(reserve_now(), PLIMSOLL_SUCCESS) << "a claim is another version, or gone";
        EXPECT_EQ(plugin_.filter(cycle, pod, node_) == "", !goes);
        EXPECT_EQ(state().assumed(), 0U);
        continue;
      }
      ASSERT_EQ(reserve_now(), PLIMSOLL_SUCCESS);
      EXPECT_EQ(state().assumed(), 2U);
      change_now(kReserved);
      pre_bind(cycle, pod);
      change_now(kBinding);
      run_tasks();
      change_now(kWritten);
      EXPECT_EQ(state().assumed(), 0U) << "another version, or gone, ends it";
      tick();
      EXPECT_EQ(host_.completed.size(), goes ? 1U : 0U) << "it waits, or ends with an error";
      unreserve(cycle, pod);
      host_.completed.clear();
    }
  }
}

// Claims and volumes come on watches of their own.
TEST_F(VolumeBindingTest, AClaimThatIsSeenBoundBeforeItsVolumeWaitsForTheVolumeOnly) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  ASSERT_NO_FATAL_FAILURE(begin_provisioning(cycle, pod));
  Json claim = bound_claim("a", "made");
  claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = "n1";
  put(claim);
  EXPECT_THAT(host_.completed, IsEmpty()) << "the volume may be out of the node's reach";
  Json volume = volume_json("made", "8");
  volume["spec"]["claimRef"] = {{"name", "a"}, {"namespace", "team"}, {"uid", "uid of a"}};
  put(volume);
  ASSERT_THAT(host_.completed, SizeIs(1)) << "and not at the next look, a second later";
  EXPECT_EQ(host_.completed[0].code, PLIMSOLL_SUCCESS) << host_.completed[0].message;
}

TEST_F(VolumeBindingTest, ACancelledBindingEndsItsWait) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  ASSERT_NO_FATAL_FAILURE(begin_provisioning(cycle, pod));
  tick();
  EXPECT_THAT(host_.completed, IsEmpty());
  host_.bindings_cancelled = {std::string(sdk::view(pod.get().meta.uid))};
  tick();
  EXPECT_THAT(host_.completed, SizeIs(1));
  unreserve(cycle, pod);
  EXPECT_EQ(state().assumed(), 0U);
}

TEST_F(VolumeBindingTest, TheTimeIsUp) {
  FakePod pod("team/pod");
  FakeCycle cycle;
  ASSERT_NO_FATAL_FAILURE(begin_provisioning(cycle, pod));
  host_.now = 599'999;
  tick();
  EXPECT_THAT(host_.completed, IsEmpty());
  host_.now = 600'000;
  tick();
  ASSERT_THAT(host_.completed, SizeIs(1));
  EXPECT_EQ(host_.completed[0].message, "binding volumes: context deadline exceeded");
  EXPECT_EQ(host_.metrics["scheduler_volume_scheduling_stage_error_total{bind}"],
            std::vector<double>{1});
}

TEST_F(VolumeBindingTest, ObjectsThatCannotBeReadKeepTheirPodsBack) {
  FakePod pod("team/pod"), with_bound("team/bound"), calm("team/calm");
  with_claim(pod, "a");
  with_claim(with_bound, "b");
  Json broken = claim_json("a");
  broken["spec"]["accessModes"] = "ReadWriteOnce";
  put(broken);
  EXPECT_EQ(plugin_.verdict(pod, node_),
            "persistentvolumeclaim \"a\" cannot be read: spec.accessModes: expected a list");
  put(bound_claim("b", "pv"));
  Json volume = volume_json("pv");
  volume["spec"]["nodeAffinity"] = {{"required", {{"nodeSelectorTerms", "n1"}}}};
  put(volume);
  EXPECT_THAT(plugin_.verdict(with_bound, node_),
              HasSubstr("persistentvolume \"pv\" cannot be read: spec.nodeAffinity.required"));
  plugin_.put(kVolumes, "", "pv", std::string(100'000, '['));
  EXPECT_THAT(plugin_.verdict(with_bound, node_), HasSubstr("\"pv\" cannot be read"));
  EXPECT_EQ(plugin_.verdict(calm, node_), "skip");
  put(volume_json("pv"));
  EXPECT_EQ(plugin_.verdict(with_bound, node_), "") << "it can be read now";
}

TEST_F(VolumeBindingTest, AVolumeWithThousandsOfTerms) {
  node_.label("rank", "4999");
  other_.label("rank", "7000");
  Json terms = Json::array();
  for (int i = 0; i < 5000; ++i) {
    terms.push_back({{"matchExpressions",
                      {{{"key", "rank"}, {"operator", "In"}, {"values", {std::to_string(i)}}}}}});
  }
  Json volume = volume_json("pv");
  volume["spec"]["nodeAffinity"] = {{"required", {{"nodeSelectorTerms", terms}}}};
  put(volume);
  put(bound_claim("a", "pv"));
  FakePod pod("team/pod");
  with_claim(pod, "a");
  EXPECT_EQ(plugin_.verdict(pod, node_), "");
  EXPECT_EQ(plugin_.verdict(pod, other_), kConflict);
}

TEST_F(VolumeBindingTest, AClaimWithTensOfThousandsOfRequirements) {
  Json claim = claim_json("a");
  Json& expressions = claim["spec"]["selector"]["matchExpressions"];
  for (int i = 0; i < 50'000; ++i)
    expressions.push_back({{"key", "a" + std::to_string(i)}, {"operator", "DoesNotExist"}});
  Json values = Json::array();
  for (int i = 0; i < 50'000; ++i) values.push_back("v" + std::to_string(i));
  expressions.push_back({{"key", "tier"}, {"operator", "In"}, {"values", values}});
  put(claim);
  FakePod pod("team/pod");
  with_claim(pod, "a");
  // One after the other it would be 10^8 comparisons.
  for (int i = 0; i < 2'000; ++i) {
    Json volume = volume_json("pv" + std::to_string(i));
    volume["metadata"]["labels"] = {{"tier", i % 2 == 0 ? "w" : "v7"}, {"a4", "x"}};
    put(volume);
  }
  EXPECT_EQ(plugin_.verdict(pod, node_), kNoVolume);
  Json volume = volume_json("pv");
  volume["metadata"]["labels"] = {{"tier", "v49999"}};
  put(volume);
  EXPECT_EQ(plugin_.verdict(pod, node_), "");
}

TEST_F(VolumeBindingTest, APodWithThousandsOfClaims) {
  FakePod bound("team/bound"), unbound("team/unbound");
  put(volume_json("pv"));
  for (int i = 0; i < 3000; ++i) {
    const std::string name = std::to_string(i);
    put(bound_claim("b" + name, "pv"));
    put(claim_json("u" + name));
    with_claim(bound, "b" + name);
    with_claim(unbound, "u" + name);
  }
  EXPECT_EQ(plugin_.verdict(bound, node_), "");
  EXPECT_EQ(plugin_.verdict(unbound, node_),
            "pod has more than 256 unbound PersistentVolumeClaims");
}

TEST_F(VolumeBindingTest, DependsOnStorageForPodsWithClaimsOnly) {
  FakePod with("team/with"), without("team/without"), ephemeral("team/ephemeral");
  with_claim(with, "a");
  ephemeral.volume("ephemeral", "");
  without.volume("configMap", "");
  EXPECT_TRUE(plugin_.rests_on(with, kVolumes));
  EXPECT_TRUE(plugin_.rests_on(ephemeral, kClaims));
  EXPECT_FALSE(plugin_.rests_on(without, kClaims));
  EXPECT_FALSE(plugin_.rests_on(with, "poddisruptionbudgets.v1.policy"));
}

}  // namespace
}  // namespace plimsoll::volumes_test
