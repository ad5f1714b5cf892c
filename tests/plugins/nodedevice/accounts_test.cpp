#include "plugins/nodedevice/accounts/accounts.hpp"

#include <gtest/gtest.h>

#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/topology/base/json_text.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::demand_of;
using test::Json;
using test::outcome;

constexpr int64_t kGi = int64_t{1} << 30;

class AccountsTest : public ::testing::Test {
 protected:
  AccountsTest() { accounts_.node_added("node-1", 3); }

  void device(const Json& object) { problems_ = accounts_.device_changed("node-1", object.dump()); }
  void cards(int count, const std::vector<int>& unhealthy = {},
             const std::string& memory = "16Gi") {
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i)
      devices.push_back(test::gpu(
          i, memory, -1, "", std::find(unhealthy.begin(), unhealthy.end(), i) == unhealthy.end()));
    device(test::device_object("node-1", devices));
  }
  void pod(const std::string& uid, const Ask& ask, const char* annotation = nullptr) {
    const auto requests = test::quantities(ask);
    AssignedPod assigned{uid, "node-1", std::nullopt, requests};
    if (annotation != nullptr) assigned.allocated = annotation;
    AnnotationProblems found = accounts_.pod_assigned(assigned);
    problems_ = std::move(found.unreadable);
    ignored_ = std::move(found.ignored);
  }
  // What a pod would get now.
  std::string give(const Ask& ask) { return outcome(node(), demand_of(ask)); }
  const NodeState& node() {
    const NodeState* state = accounts_.at_slot(3);
    EXPECT_NE(state, nullptr);
    return *state;
  }

  int changes_ = 0;
  Accounts accounts_{test::types(), [this](uint32_t slot) { changes_ += slot == 3 ? 1 : 0; }};
  std::vector<std::string> problems_;
  std::vector<std::string> ignored_;
};

const Ask kOneGpu = {{"nvidia.com/gpu", 1}};

TEST_F(AccountsTest, ReserveAndUnreserve) {
  cards(2);
  const std::string before = test::accounts_text(accounts_);
  const int changes = changes_;
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  EXPECT_EQ(give(kOneGpu), "gpu 1");
  accounts_.unreserve("a");
  accounts_.unreserve("a");
  EXPECT_EQ(test::accounts_text(accounts_), before);
  EXPECT_EQ(changes_, changes + 2);
}

TEST_F(AccountsTest, ABoundPodIsNotUnreserved) {
  cards(1);
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  const std::string annotation =
      write_allocation(test::types(), {test::whole_gpu(0, 16 * kGi)}, node());
  const int changes = changes_;
  pod("a", kOneGpu, annotation.c_str());
  EXPECT_EQ(changes_, changes) << "the binding only confirms what was reserved";
  accounts_.unreserve("a");
  EXPECT_EQ(give(kOneGpu), "Insufficient gpu devices");
  accounts_.pod_removed("a");
  EXPECT_EQ(give(kOneGpu), "gpu 0");
}

TEST_F(AccountsTest, AServerThatDropsTheAnnotationDoesNotFreeTheDevice) {
  cards(1);
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  pod("a", kOneGpu);
  accounts_.unreserve("a");
  EXPECT_EQ(give(kOneGpu), "Insufficient gpu devices");
}

// It was bound while its node had no Device object, the answer was lost, and it was tried again.
TEST_F(AccountsTest, APromiseWhoseBindingFailedEndsThoughThePodIsBound) {
  cards(2);
  pod("a", kOneGpu);
  const std::string shown = test::accounts_text(accounts_);
  accounts_.pod_removed("a");
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  pod("a", kOneGpu);
  EXPECT_NE(test::accounts_text(accounts_), shown);
  accounts_.unreserve("a");
  EXPECT_EQ(test::accounts_text(accounts_), shown);
  accounts_.unreserve("a");
  EXPECT_EQ(test::accounts_text(accounts_), shown);
}

