// The fixture itself, and the behaviour of a real API server that the scheduler's design stands on.

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"
#include "tests/kube/yaml_json.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class KubeFixtureTest : public KubeTest {
 protected:
  json create_pod(KubeClient& client, const PodSpec& spec) {
    const KubeReply reply = client.post(pods_path(), pod_object(spec));
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.json();
  }
};

TEST_F(KubeFixtureTest, ServerSaysItsVersionToVerifiedClientsOnly) {
  const KubeReply version = KubeClient(cluster().admin()).get("/version");
  ASSERT_EQ(version.status, 200) << version.body;
  EXPECT_THAT(version.json().value("gitVersion", ""), ::testing::MatchesRegex("v1\\.[0-9]+\\..*"));
  EXPECT_EQ(version.json().value("major", ""), "1");

  // TLS is verified: with another authority there is no answer at all.
  const TempDir elsewhere;
  const Result<KubeCertificates> others = make_certificates(elsewhere.path());
  ASSERT_TRUE(others) << others.error().message;
  KubeAccess wrong_ca = cluster().admin();
  wrong_ca.ca_file = others->ca;
  const KubeReply refused = KubeClient(wrong_ca).get("/version");
  EXPECT_EQ(refused.status, 0);
  EXPECT_THAT(refused.body, HasSubstr("certificate"));
}

TEST_F(KubeFixtureTest, UsersHaveTheRightsTheyAreNamedFor) {
  KubeAccess nobody = cluster().limited();
  nobody.token = "no-such-token";
  EXPECT_EQ(KubeClient(nobody).get(pods_path()).status, 401);

  KubeClient limited(cluster().limited());
  EXPECT_EQ(limited.get(pods_path()).status, 403);

  KubeClient admin(cluster().admin());
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns();
  const KubeReply role = admin.post(
      rbac + "/roles",
      {{"metadata", {{"name", "reader"}}},
       {"rules",
        json::array({{{"apiGroups", {""}}, {"resources", {"pods"}}, {"verbs", {"list"}}}})}});
  ASSERT_EQ(role.status, 201) << role.body;
  const KubeReply bound = admin.post(
      rbac + "/rolebindings",
      {{"metadata", {{"name", "reader"}}},
       {"roleRef",
        {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "reader"}}},
       {"subjects", json::array({{{"kind", "User"}, {"name", "plimsoll-limited"}}})}});
  ASSERT_EQ(bound.status, 201) << bound.body;
  // The authorizer learns of a new role through a watch: soon, not at once.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  long status = 403;
  while (status == 403 && std::chrono::steady_clock::now() < deadline) {
    status = limited.get(pods_path()).status;
  }
  EXPECT_EQ(status, 200);
  EXPECT_EQ(limited.get(std::string(kNodes)).status, 403);
}

TEST_F(KubeFixtureTest, KubeconfigsNameServerAuthorityAndUser) {
  const auto user_of = [](const std::filesystem::path& file) -> json {
    const Result<std::vector<json>> config = read_yaml(file);
    if (!config || config->size() != 1) return nullptr;
    const json& cluster = config->at(0).at("clusters").at(0).at("cluster");
    EXPECT_THAT(cluster.at("server").get<std::string>(), HasSubstr("https://127.0.0.1:"));
    EXPECT_FALSE(cluster.at("certificate-authority-data").get<std::string>().empty());
    return config->at(0).at("users").at(0).at("user");
  };
  const json certificate = user_of(cluster().kubeconfig());
  EXPECT_TRUE(certificate.contains("client-certificate-data"));
  EXPECT_TRUE(certificate.contains("client-key-data"));
  EXPECT_FALSE(certificate.contains("token"));
  EXPECT_TRUE(user_of(cluster().kubeconfig_token()).contains("token"));

  // The token in the file is one that the server takes as an administrator's.
  KubeAccess token = cluster().limited();
  token.token = user_of(cluster().kubeconfig_token()).at("token");
  EXPECT_EQ(KubeClient(token).get(std::string(kNodes)).status, 200);
  EXPECT_EQ(user_of(cluster().kubeconfig_limited()).at("token"), cluster().limited().token);
}

