// A real API server tells the same in both encodings and by both kinds of first list: objects are
// compared field by field after they were listed, changed and deleted.

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "framework/port/inbox.hpp"
#include "informer/watch/informer.hpp"
#include "tests/api/describe.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

// Everything that is known of pods and nodes, as text.
class Mirror final : public Inbox {
 public:
  void post(Message message) override {
    const std::lock_guard lock(mutex_);
    std::visit([this](const auto& m) { take(m); }, message);
    changed_.notify_all();
  }
  // Waits until both kinds are in sync and there are so many objects of which `name` has `version`.
  std::map<std::string, std::string> wait(std::size_t objects, const std::string& name,
                                          const std::string& version) {
    std::unique_lock lock(mutex_);
    const bool there = changed_.wait_for(lock, 30s, [&] {
      const auto found = versions_.find(name);
      return synced_ == 2 && objects_.size() == objects && found != versions_.end() &&
             found->second == version;
    });
    EXPECT_TRUE(there) << "there are " << objects_.size() << " objects";
    return objects_;
  }

 private:
  void take(const PodUpserted& m) {
    objects_["pod " + full_name(*m.pod)] = describe(*m.pod);
    versions_["pod " + full_name(*m.pod)] = view(m.pod->meta.resource_version);
  }
  void take(const PodDeleted& m) { objects_.erase("pod " + full_name(*m.last_known)); }
  void take(const NodeUpserted& m) {
    objects_["node " + std::string(view(m.node->meta.name))] = describe(*m.node);
  }
  void take(const NodeDeleted& m) { objects_.erase("node " + m.name); }
  void take(const KindSynced&) { ++synced_; }
  void take(const ObjectMalformed& m) { ADD_FAILURE() << m.error; }
  template <typename Other>
  void take(const Other&) {}

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> objects_;
  std::map<std::string, std::string> versions_;
  int synced_ = 0;
};

// One way of following the cluster. The symbols are shared, so that texts have the same ids.
struct Follower {
  Follower(const informer::ServerAccess& access, SymbolTable& symbols, bool protobuf,
           bool streaming) {
    auto made =
        informer::HttpClient::create(access, std::make_shared<informer::CredentialSource>(access));
    EXPECT_TRUE(made);
    client = std::move(*made);
    informer::InformerOptions options;
    options.protobuf = protobuf;
    options.reflector.streaming_list = streaming;
    informer = std::make_unique<informer::ApiServerInformer>(*client, mirror, symbols, options);
    informer->start();
  }
  ~Follower() {
    informer->stop();
    client->stop();
  }
  Mirror mirror;
  std::unique_ptr<informer::HttpClient> client;
  std::unique_ptr<informer::ApiServerInformer> informer;
};

