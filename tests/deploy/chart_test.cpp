// kubectl and helm bring a scheduler to life that binds a pod, and its rights follow its profile.

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "tests/deploy/deploy_test.hpp"
#include "tests/e2e/facts.hpp"
#include "tests/kube/yaml_json.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kChart = "deploy/chart/plimsoll";
constexpr const char* kClusterRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles/plimsoll";
constexpr const char* kRoles = "/apis/rbac.authorization.k8s.io/v1/roles";

// The folder with helm and kubectl, where tests/deploy/build has put it; empty: it is not there.
std::filesystem::path find_programs() {
  const auto found =
      run({.argv = {"tests/deploy/build", "--if-present"}, .stderr_file = "/dev/null"});
  if (!found || found->status != ExitStatus::exited(0)) return {};
  return found->out.substr(0, found->out.find('\n'));
}

class ChartTest : public DeployTest {
 protected:
  void SetUp() override {
    programs_ = find_programs();
    const char* ci = std::getenv("CI");
    if (programs_.empty() && ci != nullptr && std::string_view(ci) == "true") {
      FAIL() << "CI=true forbids a skip: no helm and kubectl: run tests/deploy/build";
    }
    if (programs_.empty()) GTEST_SKIP() << "SKIPPED: no helm and kubectl: run tests/deploy/build";
    DeployTest::SetUp();
  }
  void TearDown() override {
    if (!IsSkipped()) {
      stop_scheduler();
      (void)tool({"helm", "uninstall", "plimsoll", "--namespace", kHome, "--ignore-not-found"});
      DeployTest::TearDown();
    }
  }

  Finished tool(std::vector<std::string> argv) {
    argv.front() = programs_ / argv.front();
    argv.insert(argv.end(), {"--kubeconfig", cluster().kubeconfig()});
    const auto done = run({.argv = argv, .env = {{"HOME", home_.path()}}}, 60s);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(Finished{});
  }
  void do_tool(const std::vector<std::string>& argv) {
    const Finished done = tool(argv);
    ASSERT_EQ(done.status, ExitStatus::exited(0)) << done.out;
  }
  void helm(const std::string& what, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> argv{"helm", what, "plimsoll", kChart, "--namespace", kHome};
    argv.insert(argv.end(), flags.begin(), flags.end());
    do_tool(argv);
  }

  std::vector<json> roles() {
    std::vector<json> ours{client().get(kClusterRole).json()};
    for (json& role : client().list(kRoles).value_or(std::vector<json>{})) {
      if (text_at(role, "/metadata/name") != "plimsoll-leader-election") continue;
      role["kind"] = "Role";  // lists leave it out
      ours.push_back(role);
    }
    return ours;
  }
  // Starts the scheduler as it is deployed now; it binds a pod.
  void expect_alive(const std::string& pod, const std::string& scheduler = kScheduler) {
    ASSERT_NO_FATAL_FAILURE(wait_for_rights(roles()));
    ASSERT_NO_FATAL_FAILURE(start_deployed());
    client().post(kNodes, node_object("n", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}}));
    create_pod({.name = pod, .scheduler = scheduler, .requests = {{"cpu", "1"}}});
    EXPECT_EQ(wait_bound(pod), "n") << tail(log(), 20);
    EXPECT_THAT(log(), Not(HasSubstr("forbidden: User")));
  }
  json deployment() {
    return client().get("/apis/apps/v1/namespaces/kube-system/deployments/plimsoll").json();
  }

  TempDir home_;
  std::filesystem::path programs_;
};

