#include "lab/sandbox/apiserver/api_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/sandbox/http_client.hpp"

namespace plimsoll::sandbox::test {
namespace {

using nlohmann::json;

constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";

json pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"annotations", {{"own", "1"}}}}},
          {"spec", {{"schedulerName", "mine"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
}

json binding(const std::string& name, const std::string& node) {
  return {{"apiVersion", "v1"},
          {"kind", "Binding"},
          {"metadata", {{"name", name}}},
          {"target", {{"kind", "Node"}, {"name", node}}}};
}

class ApiServerTest : public testing::Test {
 protected:
  explicit ApiServerTest(ServerOptions options = {})
      : server(ApiServer::start(store, std::move(options)).value()), client(server->port()) {}

  ObjectStore store{{.seed = 1}};
  std::unique_ptr<ApiServer> server;
  HttpClient client;
};

TEST_F(ApiServerTest, CreatesGetsListsAndDeletes) {
  const HttpAnswer created = client.post(kPodsPath, pod("a"));
  ASSERT_EQ(created.code, 201) << created.body;
  EXPECT_EQ(created.json()["status"]["phase"], "Pending");
  EXPECT_EQ(client.get(std::string(kPodsPath) + "/a").json(), created.json());
  const json list = client.get("/api/v1/pods").json();
  EXPECT_EQ(list["kind"], "PodList");
  EXPECT_EQ(list["apiVersion"], "v1");
  ASSERT_EQ(list["items"].size(), 1U);
  EXPECT_EQ(list["items"][0], created.json());
  EXPECT_EQ(client.get("/api/v1/namespaces/default").code, 200);
  EXPECT_EQ(client.del(std::string(kPodsPath) + "/a").code, 200);
  const HttpAnswer gone = client.get(std::string(kPodsPath) + "/a");
  EXPECT_EQ(gone.code, 404);
  EXPECT_EQ(gone.json()["reason"], "NotFound");
  EXPECT_EQ(gone.json()["message"], "pods \"a\" not found");
  EXPECT_EQ(gone.json()["kind"], "Status");
}

TEST_F(ApiServerTest, NewObjectsGetTheirDefaults) {
  const std::string nodes = "/api/v1/nodes";
  const json node = {{"metadata", {{"name", "n"}, {"labels", {{"worker", nullptr}}}}},
                     {"status", {{"capacity", {{"cpu", "4"}}}}}};
  json made = client.post(nodes, node).json();
  EXPECT_EQ(made["metadata"]["labels"], (json{{"worker", ""}}));
  EXPECT_EQ(made["status"]["allocatable"], (json{{"cpu", "4"}}));
  made["metadata"]["annotations"] = {{"later", nullptr}};
  EXPECT_EQ(client.put(nodes + "/n", made).json()["metadata"]["annotations"],
            (json{{"later", ""}}));
  EXPECT_EQ(client.post("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}})
                .json()["metadata"]["labels"],
            (json{{"kubernetes.io/metadata.name", "team"}}));
}

TEST_F(ApiServerTest, NothingNewComesIntoANamespaceThatIsNotThereOrGoes) {
  const std::string pods = "/api/v1/namespaces/team/pods";
  EXPECT_EQ(client.post(pods, pod("a")).json()["message"], "namespaces \"team\" not found");
  ASSERT_EQ(client.post("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}}).code, 201);
  EXPECT_EQ(client.post(pods, pod("a")).code, 201);
  ASSERT_EQ(
      client.merge_patch("/api/v1/namespaces/team/status", {{"status", {{"phase", "Terminating"}}}})
          .code,
      200);
  const json refused = client.post(pods, pod("b")).json();
  EXPECT_EQ(refused["code"], 403);
  EXPECT_EQ(refused["message"],
            "pods \"b\" is forbidden: unable to create new content in namespace team because it is "
            "being terminated");
}

TEST_F(ApiServerTest, RefusesBadRequestsWithAStatus) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  EXPECT_EQ(client.post(kPodsPath, pod("a")).json()["reason"], "AlreadyExists");
  EXPECT_EQ(client.request("POST", kPodsPath, "{not json").code, 400);
  EXPECT_EQ(client.request("POST", kPodsPath, "[]").code, 400);
  EXPECT_EQ(client.post(kPodsPath, {{"metadata", "x"}}).code, 400);
  EXPECT_EQ(client.post(kPodsPath, {{"kind", "Node"}}).code, 400);
  EXPECT_EQ(client.post(kPodsPath, {{"metadata", {{"name", "b"}}}}).code, 422);
  EXPECT_EQ(client.post(kPodsPath, {{"metadata", {{"name", "b"}, {"namespace", "x"}}}}).code, 400);
  EXPECT_EQ(client.get("/api/v1/pods?fieldSelector=spec.foo%3D1").json()["message"],
            "field label not supported: spec.foo");
  EXPECT_EQ(client.get("/api/v1/pods?labelSelector=a+b").code, 400);
  EXPECT_EQ(client.get("/api/v1/pods?limit=x").code, 400);
  EXPECT_EQ(client.get("/api/v1/pods?resourceVersion=99999999").code, 504);
  EXPECT_EQ(client.request("OPTIONS", kPodsPath).code, 405);
  EXPECT_EQ(client.get("/nothing").code, 404);
  // A shape that no rule foresaw stores nothing and breaks nothing.
  EXPECT_EQ(client.merge_patch(std::string(kPodsPath) + "/a", {{"spec", 3}}).code, 400);
  EXPECT_EQ(client.merge_patch(std::string(kPodsPath) + "/a", {{"metadata", nullptr}}).code, 400);
  EXPECT_EQ(client
                .merge_patch("/api/v1/namespaces/default/pods/a",
                             {{"metadata", {{"labels", {{"x", 1}}}}}})
                .code,
            400);
  EXPECT_EQ(client.get(std::string(kPodsPath) + "/a").json()["spec"]["schedulerName"], "mine");
}

TEST_F(ApiServerTest, SelectorsNarrowAList) {
  for (const char* name : {"a", "b", "c"}) {
    json object = pod(name);
    object["metadata"]["labels"]["app"] = name;
    ASSERT_EQ(client.post(kPodsPath, object).code, 201);
  }
  ASSERT_EQ(client.post(std::string(kPodsPath) + "/b/binding", binding("b", "n1")).code, 201);
  const auto names = [&](const std::string& query) {
    std::string joined;
    const json list = client.get("/api/v1/pods?" + query).json();
    for (const json& item : list["items"]) {
      joined += item["metadata"]["name"].get<std::string>();
    }
    return joined;
  };
  EXPECT_EQ(names("fieldSelector=spec.nodeName%3Dn1"), "b");
  EXPECT_EQ(names("fieldSelector=spec.nodeName%3D"), "ac");
  EXPECT_EQ(names("fieldSelector=status.phase!%3DSucceeded,status.phase!%3DFailed"), "abc");
  EXPECT_EQ(names("fieldSelector=metadata.name%3Dc"), "c");
  EXPECT_EQ(names("labelSelector=app+in+(a,c)"), "ac");
  EXPECT_EQ(names("labelSelector=app!%3Da&fieldSelector=spec.nodeName%3Dn1"), "b");
}

TEST_F(ApiServerTest, PagesAreOneConsistentSnapshot) {
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(client.post(kPodsPath, pod("p" + std::to_string(i))).code, 201);
  const json first = client.get("/api/v1/pods?limit=2").json();
  ASSERT_EQ(first["items"].size(), 2U);
  EXPECT_EQ(first["metadata"]["remainingItemCount"], 3);
  const std::string token = first["metadata"]["continue"];
  ASSERT_EQ(client.del(std::string(kPodsPath) + "/p4").code, 200);
  const json second = client.get("/api/v1/pods?limit=3&continue=" + token).json();
  EXPECT_EQ(second["items"].size(), 3U);
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  EXPECT_FALSE(second["metadata"].contains("continue"));
  // The watch cache answers resourceVersion=0 in one piece; an unknown token has expired.
  EXPECT_EQ(client.get("/api/v1/pods?limit=2&resourceVersion=0").json()["items"].size(), 4U);
  EXPECT_EQ(client.get("/api/v1/pods?limit=2&continue=zzz").code, 410);
}

TEST_F(ApiServerTest, BindingIsOneWriteWithAnnotations) {
  const json created = client.post(kPodsPath, pod("a")).json();
  server->reset_counts();
  json bind = binding("a", "n1");
  bind["metadata"]["uid"] = created["metadata"]["uid"];
  bind["metadata"]["annotations"]["allocated"] = "x";
  bind["metadata"]["labels"]["l"] = "y";
  const HttpAnswer answer = client.post(std::string(kPodsPath) + "/a/binding", bind);
  ASSERT_EQ(answer.code, 201) << answer.body;
  EXPECT_EQ(answer.json()["status"], "Success");
  EXPECT_EQ(server->writes(), 1U);
  EXPECT_EQ(server->writes("pods/binding"), 1U);
  const json bound = client.get(std::string(kPodsPath) + "/a").json();
  EXPECT_EQ(bound["spec"]["nodeName"], "n1");
  EXPECT_EQ(bound["metadata"]["annotations"], json({{"own", "1"}, {"allocated", "x"}}));
  EXPECT_EQ(bound["metadata"]["labels"]["l"], "y");
  EXPECT_EQ(bound["status"]["conditions"][0]["type"], "PodScheduled");
  EXPECT_EQ(bound["status"]["conditions"][0]["status"], "True");
  const HttpAnswer again = client.post(std::string(kPodsPath) + "/a/binding", binding("a", "n2"));
  EXPECT_EQ(again.code, 409);
  EXPECT_EQ(
      again.json()["message"],
      "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node "
      "\"n1\"");
}

TEST_F(ApiServerTest, BindingConflicts) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  const std::string path = std::string(kPodsPath) + "/a/binding";
  json bind = binding("a", "n1");
  bind["metadata"]["uid"] = "other";
  EXPECT_EQ(client.post(path, bind).code, 409);
  bind = binding("a", "n1");
  bind["metadata"]["resourceVersion"] = "1";
  EXPECT_EQ(client.post(path, bind).code, 409);
  EXPECT_EQ(client.post(path, binding("b", "n1")).code, 400);
  EXPECT_EQ(client.post(path, binding("a", "")).code, 422);
  EXPECT_EQ(client.post(std::string(kPodsPath) + "/zz/binding", binding("zz", "n")).code, 404);
  json gated = pod("g");
  gated["spec"]["schedulingGates"] = {{{"name", "x"}}};
  ASSERT_EQ(client.post(kPodsPath, gated).code, 201);
  EXPECT_THAT(client.post(std::string(kPodsPath) + "/g/binding", binding("g", "n")).body,
              testing::HasSubstr("pod g has non-empty .spec.schedulingGates"));
  EXPECT_EQ(client.get(std::string(kPodsPath) + "/a").json()["spec"].contains("nodeName"), false);
}

TEST_F(ApiServerTest, StatusAndMainResourceAreApart) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  const std::string path = std::string(kPodsPath) + "/a";
  const json condition = {
      {"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}};
  json patch = {{"status", {{"conditions", {condition}}}}, {"spec", {{"priority", 9}}}};
  const HttpAnswer patched = client.strategic_patch(path + "/status", patch);
  ASSERT_EQ(patched.code, 200) << patched.body;
  EXPECT_EQ(patched.json()["spec"]["priority"], 0);
  EXPECT_EQ(patched.json()["status"]["conditions"][0]["reason"], "Unschedulable");
  EXPECT_EQ(patched.json()["status"]["phase"], "Pending");
  json other = {{"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
  EXPECT_EQ(client.strategic_patch(path + "/status", other).json()["status"]["conditions"].size(),
            2U);
  EXPECT_EQ(
      client.merge_patch(path, {{"status", {{"phase", "Running"}}}}).json()["status"]["phase"],
      "Pending");
  EXPECT_EQ(client.merge_patch(path, {{"spec", {{"nodeName", "n"}}}}).code, 422);
  EXPECT_EQ(client.request("PATCH", path, "{}", "application/apply-patch+yaml").code, 415);
  EXPECT_EQ(client.request("PUT", path, "k8s", "application/vnd.kubernetes.protobuf").code, 415);
}

TEST_F(ApiServerTest, UpdatesConflictOnOldVersions) {
  const json node = {{"metadata", {{"name", "n"}}}, {"status", {{"phase", "x"}}}};
  json object = client.post("/api/v1/nodes", node).json();
  const json old = object;
  object["spec"]["unschedulable"] = true;
  const HttpAnswer updated = client.put("/api/v1/nodes/n", object);
  ASSERT_EQ(updated.code, 200) << updated.body;
  EXPECT_EQ(updated.json()["metadata"]["uid"], old["metadata"]["uid"]);
  const HttpAnswer stale = client.put("/api/v1/nodes/n", old);
  EXPECT_EQ(stale.code, 409);
  EXPECT_EQ(
      stale.json()["message"],
      "Operation cannot be fulfilled on nodes \"n\": the object has been modified; please apply "
      "your changes to the latest version and try again");
  EXPECT_EQ(client.put("/api/v1/nodes/m", old).code, 400);
  json status = updated.json();
  status["status"]["phase"] = "y";
  status["spec"]["unschedulable"] = false;
  const json after = client.put("/api/v1/nodes/n/status", status).json();
  EXPECT_EQ(after["status"]["phase"], "y");
  EXPECT_EQ(after["spec"]["unschedulable"], true);
}

TEST_F(ApiServerTest, DeletePreconditions) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  const std::string path = std::string(kPodsPath) + "/a";
  EXPECT_EQ(client.del(path, R"({"preconditions":{"uid":"zz"}})").code, 409);
  EXPECT_EQ(client.get(path).code, 200);
  EXPECT_EQ(client.request("DELETE", std::string(kPodsPath) + "?labelSelector=a%3Db").code, 200);
  EXPECT_EQ(client.get(path).code, 200);
  EXPECT_EQ(client.request("DELETE", kPodsPath).code, 200);
  EXPECT_EQ(client.get(path).code, 404);
}

TEST_F(ApiServerTest, BothNrtVersionsAreTheSameObjects) {
  const std::string alpha2 = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
  const std::string alpha1 = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";
  const json nrt = {{"metadata", {{"name", "n"}}}, {"zones", json::array()}};
  ASSERT_EQ(client.post(alpha1, nrt).code, 201);
  EXPECT_EQ(client.get(alpha2 + "/n").json()["apiVersion"], "topology.node.k8s.io/v1alpha2");
  EXPECT_EQ(client.get(alpha1 + "/n").json()["apiVersion"], "topology.node.k8s.io/v1alpha1");
  EXPECT_EQ(client.get(alpha1).json()["items"].size(), 1U);
}

TEST_F(ApiServerTest, EventsOfBothGroupsAreTheSameObjects) {
  const json event = {{"metadata", {{"name", "e"}}},
                      {"regarding", {{"kind", "Pod"}, {"name", "a"}}},
                      {"note", "hello"},
                      {"reason", "FailedScheduling"}};
  ASSERT_EQ(client.post("/apis/events.k8s.io/v1/namespaces/default/events", event).code, 201);
  const json core =
      client.get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da").json();
  ASSERT_EQ(core["items"].size(), 1U);
  EXPECT_EQ(core["items"][0]["message"], "hello");
  EXPECT_EQ(client.get("/apis/events.k8s.io/v1/namespaces/default/events/e").json()["note"],
            "hello");
}

TEST_F(ApiServerTest, UnknownKindsAreMissingUntilServedOrCreated) {
  const std::string path = "/apis/x.io/v1/namespaces/default/widgets";
  const HttpAnswer missing = client.get(path);
  EXPECT_EQ(missing.code, 404);
  EXPECT_EQ(missing.body, "404 page not found\n");
  ASSERT_EQ(client.post(path, {{"kind", "Widget"}, {"metadata", {{"name", "w"}}}}).code, 201);
  EXPECT_EQ(client.get("/apis/x.io/v1/widgets").json()["kind"], "WidgetList");
  store.serve_kind({{"y.io", "gears"}, "Gear", {"v2"}, false, false});
  EXPECT_EQ(client.get("/apis/y.io/v2/gears").json()["items"].size(), 0U);
  EXPECT_EQ(client.get("/apis/y.io/v1/gears").code, 404);
  ASSERT_TRUE(store.remove_kind(kDevices));
  EXPECT_EQ(client.get("/apis/scheduling.koordinator.sh/v1alpha1/devices").code, 404);
}

TEST_F(ApiServerTest, SaysWhatItServes) {
  EXPECT_EQ(client.get("/readyz").body, "ok");
  EXPECT_EQ(client.get("/version").json()["major"], "1");
  EXPECT_EQ(client.get("/api").json()["versions"][0], "v1");
  EXPECT_THAT(client.get("/api/v1").body, testing::HasSubstr("\"nodes\""));
  EXPECT_THAT(client.get("/apis").body, testing::HasSubstr("topology.node.k8s.io/v1alpha1"));
  EXPECT_EQ(client.get("/apis/coordination.k8s.io").json()["kind"], "APIGroup");
  EXPECT_EQ(client.get("/apis/none.io/v1").code, 404);
}

TEST_F(ApiServerTest, FaultsHitTheRequestsTheyName) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  server->inject({.kind = Fault::Kind::kError,
                  .verb = "create",
                  .resource = "pods/binding",
                  .count = 2,
                  .status = {429, "TooManyRequests", "slow down", 1}});
  const std::string path = std::string(kPodsPath) + "/a/binding";
  EXPECT_EQ(client.get("/api/v1/pods").code, 200);
  const HttpAnswer throttled = client.post(path, binding("a", "n"));
  EXPECT_EQ(throttled.code, 429);
  EXPECT_EQ(throttled.retry_after, "1");
  EXPECT_EQ(client.post(path, binding("a", "n")).code, 429);
  server->inject({.kind = Fault::Kind::kDropBefore, .resource = "pods/binding"});
  EXPECT_EQ(client.post(path, binding("a", "n")).code, 0);
  HttpClient second(server->port());
  EXPECT_EQ(second.get(std::string(kPodsPath) + "/a").json()["spec"].contains("nodeName"), false);
  server->inject({.kind = Fault::Kind::kDropAfter, .resource = "pods/binding"});
  EXPECT_EQ(second.post(path, binding("a", "n")).code, 0);
  HttpClient third(server->port());
  EXPECT_EQ(third.get(std::string(kPodsPath) + "/a").json()["spec"]["nodeName"], "n");
  server->inject(
      {.kind = Fault::Kind::kDelay, .verb = "get", .delay = std::chrono::milliseconds(60)});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(third.get(std::string(kPodsPath) + "/a").code, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
}

TEST_F(ApiServerTest, CountsAndLogsRequests) {
  std::atomic<int> seen{0};
  server->set_request_hook([&](const RequestRecord& record) {
    if (record.resource == "pods" && record.verb == "create" &&
        record.body.find("\"c\"") != std::string::npos) {
      ++seen;
    }
  });
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 409);
  (void)client.get("/api/v1/pods");
  EXPECT_EQ(seen.load(), 2);
  const auto counts = server->request_counts();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(counts[0].verb, "create");
  EXPECT_EQ(counts[0].requests, 2U);
  EXPECT_EQ(counts[0].succeeded, 1U);
  EXPECT_EQ(server->writes(), 1U);
  server->reset_counts();
  EXPECT_EQ(server->writes(), 0U);
}

TEST_F(ApiServerTest, ARestartOnTheSamePortKeepsTheObjects) {
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  const std::uint16_t port = server->port();
  const auto taken = ApiServer::start(store, {.port = port});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(taken.error().message, testing::HasSubstr("127.0.0.1:" + std::to_string(port)));
  server->stop();
  EXPECT_EQ(client.get("/readyz").code, 0);
  server = ApiServer::start(store, {.port = port}).value();
  HttpClient fresh(port);
  EXPECT_EQ(fresh.get("/api/v1/pods").json()["items"].size(), 1U);
}

TEST(ApiServerAuth, AsksForItsToken) {
  ObjectStore store;
  const auto server = ApiServer::start(store, {.bearer_token = "secret"}).value();
  HttpClient client(server->port());
  EXPECT_EQ(client.get("/api/v1/pods").code, 401);
  EXPECT_EQ(client.request("GET", "/api/v1/pods", "", "", "wrong").code, 401);
  EXPECT_EQ(client.request("GET", "/api/v1/pods", "", "", "secret").code, 200);
}

class GracefulDeletion : public ApiServerTest {
 protected:
  GracefulDeletion() : ApiServerTest({.handler = {.graceful_pod_deletion = true}}) {}
};

TEST_F(GracefulDeletion, ABoundPodIsMarkedThenRemoved) {
  ASSERT_EQ(client.post(kPodsPath, pod("free")).code, 201);
  EXPECT_EQ(client.del(std::string(kPodsPath) + "/free").code, 200);
  EXPECT_EQ(client.get(std::string(kPodsPath) + "/free").code, 404);
  ASSERT_EQ(client.post(kPodsPath, pod("a")).code, 201);
  ASSERT_EQ(client.post(std::string(kPodsPath) + "/a/binding", binding("a", "n")).code, 201);
  WatchClient watch(server->port(), "/api/v1/pods?watch=1&resourceVersion=" +
                                        std::to_string(store.resource_version()));
  const HttpAnswer marked =
      client.del(std::string(kPodsPath) + "/a", R"({"gracePeriodSeconds":1})");
  EXPECT_TRUE(marked.json()["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(watch.next().value()["type"], "MODIFIED");
  EXPECT_EQ(watch.next().value()["type"], "DELETED");
  EXPECT_EQ(client.get(std::string(kPodsPath) + "/a").code, 404);
}

}  // namespace
}  // namespace plimsoll::sandbox::test