// The same files, read by the program that users have; where there is none, the test above has to
// do.
TEST_F(KubeFixtureTest, KubectlReadsTheKubeconfigs) {
  if (std::system("command -v kubectl >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no kubectl on this machine";
  }
  for (const auto& file : {cluster().kubeconfig(), cluster().kubeconfig_token()}) {
    const Result<Finished> seen = run(
        {.argv = {"kubectl", "--kubeconfig", file, "get", "node-res-topo,devices", "-o", "name"},
         .env = {{"HOME", cluster().dir().string()}}});
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->status, ExitStatus::exited(0)) << seen->out;
  }
}

TEST_F(KubeFixtureTest, InstallingTheCustomResourcesAgainChangesNothing) {
  const Result<void> again = cluster().install_crds();
  EXPECT_TRUE(again) << again.error().message;
}

TEST_F(KubeFixtureTest, NodesKeepWhatTheTestWrites) {
  KubeClient client(cluster().admin());
  const KubeReply made = client.post(
      kNodes, node_object("n1", {{"cpu", "8"}, {"memory", "16Gi"}, {"nvidia.com/gpu", "2"}}));
  ASSERT_EQ(made.status, 201) << made.body;
  const json node = made.json();
  EXPECT_EQ(node["status"]["allocatable"]["cpu"], "8");
  EXPECT_EQ(node["status"]["allocatable"]["nvidia.com/gpu"], "2");
  EXPECT_FALSE(node["spec"].contains("taints")) << "there is no controller to take them off";
}

TEST_F(KubeFixtureTest, TopologiesAreServedInBothVersions) {
  KubeClient client(cluster().admin());
  json nrt =
      nrt_object({.node = "n1", .zones = {{{"cpu", "4"}, {"memory", "8Gi"}}, {{"cpu", "4"}}}});
  nrt["zones"][1]["resources"][0]["available"] = 3;  // int-or-string
  nrt["zones"][0]["attributes"] = json::array({{{"name", "a"}, {"value", "b"}}});
  const KubeReply made = client.post(kNrts, nrt);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["zones"], nrt["zones"]) << "nothing is pruned or rewritten";
  EXPECT_EQ(made.json()["attributes"], nrt["attributes"]);

  const std::string v1alpha1 = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";
  const KubeReply old = client.get(v1alpha1 + "/n1");
  ASSERT_EQ(old.status, 200) << old.body;
  EXPECT_EQ(old.json()["zones"], nrt["zones"]);
  EXPECT_FALSE(old.json().contains("attributes")) << "that version has none at the top";

  json legacy = nrt_object({.node = "n2", .zones = {{{"cpu", "4"}}}});
  legacy["apiVersion"] = "topology.node.k8s.io/v1alpha1";
  legacy.erase("attributes");
  EXPECT_EQ(client.post(v1alpha1, legacy).status, 422) << "topologyPolicies is required there";
  legacy["topologyPolicies"] = {"SingleNUMANodePodLevel"};
  ASSERT_EQ(client.post(v1alpha1, legacy).status, 201);
  const KubeReply current = client.get(std::string(kNrts) + "/n2");
  EXPECT_EQ(current.json()["topologyPolicies"], legacy["topologyPolicies"]);
}

TEST_F(KubeFixtureTest, TopologySchemaRefusesWhatIsNotAQuantity) {
  KubeClient client(cluster().admin());
  json nrt = nrt_object({.node = "n1", .zones = {{{"cpu", "four"}}}});
  const KubeReply refused = client.post(kNrts, nrt);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("zones[0].resources[0].capacity"));
}

