// What is written in protobuf, a real API server stores as it stores the same in JSON; and what it
// refuses, it refuses in words that are understood.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>

#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/api_writer.hpp"
#include "informer/write/write_protobuf.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/default/events";

// A writer of one encoding over one kind of connections.
struct Author {
  Author(const informer::ServerAccess& access, bool protobuf, informer::HttpVersion version) {
    informer::HttpClientOptions how;
    how.version = version;
    auto made = informer::HttpClient::create(
        access, std::make_shared<informer::CredentialSource>(access), how);
    EXPECT_TRUE(made);
    client = std::move(*made);
    informer::WriteOptions options;
    options.protobuf = protobuf;
    options.reporting_instance = "here";
    writer = std::make_unique<informer::ServerWriter>(*client, *client, options);
  }
  ~Author() {
    writer->stop();
    client->stop();
  }
  Result<void> bind(BindRequest request) {
    std::promise<Result<void>> ended;
    writer->bind(std::move(request), [&](Result<void> done) { ended.set_value(std::move(done)); });
    return ended.get_future().get();
  }
  std::unique_ptr<informer::HttpClient> client;
  std::unique_ptr<informer::ServerWriter> writer;
};

class WriteProtobufTest : public KubeTest {
 protected:
  // Binds a new pod and tells of it; the pod and the event as they are stored then, without what
  // differs from pod to pod.
  std::pair<json, json> stored(KubeClient& admin, Author& author, const std::string& name) {
    EXPECT_EQ(admin.post(kPods, pod_object({.name = name, .requests = {{"cpu", "1"}}})).status,
              201);
    const std::string path = std::string(kPods) + "/" + name;
    const json before = admin.get(path).json()["metadata"];
    const auto bound = author.bind(
        {"default", name, before["uid"], "n1", {{"example.com/given", R"({"gpu":[0,1]})"}}});
    EXPECT_TRUE(bound) << bound.error().message;
    EventRecord event;
    event.ns = "default";
    event.name = name;
    event.uid = before["uid"];
    event.resource_version = before["resourceVersion"];
    event.scheduler_name = "plimsoll";
    event.reason = "Scheduled";
    event.action = "Binding";
    event.note = "assigned \u00fcber alles";
    author.writer->record_event(event);
    EXPECT_TRUE(author.writer->drain(10s));
    const json pod = admin.get(path).json();
    const auto events = admin.list(kEvents, "fieldSelector=regarding.name%3D" + name);
    EXPECT_TRUE(events && events->size() == 1u);
    json told = events && !events->empty() ? events->front() : json();
    EXPECT_EQ(told["regarding"]["uid"], before["uid"]);
    EXPECT_EQ(told["regarding"]["name"], name);
    EXPECT_THAT(told["metadata"]["name"].get<std::string>(), ::testing::StartsWith(name + "."));
    EXPECT_FALSE(told["eventTime"].is_null());
    for (const char* own : {"metadata", "eventTime"}) told.erase(own);
    for (const char* own : {"uid", "name", "resourceVersion"}) told["regarding"].erase(own);
    return {{{"node", pod["spec"]["nodeName"]}, {"annotations", pod["metadata"]["annotations"]}},
            told};
  }
};

TEST_F(WriteProtobufTest, BothEncodingsAreStoredAlikeOverAllConnections) {
  KubeClient admin(cluster().admin());
  ASSERT_EQ(admin.post(kNodes, node_object("n1", {{"cpu", "8"}, {"memory", "16Gi"}})).status, 201);
  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = cluster().kubeconfig().string();
  const auto access = informer::load_server_access(kubeconfig);
  ASSERT_TRUE(access) << access.error().message;
  Author in_json(*access, false, informer::HttpVersion::kHttp2);
  Author in_protobuf(*access, true, informer::HttpVersion::kHttp2);
  Author in_protobuf_1(*access, true, informer::HttpVersion::kHttp1);
  const auto expected = stored(admin, in_json, "json");
  EXPECT_EQ(expected.first["node"], "n1");
  EXPECT_EQ(expected.first["annotations"]["example.com/given"], R"({"gpu":[0,1]})");
  EXPECT_EQ(expected, stored(admin, in_protobuf, "protobuf"));
  EXPECT_EQ(expected, stored(admin, in_protobuf_1, "protobuf-1"));

  // The precondition counts, and the answer's text is read.
  ASSERT_EQ(admin.post(kPods, pod_object({.name = "other", .requests = {{"cpu", "1"}}})).status,
            201);
  for (Author* author : {&in_protobuf, &in_protobuf_1}) {
    const auto refused = author->bind({"default", "other", "no-such-uid", "n1", {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_THAT(refused.error().message, HasSubstr("no-such-uid"));
  }

  // So does the pod's version: a Binding of an older one is void, however late it comes.
  const json changed =
      admin.patch(std::string(kPods) + "/other", {{"metadata", {{"labels", {{"a", "b"}}}}}}).json();
  const json other = changed["metadata"];
  BindRequest late{"default", "other", other["uid"], "n1", {}, "1"};
  const std::string binding = std::string(kPods) + "/other/binding";
  for (const KubeReply& reply : {admin.request("POST", binding, informer::binding_body(late)),
                                 admin.request("POST", binding, informer::binding_protobuf(late),
                                               std::string(informer::kProtobufType))}) {
    EXPECT_EQ(reply.status, 409);
    EXPECT_THAT(reply.body, HasSubstr("ResourceVersion in precondition: 1"));
  }

  // A condition's answer is protobuf too.
  std::promise<Result<void>> patched;
  in_protobuf.writer->patch_condition(
      {"default", "other", other["uid"], other["resourceVersion"], "Unschedulable", "none fits", 0,
       false, ""},
      [&](Result<void> done) { patched.set_value(std::move(done)); });
  const auto done = patched.get_future().get();
  EXPECT_TRUE(done) << done.error().message;
  const json condition = admin.get(std::string(kPods) + "/other").json()["status"]["conditions"][0];
  EXPECT_EQ(condition["message"], "none fits");
}

}  // namespace
}  // namespace plimsoll::test
