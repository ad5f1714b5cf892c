// NodeDeclaredFeatures: which features a spec needs, and which nodes have them.
#include <gtest/gtest.h>

#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

constexpr const char* kUserNamespace = R"({"hostNetwork": true, "hostUsers": false})";
constexpr const char* kRestartsAll = R"({"initContainers": [{"name": "i", "restartPolicyRules": [
  {"action": "Restart"}, {"action": "RestartAllContainers"}]}]})";
constexpr const char* kBoth = R"({"hostNetwork": true, "hostUsers": false, "containers": [
  {"name": "c", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]})";

class DeclaredFeatures : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(bench_.create("NodeDeclaredFeatures")); }

  NodeRef node_with(const std::string& features) {
    return bench_.node("n", R"("status": {"declaredFeatures": [)" + features + "]}");
  }
  // The reason why the pod may not go there; empty: it may; "skip": no node is looked at.
  std::string verdict(const std::string& spec, const std::string& features) {
    const PodRef pod = bench_.pod("p", spec);
    const NodeRef node = node_with(features);
    conformance::BenchCycle cycle;
    uint32_t reason = 0;
    plimsoll_list names{};
    uint32_t narrowed = 0;
    if (bench_.plugin.pre_filter(bench_.plugin.self, &cycle.abi(), pod.get(), &reason, &names,
                                 &narrowed) == PLIMSOLL_SKIP) {
      return "skip";
    }
    plimsoll_node_info info{};
    info.size = sizeof info;
    info.node = node.get();
    const plimsoll_node_info* row = &info;
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    uint8_t code = PLIMSOLL_SUCCESS;
    EXPECT_EQ(
        bench_.plugin.filter(bench_.plugin.self, &cycle.abi(), pod.get(), &nodes, &code, &reason),
        PLIMSOLL_SUCCESS);
    if (code == PLIMSOLL_SUCCESS) return "";
    EXPECT_EQ(code, PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE);
    return bench_.reason(reason);
  }

  Bench bench_;
};

constexpr const char* kRefused = "node(s) didn't match Pod's required features";

TEST_F(DeclaredFeatures, MostPodsNeedNone) {
  for (const char* spec : {R"({})", R"({"hostNetwork": true})", R"({"hostUsers": false})",
                           R"({"hostNetwork": true, "hostUsers": true})",
                           R"({"hostNetwork": true, "hostUsers": null})",
                           R"({"containers": [{"name": "c", "restartPolicyRules": [
                               {"action": "Restart"}]}]})",
                           R"({"containers": [{"name": "c", "volumeMounts": [
                               {"name": "v", "bindMountOptions": []}, {"name": "w"}]}]})"}) {
    EXPECT_EQ(verdict(spec, ""), "skip") << spec;
  }
}

TEST_F(DeclaredFeatures, EachMustBeDeclared) {
  const std::string network = R"("UserNamespacesHostNetworkSupport")";
  const std::string restart = R"("RestartAllContainersOnContainerExits")";
  EXPECT_EQ(verdict(kUserNamespace, ""), kRefused);
  EXPECT_EQ(verdict(kUserNamespace, restart), kRefused);
  EXPECT_EQ(verdict(kUserNamespace, "\"Other\"," + network), "");
  EXPECT_EQ(verdict(kRestartsAll, network), kRefused);
  EXPECT_EQ(verdict(kRestartsAll, restart), "");
  const std::string mounts = R"({"initContainers": [{"name": "i", "volumeMounts": [
    {"name": "v"}, {"name": "w", "bindMountOptions": ["noexec"]}]}]})";
  EXPECT_EQ(verdict(mounts, restart), kRefused);
  EXPECT_EQ(verdict(mounts, R"("VolumeBindMountOptions")"), "");
  EXPECT_EQ(verdict(kBoth, restart), kRefused);
  EXPECT_EQ(verdict(kBoth, restart + "," + network), "");
}

TEST_F(DeclaredFeatures, HintsGoByWhatChanged) {
  const PodRef pod = bench_.pod("p", kBoth);
  const NodeRef none;
  const NodeRef bare = node_with("");
  const NodeRef able = node_with(R"("UserNamespacesHostNetworkSupport")");
  EXPECT_TRUE(bench_.queues(pod, none, bare));  // kube-scheduler does not look at a new node
  EXPECT_TRUE(bench_.queues(pod, bare, able));
  EXPECT_FALSE(bench_.queues(pod, able, able));
  EXPECT_FALSE(bench_.queues(pod, pod, pod));
  EXPECT_TRUE(bench_.queues(pod, pod, bench_.pod("p", kUserNamespace)));
  EXPECT_FALSE(bench_.queues(pod, pod, bench_.pod("other", kUserNamespace)));
}

}  // namespace
}  // namespace plimsoll::builtin_test
