// What strangers write at a real API server costs memory only while it is there: a stream of
// patches with tens of thousands of label keys, annotation keys, values, images and resources that
// were never seen before, of a pod that nobody schedules.

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "framework/port/inbox.hpp"
#include "informer/watch/informer.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"
#include "tests/support/allocation_count.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr int kPatches = 40;
constexpr int kKeys = 1'000;  // of each kind in a patch

// The newest version of pod "stranger"; like the loop, it holds the newest object only.
class Newest final : public Inbox {
 public:
  void post(Message message) override {
    const std::lock_guard lock(mutex_);
    if (auto* pod = std::get_if<PodUpserted>(&message)) pod_ = std::move(pod->pod);
    if (std::holds_alternative<PodDeleted>(message)) {
      pod_.reset();
      gone_ = true;
    }
    changed_.notify_all();
  }
  bool wait_for_version(const std::string& version) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s,
                             [&] { return pod_ && view(pod_->meta.resource_version) == version; });
  }
  bool wait_until_gone() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return gone_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  PodRef pod_;
  bool gone_ = false;
};

class MemoryTest : public KubeTest {};

TEST_F(MemoryTest, AStreamOfPatchesLeavesNothingBehind) {
  KubeClient admin(cluster().admin());
  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = cluster().kubeconfig().string();
  const auto access = informer::load_server_access(kubeconfig);
  ASSERT_TRUE(access) << access.error().message;
  auto client =
      informer::HttpClient::create(*access, std::make_shared<informer::CredentialSource>(*access));
  ASSERT_TRUE(client);
  Newest newest;
  SymbolTable symbols;
  informer::ApiServerInformer informer(**client, newest, symbols);
  informer.start();

  json pod = pod_object({.name = "stranger", .requests = {{"cpu", "1"}}});
  pod["spec"]["schedulerName"] = "nobody";
  KubeReply reply = admin.post(kPods, pod);
  ASSERT_EQ(reply.status, 201) << reply.body;
  const std::string path = std::string(kPods) + "/stranger";
  size_t most_texts = 0;
  int64_t early = 0;
  for (int round = 0; round < kPatches; ++round) {
    json keys = json::object();
    for (int i = 0; i < kKeys; ++i) {
      const std::string name = std::to_string(round) + "-" + std::to_string(i);
      keys["key-" + name] = "value-" + name;
      if (round > 0) {
        keys["key-" + std::to_string(round - 1) + "-" + std::to_string(i)] = nullptr;
      }
    }
    reply = admin.patch(path, {{"metadata", {{"labels", keys}, {"annotations", keys}}}});
    ASSERT_TRUE(reply.ok()) << reply.body;
    pod = reply.json();
    pod["spec"]["containers"][0]["image"] = "registry.example.com/image:" + std::to_string(round);
    reply = admin.put(path, pod);
    ASSERT_TRUE(reply.ok()) << reply.body;
    // What a kubelet says of a resize may name anything, too.
    json resources = json::object();
    for (int i = 0; i < kKeys; ++i) {
      resources["example.com/r" + std::to_string(round) + "-" + std::to_string(i)] = "1";
    }
    const json status = {{"name", pod["spec"]["containers"][0]["name"]},
                         {"image", "i"},
                         {"imageID", ""},
                         {"ready", true},
                         {"restartCount", 0},
                         {"allocatedResources", resources},
                         {"resources", {{"requests", resources}}}};
    pod = reply.json();
    pod["status"]["containerStatuses"] = json::array({status});
    reply = admin.put(path + "/status", pod);
    ASSERT_TRUE(reply.ok()) << reply.body;
    ASSERT_TRUE(
        newest.wait_for_version(reply.json()["metadata"]["resourceVersion"].get<std::string>()));
    most_texts = std::max(most_texts, symbols.shared_count());
    if (round == kPatches / 4) early = live_bytes();
  }
  const int64_t late = live_bytes();
  RecordProperty("shared_texts", std::to_string(most_texts));
  RecordProperty("bytes_early", std::to_string(early));
  RecordProperty("bytes_late", std::to_string(late));
  std::printf(
      "%d label keys and as many values, annotations, resources: at most %zu texts shared "
      "at a time, %ld KiB after a quarter, %ld KiB at the end\n",
      kPatches * kKeys, most_texts, static_cast<long>(early >> 10), static_cast<long>(late >> 10));
  EXPECT_LT(most_texts, size_t{8 * kKeys}) << "those of one or two versions";
  EXPECT_LT(late - early, 4 << 20);
  EXPECT_LE(symbols.resource_count(), SymbolTable::kMostOfPods);
  ASSERT_TRUE(admin.del(path, {{"gracePeriodSeconds", 0}}).ok());
  ASSERT_TRUE(newest.wait_until_gone());
  informer.stop();
  (*client)->stop();
  EXPECT_LT(symbols.shared_count(), 100u) << "nodes and pods that are still there";
}

}  // namespace
}  // namespace plimsoll::test