TEST_F(AccountsTest, PodsBeforeDevicesAndDevicesBeforePodsAreTheSame) {
  const char* annotation =
      R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100",
          "koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"}}]})";
  Accounts other(test::types(), nullptr);
  const auto requests = test::quantities(kOneGpu);
  other.pod_assigned({"b", "node-1", std::nullopt, requests});
  other.pod_assigned({"a", "node-1", annotation, requests});
  other.device_changed(
      "node-1", test::device_object(
                    "node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"), test::gpu(2, "16Gi")})
                    .dump());
  cards(3);
  pod("a", kOneGpu, annotation);
  pod("b", kOneGpu);
  pod("b", kOneGpu);
  EXPECT_EQ(test::accounts_text(accounts_), test::accounts_text(other));
  EXPECT_EQ(give(kOneGpu), "gpu 0");
}

// Whatever of it can be read: the pod holds what it asks for.
TEST_F(AccountsTest, AnAnnotationThatCannotBeReadIsBoundByTheRequests) {
  cards(3);
  pod("a", kOneGpu, R"({"gpu":[{"minor":0,"resources":"all"}]})");
  EXPECT_EQ(problems_, std::vector<std::string>{"gpu[0].resources: cannot be read"});
  EXPECT_EQ(give({{"koordinator.sh/gpu", 1}}), "gpu 1") << "the device is named";
  pod("b", kOneGpu, R"({"gpu":[{"minor":"one"}]})");
  EXPECT_EQ(problems_,
            std::vector<std::string>{"gpu[0].minor: must be a number that is not negative"});
  EXPECT_EQ(give(kOneGpu), "gpu 1") << "one of the others, nobody knows which";
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "Insufficient gpu devices");
  accounts_.pod_removed("b");
  pod("c", kOneGpu, "{");
  EXPECT_FALSE(problems_.empty());
  EXPECT_EQ(give(kOneGpu), "gpu 1");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "Insufficient gpu devices");
  pod("c", kOneGpu, R"({"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  EXPECT_TRUE(problems_.empty());
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "Insufficient gpu devices");
  EXPECT_EQ(give(kOneGpu), "gpu 1");
}

TEST_F(AccountsTest, WhatIsKnownOfAPodOutlivesAnAnnotationThatCannotBeTrue) {
  cards(3);
  const char* good = R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}]})";
  const char* lie = R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"1"}}]})";
  pod("a", kOneGpu, good);
  const std::string known = test::accounts_text(accounts_);
  for (const char* text : {"{", "[]", R"({"gpu":[{"minor":"one"}]})", lie}) {
    pod("a", kOneGpu, text);
    EXPECT_FALSE(problems_.empty()) << text;
    EXPECT_EQ(test::accounts_text(accounts_), known) << text;
  }
  pod("a", kOneGpu, good);
  EXPECT_TRUE(problems_.empty());
  EXPECT_EQ(test::accounts_text(accounts_), known);
}

TEST_F(AccountsTest, APodThatAsksForNoDeviceHoldsNone) {
  device(test::fixture_a());
  const char* annotations[] = {
      "[]", "x", R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}]})"};
  for (const char* annotation : annotations) {
    pod("a", {{"cpu", 100}}, annotation);
    EXPECT_EQ(ignored_, std::vector<std::string>{"all of it"}) << annotation;
    EXPECT_EQ(accounts_.node_of("a"), nullptr);
    EXPECT_EQ(give({{"nvidia.com/gpu", 8}}), "gpu 0 1 2 3 4 5 6 7");
    EXPECT_EQ(give({{"koordinator.sh/rdma", 400}}), "rdma 1 2 3 4");
  }
}

TEST_F(AccountsTest, AnAnnotationCountsOnlyForTypesThatThePodAsksFor) {
  device(test::fixture_a());
  pod("a", {{"koordinator.sh/rdma", 100}}, "{");
  EXPECT_TRUE(ignored_.empty());
  EXPECT_EQ(give(kOneGpu), "gpu 0") << "it asks for no GPU";
  EXPECT_EQ(give({{"koordinator.sh/rdma", 300}}), "rdma 1 2 3");
  EXPECT_EQ(give({{"koordinator.sh/rdma", 400}}), "Insufficient rdma devices");
  pod("a", {{"koordinator.sh/rdma", 100}},
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}},{"minor":"x"}],
          "rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"100"}}]})");
  EXPECT_EQ(ignored_, std::vector<std::string>{"gpu"});
  EXPECT_TRUE(problems_.empty());
  EXPECT_EQ(give(kOneGpu), "gpu 0");
  EXPECT_EQ(give({{"koordinator.sh/rdma", 300}}), "rdma 2 3 4");
}

