// What goes wrong around a scheduler: each thing is said clearly, and nothing else is affected.

#include <gmock/gmock.h>

#include <ctime>

#include "tests/e2e/e2e_test.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

json plain_node(const std::string& name) {
  return node_object(name, {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}});
}

json plain_pod(const std::string& name, const std::string& cpus = "1") {
  return pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", cpus}}});
}

class RobustnessTest : public E2eTest {
 protected:
  // How a run that must end by itself ended, and what it said.
  static Finished run_to_end(const RunSpec& spec) {
    const auto command = run_command(spec);
    EXPECT_TRUE(command) << command.error().message;
    const auto finished = run(*command, 30s);
    EXPECT_TRUE(finished) << finished.error().message;
    return finished ? *finished : Finished{};
  }

  [[nodiscard]] RunSpec with_token(const std::string& token) {
    KubeAccess access = cluster().limited();
    access.token = token;
    const std::filesystem::path file = folder_ / "kubeconfig";
    const auto written = cluster().write_kubeconfig(file, access);
    EXPECT_TRUE(written) << written.error().message;
    return {.kubeconfig = file};
  }

  TempDir folder_;
};

TEST_F(RobustnessTest, AMissingKubeconfigIsNamed) {
  const std::filesystem::path file = folder_ / "no-such-kubeconfig";
  const Finished finished = run_to_end({.kubeconfig = file});
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, HasSubstr(file.string()));
}

TEST_F(RobustnessTest, ABrokenKubeconfigIsNamed) {
  const std::filesystem::path file = folder_ / "kubeconfig";
  ASSERT_TRUE(write_file(file, "apiVersion: v1\nkind: Config\ncurrent-context: [\n"));
  const Finished finished = run_to_end({.kubeconfig = file});
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, HasSubstr(file.string()));
}

TEST_F(RobustnessTest, ABrokenProfileIsRefusedWithAllItsErrors) {
  const std::filesystem::path file = folder_ / "broken.yaml";
  ASSERT_TRUE(write_file(file, R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: -1
leaderElection:
  leaderElekt: false
profiles:
  - schedulerName: a
    plugins:
      score:
        enabled:
          - name: NoSuchPlugin
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: Wrong
)"));
  const Finished finished =
      run_to_end({.kubeconfig = cluster().kubeconfig_token(), .config = file});
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  SCOPED_TRACE(finished.out);
  const auto at_line = [&](int line) { return file.string() + ":" + std::to_string(line) + ":"; };
  EXPECT_THAT(lines_with(finished.out, {at_line(3), "parallelism", "-1"}), SizeIs(1));
  EXPECT_THAT(lines_with(finished.out, {at_line(5), "leaderElekt", "leaderElect"}), SizeIs(1));
  EXPECT_THAT(lines_with(finished.out, {at_line(11), "NoSuchPlugin"}), SizeIs(1));
  EXPECT_THAT(lines_with(finished.out, {at_line(16), "type", "Wrong"}), SizeIs(1));
}

TEST_F(RobustnessTest, AMissingProfileIsNamed) {
  const std::filesystem::path file = folder_ / "no-such-profile.yaml";
  const Finished finished =
      run_to_end({.kubeconfig = cluster().kubeconfig_token(), .config = file});
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, HasSubstr(file.string()));
}

TEST_F(RobustnessTest, AWrongTokenIsRefusedWithTheServersWord) {
  const Finished finished = run_to_end(with_token("no-such-token"));
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("401"), HasSubstr("Unauthorized"), HasSubstr("token"),
                                  HasSubstr(cluster().server())));
  EXPECT_THAT(finished.out, Not(HasSubstr("no-such-token")));
}

std::string base64url(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned buffer = 0;
  int bits = 0;
  for (const char byte : bytes) {
    buffer = (buffer << 8 | static_cast<unsigned char>(byte)) & 0xffffff;
    for (bits += 8; bits >= 6; bits -= 6) text += kDigits[buffer >> (bits - 6) & 63];
  }
  if (bits > 0) text += kDigits[buffer << (6 - bits) & 63];
  return text;
}