// kubectl as a user has it, with the plugin in PATH. Forwarding a port takes a kubelet: a script
// says what kubectl says, and the port is the scheduler's own.
TEST_F(ChartTest, KubectlPlimsollAsksTheLeader) {
  ASSERT_NO_FATAL_FAILURE(helm("install"));
  ASSERT_NO_FATAL_FAILURE(expect_alive("p"));
  create_pod({.name = "giant", .scheduler = kScheduler, .requests = {{"cpu", "64"}}});
  EXPECT_NE(wait_refused("giant"), "");
  ASSERT_TRUE(write_file(home_ / "kubectl",
                         "#!/bin/sh\necho \"$@\" >> " + (home_ / "calls").string() +
                             "\necho 'Forwarding from 127.0.0.1:" + std::to_string(port()) +
                             " -> 10259'\nexec sleep 600\n",
                         0755));
  const std::string bin = std::getenv("PLIMSOLL_BIN_DIR");
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {(programs_ / "kubectl").string(), "plimsoll"});
    words.insert(words.end(), {"--kubeconfig", cluster().kubeconfig().string()});
    const auto done =
        run({.argv = words,
             .env = {{"HOME", home_.path()},
                     {"PATH", home_.path().string() + ":" + bin + ":" + std::getenv("PATH")}}},
            60s);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(Finished{});
  };
  // Another account than the one that is shipped has no right of its own.
  create("/api/v1/namespaces/" + ns() + "/serviceaccounts", {{"metadata", {{"name", "nobody"}}}});
  const Finished refused = ask({"queue", "--service-account", ns() + "/nobody"});
  EXPECT_EQ(refused.status, ExitStatus::exited(1));
  EXPECT_THAT(refused.out, HasSubstr(R"(cannot get path "/debug/queue")"));
  // The scheduler's authorizer follows the roles a moment later, and keeps refusals for 10 s.
  EXPECT_TRUE(eventually(60s, [&] { return ask({"queue"}).status.code == 0; }));
  // A token for the scheduler is nobody's for the API server.
  const json token = create("/api/v1/namespaces/kube-system/serviceaccounts/plimsoll-viewer/token",
                            {{"apiVersion", "authentication.k8s.io/v1"},
                             {"kind", "TokenRequest"},
                             {"spec", {{"audiences", {"plimsoll"}}, {"expirationSeconds", 600}}}});
  const std::string held = text_at(token, "/status/token");
  EXPECT_EQ(ask({"queue", "--token", held}).status.code, 0);
  KubeAccess as_viewer = cluster().admin();
  as_viewer.cert_file.clear();
  as_viewer.key_file.clear();
  as_viewer.token = held;
  EXPECT_EQ(KubeClient(as_viewer).get(kNodes).status, 401);

  EXPECT_THAT(ask({"queue"}).out, AllOf(HasSubstr(ns() + "/giant"), HasSubstr("NodeResourcesFit"),
                                        HasSubstr("1 pod waits: 1 unschedulable")));
  EXPECT_THAT(ask({"top"}).out, AllOf(HasSubstr("NODE"), HasSubstr("1/8")));
  EXPECT_THAT(ask({"explain", "giant", "-n", ns()}).out, HasSubstr("Insufficient cpu"));
  const Finished unknown = ask({"explain", ns() + "/nothing"});
  EXPECT_EQ(unknown.status, ExitStatus::exited(1));
  EXPECT_THAT(unknown.out, HasSubstr("is not known here"));

  // The log level, as the operator's account.
  EXPECT_TRUE(eventually(60s, [&] { return ask({"debug", "log-level"}).status.code == 0; }));
  EXPECT_THAT(ask({"debug", "log-level", "error"}).out, HasSubstr("error"));
  EXPECT_THAT(ask({"debug", "log-level"}).out, EndsWith("error\n"));
  EXPECT_THAT(ask({"debug", "dump"}).out, HasSubstr(ns() + "/giant"));
  EXPECT_EQ(ask({"debug", "compare", "--settle", "1"}).status.code, 0);

  // The way led to the pod of the leader.
  const std::string holder =
      text_at(client().get(kLeases + std::string("/plimsoll")).json(), "/spec/holderIdentity");
  EXPECT_THAT(read_file(home_ / "calls").value_or(""),
              HasSubstr("port-forward --address 127.0.0.1 --namespace kube-system pod/" +
                        holder.substr(0, holder.rfind('_')) + " :10259"));
}

TEST_F(ChartTest, TheBaseIsTheChartsRendering) {
  const auto done = run({.argv = {"scripts/render-manifests", "--check"}}, 60s);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->status, ExitStatus::exited(0)) << done->out;
}

TEST_F(ChartTest, TheVersionIsTheProgramsOwn) {
  const auto program = plimsoll_program();
  ASSERT_TRUE(program) << program.error().message;
  const auto said = run({.argv = {program->string(), "--version"}}, 30s);
  ASSERT_TRUE(said) << said.error().message;
  const std::string version = said->out.substr(0, said->out.find('\n'));
  const auto chart = read_yaml(std::string(kChart) + "/Chart.yaml");
  ASSERT_TRUE(chart) << chart.error().message;
  EXPECT_EQ(text_at(chart->front(), "/appVersion"), version);
  EXPECT_EQ(text_at(chart->front(), "/version"), version);
  EXPECT_THAT(read_file("deploy/node.yaml").value_or(""),
              HasSubstr("image: plimsoll-node:" + version + "\n"));
}

