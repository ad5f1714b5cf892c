#include "serving/endpoints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "framework/base/log.hpp"
#include "serving/local_names.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::serving {
namespace {

using plimsoll::test::web_get;
using plimsoll::test::web_request;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EndpointsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    level_ = log_level();
    (void)registry_.counters({"seen_total", "Seen.", {}}).with({});
    Endpoints endpoints;
    endpoints.registry = &registry_;
    const auto named = [this](const std::string& name) {
      return HealthCheck{name, [this]() -> std::optional<std::string> {
                           if (synced_) return std::nullopt;
                           return "nodes are not listed yet";
                         }};
    };
    endpoints.readyz = {named("sched-handler-sync")};
    endpoints.healthz = {{"leaderElection", [] { return std::nullopt; }}};
    endpoints.configz = R"({"kubescheduler.config.k8s.io":{"parallelism":16}})";
    endpoints.change_level = true;
    server_ = std::move(*HttpServer::start({}, make_handler(std::move(endpoints))));
  }
  void TearDown() override { set_log_level(level_); }
  plimsoll::test::WebAnswer get(const std::string& path) { return web_get(server_->url() + path); }

  std::atomic<bool> synced_{true};
  metrics::Registry registry_;
  LogLevel level_{};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(EndpointsTest, ServesTheRegistry) {
  const auto answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  const auto metrics = plimsoll::test::parse_metrics(answer.body);
  EXPECT_THAT(metrics.errors, IsEmpty());
  EXPECT_EQ(metrics.value("seen_total"), 0);
  EXPECT_EQ(web_request("POST", server_->url() + "/metrics", "x").status, 405);
}

TEST_F(EndpointsTest, ChecksAsKubernetesComponentsDo) {
  EXPECT_EQ(get("/readyz").body, "ok");
  EXPECT_EQ(get("/livez").body, "ok");
  EXPECT_EQ(get("/healthz?verbose").body,
            "[+]ping ok\n[+]leaderElection ok\nhealthz check passed\n");
  EXPECT_EQ(get("/readyz/sched-handler-sync").body, "ok");
  EXPECT_EQ(get("/readyz/unknown").status, 404);
  synced_ = false;
  const auto failed = get("/readyz");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body,
            "[+]ping ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n");
  const auto named = get("/readyz/sched-handler-sync");
  EXPECT_EQ(named.status, 500);
  EXPECT_EQ(named.body, "internal server error: nodes are not listed yet\n");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/readyz?exclude=sched-handler-sync").body, "ok");
  EXPECT_EQ(get("/readyz?verbose&exclude=sched-handler-sync&exclude=other").body,
            "[+]ping ok\n[+]sched-handler-sync excluded: ok\n"
            "warn: some health checks cannot be excluded: no matches for \"other\"\n"
            "readyz check passed\n");
}

TEST_F(EndpointsTest, ShowsTheConfiguration) {
  const auto answer = get("/configz");
  EXPECT_EQ(answer.content_type, "application/json");
  EXPECT_EQ(answer.body, R"({"kubescheduler.config.k8s.io":{"parallelism":16}})");
}

TEST_F(EndpointsTest, ChangesTheLogLevel) {
  const std::string url = server_->url() + "/debug/flags/v";
  struct Case {
    std::string body;
    LogLevel level;
    std::string answer;
  };
  for (const Case& c : std::vector<Case>{{"debug", LogLevel::kDebug, "debug"},
                                         {"error\n", LogLevel::kError, "error"},
                                         {"0", LogLevel::kInfo, "info"},
                                         {"3", LogLevel::kInfo, "info"},
                                         {"4", LogLevel::kDebug, "debug"},
                                         {"10", LogLevel::kDebug, "debug"},
                                         {"warn", LogLevel::kWarn, "warn"}}) {
    const auto answer = web_request("PUT", url, c.body);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "successfully set the log level to " + c.answer + "\n");
    EXPECT_EQ(log_level(), c.level);
    EXPECT_EQ(get("/debug/flags/v").body, c.answer + "\n");
  }
  for (const std::string bad : {"loud", "-1", "4x", "99999999999999999999"}) {
    EXPECT_EQ(web_request("PUT", url, bad).status, 400) << bad;
  }
  EXPECT_EQ(log_level(), LogLevel::kWarn);
  EXPECT_EQ(web_request("POST", url, "debug").status, 405);
}

TEST_F(EndpointsTest, ListsWhatThereIs) {
  EXPECT_EQ(get("/").body, "/configz\n/debug/flags/v\n/healthz\n/livez\n/metrics\n/readyz\n");
  EXPECT_EQ(get("/nothing").status, 404);
}

TEST(LocalNames, AreLocalhostAndLoopbackAddresses) {
  for (const char* local : {"localhost", "LocalHost:10251", "127.0.0.1", "127.0.0.1:10251",
                            "127.1.2.3:1", "[::1]", "[::1]:10251"}) {
    EXPECT_TRUE(is_local_name(local)) << local;
  }
  for (const char* other :
       {"", ":10251", "rebound.example", "rebound.example:10251", "localhost.rebound.example",
        "127.0.0.1.rebound.example", "10.0.0.1", "0.0.0.0:10251", "[::]:1", "[fe80::1]:1", "[::1",
        "[::1]rebound.example", "::1", "127.0.0.1@rebound.example"}) {
    EXPECT_FALSE(is_local_name(other)) << other;
  }
}

// A page whose name was let stand for 127.0.0.1 asks with that name.
TEST_F(EndpointsTest, NobodyDebugsUnderAForeignName) {
  Endpoints endpoints;
  endpoints.registry = &registry_;
  endpoints.configz = "{}";
  endpoints.change_level = true;
  ServerOptions options;
  options.gate = require_local_name;
  const auto server = std::move(*HttpServer::start(options, make_handler(std::move(endpoints))));
  const auto ask = [&](const std::string& method, const std::string& path,
                       const std::string& host) {
    return web_request(method, server->url() + path, method == "PUT" ? "debug" : "", {},
                       {.headers = {"Host: " + host}});
  };
  set_log_level(LogLevel::kWarn);
  const auto refused = ask("PUT", "/debug/flags/v", "rebound.example");
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("not as \"rebound.example\""));
  EXPECT_EQ(log_level(), LogLevel::kWarn);
  for (const std::string path : {"/debug/flags/v", "/configz", "/debug", "/%64ebug/flags/v"}) {
    EXPECT_EQ(ask("GET", path, "rebound.example:10251").status, 403) << path;
  }
  for (const std::string path : {"/livez", "/metrics", "/"}) {
    EXPECT_EQ(ask("GET", path, "plimsoll.kube-system.svc").status, 200) << path;
  }
  for (const std::string host : {"localhost", "localhost:10251", "127.0.0.1"}) {
    EXPECT_EQ(ask("PUT", "/debug/flags/v", host).status, 200) << host;
    EXPECT_EQ(ask("GET", "/configz", host).status, 200) << host;
  }
  EXPECT_EQ(log_level(), LogLevel::kDebug);
}

TEST_F(EndpointsTest, LeavesOutWhatIsNotGiven) {
  const auto server = std::move(*HttpServer::start({}, make_handler({})));
  for (const std::string path : {"/metrics", "/configz", "/debug/flags/v"}) {
    EXPECT_EQ(web_get(server->url() + path).status, 404) << path;
  }
  EXPECT_EQ(web_get(server->url() + "/livez").status, 200);
}

}  // namespace
}  // namespace plimsoll::serving