// An ECDSA signature as JSON Web Tokens have it, both numbers in 32 bytes each, from openssl's DER:
// 30 len, then for each number 02 len and its bytes.
std::string raw_signature(std::string_view der) {
  std::string raw;
  std::size_t at = 2;
  for (int number = 0; number < 2 && at + 1 < der.size(); ++number) {
    const auto size = static_cast<unsigned char>(der[at + 1]);
    std::string digits(der.substr(at + 2, size));
    digits.erase(0, std::min(digits.find_first_not_of('\0'), digits.size()));
    raw += std::string(32 - digits.size(), '\0') + digits;
    at += 2U + size;
  }
  return raw;
}

// A service account token that the server's own key has signed.
std::string signed_token(const KubeCluster& cluster, const TempDir& folder, std::time_t expires) {
  const std::string issuer = "https://kubernetes.default.svc";
  const json claims = {{"iss", issuer},
                       {"aud", {issuer}},
                       {"sub", "system:serviceaccount:kube-system:plimsoll"},
                       {"iat", expires - 600},
                       {"nbf", expires - 600},
                       {"exp", expires}};
  const std::string text =
      base64url(R"({"alg":"ES256","typ":"JWT"})") + "." + base64url(claims.dump());
  EXPECT_TRUE(write_file(folder / "claims", text));
  const auto made =
      run({.argv = {"openssl", "dgst", "-sha256", "-sign", (cluster.dir() / "sa.key").string(),
                    "-out", (folder / "signature").string(), (folder / "claims").string()}});
  EXPECT_TRUE(made && made->status == ExitStatus::exited(0));
  const auto signature = read_file(folder / "signature");
  return text + "." + base64url(raw_signature(signature.value_or("")));
}

TEST_F(RobustnessTest, AnExpiredTokenIsRefusedWithTheServersWord) {
  const Finished finished =
      run_to_end(with_token(signed_token(cluster(), folder_, std::time(nullptr) - 3600)));
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("401"), HasSubstr("Unauthorized"), HasSubstr("expired"),
                                  HasSubstr(cluster().server())));
}

TEST_F(RobustnessTest, AUserWithoutRightsIsToldWhichOneIsMissing) {
  const Finished finished = run_to_end({.kubeconfig = cluster().kubeconfig_limited()});
  EXPECT_EQ(finished.status, ExitStatus::exited(1));
  EXPECT_THAT(finished.out, AllOf(HasSubstr("403"), HasSubstr("plimsoll-limited"),
                                  HasSubstr("nodes"), HasSubstr("rbac.yaml")));
}

TEST_F(RobustnessTest, AnUnreachableServerIsWaitedFor) {
  create(kNodes, plain_node("n"));
  create(pods_path(), plain_pod("a"));
  cluster().kill_apiserver();
  auto started = start_scheduler({.kubeconfig = cluster().kubeconfig_token()});
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(started->wait_for_output("trying again", 15s)) << started->output();
  EXPECT_THAT(lines_with(started->output(), {cluster().server(), "trying again"}), Not(IsEmpty()));
  EXPECT_TRUE(started->running());
  const auto ready = cluster().start_apiserver();
  ASSERT_TRUE(ready) << ready.error().message;
  EXPECT_EQ(wait_bound("a", 40s), "n") << tail(started->output(), 20);
  EXPECT_EQ(started->stop(), ExitStatus::exited(0));
}