json everything() {
  json pod = pod_object({.name = "everything", .requests = {{"cpu", "1500m"}, {"memory", "1Gi"}}});
  pod["metadata"]["labels"] = {{"app", "web"}, {"tier", "front"}};
  pod["metadata"]["annotations"] = {{"example.com/note", "a \"quoted\" text, \u00fcber"}};
  json& spec = pod["spec"];
  spec["nodeSelector"] = {{"disk", "ssd"}};
  spec["tolerations"] = {{{"key", "k"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}};
  spec["initContainers"] = {{{"name", "proxy"},
                             {"image", "proxy:1"},
                             {"restartPolicy", "Always"},
                             {"resources", {{"requests", {{"cpu", "0.1"}}}}}}};
  spec["containers"][0]["ports"] = {
      {{"containerPort", 80}, {"hostPort", 8080}, {"hostIP", "10.0.0.1"}, {"protocol", "UDP"}}};
  spec["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "c"}}}},
                     {{"name", "cfg"}, {"configMap", {{"name", "m"}}}}};
  spec["topologySpreadConstraints"] = {{{"maxSkew", 2},
                                        {"topologyKey", "zone"},
                                        {"minDomains", 3},
                                        {"whenUnsatisfiable", "DoNotSchedule"},
                                        {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}}};
  spec["affinity"] = {
      {"nodeAffinity",
       {{"requiredDuringSchedulingIgnoredDuringExecution",
         {{"nodeSelectorTerms",
           {{{"matchExpressions",
              {{{"key", "zone"}, {"operator", "In"}, {"values", {"a", "b"}}}}}}}}}}}},
      {"podAntiAffinity",
       {{"preferredDuringSchedulingIgnoredDuringExecution",
         {{{"weight", 9},
           {"podAffinityTerm",
            {{"topologyKey", "host"},
             {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}}}}}}}}};
  return pod;
}

class ProtobufTest : public KubeTest {};

TEST_F(ProtobufTest, BothEncodingsTellTheSame) {
  KubeClient admin(cluster().admin());
  json node = node_object("n1", {{"cpu", "8"}, {"memory", "16Gi"}, {"example.com/gpu", "4"}});
  node["metadata"]["labels"] = {{"zone", "a"}};
  node["spec"]["taints"] = {{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}};
  node["status"]["images"] = {{{"names", {"web:1", "web@sha256:1"}}, {"sizeBytes", 123456}}};
  ASSERT_EQ(admin.post(kNodes, node).status, 201);
  json made = everything();
  KubeReply reply = admin.post(kPods, made);
  ASSERT_EQ(reply.status, 201) << reply.body;
  for (int i = 0; i < 30; ++i) {
    reply = admin.post(kPods, pod_object({.name = "p" + std::to_string(i),
                                          .requests = {{"cpu", std::to_string(i + 1)}},
                                          .guaranteed = i % 2 == 0}));
    ASSERT_EQ(reply.status, 201) << reply.body;
  }

  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = cluster().kubeconfig().string();
  const auto access = informer::load_server_access(kubeconfig);
  ASSERT_TRUE(access) << access.error().message;
  SymbolTable symbols;
  for (const char* name : {"cpu", "memory", "pods", "ephemeral-storage", "example.com/gpu"}) {
    static_cast<void>(symbols.resource_index(name));
  }
  // Symbols that only a `find` would give would depend on who comes first: intern them all.
  for (const char* text : {"web", "front", "v"}) static_cast<void>(symbols.intern(text));
  Follower json_list(*access, symbols, false, false);
  Follower protobuf_list(*access, symbols, true, false);
  Follower json_stream(*access, symbols, false, true);
  Follower protobuf_stream(*access, symbols, true, true);

  const auto all_agree = [&](std::size_t objects, const std::string& name,
                             const std::string& version) {
    const auto expected = json_list.mirror.wait(objects, name, version);
    EXPECT_EQ(expected, protobuf_list.mirror.wait(objects, name, version));
    EXPECT_EQ(expected, json_stream.mirror.wait(objects, name, version));
    EXPECT_EQ(expected, protobuf_stream.mirror.wait(objects, name, version));
  };
  const auto version_of = [&](const std::string& name) {
    return admin.get(std::string(kPods) + "/" + name)
        .json()["metadata"]["resourceVersion"]
        .get<std::string>();
  };
  all_agree(32, "pod default/p29", version_of("p29"));

  // From here on by watching.
  ASSERT_TRUE(
      admin.post(std::string(kPods) + "/everything/binding", binding_object("everything", "n1"))
          .ok());
  ASSERT_TRUE(admin
                  .patch(std::string(kPods) + "/everything/status",
                         {{"status",
                           {{"phase", "Running"},
                            {"startTime", "2026-01-01T00:00:01Z"},
                            {"containerStatuses",
                             {{{"name", "main"},
                               {"image", "i"},
                               {"imageID", ""},
                               {"ready", true},
                               {"restartCount", 0},
                               {"resources", {{"requests", {{"cpu", "1700m"}}}}}}}}}}})
                  .ok());
  ASSERT_TRUE(admin.del(std::string(kPods) + "/p3", {{"gracePeriodSeconds", 0}}).ok());
  all_agree(31, "pod default/everything", version_of("everything"));
}

}  // namespace
}  // namespace plimsoll::test
