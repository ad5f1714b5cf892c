// Which waiting pods count as held back, and what is said of rules that are not tried.

#include "lab/simulate/held_back.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/simulate/simulation_report.hpp"
#include "tests/sandbox/kubelet_options.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HeldBackTest : public testing::Test {
 protected:
  HeldBackTest() {
    add(sandbox::kNodes,
        {{"metadata", {{"name", "n"}}},
         {"status",
          {{"allocatable", {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "9"}, {"x.io/gpu", "1"}}}}}});
  }

  void add(const sandbox::ResourceName& kind, json object) {
    const auto created = store.create(kind, std::move(object));
    ASSERT_TRUE(created) << created.error().message;
  }
  void add_pod(const std::string& name, json spec, json labels = json::object()) {
    if (!spec.contains("containers")) {
      spec["containers"] = {
          {{"name", "c"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}};
    }
    spec["schedulerName"] = "plimsoll";
    json pod = {{"metadata", {{"name", name}, {"namespace", "d"}, {"labels", std::move(labels)}}},
                {"spec", std::move(spec)}};
    sandbox::set_pod_defaults(pod);
    add(sandbox::kPods, std::move(pod));
  }
  static json with_port(int port, const char* ip = "") {
    json ports = {{{"containerPort", port}, {"hostPort", port}, {"protocol", "TCP"}}};
    if (*ip != '\0') ports[0]["hostIP"] = ip;
    return {{"containers", {{{"name", "c"}, {"image", "i"}, {"ports", std::move(ports)}}}}};
  }
  std::vector<HeldBackPod> held_back() {
    sandbox::SimulatedKubelets kubelets(store, sandbox::fast());
    EXPECT_TRUE(kubelets.wait_idle(sandbox::kLong));
    kubelets.stop();
    return held_back_pods(store, kubelets, {"plimsoll"});
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const HeldBackPod& pod : held_back()) names.push_back(pod.pod);
    return names;
  }

  sandbox::ObjectStore store{{.seed = 1}};
};

TEST_F(HeldBackTest, OnlyWhatTheNodeWouldReallyTake) {
  add_pod("fits", {});
  add_pod("tied", {{"nodeSelector", {{"zone", "elsewhere"}}}});
  add_pod("large",
          {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "9"}}}}}}}}});
  EXPECT_THAT(names(), ElementsAre("d/fits"));
}

// NodePorts: a kubelet would take the pod, a scheduler rightly does not send it.
TEST_F(HeldBackTest, HostPortsThatAreTaken) {
  json runs = with_port(80);
  runs["nodeName"] = "n";
  add_pod("runs", std::move(runs));
  add_pod("same", with_port(80));
  add_pod("address", with_port(80, "10.0.0.1"));
  add_pod("other", with_port(81));
  EXPECT_THAT(names(), ElementsAre("d/other"));
  // A pod that has ended has given its port back.
  ASSERT_TRUE(
      store.modify(sandbox::kPods, {"d", "runs"}, {}, [](json& pod) -> sandbox::ApiResult<void> {
        pod["status"]["phase"] = "Succeeded";
        return {};
      }));
  EXPECT_THAT(names(), ElementsAre("d/address", "d/other", "d/same"));
}

TEST_F(HeldBackTest, RulesThatAreNotTriedAreNamed) {
  const json term = {{"topologyKey", "zone"},
                     {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}};
  const json required = {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}};
  add_pod("claim",
          {{"volumes", {{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "x"}}}}}}});
  add_pod("config", {{"volumes", {{{"name", "v"}, {"configMap", {{"name", "x"}}}}}}});
  add_pod("near", {{"affinity", {{"podAffinity", required}}}});
  add_pod("far", {{"affinity", {{"podAntiAffinity", required}}}});
  add_pod("spread",
          {{"topologySpreadConstraints",
            {{{"maxSkew", 1}, {"topologyKey", "zone"}, {"whenUnsatisfiable", "DoNotSchedule"}}}}});
  add_pod("dra", {{"resourceClaims", {{{"name", "r"}, {"resourceClaimName", "x"}}}}});
  add_pod("gpu",
          {{"containers", {{{"name", "c"}, {"resources", {{"limits", {{"x.io/gpu", "1"}}}}}}}}});
  add_pod("web", json::object(), {{"app", "web"}});
  add_pod("runs", {{"nodeName", "n"}, {"affinity", {{"podAntiAffinity", required}}}});
  add(sandbox::kDevices, {{"metadata", {{"name", "n"}}}, {"spec", json::object()}});

  std::map<std::string, std::vector<std::string>> rules;
  const auto pods = held_back();
  for (const HeldBackPod& pod : pods) rules[pod.pod] = pod.not_tried;
  EXPECT_THAT(rules["d/claim"], ElementsAre("volumes"));
  EXPECT_THAT(rules["d/config"], IsEmpty());
  EXPECT_THAT(rules["d/near"], ElementsAre("inter-pod affinity"));
  EXPECT_THAT(rules["d/far"], ElementsAre("inter-pod anti-affinity"));
  EXPECT_THAT(rules["d/spread"], ElementsAre("topology spread"));
  EXPECT_THAT(rules["d/dra"], ElementsAre("resource claims"));
  EXPECT_THAT(rules["d/gpu"], ElementsAre("the Device object"));
  EXPECT_THAT(rules["d/web"], ElementsAre("anti-affinity of running pods"));
  EXPECT_EQ(rules.size(), 8U);

  SimulationResult result;
  result.held_back = pods;
  const std::string text = report_text(result);
  EXPECT_THAT(text, HasSubstr("held back: 8 pods that wait though a node would take them, 7 with "
                              "rules that are not tried here\n"));
  EXPECT_THAT(text, HasSubstr("  d/claim (n would; not tried: volumes): no decision yet\n"));
  EXPECT_THAT(text, HasSubstr("  d/config (n would): no decision yet\n"));
  EXPECT_EQ(report_json(result)["heldBack"][0]["notTried"], json::array({"volumes"}));
}

}  // namespace
}  // namespace plimsoll::cli