TEST_F(RobustnessTest, TheRoleThatWeShipIsEnough) {
  std::vector<std::string> created = create_shipped_roles("plimsoll-limited");
  ASSERT_EQ(created.size(), 11U);
  KubeClient limited(cluster().limited());
  ASSERT_TRUE(eventually(60s, [&] { return limited.get(kNodes).status == 200; }));
  const std::size_t refused_so_far = audit().forbidden("plimsoll-limited").size();

  create(kNodes, plain_node("n"));
  create(kNrts, nrt_object({.node = "n", .zones = {{{"cpu", "4"}, {"memory", "8Gi"}}}}));
  create(kDevices, device_object("n", {gpu_device(0, 0)}));
  start({.kubeconfig = cluster().kubeconfig_limited(), .flags = {"--leader-elect"}});
  create(pods_path(), plain_pod("fits"));
  create(pods_path(), plain_pod("too-big", "16"));
  EXPECT_EQ(wait_bound("fits"), "n");
  EXPECT_NE(wait_refused("too-big"), "");
  EXPECT_NE(wait_event("fits", "Scheduled"), "");
  EXPECT_NE(wait_event("too-big", "FailedScheduling"), "");
  EXPECT_THAT(log(), Not(HasSubstr("forbidden")));
  const auto refused = audit().forbidden("plimsoll-limited");
  EXPECT_EQ(refused.size(), refused_so_far) << ::testing::PrintToString(refused);

  const json lease =
      client().get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll").json();
  EXPECT_NE(lease["spec"].value("holderIdentity", ""), "") << lease.dump();

  // Without a lease it keeps a mark instead. Where there is none, none of its name ever ran:
  // nothing is touched. What waits is touched after a kill.
  const std::string mark =
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-topo-aware-scheduler";
  client().del(mark);
  start({.kubeconfig = cluster().kubeconfig_limited()});
  ASSERT_TRUE(scheduler().wait_for_output("scheduling server=", 60s)) << log();
  EXPECT_THAT(log(), Not(HasSubstr("making void")));
  start({.kubeconfig = cluster().kubeconfig_limited()});
  ASSERT_TRUE(scheduler().wait_for_output("making void", 60s)) << log();
  EXPECT_NE(client().get(mark).json()["spec"].value("holderIdentity", ""), "");
  create(pods_path(), plain_pod("later"));
  EXPECT_EQ(wait_bound("later"), "n");
  EXPECT_EQ(scheduler().stop(20s), ExitStatus::exited(0));
  EXPECT_EQ(client().get(mark).json()["spec"].value("holderIdentity", ""), "") << "released";
  start({.kubeconfig = cluster().kubeconfig_limited()});
  create(pods_path(), plain_pod("last"));
  EXPECT_EQ(wait_bound("last"), "n");
  EXPECT_THAT(log(), Not(HasSubstr("making void")));
  EXPECT_EQ(audit().forbidden("plimsoll-limited").size(), refused_so_far);

  // Where the mark is not allowed, every start is as after a crash.
  for (const std::string& path : created) {
    if (path.find("leader-election") != path.npos) remove(path);
  }
  std::erase_if(created,
                [](const std::string& path) { return path.find("leader-election") != path.npos; });
  ASSERT_TRUE(eventually(60s, [&] { return limited.get(mark).status == 403; }));
  EXPECT_EQ(scheduler().stop(20s), ExitStatus::exited(0));
  start({.kubeconfig = cluster().kubeconfig_limited()});
  ASSERT_TRUE(scheduler().wait_for_output("making void", 20s)) << log();
  EXPECT_THAT(lines_with(log(), {"the mark of a clean stop cannot be kept"}), SizeIs(1));
  create(pods_path(), plain_pod("without-a-mark"));
  EXPECT_EQ(wait_bound("without-a-mark"), "n");

  for (const std::string& path : created) remove(path);
}