TEST_F(ChartTest, KubectlAppliesTheBase) {
  do_tool({"kubectl", "apply", "-k", "deploy/base", "--dry-run=server", "--validate=strict"});
  do_tool({"kubectl", "apply", "-k", "deploy/base"});
  ASSERT_NO_FATAL_FAILURE(expect_alive("first"));
  stop_scheduler();

  // An overlay with a profile of one's own, as docs/operations.md has it.
  const std::string profile = read_file("examples/profiles/topology.yaml").value_or("");
  const std::string own = "topo-aware-scheduler";
  std::string changed = profile;
  for (std::size_t at = 0; (at = changed.find(own)) != changed.npos;)
    changed.replace(at, own.size(), "ours");
  const std::filesystem::path base = std::filesystem::absolute("deploy/base");
  ASSERT_TRUE(write_file(home_ / "profile.yaml", changed));
  ASSERT_TRUE(write_file(home_ / "kustomization.yaml",
                         "resources: [" + std::filesystem::relative(base, home_.path()).string() +
                             "]\nconfigMapGenerator:\n"
                             "- {name: plimsoll-profile, namespace: kube-system, behavior: "
                             "replace, files: [profile.yaml]}\n"));
  do_tool({"kubectl", "apply", "-k", home_.path()});
  EXPECT_THAT(text_at(deployment(), "/spec/template/spec/volumes/0/configMap/name"),
              HasSubstr("plimsoll-profile-"));
  ASSERT_NO_FATAL_FAILURE(expect_alive("second", "ours"));
  stop_scheduler();
  do_tool({"kubectl", "delete", "-k", home_.path()});
  do_tool({"kubectl", "delete", "--ignore-not-found", "-k", "deploy/base"});
  EXPECT_EQ(client().get(kClusterRole).status, 404);
}

// Policy, scope, zones and free CPUs; a node's cards and the one that is not well.
TEST_F(ChartTest, KubectlGetShowsZonesAndDevices) {
  const json zone = {{"name", "node-0"},
                     {"type", "Node"},
                     {"resources",
                      {{{"name", "memory"}, {"capacity", 1}, {"allocatable", 1}, {"available", 1}},
                       {{"name", "cpu"}, {"capacity", 8}, {"allocatable", 8}, {"available", 5}}}}};
  json second = zone;
  second["name"] = "node-1";
  second["resources"][1]["available"] = "3500m";
  const json attributes = {{{"name", "topologyManagerScope"}, {"value", "pod"}},
                           {{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}}};
  create("/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
         {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
          {"kind", "NodeResourceTopology"},
          {"metadata", {{"name", "seen"}}},
          {"attributes", attributes},
          {"zones", {zone, second}}});
  create("/apis/scheduling.koordinator.sh/v1alpha1/devices",
         {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
          {"kind", "Device"},
          {"metadata", {{"name", "seen"}, {"labels", {{"node.koordinator.sh/gpu-model", "A100"}}}}},
          {"spec",
           {{"devices",
             {{{"type", "gpu"},
               {"id", "GPU-a"},
               {"minor", 0},
               {"health", true},
               {"resources", {{"koordinator.sh/gpu-memory", "40Gi"}}}},
              {{"type", "gpu"}, {"id", "GPU-b"}, {"minor", 1}, {"health", false}}}}}}});
  const Finished topologies = tool({"kubectl", "get", "noderesourcetopologies"});
  EXPECT_THAT(topologies.out,
              testing::ContainsRegex("NAME +POLICY +SCOPE +LAST ZONE +FREE CPU 0 +FREE CPU 1 +AGE\n"
                                     "seen +single-numa-node +pod +node-1 +5 +3500m +[0-9]"));
  const Finished devices = tool({"kubectl", "get", "devices"});
  EXPECT_THAT(devices.out, testing::ContainsRegex(
                               "NAME +GPU MODEL +GPU MEMORY +LAST DEVICE +MINOR +UNHEALTHY +AGE\n"
                               "seen +A100 +40Gi +gpu +1 +GPU-b +[0-9]"));
  remove("/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/seen");
  remove("/apis/scheduling.koordinator.sh/v1alpha1/devices/seen");
}