TEST_F(KubeFixtureTest, DevicesKeepAllTheirFields) {
  KubeClient client(cluster().admin());
  json gpu = gpu_device(0, 1);
  gpu["labels"] = {{"rail", "0"}};
  gpu["moduleID"] = 3;
  gpu["resources"]["koordinator.sh/gpu-core"] = 100;
  gpu["vfGroups"] =
      json::array({{{"labels", {{"k", "v"}}},
                    {"vfs", json::array({{{"minor", -1}, {"busID", "0000:1f:00.2"}}})}}});
  gpu["conditions"] = json::array({{{"type", "Healthy"},
                                    {"status", "True"},
                                    {"reason", "Ok"},
                                    {"message", ""},
                                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}}});
  json device = device_object("n1", {gpu, gpu_device(1, 0)});
  device["status"]["allocations"] = json::array(
      {{{"type", "gpu"},
        {"entries", json::array({{{"name", "p"}, {"namespace", "d"}, {"minors", {0, 1}}}})}}});
  const KubeReply made = client.post(kDevices, device);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["spec"], device["spec"]);
  EXPECT_EQ(made.json()["status"], device["status"]) << "status is no subresource";

  json sick = device_object("n2", {gpu_device(0, 0)});
  sick["spec"]["devices"][0].erase("health");
  const KubeReply defaulted = client.post(kDevices, sick);
  ASSERT_EQ(defaulted.status, 201) << defaulted.body;
  EXPECT_EQ(defaulted.json()["spec"]["devices"][0]["health"], false);
}

TEST_F(KubeFixtureTest, BindingMergesItsAnnotationsAndLabelsInTheSameWrite) {
  KubeClient client(cluster().admin());
  ASSERT_EQ(client.post(kNodes, node_object("n1", {{"cpu", "8"}})).status, 201);
  const json pod = create_pod(client, {.name = "p", .requests = {{"cpu", "1"}}});
  json binding = binding_object("p", "n1", pod["metadata"]["uid"]);
  binding["metadata"]["annotations"] = {{"scheduling.koordinator.sh/device-allocated", "{}"}};
  binding["metadata"]["labels"] = {{"placed", "yes"}};

  // Everything that happens to the pod from here on, as a watch sees it (it ends after a second).
  const KubeReply bound = client.post(pods_path("p") + "/binding", binding);
  ASSERT_EQ(bound.status, 201) << bound.body;
  const KubeReply watched = client.get(pods_path() + "?watch=1&timeoutSeconds=1&resourceVersion=" +
                                       pod["metadata"]["resourceVersion"].get<std::string>());
  ASSERT_EQ(watched.status, 200) << watched.body;
  const std::string& lines = watched.body;
  ASSERT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1) << "one write, one event: " << lines;
  const json event = json::parse(lines);
  EXPECT_EQ(event["type"], "MODIFIED");
  const json& after = event["object"];
  EXPECT_EQ(after["spec"]["nodeName"], "n1");
  EXPECT_EQ(after["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocated"], "{}");
  EXPECT_EQ(after["metadata"]["labels"]["placed"], "yes");
  EXPECT_EQ(after["status"]["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(after["status"]["conditions"][0]["status"], "True");
}

TEST_F(KubeFixtureTest, BindingIsRefusedForAnotherPodOfThatNameAndForABoundOne) {
  KubeClient client(cluster().admin());
  ASSERT_EQ(client.post(kNodes, node_object("n1", {{"cpu", "8"}})).status, 201);
  const json pod = create_pod(client, {.name = "p", .requests = {{"cpu", "1"}}});
  const std::string path = pods_path("p") + "/binding";

  json other = binding_object("p", "n1", "00000000-0000-0000-0000-000000000000");
  other["metadata"]["annotations"] = {{"a", "b"}};
  const KubeReply wrong_uid = client.post(path, other);
  EXPECT_EQ(wrong_uid.status, 409) << wrong_uid.body;
  EXPECT_EQ(wrong_uid.reason(), "Conflict");

  json stale = binding_object("p", "n1", pod["metadata"]["uid"]);
  stale["metadata"]["resourceVersion"] = "1";
  EXPECT_EQ(client.post(path, stale).status, 409);
  const json untouched = client.get(pods_path("p")).json();
  EXPECT_FALSE(untouched["spec"].contains("nodeName"));
  EXPECT_FALSE(untouched["metadata"].contains("annotations"));

  const json right = binding_object("p", "n1", pod["metadata"]["uid"]);
  EXPECT_EQ(client.post(path, right).status, 201);
  const KubeReply twice = client.post(path, right);
  EXPECT_EQ(twice.status, 409) << twice.body;
  EXPECT_THAT(twice.body, HasSubstr("already assigned to node"));
}

TEST_F(KubeFixtureTest, ManyObjectsAreCreatedInParallelAndListedInPages) {
  std::vector<KubeObject> objects;
  for (int i = 0; i < 600; ++i) {
    objects.push_back(
        {pods_path(),
         pod_object({.name = "p-" + std::to_string(i), .requests = {{"cpu", "1"}}}).dump()});
  }
  const Result<void> created = create_all(cluster().admin(), objects);
  ASSERT_TRUE(created) << created.error().message;
  KubeClient client(cluster().admin());
  const auto pods = client.list(pods_path());
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->size(), 600U);
  const auto one = client.list(pods_path(), "fieldSelector=metadata.name%3Dp-7");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->size(), 1U);

  const Result<void> again = create_all(cluster().admin(), {objects[7]});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, AllOf(HasSubstr("HTTP 409"), HasSubstr("already exists")));
  EXPECT_FALSE(client.list("/api/v1/nonsense"));
}