TEST_F(AccountsTest, DevicesThatAnAnnotationLeavesOutAreWithheld) {
  device(test::fixture_a());
  const Ask ask = {{"nvidia.com/gpu", 3}, {"koordinator.sh/rdma", 100}};
  const char* nic = R"({"rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"100"}}]})";
  for (const char* annotation : {"{}", R"({"gpu":[]})", R"({"gpu":null,"xpu":[{"minor":7}]})"}) {
    pod("a", ask, annotation);
    EXPECT_EQ(give({{"nvidia.com/gpu", 5}}), "gpu 0 1 2 3 4") << annotation;
    EXPECT_EQ(give({{"nvidia.com/gpu", 6}}), "Insufficient GPU Devices") << annotation;
    EXPECT_EQ(give({{"koordinator.sh/rdma", 300}}), "rdma 1 2 3") << annotation;
  }
  pod("a", ask, nic);
  EXPECT_EQ(give({{"nvidia.com/gpu", 6}}), "Insufficient GPU Devices");
  EXPECT_EQ(give({{"koordinator.sh/rdma", 300}}), "rdma 2 3 4");
  pod("a", ask, R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  EXPECT_EQ(give({{"nvidia.com/gpu", 5}}), "gpu 1 2 3 4 5") << "two of three are not named";
  EXPECT_EQ(give({{"nvidia.com/gpu", 6}}), "Insufficient GPU Devices");
  accounts_.pod_removed("a");
  EXPECT_EQ(give({{"nvidia.com/gpu", 8}}), "gpu 0 1 2 3 4 5 6 7");
}

// As many times as it takes for the sum of the amounts to be beyond 64 bits.
TEST_F(AccountsTest, AMinorThatIsListedTwiceCountsOnce) {
  cards(2);
  const Json entry = {{"minor", 0}, {"resources", {{"koordinator.sh/gpu-memory", "1Pi"}}}};
  Json list = Json::array();
  for (int i = 0; i < 20000; ++i) list.push_back(entry);
  const std::string annotation = Json{{"gpu", list}}.dump();
  pod("a", kOneGpu, annotation.c_str());
  ASSERT_EQ(problems_.size(), 11U);
  EXPECT_EQ(problems_[0], "gpu[1].minor: 0 is listed already");
  EXPECT_EQ(problems_[10], "and 19989 more");
  EXPECT_EQ(give({{"koordinator.sh/gpu", 1}}), "gpu 1");
  EXPECT_EQ(node().type(0).devices[0].free.get(1), 0);
  accounts_.pod_removed("a");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 0 1");
}

TEST_F(AccountsTest, DevicesOfStrangersAreWithheldFromTheTop) {
  cards(4);
  pod("kubelet", {{"nvidia.com/gpu", 2}});
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 0 1");
  EXPECT_EQ(give({{"nvidia.com/gpu", 3}}), "Insufficient gpu devices");
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi), test::whole_gpu(1, 16 * kGi)});
  EXPECT_EQ(give({{"koordinator.sh/gpu", 1}}), "Insufficient gpu devices");
  accounts_.pod_removed("kubelet");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 2 3");
}

TEST_F(AccountsTest, TheKubeletsCheckpointNamesThem) {
  cards(4);
  pod("kubelet", {{"nvidia.com/gpu", 2}});
  Json object = test::device_object("node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"),
                                               test::gpu(2, "16Gi"), test::gpu(3, "16Gi")});
  object["metadata"]["annotations"] = {
      {"node.koordinator.sh/devices-checkpoints",
       R"([{"podUID":"kubelet","resourceName":"nvidia.com/gpu","deviceIDs":["GPU-0","GPU-2"]}])"}};
  device(object);
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 1 3");
  EXPECT_EQ(give({{"nvidia.com/gpu", 3}}), "Insufficient gpu devices");
  accounts_.pod_removed("kubelet");
  EXPECT_EQ(give({{"nvidia.com/gpu", 4}}), "gpu 0 1 2 3");
}