TEST_F(ChartTest, HelmInstallsUpgradesAndGoesBack) {
  helm("install");
  ASSERT_NO_FATAL_FAILURE(expect_alive("first"));
  stop_scheduler();
  const char* kHash = "/spec/template/metadata/annotations/plimsoll.io~1profile-sha256";
  const std::string before = text_at(deployment(), kHash);
  const std::string profile = "examples/profiles/hami.yaml";
  helm("upgrade", {"--set-file", "profile=" + profile});
  EXPECT_NE(text_at(deployment(), kHash), before);
  const auto config = read_yaml(profile);
  ASSERT_TRUE(config);
  ASSERT_NO_FATAL_FAILURE(
      expect_alive("second", text_at(config->front(), "/profiles/0/schedulerName")));
  stop_scheduler();
  do_tool({"helm", "rollback", "plimsoll", "--namespace", kHome});
  EXPECT_EQ(text_at(deployment(), kHash), before);
  do_tool({"helm", "uninstall", "plimsoll", "--namespace", kHome});
  EXPECT_EQ(client().get(kClusterRole).status, 404);
  EXPECT_EQ(deployment()["code"], 404);
}

// Replicas with another lease than those that run may schedule beside them: these stop first, and
// end cleanly, since they keep the right to theirs.
TEST_F(ChartTest, AnotherLeaseStopsTheOldReplicasAndTakesNoRightFromThem) {
  const auto names = [&](const std::string& where) {
    std::set<std::string> all;
    const json role = client()
                          .get("/apis/rbac.authorization.k8s.io/v1/namespaces/" + where +
                               "/roles/plimsoll-leader-election")
                          .json();
    for (const Right& right : rights_of({role})) all.insert(right.name);
    all.erase("");
    return all;
  };
  const auto strategy = [&] { return deployment().at("spec").at("strategy"); };
  const std::string profile = "profile=examples/profiles/default-scheduler.yaml";
  using Names = std::set<std::string>;
  helm("install", {"--set-file", profile});
  EXPECT_EQ(names(kHome), (Names{"kube-scheduler", "plimsoll", "plimsoll-default-scheduler"}));
  EXPECT_EQ(text_at(strategy(), "/type"), "RollingUpdate");

  const std::string mark = std::string("plimsoll-") + kScheduler;
  helm("upgrade", {"--reset-values"});
  EXPECT_EQ(names(kHome), (Names{"kube-scheduler", "plimsoll", mark})) << "theirs, and the new one";
  EXPECT_EQ(strategy(), json({{"type", "Recreate"}}));
  helm("upgrade", {"--reset-values"});
  EXPECT_EQ(names(kHome), (Names{"plimsoll", mark}));
  EXPECT_EQ(text_at(strategy(), "/type"), "RollingUpdate");

  helm("upgrade", {"--reset-values", "--set", "leaderElection.resourceNamespace=default"});
  EXPECT_EQ(names(kHome), (Names{"plimsoll", mark}));
  EXPECT_EQ(names("default"), (Names{"plimsoll", mark}));
  EXPECT_EQ(strategy(), json({{"type", "Recreate"}}));
  helm("upgrade", {"--reset-values", "--set", "replicas=1,leaderElection.enabled=false"});
  helm("upgrade", {"--reset-values"});
  EXPECT_EQ(strategy(), json({{"type", "Recreate"}})) << "those that elect nobody do not wait";
}

// What is kept is there for a replica that starts while the profile is broken, also after an
// upgrade.
TEST_F(ChartTest, TheProfileInForceIsKept) {
  const std::string kept = "/api/v1/namespaces/kube-system/configmaps/plimsoll-profile-in-force";
  helm("install");
  ASSERT_NO_FATAL_FAILURE(expect_alive("first"));
  const auto text = [&] { return text_at(client().get(kept).json(), "/data/profile.yaml"); };
  EXPECT_TRUE(eventually(30s, [&] { return !text().empty(); }));
  EXPECT_THAT(text(), HasSubstr(std::string("schedulerName: ") + kScheduler));
  const std::string before = text();
  helm("upgrade", {"--set", "logLevel=debug"});
  EXPECT_EQ(text(), before);
}