TEST_F(KubeFixtureTest, DataOutlivesRestartAndCrashOfTheApiServer) {
  KubeClient client(cluster().admin());
  ASSERT_EQ(client.post(kNodes, node_object("n1", {{"cpu", "8"}})).status, 201);
  ASSERT_EQ(client.post(kNrts, nrt_object({.node = "n1", .zones = {{{"cpu", "4"}}}})).status, 201);
  const json pod = create_pod(client, {.name = "p", .requests = {{"cpu", "1"}}});
  const std::string server = cluster().server();

  const Result<void> restarted = cluster().restart_apiserver();
  ASSERT_TRUE(restarted) << restarted.error().message;
  EXPECT_EQ(cluster().server(), server);
  EXPECT_EQ(client.get(pods_path("p")).json()["metadata"], pod["metadata"]);

  cluster().kill_apiserver();
  EXPECT_EQ(client.get(pods_path("p")).status, 0) << "nobody answers";
  const Result<void> started = cluster().start_apiserver();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(client.get(pods_path("p")).json()["metadata"]["uid"], pod["metadata"]["uid"]);
  ASSERT_TRUE(cluster().install_crds()) << "waits until they are served again";
  EXPECT_EQ(client.get(std::string(kNrts) + "/n1").status, 200);
}

TEST_F(KubeFixtureTest, AServerThatCannotStartIsReportedWithItsLog) {
  const auto started = KubeCluster::start({.apiserver_flags = {"--no-such-flag"}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, AllOf(HasSubstr("kube-apiserver ended while starting"),
                                             HasSubstr("unknown flag: --no-such-flag")));
}

TEST_F(KubeFixtureTest, StoppingLeavesNothingBehind) {
  auto started = KubeCluster::start();
  ASSERT_TRUE(started) << started.error().message;
  const std::filesystem::path dir = (*started)->dir();
  const KubeAccess access = (*started)->admin();
  (*started)->stop();
  EXPECT_EQ(KubeClient(access).get("/readyz").status, 0);
  EXPECT_FALSE((*started)->start_apiserver()) << "its data has no server any more";
  started->reset();
  EXPECT_EQ(std::filesystem::exists(dir), std::getenv("PLIMSOLL_KEEP_TEMP") != nullptr);
}

}  // namespace
}  // namespace plimsoll::test
