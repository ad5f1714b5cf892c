// Metrics, health and configuration of a running scheduler, served as on an address that others
// reach: over TLS, to those whom the API server allows it.

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/e2e/e2e_test.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kUser = "plimsoll-limited";

class ServingE2eTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    created_ = create_shipped_roles(kUser);
    KubeClient limited(cluster().limited());
    ASSERT_TRUE(eventually(60s, [&] { return limited.get(kNodes).status == 200; }));
    for (const char* name : {"prometheus", "somebody"}) {
      create("/api/v1/namespaces/" + ns() + "/serviceaccounts", {{"metadata", {{"name", name}}}});
    }
    const std::string bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    create(bindings,
           {{"metadata", {{"name", "prometheus-plimsoll"}}},
            {"roleRef",
             {{"apiGroup", "rbac.authorization.k8s.io"},
              {"kind", "ClusterRole"},
              {"name", "plimsoll-metrics-reader"}}},
            {"subjects",
             {{{"kind", "ServiceAccount"}, {"name", "prometheus"}, {"namespace", ns()}}}}});
    binding_ = bindings + "/prometheus-plimsoll";
    created_.push_back(binding_);
    port_ = free_port().value_or(0);
    cert_ = folder_ / "serving.crt";
    key_ = folder_ / "serving.key";
    use_certificate(cluster().dir());
    ca_ = cluster().dir() / "ca.crt";
    start({.kubeconfig = cluster().kubeconfig_limited(),
           .flags = {"--secure-loopback", "--tls-cert-file", cert_, "--tls-private-key-file", key_,
                     "--client-ca-file", (cluster().dir() / "ca.crt").string()},
           .port = port_});
  }
  void TearDown() override {
    for (const std::string& path : created_) remove(path);
    E2eTest::TearDown();
  }

  // As cert-manager: each file is complete when it appears.
  void use_certificate(const std::filesystem::path& from) const {
    for (const auto& [name, to] : {std::pair{"server.crt", cert_}, std::pair{"server.key", key_}}) {
      std::filesystem::copy_file(from / name, to + ".new");
      std::filesystem::rename(to + ".new", to);
    }
  }
  std::string token_of(const std::string& account) {
    const KubeReply reply =
        client().post("/api/v1/namespaces/" + ns() + "/serviceaccounts/" + account + "/token",
                      {{"spec", {{"expirationSeconds", 3600}}}});
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.json()["status"].value("token", "");
  }
  WebAnswer get(const std::string& path, const std::string& token = {},
                WebCaller caller = {}) const {
    if (!token.empty()) caller.headers.push_back("Authorization: Bearer " + token);
    return web_request("GET", "https://127.0.0.1:" + std::to_string(port_) + path, {}, ca_, caller);
  }

  TempDir folder_;
  std::vector<std::string> created_;
  std::string binding_, cert_, key_, ca_;
  std::uint16_t port_ = 0;
};

TEST_F(ServingE2eTest, TheApiServerSaysWhoMayScrape) {
  const std::string scraper = token_of("prometheus");
  const std::string other = token_of("somebody");
  // The API server takes its time to heed a new binding, and refusals are kept for 10 s.
  ASSERT_TRUE(eventually(60s, [&] { return get("/metrics", scraper).status == 200; }))
      << get("/metrics", scraper).body;
  const Metrics metrics = parse_metrics(get("/metrics", scraper).body);
  EXPECT_THAT(metrics.errors, IsEmpty());
  EXPECT_GE(metrics.sum("plimsoll_serving_access_total", {{"result", "allowed"}}), 1);

  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", "no.such.token").status, 401);
  const WebAnswer refused = get("/metrics", other);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.body, "forbidden: User \"system:serviceaccount:" + ns() +
                              ":somebody\" cannot get path \"/metrics\"\n");
  EXPECT_EQ(get("/configz", scraper).status, 403) << "the role is for /metrics only";
  EXPECT_EQ(get("/debug/flags/v", scraper).status, 403);
  for (const char* path : {"/healthz", "/livez", "/readyz"}) EXPECT_EQ(get(path).status, 200);

  // A client certificate instead of a token, of the cluster's authority.
  const KubeAccess admin = cluster().admin();
  const WebAnswer config =
      get("/configz", {}, {.cert_file = admin.cert_file, .key_file = admin.key_file});
  EXPECT_EQ(config.status, 200) << config.body << config.error;
  EXPECT_THAT(config.body, HasSubstr("kubescheduler.config.k8s.io"));

  // A right that is taken away is gone soon, though answers are kept.
  remove(binding_);
  std::erase(created_, binding_);
  EXPECT_TRUE(eventually(60s, [&] { return get("/metrics", scraper).status == 403; }));
  EXPECT_THAT(lines_with(log(), {"could not be checked"}), IsEmpty());
}