TEST_F(ChartTest, ThePodIsAsRestrictedAsPodsCanBe) {
  change("/api/v1/namespaces/" + ns(),
         {{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}});
  helm("install");
  json pod{{"metadata", {{"name", "plimsoll"}}},
           {"spec", deployment()["spec"]["template"]["spec"]}};
  const KubeReply reply = client().post(pods_path() + "?dryRun=All&fieldValidation=Strict", pod);
  EXPECT_EQ(reply.status, 201) << reply.body;
  // That namespace does refuse others.
  pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = true;
  EXPECT_EQ(client().post(pods_path() + "?dryRun=All", pod).status, 403);
}

// plimsoll-node, its devices and its hook: each only if it is asked for, and with no right more
// than it needs.
TEST_F(ChartTest, NodesAreReportedIfWanted) {
  using Names = std::set<std::string>;
  const auto role = [&](const std::string& name) {
    return client().get("/apis/rbac.authorization.k8s.io/v1/clusterroles/" + name).status;
  };
  const auto spec = [&] {
    const std::string sets = "/apis/apps/v1/namespaces/kube-system/daemonsets/plimsoll-node";
    return client().get(sets).json().value("/spec/template/spec"_json_pointer, json());
  };
  const auto folders = [&] {  // of the node
    Names found;
    const json pod = spec();
    for (const json& volume : pod["volumes"]) {
      if (volume.contains("hostPath")) found.insert(volume["hostPath"]["path"]);
    }
    return found;
  };
  const auto expect_unprivileged = [&] {
    const json pod = spec();
    for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
      EXPECT_FALSE(pod.contains(field)) << field;
    }
    EXPECT_EQ(pod["containers"][0]["securityContext"],
              json::parse(R"({"runAsUser": 0, "allowPrivilegeEscalation": false,
                              "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
                              "seccompProfile": {"type": "RuntimeDefault"}})"));
    for (const json& mount : pod["containers"][0]["volumeMounts"]) {
      EXPECT_EQ(mount["readOnly"], true) << mount;
    }
  };
  helm("install");
  EXPECT_TRUE(spec().is_null()) << "it is off";
  EXPECT_EQ(role("plimsoll-node"), 404);
  helm("upgrade", {"--set", "node.enabled=true"});
  expect_unprivileged();
  EXPECT_EQ(folders(), (Names{"/var/lib/kubelet", "/sys"}));
  EXPECT_EQ(role("plimsoll-node"), 200);
  EXPECT_EQ(role("plimsoll-node-devices"), 404);
  const json pod{{"metadata", {{"name", "node"}}}, {"spec", spec()}};
  const KubeReply reply =
      client().post("/api/v1/namespaces/kube-system/pods?dryRun=All&fieldValidation=Strict", pod);
  EXPECT_EQ(reply.status, 201) << reply.body;
  helm("upgrade", {"--set", "node.enabled=true,node.devices=true,node.nvidia=true"});
  expect_unprivileged();
  EXPECT_EQ(folders(), (Names{"/var/lib/kubelet", "/sys"}));
  EXPECT_EQ(text_at(spec(), "/runtimeClassName"), "nvidia");
  EXPECT_THAT(spec()["containers"][0]["args"].dump(),
              AllOf(HasSubstr("--devices=report"), Not(HasSubstr("--hook"))));
  EXPECT_EQ(role("plimsoll-node-devices"), 200);
  EXPECT_EQ(role("plimsoll-node-hook"), 404);
  helm("upgrade",
       {"--set", "node.enabled=true,node.devices=true,node.hook=true,serviceAccount.name=ours"});
  expect_unprivileged();
  EXPECT_EQ(folders(),
            (Names{"/var/lib/kubelet", "/sys", "/var/run/nri", "/etc/cdi", "/var/run/cdi"}));
  EXPECT_THAT(spec()["containers"][0]["args"].dump(), HasSubstr("--hook"));
  EXPECT_EQ(role("plimsoll-node-hook"), 200);
  // Who may say which devices a pod has is the scheduler, whatever its account is called.
  const KubeReply policy = client().get(
      "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
      "plimsoll-device-allocated");
  EXPECT_THAT(policy.body, HasSubstr("system:serviceaccount:kube-system:ours"));
}