TEST_F(AccountsTest, TheKubeletsCheckpointNamesWhatAnAnnotationLeavesOut) {
  const auto checkpoint = [&](const char* ids) {
    Json object = test::device_object("node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"),
                                                 test::gpu(2, "16Gi"), test::gpu(3, "16Gi")});
    object["metadata"]["annotations"]["node.koordinator.sh/devices-checkpoints"] =
        R"([{"podUID":"a","resourceName":"nvidia.com/gpu","deviceIDs":)" + std::string(ids) + "}]";
    device(object);
  };
  pod("a", kOneGpu, "{}");
  checkpoint(R"(["GPU-0"])");
  EXPECT_EQ(give({{"nvidia.com/gpu", 3}}), "gpu 1 2 3");
  pod("a", kOneGpu, R"({"gpu":"nonsense"})");
  EXPECT_EQ(give({{"nvidia.com/gpu", 3}}), "gpu 1 2 3");
  pod("a", {{"nvidia.com/gpu", 2}},
      R"({"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"100"}}]})");
  checkpoint(R"(["GPU-0","GPU-2"])");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 1 3") << "0 is the one that is not named";
  accounts_.pod_removed("a");
  EXPECT_EQ(give({{"nvidia.com/gpu", 4}}), "gpu 0 1 2 3");
}

TEST_F(AccountsTest, WhatIsUsedStaysUsedWhateverHappensToTheDevice) {
  cards(2);
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  cards(2, {0});
  cards(2);
  EXPECT_EQ(give(kOneGpu), "gpu 1") << "unhealthy and back";
  accounts_.device_deleted("node-1");
  EXPECT_EQ(give(kOneGpu), "node(s) had a Device object that was deleted (unresolvable)");
  cards(2);
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "Insufficient gpu devices") << "deleted and back";
  cards(2, {}, "8Gi");
  EXPECT_EQ(give({{"koordinator.sh/gpu-memory", 1}}), "gpu 1") << "smaller than what is used";
  accounts_.unreserve("a");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 0 1");
}

TEST_F(AccountsTest, ANodeWithoutDeviceObjectIsTheKubelets) {
  EXPECT_TRUE(node().unmanaged());
  EXPECT_EQ(give(kOneGpu), "");
  pod("kubelet", kOneGpu);
  EXPECT_TRUE(node().unmanaged());
  cards(2);
  EXPECT_EQ(give(kOneGpu), "gpu 0");
}

// Bus ids and names are other people's texts.
TEST(JsonText, QuotesWhatNeedsIt) {
  std::string out = "[";
  for (const char* text : {"nvidia.com/gpu", "a\"},{\"b", "\\", "line\n", "ü", "\xff", ""}) {
    append_comma(out);
    append_quoted(out, text);
  }
  EXPECT_EQ(nlohmann::json::parse(out + "]"),
            (nlohmann::json{"nvidia.com/gpu", "a\"},{\"b", "\\", "line\n", "ü", "\uFFFD", ""}));
}

// As when the CRD is deleted. The node has its devices, and the kubelet's choice would be
// anybody's.
TEST_F(AccountsTest, ANodeWhoseDeviceObjectIsDeletedGivesNothing) {
  cards(2);
  accounts_.device_deleted("node-1");
  EXPECT_FALSE(node().unmanaged());
  EXPECT_EQ(give(kOneGpu), "node(s) had a Device object that was deleted (unresolvable)");
  EXPECT_NE(accounts_json(accounts_).find(R"("deviceObject":"gone")"), std::string::npos);
  accounts_.device_deleted("node-1");
  EXPECT_FALSE(node().unmanaged());
  cards(2);
  EXPECT_EQ(give(kOneGpu), "gpu 0");
  // A Node that is made anew is another one, and nothing is left of the first.
  accounts_.device_deleted("node-1");
  accounts_.node_removed("node-1");
  EXPECT_EQ(accounts_.find("node-1"), nullptr);
  accounts_.node_added("node-1", 3);
  EXPECT_TRUE(node().unmanaged());
  // An object that goes after its Node leaves nothing either.
  cards(2);
  accounts_.node_removed("node-1");
  accounts_.device_deleted("node-1");
  EXPECT_EQ(accounts_.find("node-1"), nullptr);
}