TEST_F(ServingE2eTest, TakesANewCertificateWhileItServes) {
  EXPECT_EQ(get("/livez").status, 200);
  const TempDir fresh;
  const auto made = make_certificates(fresh.path());
  ASSERT_TRUE(made) << made.error().message;
  use_certificate(fresh.path());
  const std::string old_ca = std::exchange(ca_, (fresh / "ca.crt").string());
  EXPECT_TRUE(eventually(60s, [&] { return get("/livez").status == 200; }));
  ca_ = old_ca;
  EXPECT_EQ(get("/livez").status, 0);
}

// Strangers' tokens cost the API server a review each, and the scheduler nothing that it needs.
TEST_F(ServingE2eTest, ManyTokensHoldUpNobody) {
  create(kNodes, node_object("n", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}}));
  const std::string scraper = token_of("prometheus");
  ASSERT_TRUE(eventually(60s, [&] { return get("/metrics", scraper).status == 200; }));
  std::atomic<int> refused{0};
  std::vector<std::thread> strangers;
  strangers.reserve(8);
  for (int thread = 0; thread < 8; ++thread) {
    strangers.emplace_back([&, thread] {
      for (int i = 0; i < 40; ++i) {
        const std::string token = std::to_string(thread) + "-" + std::to_string(i);
        const int status = get("/metrics", token + std::string(i % 3 == 0 ? 9000 : 20, 'x')).status;
        refused += status == 401 || status == 503 ? 1 : 0;
      }
    });
  }
  create_pod({.name = "p", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_EQ(wait_bound("p"), "n");
  for (std::thread& stranger : strangers) stranger.join();
  EXPECT_EQ(refused, 8 * 40);
  EXPECT_EQ(get("/metrics", scraper).status, 200);
}

TEST_F(ServingE2eTest, WhatCannotBeAskedIsRefused) {
  const std::string scraper = token_of("prometheus");
  cluster().kill_apiserver();
  EXPECT_EQ(get("/metrics", scraper).status, 401);
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_TRUE(scheduler().wait_for_output("a token could not be checked", 30s));
  const auto started = cluster().start_apiserver();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_TRUE(eventually(60s, [&] { return get("/metrics", scraper).status == 200; }));
}

// A Deployment goes on with a rolling update only when its new pod is ready, and the old leader
// leaves only then.
class StandbyE2eTest : public E2eTest {
 protected:
  TempDir folder_;
};

TEST_F(StandbyE2eTest, IsReadyWithoutWatchingAnything) {
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/" + ns() + "/leases";
  create(leases, {{"metadata", {{"name", "taken"}}},
                  {"spec",
                   {{"holderIdentity", "another"},
                    {"leaseDurationSeconds", 3600},
                    {"acquireTime", "2099-01-01T00:00:00.000000Z"},
                    {"renewTime", "2099-01-01T00:00:00.000000Z"}}}});
  const std::string config = folder_ / "config.yaml";
  ASSERT_TRUE(write_file(config, R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
delayCacheUntilActive: true
leaderElection:
  resourceName: taken
  resourceNamespace: )" + ns() + R"(
  leaseDuration: 3600s
profiles: [{schedulerName: topo-aware-scheduler}]
)"));
  const std::uint16_t port = free_port().value_or(0);
  const auto command = run_command({.kubeconfig = cluster().kubeconfig(),
                                    .config = config,
                                    .flags = {"--leader-elect"},
                                    .port = port});
  ASSERT_TRUE(command) << command.error().message;
  auto standby = ChildProcess::start(*command);
  ASSERT_TRUE(standby) << standby.error().message;
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  EXPECT_TRUE(eventually(60s, [&] { return web_get(url + "/readyz").status == 200; }))
      << web_get(url + "/readyz?verbose").body << standby->output();
  const std::string metrics = web_get(url + "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("leader_election_master_status{name=\"taken\"} 0\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("plimsoll_kind_followed{")));
  EXPECT_EQ(standby->stop(30s), ExitStatus::exited(0)) << standby->output();
}

}  // namespace
}  // namespace plimsoll::test