// Neither the first, nor one after a clean stop, by a lease or by a mark. Whoever begins to lead
// lists all kinds afresh.
TEST_F(RobustnessTest, AHealthyStartHasNoWarning) {
  create(kNodes, plain_node("n"));
  const std::vector<std::string> by_lease{"--leader-elect", "--leader-elect-resource-name=healthy"};
  const std::vector<std::vector<std::string>> flags_of_starts{by_lease, by_lease, {}, {}};
  client().del(
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/plimsoll-topo-aware-scheduler");
  int starts = 0;
  for (const auto& flags : flags_of_starts) {
    if (starts != 0) {
      EXPECT_EQ(scheduler().stop(20s), ExitStatus::exited(0));
    }
    start({.kubeconfig = cluster().kubeconfig_token(), .flags = flags});
    ASSERT_TRUE(scheduler().wait_for_output("scheduling server=", 60s)) << log();
    const std::string pod = "p" + std::to_string(starts++);
    create(pods_path(), plain_pod(pod));
    EXPECT_EQ(wait_bound(pod), "n");
    EXPECT_THAT(lines_with(log(), {" W "}), IsEmpty());
    EXPECT_THAT(log().substr(0, log().find('\n')),
                AllOf(HasSubstr("plimsoll starts version="), HasSubstr(" build="),
                      HasSubstr(" profile=examples/profiles/topology.yaml "),
                      HasSubstr(" flags=\"--config ")));
  }
}

TEST_F(RobustnessTest, OddTopologiesAndDevicesHarmNobodyElse) {
  for (const char* name : {"good", "odd-zone", "odd-policy", "negative", "huge", "no-minor"}) {
    json node = plain_node(name);
    node["status"]["allocatable"]["koordinator.sh/gpu"] = "100";
    node["metadata"]["labels"]["test"] = name;
    create(kNodes, node);
  }
  const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
  create(kNrts, nrt_object({.node = "good", .zones = {zone, zone}}));
  json odd = nrt_object({.node = "odd-zone", .zones = {zone, zone}});
  odd["zones"][0]["name"] = "Zone Zero";
  create(kNrts, odd);
  create(kNrts, nrt_object({.node = "odd-policy", .policy = "sometimes", .zones = {zone, zone}}));
  odd = nrt_object({.node = "negative", .zones = {zone}});
  odd["zones"][0]["resources"][0]["available"] = "-5";
  create(kNrts, odd);
  odd = nrt_object({.node = "huge", .zones = {zone}});
  odd["zones"][0]["resources"][0]["available"] = "9e99999";
  create(kNrts, odd);
  create(kDevices, device_object("good", {gpu_device(0, 0)}));
  json nameless = gpu_device(0, 0);
  nameless.erase("minor");
  create(kDevices, device_object("no-minor", {nameless}));
  create(kDevices, device_object("negative", {gpu_device(0, 0, "-16Gi")}));
  create(kDevices, device_object("huge", {gpu_device(0, 0), gpu_device(0, 1)}));
  start();

  const auto on = [&](const std::string& name, const std::string& node, const Resources& asked) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = asked});
    pod["spec"]["nodeSelector"]["test"] = node;
    create(pods_path(), pod);
  };
  const Resources aligned{{"cpu", "4"}, {"memory", "2Gi"}};
  on("a", "good", aligned);
  on("b", "good", aligned);
  on("g", "good", {{"koordinator.sh/gpu", "100"}});
  on("unknown-policy", "odd-policy", {{"cpu", "5"}, {"memory", "1Gi"}});
  on("one-zone", "odd-zone", aligned);
  on("no-room", "negative", aligned);
  EXPECT_EQ(wait_bound("a"), "good");
  EXPECT_EQ(wait_bound("b"), "good");
  EXPECT_EQ(wait_bound("g"), "good");
  EXPECT_EQ(wait_bound("unknown-policy"), "odd-policy") << "an unknown policy is none";
  EXPECT_EQ(wait_bound("one-zone"), "odd-zone") << "the other zone is as good as ever";
  EXPECT_THAT(wait_refused("no-room"), HasSubstr("1 cannot align container (cpu)"));
  for (const char* device : {"no-minor", "negative", "huge"}) {
    EXPECT_THAT(lines_with(log(), {"Device", device}), Not(IsEmpty()))
        << "nothing is said about the Device of " << device;
  }
  EXPECT_TRUE(scheduler().running());
}

// A cluster without custom resources, and later with some whose schema lets everything through.
class BareClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto programs = find_kube_programs();
    const char* ci = std::getenv("CI");
    if (!programs && ci != nullptr && std::string_view(ci) == "true") FAIL() << "CI forbids a skip";
    if (!programs) GTEST_SKIP() << "SKIPPED: " << programs.error().message;
    auto started = KubeCluster::start();
    ASSERT_TRUE(started) << started.error().message;
    cluster_ = std::move(*started);
    client_.emplace(cluster_->admin());
    create("/api/v1/namespaces", {{"metadata", {{"name", "t"}}}});
  }

  json create(std::string_view collection, const json& object) {
    const KubeReply reply = client_->post(collection, object);
    EXPECT_EQ(reply.status, 201) << collection << ": " << reply.body;
    return reply.json();
  }

  std::string bound_to(const std::string& pod, std::chrono::milliseconds timeout = 30s) {
    std::string node;
    (void)eventually(timeout, [&] {
      node = client_->get("/api/v1/namespaces/t/pods/" + pod).json()["spec"].value("nodeName", "");
      return !node.empty();
    });
    return node;
  }

  // Lets a custom resource hold anything at all.
  void relax(const std::string& crd) {
    const std::string path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd;
    json object = client_->get(path).json();
    for (json& version : object["spec"]["versions"]) {
      version["schema"]["openAPIV3Schema"] = {{"type", "object"},
                                              {"x-kubernetes-preserve-unknown-fields", true}};
    }
    const KubeReply reply = client_->put(path, object);
    ASSERT_EQ(reply.status, 200) << reply.body;
  }

  std::unique_ptr<KubeCluster> cluster_;
  std::optional<KubeClient> client_;
};

