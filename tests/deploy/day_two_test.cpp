// An operator's second day on a real API server, in one walk: two replicas as deploy/base starts
// them live through changes, faults and an upgrade, and are removed. Each step begins with what the
// one before has left. The chart's own steps are in chart_test.cpp, crashes under load in
// tests/e2e.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>

#include "tests/deploy/deploy_test.hpp"
#include "tests/e2e/facts.hpp"
#include "tests/support/prometheus_text.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kRoleBindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
constexpr const char* kNrtKind =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
    "noderesourcetopologies.topology.node.k8s.io";

class DayTwoTest : public DeployTest {
 public:
  // One pod of the Deployment.
  struct Pod {
    ChildProcess process;
    std::string profile;  // the file that it mounts
    std::string certificate, key;
    std::string token;  // the file that its kubelet keeps fresh
    std::uint16_t port = 0;
  };

 protected:
  void SetUp() override {
    DeployTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) ca_ = cluster().dir() / "ca.crt";
  }
  void TearDown() override {
    if (HasFailure()) {
      for (const Pod& each : pods_) {
        std::fprintf(stderr, "--- the end of a replica's log:\n%s",
                     tail(each.process.output(), 30).c_str());
      }
    }
    for (Pod& each : pods_) each.process.kill();
    pods_.clear();
    if (!IsSkipped()) (void)client().del(std::string(kRoleBindings) + "/day-two");
    DeployTest::TearDown();
  }

  // A further one. It does not lead yet, or leads if nobody does.
  void start_pod() {
    ChildOptions command = deployed_command();
    const std::string own = folder_ / std::to_string(++started_);
    std::filesystem::create_directories(own);
    const std::string profile = own + "/profile.yaml";
    for (std::string& word : command.argv) {
      const std::string config = "--config=";
      if (!word.starts_with(config)) continue;
      std::filesystem::copy_file(word.substr(config.size()), profile);
      word = config + profile;
    }
    const std::string token = own + "/token";
    ASSERT_TRUE(write_file(token, account().token));
    for (std::string& word : command.argv) {
      if (!word.ends_with("/kubeconfig")) continue;
      json config = json::parse(read_file(word).value_or(""));
      config["users"][0]["user"] = {{"tokenFile", token}};
      word = own + "/kubeconfig";
      ASSERT_TRUE(write_file(word, config.dump()));
    }
    const std::string certificate = own + "/tls.crt";
    const std::string key = own + "/tls.key";
    copy_certificate(cluster().dir(), certificate, key);
    command.argv.insert(command.argv.end(),
                        {"--tls-cert-file", certificate, "--tls-private-key-file", key});
    for (auto& [name, value] : command.env) {
      if (name == "XDG_RUNTIME_DIR") value = own;
    }
    auto started = ChildProcess::start(command);
    ASSERT_TRUE(started) << started.error().message;
    pods_.push_back({std::move(*started), profile, certificate, key, token, port()});
    const Pod& fresh = pods_.back();
    ASSERT_TRUE(eventually(60s, [&] { return get(fresh, "/readyz").status == 200; }))
        << get(fresh, "/readyz?verbose").body << fresh.process.output();
  }

  static void copy_certificate(const std::filesystem::path& from, const std::string& certificate,
                               const std::string& key) {
    for (const auto& [name, file] :
         {std::pair{"server.crt", certificate}, std::pair{"server.key", key}}) {
      std::filesystem::copy_file(from / name, file + ".new");
      std::filesystem::rename(file + ".new", file);
    }
  }

  // Its identity, as it said when it last stood for election.
  static std::string name_of(const Pod& pod) {
    std::string name;
    for (const std::string& line : lines_with(pod.process.output(), {"attempting to acquire"})) {
      const json record = json::parse(line, nullptr, false);
      if (record.is_object()) name = record.value("identity", name);
    }
    return name;
  }

  WebAnswer get(const Pod& pod, const std::string& path, const std::string& token = {},
                const std::string& method = "GET", const std::string& body = {}) {
    WebCaller caller;
    if (!token.empty()) caller.headers.push_back("Authorization: Bearer " + token);
    return web_request(method, "https://127.0.0.1:" + std::to_string(pod.port) + path, body, ca_,
                       caller);
  }

  std::string holder() {
    return text_at(client().get(kLeases + ("/" + lease_)).json(), "/spec/holderIdentity");
  }
  // Who leads, waited for.
  Pod& leader() {
    Pod* found = nullptr;
    EXPECT_TRUE(eventually(120s, [&] {
      const std::string now = holder();
      for (Pod& each : pods_) {
        if (!now.empty() && name_of(each) == now && each.process.running()) found = &each;
      }
      return found != nullptr;
    })) << holder();
    return found != nullptr ? *found : pods_.front();
  }
  Pod& standby() {
    const Pod& leads = leader();
    for (Pod& each : pods_) {
      if (&each != &leads) return each;
    }
    return pods_.front();
  }
  void forget(const Pod& pod) {
    pods_.remove_if([&](const Pod& each) { return &each == &pod; });
  }

  void create_pods(const std::string& prefix, int count, const char* scheduler = kScheduler,
                   const char* cpu = "1") {
    for (int i = 0; i < count; ++i) {
      create_pod({.name = prefix + std::to_string(i),
                  .scheduler = scheduler,
                  .requests = {{"cpu", cpu}, {"memory", "1Gi"}}});
    }
  }
  void expect_bound(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) {
      EXPECT_NE(wait_bound(prefix + std::to_string(i), 120s), "") << prefix << i;
    }
  }

  // A token of somebody who may do what these rules say.
  std::string token_of(const std::string& name, const std::string& role) {
    create("/api/v1/namespaces/" + ns() + "/serviceaccounts", {{"metadata", {{"name", name}}}});
    if (!role.empty()) {
      create(
          kRoleBindings,
          {{"metadata", {{"name", "day-two"}}},
           {"roleRef",
            {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
           {"subjects", {{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", ns()}}}}});
    }
    return token_of_account(ns(), name);
  }
  std::string token_of_account(const std::string& where, const std::string& name) {
    const json answer =
        create("/api/v1/namespaces/" + where + "/serviceaccounts/" + name + "/token",
               {{"spec", {{"expirationSeconds", 3600}}}});
    return text_at(answer, "/status/token");
  }

  // What a kubelet does with the pods that have ended: there is one more for each.
  void restart_ended() {
    const std::size_t ended = pods_.remove_if([](Pod& each) { return !each.process.running(); });
    for (std::size_t i = 0; i < ended; ++i) ASSERT_NO_FATAL_FAILURE(start_pod());
  }

  // As `helm upgrade --set-file profile=examples/profiles/default-scheduler.yaml` writes it; that
  // it does, chart_test.cpp has.
  void become_default_scheduler() {
    lease_ = "kube-scheduler";
    change(
        "/api/v1/namespaces/kube-system/configmaps/plimsoll-profile",
        {{"data",
          {{"profile.yaml", read_file("examples/profiles/default-scheduler.yaml").value_or("")}}}});
    const std::string deployment = "/apis/apps/v1/namespaces/kube-system/deployments/plimsoll";
    json containers = client().get(deployment).json()["spec"]["template"]["spec"]["containers"];
    for (json& arg : containers[0]["args"]) {
      if (arg == "--leader-elect-resource-name=plimsoll")
        arg = "--leader-elect-resource-name=" + lease_;
    }
    change(deployment, {{"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}});
    const std::string path =
        "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/plimsoll-leader-election";
    json role = client().get(path).json();
    role["rules"][1]["resourceNames"].push_back(lease_);
    change(path, {{"rules", role["rules"]}});
    wait_for_rights({role});
  }
  // Another program writes itself into the lease, or out of it.
  void hold_lease(const std::string& holder) {
    change(kLeases + ("/" + lease_),
           {{"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 3600}}}});
  }

  void write_profile(const std::function<std::string(std::string)>& changed) {
    for (const Pod& each : pods_) {
      const std::string text = changed(read_file(each.profile).value_or(""));
      ASSERT_TRUE(write_file(each.profile + ".new", text));
      std::filesystem::rename(each.profile + ".new", each.profile);
    }
  }

  // The bound pods of this test, as the API server has them.
  std::map<std::string, std::string> bound() {
    std::map<std::string, std::string> pods;
    const auto all = client().list(pods_path());
    EXPECT_TRUE(all) << all.error().message;
    if (!all) return pods;
    for (const json& each : *all) {
      if (!text_at(each, "/spec/nodeName").empty()) {
        pods[text_at(each, "/metadata/name")] = each.dump();
      }
    }
    return pods;
  }

  double metric(const Pod& pod, const std::string& name, const Labels& labels = {}) {
    return parse_metrics(get(pod, "/metrics", scraper_).body).sum(name, labels);
  }

  TempDir folder_;
  std::string ca_;
  std::string lease_ = "plimsoll";
  std::list<Pod> pods_;
  int started_ = 0;
  std::string scraper_;
};

TEST_F(DayTwoTest, FromInstallToRemoval) {
  const std::vector<json> base = base_objects();
  {
    SCOPED_TRACE("install: one leads, the other is ready to");
    ASSERT_NO_FATAL_FAILURE(install(base));
    ASSERT_NO_FATAL_FAILURE(wait_for_rights(base));
    ASSERT_NO_FATAL_FAILURE(start_pod());
    ASSERT_NO_FATAL_FAILURE(start_pod());
    EXPECT_NE(&leader(), &standby());
  }
  {
    SCOPED_TRACE("pods of all kinds");
    give_work();
    expect_work_done();
  }
  {
    SCOPED_TRACE("who may scrape");
    scraper_ = token_of("prometheus", "plimsoll-metrics-reader");
    EXPECT_TRUE(eventually(60s, [&] { return get(leader(), "/metrics", scraper_).status == 200; }));
    EXPECT_EQ(get(leader(), "/metrics").status, 401);
    const WebAnswer refused = get(leader(), "/metrics", token_of("somebody", ""));
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, AllOf(HasSubstr(ns() + ":somebody"), HasSubstr("/metrics")));
    EXPECT_EQ(metric(leader(), "leader_election_master_status"), 1);
    EXPECT_EQ(metric(standby(), "leader_election_master_status"), 0);
  }
  const std::string viewer = token_of_account(kHome, "plimsoll-viewer");
  const std::string keeper = token_of_account(kHome, "plimsoll-operator");
  {
    SCOPED_TRACE("the configuration and the log level, by who may");
    const std::string level = "/debug/flags/v";
    for (const std::string& other : {scraper_, viewer, account().token}) {
      EXPECT_EQ(get(leader(), level, other, "PUT", "debug").status, 403);
    }
    for (const std::string& other : {scraper_, viewer, account().token, keeper}) {
      EXPECT_EQ(get(leader(), "/configz", other).status, 403);
    }
    EXPECT_EQ(get(leader(), level, keeper, "PUT", "loud").status, 400);
    EXPECT_EQ(get(leader(), level, keeper, "PUT", "debug").status, 200);
    EXPECT_EQ(get(leader(), level, keeper).body, "debug\n");
    EXPECT_EQ(get(leader(), level, keeper, "PUT", "info").status, 200);
  }
  {
    SCOPED_TRACE("a changed profile is taken into use, a broken one is not");
    write_profile(
        [](std::string text) { return text.replace(text.find("weight: 2"), 9, "weight: 3"); });
    for (Pod& each : pods_) {
      EXPECT_TRUE(each.process.wait_for_output("taking the changed profile file into use", 60s));
      EXPECT_TRUE(eventually(60s, [&] {
        return metric(each, "plimsoll_profile_reloads_total", {{"result", "loaded"}}) == 1 &&
               get(each, "/readyz").status == 200;
      }));
    }
    std::string good;
    write_profile([&](std::string text) {
      good = text;
      return text.replace(text.find("TopologyScore"), 13, "TopologyScoer");
    });
    for (Pod& each : pods_) {
      EXPECT_TRUE(eventually(60s, [&] { return metric(each, "plimsoll_profile_refused") == 1; }));
      EXPECT_THAT(each.process.output(), HasSubstr("TopologyScoer"));
      std::filesystem::remove(each.profile);
      EXPECT_TRUE(eventually(60s, [&] {
        return metric(each, "plimsoll_profile_reloads_total", {{"result", "refused"}}) == 2;
      })) << "the file is missing";
    }
    create_pods("broken-profile-", 1);
    expect_bound("broken-profile-", 1);
    write_profile([&](const std::string&) { return good; });
    for (Pod& each : pods_) {
      EXPECT_TRUE(eventually(60s, [&] { return metric(each, "plimsoll_profile_refused") == 0; }));
    }
  }
  {
    SCOPED_TRACE("a new certificate");
    const TempDir fresh;
    const auto made = make_certificates(fresh.path());
    ASSERT_TRUE(made) << made.error().message;
    const std::string old_ca = ca_;
    for (Pod& each : pods_) {
      copy_certificate(fresh.path(), each.certificate, each.key);
      ca_ = (fresh / "ca.crt").string();
      EXPECT_TRUE(eventually(60s, [&] { return get(each, "/livez").status == 200; }));
      ca_ = old_ca;
      ASSERT_TRUE(write_file(each.key, "no key"));
      EXPECT_TRUE(each.process.wait_for_output("certificate", 60s));
      copy_certificate(cluster().dir(), each.certificate, each.key);
      EXPECT_TRUE(eventually(60s, [&] { return get(each, "/livez").status == 200; }));
    }
  }
  {
    SCOPED_TRACE("a new version, while pods come: the standby first, then the leader");
    for (const char* name : {"m1", "m2"}) {
      json node = node_object(name, {{"cpu", "64"}, {"memory", "256Gi"}, {"pods", "110"}});
      create(kNodes, node);
    }
    create_pods("rolled-a-", 10);
    Pod& first = standby();
    EXPECT_EQ(first.process.stop(30s), ExitStatus::exited(0)) << tail(first.process.output(), 20);
    forget(first);
    ASSERT_NO_FATAL_FAILURE(start_pod());
    create_pods("rolled-b-", 10);
    Pod& second = leader();
    EXPECT_EQ(second.process.stop(30s), ExitStatus::exited(0)) << tail(second.process.output(), 20);
    forget(second);
    create_pods("rolled-c-", 10);
    ASSERT_NO_FATAL_FAILURE(start_pod());
    for (const char* prefix : {"rolled-a-", "rolled-b-", "rolled-c-"}) expect_bound(prefix, 10);
  }
  {
    SCOPED_TRACE("kill -9 of the leader");
    Pod& killed = leader();
    create_pods("killed-", 10);
    killed.process.kill();
    forget(killed);
    create_pods("after-kill-", 10);
    expect_bound("killed-", 10);
    expect_bound("after-kill-", 10);
    ASSERT_NO_FATAL_FAILURE(start_pod());
  }
  {
    SCOPED_TRACE("the API server is restarted");
    Pod& before = leader();
    const auto restarted = cluster().restart_apiserver();
    ASSERT_TRUE(restarted) << restarted.error().message;
    create_pods("after-restart-", 3);
    expect_bound("after-restart-", 3);
    // A leader that could not renew ends, as documented.
    if (&leader() != &before) {
      EXPECT_EQ(before.process.wait(60s), ExitStatus::exited(1));
    }
    ASSERT_NO_FATAL_FAILURE(restart_ended());
  }
  {
    SCOPED_TRACE("etcd stalls, with bindings under way");
    Pod& before = leader();
    create_pods("stalled-", 20, kScheduler, "10m");
    cluster().signal_etcd(SIGSTOP);
    EXPECT_TRUE(eventually(60s, [&] { return client().get("/readyz/etcd").status == 500; }));
    cluster().signal_etcd(SIGCONT);
    expect_bound("stalled-", 20);
    create_pods("after-stall-", 3, kScheduler, "10m");
    expect_bound("after-stall-", 3);
    // A machine so slow that the lease ran out meanwhile: the leader ends, as documented.
    if (&leader() != &before) {
      EXPECT_EQ(before.process.wait(60s), ExitStatus::exited(1));
    }
    ASSERT_NO_FATAL_FAILURE(restart_ended());
  }
  {
    SCOPED_TRACE("the service account is made anew");
    const std::string accounts = "/api/v1/namespaces/kube-system/serviceaccounts";
    remove(accounts + "/plimsoll");
    Pod& cut_off = leader();
    Pod& other = standby();
    EXPECT_EQ(cut_off.process.wait(120s), ExitStatus::exited(1));
    EXPECT_THAT(cut_off.process.output(), HasSubstr("lost the leader lease"));
    EXPECT_TRUE(eventually(60s, [&] { return get(other, "/readyz").status == 500; }));
    create_pods("new-account-", 3);
    create(accounts, {{"metadata", {{"name", "plimsoll"}}}});
    // A token of the account from before stays refused.
    EXPECT_EQ(get(other, "/readyz").status, 500);
    ASSERT_TRUE(write_file(other.token + ".new", account().token));
    std::filesystem::rename(other.token + ".new", other.token);
    EXPECT_EQ(&leader(), &other);
    expect_bound("new-account-", 3);
    EXPECT_TRUE(eventually(60s, [&] { return get(other, "/readyz").status == 200; }));
    ASSERT_NO_FATAL_FAILURE(restart_ended());
  }
  {
    SCOPED_TRACE("cordon: the next reason is a new event");
    json picky =
        pod_object({.name = "picky", .scheduler = kScheduler, .requests = {{"cpu", "30"}}});
    picky["spec"]["nodeSelector"] = {{"disk", "nvme"}};
    create(pods_path(), picky);
    EXPECT_THAT(wait_event("picky", "FailedScheduling"), HasSubstr("node affinity/selector"));
    change(std::string(kNodes) + "/m1", {{"spec", {{"unschedulable", true}}}});
    change(std::string(kNodes) + "/m1", {{"metadata", {{"labels", {{"disk", "nvme"}}}}}});
    EXPECT_TRUE(eventually(60s, [&] {
      return std::ranges::any_of(events("picky", "FailedScheduling"), [](const json& event) {
        return text_at(event, "/note").find("unschedulable") != std::string::npos;
      });
    }));
    EXPECT_EQ(node_of("picky"), "");
    change(std::string(kNodes) + "/m1", {{"spec", {{"unschedulable", nullptr}}}});
    EXPECT_EQ(wait_bound("picky", 60s), "m1");

    // Drain: the room is free at once, and taken when the node is back.
    change(std::string(kNodes) + "/m1", {{"spec", {{"unschedulable", true}}}});
    create(pods_path("picky") + "/eviction", {{"apiVersion", "policy/v1"},
                                              {"kind", "Eviction"},
                                              {"metadata", {{"name", "picky"}}},
                                              {"deleteOptions", {{"gracePeriodSeconds", 0}}}});
    picky["metadata"]["name"] = "picky-again";
    create(pods_path(), picky);
    EXPECT_THAT(wait_refused("picky-again"), HasSubstr("unschedulable"));
    change(std::string(kNodes) + "/m1", {{"spec", {{"unschedulable", nullptr}}}});
    EXPECT_EQ(wait_bound("picky-again", 60s), "m1");
  }
  {
    SCOPED_TRACE("a full cluster: why, with numbers");
    json wide = pod_object({.name = "wide", .scheduler = kScheduler, .requests = {{"cpu", "50"}}});
    create(pods_path(), wide);
    EXPECT_THAT(wait_refused("wide"), HasSubstr("Insufficient cpu"));
    EXPECT_GT(metric(leader(), "scheduler_pending_pods", {{"queue", "unschedulable"}}), 0);
    EXPECT_THAT(get(leader(), "/debug/queue", viewer).body, HasSubstr(ns() + "/wide"));
    const json told =
        json::parse(get(leader(), "/debug/explain?pod=" + ns() + "/wide", viewer).body);
    // The nodes with the most room come first.
    const json& closest = told.at("placement").at("refused").at(0);
    EXPECT_THAT(closest.value("node", ""), StartsWith("m"));
    EXPECT_THAT(closest.value("text", ""), ContainsRegex("^cpu: need 50, [0-9.]+ free of 64$"));
    remove(pods_path("wide"));
  }
  {
    SCOPED_TRACE("a kind is removed, and comes back");
    json node = node_object("z", {{"cpu", "40"}, {"memory", "64Gi"}, {"pods", "20"}});
    node["metadata"]["labels"]["kubernetes.io/hostname"] = "z";
    create(kNodes, node);
    const Resources zone{{"cpu", "16"}, {"memory", "32Gi"}};
    create(kNrts, nrt_object({.node = "z", .zones = {zone, zone}}));
    const auto create_wide = [&](const std::string& name, const char* cpu) {
      json pod = pod_object(
          {.name = name, .scheduler = kScheduler, .requests = {{"cpu", cpu}, {"memory", "1Gi"}}});
      pod["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "z"}};
      create(pods_path(), pod);
    };
    create_wide("wider-than-a-zone", "20");
    EXPECT_THAT(wait_refused("wider-than-a-zone"), HasSubstr("cannot align"));
    remove(kNrtKind);
    ASSERT_TRUE(eventually(60s, [&] { return client().get(kNrts).status == 404; }));
    EXPECT_TRUE(eventually(120s, [&] {
      return metric(leader(), "plimsoll_kind_watching",
                    {{"kind", "noderesourcetopologies.v1alpha2.topology.node.k8s.io"}}) == 0;
    }));
    create_wide("fits-a-zone", "8");
    EXPECT_NE(wait_refused("fits-a-zone", 60s), "");
    const auto installed = cluster().install_crds();
    ASSERT_TRUE(installed) << installed.error().message;
    create(kNrts, nrt_object({.node = "z", .zones = {zone, zone}}));
    EXPECT_EQ(wait_bound("fits-a-zone", 120s), "z");
    EXPECT_EQ(node_of("wider-than-a-zone"), "") << "it never had a place";
  }
  {
    SCOPED_TRACE("instead of kube-scheduler, and back");
    for (Pod& each : pods_) {  // strategy: Recreate
      EXPECT_EQ(each.process.stop(30s), ExitStatus::exited(0)) << tail(each.process.output(), 20);
    }
    pods_.clear();
    become_default_scheduler();
    create(kLeases, {{"metadata", {{"name", lease_}}}});
    hold_lease("kube-scheduler");
    create_pods("default-a-", 10, "default-scheduler");
    for (int i = 0; i < 2; ++i) {
      ASSERT_NO_FATAL_FAILURE(start_pod());
      EXPECT_TRUE(pods_.back().process.wait_for_output(R"("holder":"kube-scheduler")", 60s));
    }
    EXPECT_THAT(bound(), Not(Contains(Key(StartsWith("default-a-")))));
    hold_lease("");
    expect_bound("default-a-", 10);
    EXPECT_EQ(metric(leader(), "leader_election_master_status", {{"name", lease_}}), 1);
    // Back: who leads hands the lease over, and kube-scheduler was there first.
    Pod& first = leader();
    Pod& second = standby();
    EXPECT_TRUE(second.process.wait_for_output(R"("holder":")" + name_of(first), 60s));
    second.process.signal(SIGSTOP);
    EXPECT_EQ(first.process.stop(30s), ExitStatus::exited(0)) << tail(first.process.output(), 20);
    EXPECT_EQ(holder(), "");
    hold_lease("kube-scheduler");
    second.process.signal(SIGCONT);
    forget(first);
    create_pods("default-b-", 3, "default-scheduler");
    EXPECT_TRUE(eventually(60s, [&] {
      return lines_with(second.process.output(), {R"("holder":"kube-scheduler")"}).size() == 2;
    }));
    EXPECT_EQ(metric(second, "leader_election_master_status"), 0);
    EXPECT_EQ(holder(), "kube-scheduler");
    EXPECT_THAT(bound(), Not(Contains(Key(StartsWith("default-b-")))));
  }
  {
    SCOPED_TRACE("removal: what is bound is not touched");
    const std::map<std::string, std::string> before = bound();
    EXPECT_GT(before.size(), 40U);
    for (Pod& each : pods_) {
      EXPECT_EQ(each.process.stop(30s), ExitStatus::exited(0)) << tail(each.process.output(), 20);
    }
    pods_.clear();
    for (const json& object : base) {
      remove(collection_of(object) + "/" + text_at(object, "/metadata/name"));
    }
    EXPECT_EQ(bound(), before);
  }
}

}  // namespace
}  // namespace plimsoll::test