TEST_F(ChartTest, TheObjectsForThePrometheusOperatorAreValid) {
  for (const char* kind : {"servicemonitors", "prometheusrules"}) {
    const auto created =
        cluster().create_from_yaml(programs_ / "crds" / (kind + std::string(".yaml")),
                                   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
    ASSERT_TRUE(created) << created.error().message;
    ASSERT_TRUE(eventually(30s, [&] {
      return client().get("/apis/monitoring.coreos.com/v1/" + std::string(kind)).status == 200;
    })) << kind;
  }
  const std::vector<std::string> both{"--set",
                                      "serviceMonitor.enabled=true,prometheusRule.enabled=true"};
  helm("template", {both[0], both[1], "--kube-version", "1.36.0", "--output-dir", home_.path()});
  do_tool({"kubectl", "apply", "--dry-run=server", "--validate=strict", "-f",
           home_ / "plimsoll/templates/monitoring.yaml"});
  helm("install", both);
  const std::string objects = "/apis/monitoring.coreos.com/v1/namespaces/kube-system/";
  const json rules = client().get(objects + "prometheusrules/plimsoll").json();
  EXPECT_GT(rules.at("spec").at("groups").at(0).at("rules").size(), 9U);
  // It selects the Service, and names one of its ports.
  const json monitor = client().get(objects + "servicemonitors/plimsoll").json();
  const json service = client().get("/api/v1/namespaces/kube-system/services/plimsoll").json();
  EXPECT_EQ(monitor.at("spec").at("selector").at("matchLabels").size(), 2U);
  for (const auto& [label, value] : monitor.at("spec").at("selector").at("matchLabels").items()) {
    EXPECT_EQ(service.at("metadata").at("labels").at(label), value);
  }
  EXPECT_EQ(text_at(monitor, "/spec/endpoints/0/port"), text_at(service, "/spec/ports/0/name"));
}

TEST_F(ChartTest, ValuesThatCannotWorkAreRefused) {
  const auto refused = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> argv{"helm", "install", "plimsoll", kChart, "--namespace", kHome};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const Finished done = tool(argv);
    EXPECT_EQ(done.status, ExitStatus::exited(1)) << done.out;
    return done.out;
  };
  EXPECT_THAT(refused({"--set", "leaderElection.enabled=false"}),
              AllOf(HasSubstr("replicas:"), HasSubstr("leaderElection.enabled=true")));
  EXPECT_THAT(refused({"--set-file", "profile=deploy/base/rbac.yaml"}),
              AllOf(HasSubstr("profile:"), HasSubstr("plimsoll validate")));
  EXPECT_THAT(
      refused({"--set-file", "profile=examples/profiles/kube-scheduler.yaml"}),
      HasSubstr("profile: clientConnection.kubeconfig names /etc/kubernetes/scheduler.conf"));
  EXPECT_THAT(refused({"--set", "replica=3"}), HasSubstr("replica"));
  EXPECT_THAT(refused({"--set", "extraArgs={--leader-elect=false}"}), HasSubstr("set those"));
  EXPECT_THAT(refused({"--set", "node.hook=true"}), HasSubstr("set node.devices=true too"));
  EXPECT_THAT(refused({"--set", "node.devices=true"}), HasSubstr("set node.enabled=true too"));
  const std::string serves = "profile=examples/profiles/default-scheduler.yaml";
  EXPECT_THAT(refused({"--set-file", serves, "--set", "leaderElection.resourceName=plimsoll"}),
              AllOf(HasSubstr("(here: kube-system/plimsoll)"),
                    HasSubstr("extraArgs=[--without-kube-scheduler]")));
  EXPECT_THAT(refused({"--set-file", serves, "--set", "replicas=1,leaderElection.enabled=false"}),
              HasSubstr("(here: leaderElection.enabled=false)"));
  EXPECT_EQ(client().get(kClusterRole).status, 404);
}

