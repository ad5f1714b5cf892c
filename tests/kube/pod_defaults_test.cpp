// What the sandbox's API server makes of a pod's resources is what a real one makes of them.

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/sandbox/apiserver/pod_rules.hpp"
#include "node/machine/amounts.hpp"
#include "tests/kube/kube_client.hpp"
#include "tests/kube/kube_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

class PodDefaultsTest : public KubeTest {};

// Requests and limits of the pod as amounts, whatever the notation.
std::map<std::string, std::int64_t> amounts_of(const json& pod) {
  std::map<std::string, std::int64_t> amounts;
  const json resources = pod["spec"].value("resources", json::object());
  for (const char* list : {"requests", "limits"}) {
    const json quantities = resources.value(list, json::object());
    for (const auto& [name, quantity] : quantities.items())
      amounts[std::string(list) + " " + name] = node::parse_amount(name, quantity).value_or(-1);
  }
  return amounts;
}

json pod_with(const std::string& resources, const std::string& containers,
              const std::string& init = "[]") {
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "p"}}}};
  json& spec = pod["spec"];
  if (!resources.empty()) spec["resources"] = json::parse(resources);
  spec["containers"] = json::array();
  for (const auto& [key, list] :
       {std::pair("containers", containers), std::pair("initContainers", init)}) {
    for (const json& given : json::parse(list)) {
      json container = given;
      container["name"] = std::string(key == std::string("containers") ? "c" : "i") +
                          std::to_string(spec[key].size());
      container["image"] = "example.com/app:1";
      spec[key].push_back(container);
    }
  }
  return pod;
}

TEST_F(PodDefaultsTest, AreThoseOfARealServer) {
  const std::string limited = R"({"resources":{"limits":{"cpu":"1","memory":"1Gi"}}})";
  const std::string asked = R"({"resources":{"requests":{"cpu":"500m","memory":"512Mi"}}})";
  const std::string sidecar =
      R"({"restartPolicy":"Always","resources":{"limits":{"cpu":"2","memory":"1Gi"}}})";
  const std::map<std::string, json> pods = {
      {"nothing of its own", pod_with("", "[" + limited + "]")},
      {"an empty object", pod_with("{}", "[" + limited + "]")},
      {"requests, and limits of all containers",
       pod_with(R"({"requests":{"cpu":"2","memory":"2Gi"}})", "[" + limited + "," + limited + "]")},
      {"more requested than the containers' limits",
       pod_with(R"({"requests":{"cpu":"3","memory":"1Gi"}})", "[" + limited + "]")},
      {"a container without limits",
       pod_with(R"({"requests":{"cpu":"3","memory":"3Gi"}})", "[" + limited + "," + asked + "]")},
      {"limits only", pod_with(R"({"limits":{"cpu":"3","memory":"3Gi"}})", "[" + asked + "]")},
      {"limits only, and containers that ask for nothing",
       pod_with(R"({"limits":{"cpu":"3","memory":"3Gi"}})", "[{}]")},
      {"a limit of one resource", pod_with(R"({"limits":{"cpu":"3"}})", "[" + limited + "]")},
      {"init containers and sidecars", pod_with(R"({"requests":{"cpu":"3"}})", "[" + limited + "]",
                                                "[" + sidecar + "," + limited + "]")},
      {"an init container without limits",
       pod_with(R"({"requests":{"cpu":"3"}})", "[" + limited + "]", "[" + asked + "]")},
      {"huge pages of a container",
       pod_with(R"({"requests":{"cpu":"2","memory":"2Gi"}})",
                R"([{"resources":{"limits":{"cpu":"1","memory":"1Gi","hugepages-2Mi":"64Mi"}}}])")},
  };
  KubeClient client(cluster().admin());
  const std::string minor = client.get("/version").json().value("minor", "");
  if (minor == "36") GTEST_SKIP() << "the sandbox fills in as Kubernetes 1.37 does";
  for (const auto& [what, pod] : pods) {
    SCOPED_TRACE(what);
    const KubeReply reply = client.post(pods_path() + "?dryRun=All", pod);
    ASSERT_TRUE(reply.ok()) << reply.body;
    const json real = reply.json();
    json ours = pod;
    sandbox::set_pod_defaults(ours);
    EXPECT_EQ(amounts_of(ours), amounts_of(real)) << real["spec"].dump(2);
    EXPECT_EQ(ours["status"]["qosClass"], real["status"]["qosClass"]);
  }
}

}  // namespace
}  // namespace plimsoll::test
