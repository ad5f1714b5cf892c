// Two schedulers give the last free zone of a node away at the same moment: what they and the
// kubelet make of it.

#include "tests/e2e/two_schedulers_fixture.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

// Nodes of three zones of four CPUs, of which 2, 1 and 4 are free: room for one pod of three.
class LastZoneTest : public TwoSchedulersTest {
 protected:
  static constexpr int kCount = 12;
  [[nodiscard]] LoadShape shape() const override { return {.nodes = 0, .pods = 0}; }

  static std::string node(int index) { return "last-zone-" + std::to_string(index); }

  void SetUp() override {
    TwoSchedulersTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
    for (int i = 0; i < kCount; ++i) {
      create(kNodes, node_object(node(i), {{"cpu", "12"}, {"memory", "24Gi"}, {"pods", "20"}}));
      create(kNrts, nrt_object({.node = node(i), .zones = {zone, zone, zone}}));
      for (const int cpus : {2, 3}) {
        const std::string name = "there-" + std::to_string(i) + "-" + std::to_string(cpus);
        create_on(i, name, kSilent, cpus);
        const KubeReply bound =
            client().post(pods_path(name) + "/binding", binding_object(name, node(i)));
        ASSERT_EQ(bound.status, 201) << bound.body;
      }
    }
    ASSERT_NO_FATAL_FAILURE(admit());
    ASSERT_EQ(admissions_.admitted, std::size_t{2 * kCount});
    ASSERT_NO_FATAL_FAILURE(report());
  }

  void create_on(int index, const std::string& name, const std::string& scheduler, int cpus) {
    json pod = pod_object({.name = name,
                           .scheduler = scheduler,
                           .requests = {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}}});
    pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", node(index)}};
    create(pods_path(), pod);
  }

  static std::string pod(const char* name, int index) {
    return std::string(name) + "-" + std::to_string(index);
  }
  bool is_bound(const std::string& name) { return !node_of(name).empty(); }
};

TEST_F(LastZoneTest, OneOfTwoIsRefusedAndTheNodeIsWholeAgain) {
  ASSERT_NO_FATAL_FAILURE(start_both());
  for (Peer& peer : peers_) peer.pause();
  for (int i = 0; i < kCount; ++i) {
    create_on(i, pod("mine", i), kScheduler, 3);
    create_on(i, pod("other", i), kOther, 3);
  }
  for (Peer& peer : peers_) peer.go_on();
  ASSERT_NO_FATAL_FAILURE(settle());
  std::vector<int> both;
  for (int i = 0; i < kCount; ++i) {
    const bool mine = is_bound(pod("mine", i));
    const bool other = is_bound(pod("other", i));
    EXPECT_TRUE(mine || other) << node(i);
    if (mine && other) both.push_back(i);
  }
  std::cout << "both were quick on " << both.size() << " of " << kCount << " nodes\n";
  ASSERT_FALSE(both.empty()) << "one of them saw every binding of the other in time";

  // Each knows what has happened now. One CPU fits in the first zone, and then the node is full.
  for (const int i : both) create_on(i, pod("one-more", i), kScheduler, 1);
  for (const int i : both) EXPECT_EQ(wait_bound(pod("one-more", i)), node(i));
  for (const int i : both) create_on(i, pod("too-many", i), kOther, 1);
  ASSERT_NO_FATAL_FAILURE(settle());
  for (const int i : both) EXPECT_FALSE(is_bound(pod("too-many", i))) << node(i);

  // The kubelets refuse the later one of each two, and nobody else is in its way.
  ASSERT_NO_FATAL_FAILURE(admit());
  EXPECT_EQ(admissions_.elsewhere.size(), 0U) << lines(admissions_.elsewhere);
  ASSERT_EQ(admissions_.refused.size(), both.size()) << describe(admissions_.refused);
  ASSERT_NO_FATAL_FAILURE(report());
  for (const Refusal& one : admissions_.refused) {
    EXPECT_EQ(one.reason, "TopologyAffinityError") << one.pod;
    EXPECT_TRUE(one.pod.starts_with(ns() + "/mine-") || one.pod.starts_with(ns() + "/other-"))
        << one.pod;
  }
  const std::vector<Refusal> losers = admissions_.refused;

  // What the loser asked for is there again, and is given away.
  for (const int i : both) EXPECT_EQ(wait_bound(pod("too-many", i), 20s), node(i));
  ASSERT_NO_FATAL_FAILURE(check_promises());

  // Its successor gets the zone when the winner is gone.
  std::vector<std::string> successors;
  for (const Refusal& loser : losers) {
    const bool mine = loser.pod.starts_with(ns() + "/mine-");
    const int i = std::stoi(loser.pod.substr(loser.pod.rfind('-') + 1));
    successors.push_back(pod("successor", i));
    create_on(i, successors.back(), mine ? kScheduler : kOther, 3);
    EXPECT_NE(wait_refused(successors.back()), "");
    remove(pods_path(pod(mine ? "other" : "mine", i)));
  }
  ASSERT_NO_FATAL_FAILURE(admit());
  ASSERT_NO_FATAL_FAILURE(report());
  for (const std::string& name : successors) EXPECT_NE(wait_bound(name, 20s), "") << name;
  ASSERT_NO_FATAL_FAILURE(check_promises());
}

}  // namespace
}  // namespace plimsoll::test
