// 400 pods on 80 nodes (1,000 on 200 with PLIMSOLL_LONG=1), undisturbed and with everything around
// the scheduler dying: all that fit are bound, each by one write, and an independent recount finds
// nothing promised twice.

#include <gtest/gtest.h>

#include "tests/e2e/load_fixture.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

// What the scheduler says of itself is what the API server holds.
void check_metrics(std::uint16_t port, const Recount& held) {
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  EXPECT_EQ(web_get(url + "/readyz").body, "ok");
  const WebAnswer scraped = web_get(url + "/metrics");
  ASSERT_EQ(scraped.status, 200) << scraped.error;
  const Metrics metrics = parse_metrics(scraped.body);
  EXPECT_EQ(metrics.errors.size(), 0U) << lines(metrics.errors);
  const auto bound_pods = static_cast<double>(held.bound());
  const Labels scheduled{{"result", "scheduled"}, {"profile", kScheduler}};
  EXPECT_EQ(metrics.value("scheduler_schedule_attempts_total", scheduled), bound_pods);
  EXPECT_EQ(metrics.value("scheduler_pod_scheduling_attempts_count"), bound_pods);
  EXPECT_EQ(metrics.sum("plimsoll_api_writes_total", {{"class", "bind"}, {"outcome", "done"}}),
            bound_pods);
  EXPECT_GE(metrics.sum("rest_client_requests_total", {{"code", "201"}, {"method", "POST"}}),
            bound_pods);
  EXPECT_EQ(metrics.sum("scheduler_pending_pods"), static_cast<double>(held.pending()));
  EXPECT_EQ(metrics.value("scheduler_cache_size", {{"type", "pods"}}), bound_pods);
}

TEST_F(LoadTest, AllThatFitIsBoundByOneWriteEach) {
  const auto port = free_port();
  ASSERT_TRUE(port) << port.error().message;
  ASSERT_NO_FATAL_FAILURE(start({.kubeconfig = cluster().kubeconfig_token(), .port = *port}));
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(settle());
  check_recount();
  check_writes(true);
  check_metrics(*port, result_);
}

// Whoever looks for what happened once in a hundred runs needs more than its last words.
TEST_F(LoadTest, WhatIsKeptOfAFailureIsAllThatARecountNeeds) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto created = create_all(cluster().admin(), {load_.pods.front()});
  ASSERT_TRUE(created) << created.error().message;
  ASSERT_NO_FATAL_FAILURE(settle());
  const std::filesystem::path kept = keep_evidence({{"scheduler.log", log()}});
  ClusterObjects objects;
  const std::pair<const char*, std::vector<nlohmann::json>*> kinds[] = {
      {"nodes.json", &objects.nodes},
      {"noderesourcetopologies.json", &objects.nrts},
      {"devices.json", &objects.devices},
      {"pods.json", &objects.pods}};
  for (const auto& [file, into] : kinds) {
    *into = nlohmann::json::parse(read_file(kept / file).value_or(""))
                .get<std::vector<nlohmann::json>>();
  }
  const Recount again = recount(objects);
  EXPECT_EQ(again.nodes.size(), result_.nodes.size());
  EXPECT_EQ(again.pods.size(), 1U);
  EXPECT_EQ(again.bound(), result_.bound());
  EXPECT_NE(read_file(kept / "audit.log").value_or("").find(load_.pods.front().path),
            std::string::npos);
  EXPECT_NE(read_file(kept / "scheduler.log").value_or("").find("first lists"), std::string::npos);
  std::filesystem::remove_all(kept);
}

TEST_F(LoadTest, KillingTheSchedulerChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(start_kubelets());
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(start());
  for (const int part : {15, 40, 60}) {
    ASSERT_NO_FATAL_FAILURE(wait_until_bound(percent(part)));
    scheduler().kill();
    ASSERT_NO_FATAL_FAILURE(start());
  }
  ASSERT_NO_FATAL_FAILURE(settle_with_reports());
  check_recount();
  check_writes(false);
}

// A profile file changes under a running scheduler: bad ones and good ones, in the middle of the
// load.
TEST_F(LoadTest, ChangingTheProfileLosesNothing) {
  const TempDir folder("plimsoll-profile");
  const std::string shipped = read_file("examples/profiles/topology.yaml").value_or("");
  const std::filesystem::path file = folder / "profile.yaml";
  ASSERT_TRUE(write_file(file, shipped));
  const auto port = free_port();
  ASSERT_TRUE(port) << port.error().message;
  ASSERT_NO_FATAL_FAILURE(start_kubelets());
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(
      start({.kubeconfig = cluster().kubeconfig_token(), .config = file, .port = *port}));
  ASSERT_NO_FATAL_FAILURE(wait_until_bound(percent(15)));
  ASSERT_TRUE(write_file(file, shipped + "noSuchField: 1\n"));
  ASSERT_TRUE(scheduler().wait_for_output("the one from before stays in force", 60s)) << log();
  const auto seen = [&](const char* reason) {
    const auto found =
        client().get("/apis/events.k8s.io/v1/events?fieldSelector=reason=" + std::string(reason));
    return found.status == 200 && !found.json()["items"].empty() &&
           found.json()["items"][0]["regarding"]["kind"] == "Lease";
  };
  EXPECT_TRUE(eventually(30s, [&] { return seen("ProfileRefused"); }));
  const auto metric = [&](const std::string& name, const Labels& labels) {
    const WebAnswer scraped = web_get("http://127.0.0.1:" + std::to_string(*port) + "/metrics");
    return parse_metrics(scraped.body).sum(name, labels);
  };
  EXPECT_EQ(metric("plimsoll_profile_refused", {}), 1);
  for (int change = 1; change <= 2; ++change) {
    ASSERT_TRUE(write_file(
        file, shipped + "percentageOfNodesToScore: " + std::to_string(100 - change) + "\n"));
    ASSERT_TRUE(eventually(60s, [&] {
      return lines_with(log(), {"plimsoll starts"}).size() == static_cast<size_t>(change) + 1;
    })) << log();
    ASSERT_TRUE(eventually(60s, [&] {
      return metric("plimsoll_profile_reloads_total", {{"result", "loaded"}}) == change;
    })) << log();
  }
  EXPECT_EQ(metric("plimsoll_profile_refused", {}), 0);
  EXPECT_TRUE(seen("ProfileReload"));
  ASSERT_NO_FATAL_FAILURE(settle_with_reports());
  check_recount();
  check_writes(false);
}

TEST_F(LoadTest, RestartingTheApiServerChangesNothing) {
  ASSERT_NO_FATAL_FAILURE(start_kubelets());
  ASSERT_NO_FATAL_FAILURE(create_pods());
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(wait_until_bound(percent(20)));
  const int at_restart = bound();
  const auto restarted = cluster().restart_apiserver();
  ASSERT_TRUE(restarted) << restarted.error().message;
  ASSERT_NO_FATAL_FAILURE(settle_with_reports());
  EXPECT_GT(bound(), at_restart) << "the restart came too late to be in the middle";
  check_recount();
  check_writes(false);
}

}  // namespace
}  // namespace plimsoll::test