TEST_F(AccountsTest, APromiseOnAKubeletsNodeOutlivesItsFirstDeviceObject) {
  const Ask ask = {{"nvidia.com/gpu", 2}};
  const auto requests = test::quantities(ask);
  const std::string before = test::accounts_text(accounts_);
  accounts_.reserve_unknown({"a", "node-1", std::nullopt, requests});
  EXPECT_TRUE(node().unmanaged());
  EXPECT_EQ(give({{"nvidia.com/gpu", 9}}), "") << "still the kubelet's business";
  cards(3);
  EXPECT_EQ(give(kOneGpu), "gpu 0");
  EXPECT_EQ(give(ask), "Insufficient gpu devices");
  const std::string promised = test::accounts_text(accounts_);
  pod("a", ask);
  EXPECT_EQ(test::accounts_text(accounts_), promised);
  accounts_.unreserve("a");
  EXPECT_EQ(test::accounts_text(accounts_), promised) << "it is bound";
  const auto one = test::quantities(kOneGpu);
  accounts_.reserve_unknown({"b", "node-1", std::nullopt, one});
  EXPECT_EQ(give(kOneGpu), "Insufficient gpu devices");
  accounts_.unreserve("b");
  accounts_.pod_removed("a");
  accounts_.device_deleted("node-1");
  EXPECT_EQ(test::accounts_text(accounts_), before);
  const test::Ask cpu = {{"cpu", 100}};
  const auto none = test::quantities(cpu);
  accounts_.reserve_unknown({"c", "node-1", std::nullopt, none});
  EXPECT_EQ(accounts_.node_of("c"), nullptr);
}

TEST_F(AccountsTest, AMalformedDeviceObjectGivesNothingUntilItIsRight) {
  cards(2);
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  device({{"metadata", {{"name", "node-1"}}}, {"spec", {{"devices", 3}}}});
  EXPECT_EQ(problems_, std::vector<std::string>{"Device node-1: spec.devices: must be a list"});
  EXPECT_EQ(give(kOneGpu), "node(s) had a Device object that cannot be read (unresolvable)");
  cards(2);
  EXPECT_EQ(give(kOneGpu), "gpu 1");
}

TEST_F(AccountsTest, AnUnchangedReportWakesNobody) {
  cards(2);
  const int changes = changes_;
  cards(2);
  EXPECT_EQ(changes_, changes);
}

TEST_F(AccountsTest, AReportThatIsAsWrongAsBeforeWakesNobody) {
  const Json wrong = {{"metadata", {{"name", "node-1"}}}, {"spec", {{"devices", 3}}}};
  device(wrong);
  EXPECT_FALSE(problems_.empty());
  const int changes = changes_;
  device(wrong);
  EXPECT_TRUE(problems_.empty()) << "said already";
  EXPECT_EQ(changes_, changes);
  EXPECT_EQ(give(kOneGpu), "node(s) had a Device object that cannot be read (unresolvable)");
  device({{"metadata", {{"name", "node-1"}}}, {"spec", 3}});
  EXPECT_EQ(problems_, std::vector<std::string>{"Device node-1: spec: must be an object"});
  accounts_.device_deleted("node-1");
  device(wrong);
  EXPECT_FALSE(problems_.empty()) << "it was right in between: gone";
}

TEST_F(AccountsTest, WhatIfsLeaveTheAccountsAlone) {
  cards(1);
  accounts_.reserve("a", "node-1", {test::whole_gpu(0, 16 * kGi)});
  const std::string before = test::accounts_text(accounts_);
  NodeState copy = node();
  accounts_.take_from(copy, "a");
  EXPECT_EQ(outcome(copy, demand_of(kOneGpu)), "gpu 0");
  EXPECT_EQ(outcome(node(), demand_of(kOneGpu)), "Insufficient gpu devices");
  EXPECT_EQ(test::accounts_text(accounts_), before);
}

TEST_F(AccountsTest, SlotsAreReused) {
  cards(1);
  accounts_.node_removed("node-1");
  EXPECT_EQ(accounts_.at_slot(3), nullptr);
  const int changes = changes_;
  accounts_.node_added("node-2", 3);
  EXPECT_EQ(changes_, changes + 1) << "scores of the node before must not stay";
  accounts_.node_added("node-2", 3);
  EXPECT_EQ(changes_, changes + 1);
  EXPECT_TRUE(node().unmanaged());
  accounts_.node_added("node-1", 4);
  ASSERT_NE(accounts_.at_slot(4), nullptr);
  EXPECT_EQ(outcome(*accounts_.at_slot(4), demand_of(kOneGpu)), "gpu 0");
}