// A scheduler of zones without the kind, and without an exporter, is one without zones.
TEST_F(ChartTest, HelmSaysWhichKindsAreMissing) {
  const auto said = [&](const std::vector<std::string>& flags = {}) {
    std::vector<std::string> argv{"helm",        "install", "plimsoll",        kChart,
                                  "--namespace", kHome,     "--dry-run=server"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const Finished done = tool(argv);
    EXPECT_EQ(done.status, ExitStatus::exited(0)) << done.out;
    return done.out.substr(std::min(done.out.find("NOTES:"), done.out.size()));
  };
  EXPECT_THAT(said(),
              AllOf(HasSubstr("kubectl get noderesourcetopologies"), Not(HasSubstr("WARNING"))));
  for (const std::string name :
       {"noderesourcetopologies.topology.node.k8s.io", "devices.scheduling.koordinator.sh"}) {
    remove("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + name);
  }
  const auto gone = [&](std::string_view kind) { return client().get(kind).status == 404; };
  EXPECT_TRUE(eventually(60s, [&] { return gone(kNrts) && gone(kDevices); }));
  EXPECT_THAT(said(),
              AllOf(HasSubstr("WARNING: the profile looks at NUMA zones"),
                    HasSubstr("-f deploy/crds/noderesourcetopologies.yaml -f deploy/node.yaml"),
                    HasSubstr("WARNING: the profile gives out devices")));
  EXPECT_THAT(said({"--set-file", "profile=examples/profiles/default-scheduler.yaml"}),
              Not(HasSubstr("WARNING")));
  const auto installed = cluster().install_crds();
  EXPECT_TRUE(installed) << installed.error().message;
}

// What the scheduler watches with a profile is what it has the right to watch, and nothing more.
class RightsByProfileTest : public ChartTest, public testing::WithParamInterface<std::string> {
 protected:
  // A profile of examples/profiles, or one that leaves everything out that it can.
  static std::string profile(const std::string& name) {
    if (name == "bare") {
      return "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
             "profiles:\n- schedulerName: bare\n  plugins:\n    multiPoint:\n      disabled:\n"
             "      - {name: VolumeBinding}\n      - {name: NodeVolumeLimits}\n"
             "      - {name: VolumeZone}\n      - {name: VolumeRestrictions}\n"
             "      - {name: PodTopologySpread}\n      - {name: InterPodAffinity}\n"
             "      - {name: DefaultPreemption}\n      - {name: DynamicResources}\n"
             "      - {name: GangScheduling}\n";
    }
    std::string text = read_file("examples/profiles/" + name + ".yaml").value_or("");
    const std::string line = "  kubeconfig: /etc/kubernetes/scheduler.conf\n";
    if (const std::size_t at = text.find(line); at != text.npos) text.erase(at, line.size());
    return text;
  }
  static std::set<std::string> watches(const std::set<std::string>& rights) {
    std::set<std::string> found;
    for (const std::string& right : rights) {
      // Pod groups are watched once there is a pod of one.
      if (right.starts_with("watch ") && right.find("podgroups") == right.npos) found.insert(right);
    }
    return found;
  }
};

TEST_P(RightsByProfileTest, AreThoseThatItsPluginsUse) {
  ASSERT_TRUE(write_file(home_ / "profile.yaml", profile(GetParam())));
  // Where Koordinator's profiles have their lease; there already, after the first.
  client().post("/api/v1/namespaces", {{"metadata", {{"name", "koordinator-system"}}}});
  helm("install", {"--set-file", "profile=" + (home_ / "profile.yaml").string()});
  const std::vector<json> granted = roles();
  ASSERT_NO_FATAL_FAILURE(wait_for_rights(granted));
  std::set<std::string> given;
  for (const Right& right : rights_of(granted)) given.insert(right.text());
  const std::size_t from = audit().size();
  ASSERT_NO_FATAL_FAILURE(start_deployed());
  EXPECT_TRUE(
      eventually(30s, [&] { return watches(audit().used(kAccount, from)) == watches(given); }));
  EXPECT_EQ(watches(audit().used(kAccount, from)), watches(given));
  EXPECT_THAT(audit().forbidden(kAccount, from), IsEmpty());
  EXPECT_EQ(given.contains("delete pods"), given.contains("watch poddisruptionbudgets.policy"));
}

INSTANTIATE_TEST_SUITE_P(Profiles, RightsByProfileTest,
                         testing::Values("bare", "coscheduling", "default-scheduler", "hami",
                                         "koordinator-deviceshare", "koordinator-migrated",
                                         "kube-scheduler", "scheduler-plugins-nrt",
                                         "scheduler-plugins-nrt-uncached", "topology", "wide-pods"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace plimsoll::test