TEST_F(BareClusterTest, MissingCustomResourcesAreSaidAndPickedUpLater) {
  const char* const kPods = "/api/v1/namespaces/t/pods";
  create(kNodes, plain_node("n"));
  auto scheduler = start_scheduler({.kubeconfig = cluster_->kubeconfig_token()});
  ASSERT_TRUE(scheduler) << scheduler.error().message;
  create(kPods, plain_pod("plain"));
  EXPECT_EQ(bound_to("plain"), "n") << scheduler->output();
  for (const char* kind : {"noderesourcetopologies.v1alpha2", "devices"}) {
    EXPECT_THAT(lines_with(scheduler->output(), {"is its CRD installed?", kind}), SizeIs(1))
        << kind << ":\n"
        << scheduler->output();
  }

  // A zone of four CPUs: once it is known, five do not fit.
  const auto installed = cluster_->install_crds();
  ASSERT_TRUE(installed) << installed.error().message;
  create(kNrts, nrt_object({.node = "n", .zones = {{{"cpu", "4"}, {"memory", "8Gi"}}}}));
  create(kDevices, device_object("n", {gpu_device(0, 0)}));
  const auto noticed = [&](const char* kind) {
    return !lines_with(scheduler->output(), {"in sync", kind, "objects=1"}).empty();
  };
  ASSERT_TRUE(eventually(60s, [&] {
    return noticed("noderesourcetopologies.v1alpha2") && noticed("devices");
  })) << scheduler->output();
  create(kPods, pod_object({.name = "five",
                            .scheduler = kScheduler,
                            .requests = {{"cpu", "5"}, {"memory", "1Gi"}}}));
  create(kPods, pod_object({.name = "four",
                            .scheduler = kScheduler,
                            .requests = {{"cpu", "4"}, {"memory", "1Gi"}}}));
  EXPECT_EQ(bound_to("four"), "n");
  EXPECT_EQ(bound_to("five", 1s), "");

  // Objects that no schema has looked at.
  relax("noderesourcetopologies.topology.node.k8s.io");
  relax("devices.scheduling.koordinator.sh");
  ASSERT_TRUE(eventually(60s, [&] {
    return client_
               ->post(kNrts, {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
                              {"kind", "NodeResourceTopology"},
                              {"metadata", {{"name", "garbage"}}},
                              {"zones", "none"}})
               .status == 201;
  }));
  ASSERT_TRUE(eventually(60s, [&] {
    return client_
               ->post(kDevices, {{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
                                 {"kind", "Device"},
                                 {"metadata", {{"name", "garbage"}}},
                                 {"spec", {{"devices", {{"gpu", 1}}}}}})
               .status == 201;
  }));
  json nrt = nrt_object({.node = "abc", .zones = {{{"cpu", "4"}}}});
  nrt["zones"][0]["resources"][0]["available"] = "abc";
  create(kNodes, plain_node("abc"));
  create(kNrts, nrt);
  json device = gpu_device(0, 0, "abc");
  create(kDevices, device_object("abc", {device}));
  for (const char* kind : {"NodeResourceTopology", "Device"}) {
    for (const char* name : {"garbage", "abc"}) {
      EXPECT_TRUE(eventually(60s,
                             [&] {
                               return !lines_with(scheduler->output(), {" W ", kind, name}).empty();
                             }))
          << "nothing is said about " << kind << " " << name;
    }
  }
  create(kPods, plain_pod("after"));
  EXPECT_NE(bound_to("after"), "") << "everything else goes on";
  EXPECT_EQ(scheduler->stop(), ExitStatus::exited(0));
  if (HasFailure()) std::fprintf(stderr, "%s", scheduler->output().c_str());
}

}  // namespace
}  // namespace plimsoll::test