TEST(AllocationAnnotation, IsWhatKoordinatorWrites) {
  const NodeState node = test::node_of(test::fixture_a());
  DeviceShare nic = test::share("rdma", 1, {{"koordinator.sh/rdma", 1}});
  nic.vfs.push_back({-1, "0000:1f:00.2", {}});
  nic.vfs.push_back({0, "0000:1f:00.3", {}});
  const std::string text = write_allocation(test::types(), {test::whole_gpu(1), nic}, node);
  EXPECT_EQ(text, R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100",)"
                  R"("koordinator.sh/gpu-memory":"80Gi","koordinator.sh/gpu-memory-ratio":"100"},)"
                  R"("id":"GPU-1"}],"rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"1"},)"
                  R"("id":"0000:1f:00.0","extension":{"vfs":[{"minor":-1,"busID":"0000:1f:00.2"},)"
                  R"({"busID":"0000:1f:00.3"}]}}]})");
  const ReadAllocation read = read_allocation(test::types(), text);
  EXPECT_TRUE(read.problems.empty());
  DeviceShare whole = test::whole_gpu(1);
  whole.follows = 0;  // an annotation does not tell
  EXPECT_EQ(read.shares, (Allocation{whole, nic}));
}

TEST(AllocationAnnotation, TypesThatNobodyKnowsAreNotOurs) {
  const ReadAllocation read = read_allocation(test::types(), R"({"xpu":[{"minor":0}],"gpu":null})");
  EXPECT_TRUE(read.shares.empty());
  EXPECT_TRUE(read.problems.empty());
}

// A kubelet knows a static pod by another uid than the API server, which shows its mirror.
TEST_F(AccountsTest, ACheckpointOfAPodThatNobodyKnowsIsOfOneWithoutAnEntry) {
  const auto cards_with = [&](const char* checkpoint) {
    Json object = test::device_object(
        "node-1", {test::gpu(0, "16Gi"), test::gpu(1, "16Gi"), test::gpu(2, "16Gi")});
    object["metadata"]["annotations"]["node.koordinator.sh/devices-checkpoints"] = checkpoint;
    device(object);
  };
  constexpr const char* kStatic = R"([{"podUID":"of-the-kubelet","deviceIDs":["GPU-0"]}])";
  cards_with(kStatic);
  EXPECT_EQ(give({{"nvidia.com/gpu", 3}}), "gpu 0 1 2") << "a stale entry says nothing by itself";
  pod("mirror", kOneGpu);
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 1 2") << "so it has 0, not the highest";
  cards_with("[]");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 0 1");
  cards_with(kStatic);
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 1 2");
  pod("mirror", {{"cpu", 1}});
  pod("of-the-kubelet", kOneGpu);
  pod("mirror", kOneGpu);
  EXPECT_EQ(give(kOneGpu), "gpu 1") << "0 is the other's, so that of the mirror is unknown";
  accounts_.pod_removed("of-the-kubelet");
  EXPECT_EQ(give({{"nvidia.com/gpu", 2}}), "gpu 1 2");
}

TEST_F(AccountsTest, WhatIsPartlyUsedIsSetAsideBeforeWhatIsUsedUp) {
  cards(2);
  accounts_.reserve("half", "node-1",
                    {test::share("gpu", 0,
                                 {{"koordinator.sh/gpu-core", 50},
                                  {"koordinator.sh/gpu-memory", 8 * kGi},
                                  {"koordinator.sh/gpu-memory-ratio", 50}})});
  accounts_.reserve("all", "node-1", {test::whole_gpu(1, 16 * kGi)});
  EXPECT_EQ(give({{"koordinator.sh/gpu", 50}}), "gpu 0");
  pod("unknown", kOneGpu);
  EXPECT_EQ(give({{"koordinator.sh/gpu", 50}}), "Insufficient gpu devices");
}

}  // namespace
}  // namespace plimsoll::devices
