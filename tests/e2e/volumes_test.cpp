// Pods with claims against a real API server, with a small provisioner in place of the cluster's
// volume controllers. Nothing is bound twice, wherever between two writes the scheduler dies.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/facts.hpp"
#include "tests/e2e/provisioner.hpp"
#include "tests/e2e/replica.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

class VolumesTest : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    for (const auto& [name, provisioner] : {std::pair("wait", "driver.example.com"),
                                            std::pair("local", "kubernetes.io/no-provisioner")}) {
      create(kClassesPath, {{"metadata", {{"name", name}}},
                            {"provisioner", provisioner},
                            {"volumeBindingMode", "WaitForFirstConsumer"}});
    }
    for (int i = 1; i <= 3; ++i) {
      json node =
          node_object("n" + std::to_string(i), {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "50"}});
      node["metadata"]["labels"]["kubernetes.io/hostname"] = "n" + std::to_string(i);
      create(kNodes, node);
    }
  }
  void TearDown() override {
    for (const std::string& collection :
         {claims_path(), std::string(kVolumesPath), std::string(kClassesPath)}) {
      strip_finalizers(collection);
      (void)client().del(collection + "?gracePeriodSeconds=0");
    }
    E2eTest::TearDown();
  }

  // Volumes of class "wait" are for the node that was selected.
  struct HostProvisioner : Provisioner {
    explicit HostProvisioner(const std::string& ns)
        : Provisioner(
              cluster().admin(), ns,
              {{"wait", {.driver = "driver.example.com", .label = "kubernetes.io/hostname"}}}) {}
  };

  [[nodiscard]] std::string claims_path() const { return claims_path_of(ns()); }
  // Without controllers nobody takes the protection off.
  void strip_finalizers(const std::string& collection) {
    const auto all = client().list(collection);
    if (!all) return;
    for (const json& each : *all) {
      (void)client().patch(collection + "/" + text_at(each, "/metadata/name"),
                           {{"metadata", {{"finalizers", nullptr}}}});
    }
  }

  void add_claim(const std::string& name, const std::string& storage_class) {
    create(claims_path(), claim_object(name, storage_class));
  }
  void add_local_volume(const std::string& name) {
    create(kVolumesPath, {{"metadata", {{"name", name}}},
                          {"spec",
                           {{"accessModes", {"ReadWriteOnce"}},
                            {"capacity", {{"storage", "1Gi"}}},
                            {"csi", {{"driver", "disk.example.com"}, {"volumeHandle", name}}},
                            {"storageClassName", "local"}}}});
    change(std::string(kVolumesPath) + "/" + name + "/status",
           {{"status", {{"phase", "Available"}}}});
  }
  void add_pod(const std::string& name, const std::vector<std::string>& claims) {
    json pod = pod_object({.name = name, .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
    for (const std::string& claim : claims) add_claim_to(pod, claim);
    create(pods_path(), pod);
  }

  // Every claim has a volume of its own, which names it.
  void expect_one_volume_each(const std::set<std::string>& claims) {
    std::map<std::string, int> volumes_of;
    const auto volumes = client().list(kVolumesPath);
    ASSERT_TRUE(volumes);
    for (const json& volume : *volumes) ++volumes_of[text_at(volume, "/spec/claimRef/name")];
    volumes_of.erase("");
    std::set<std::string> seen;
    for (const std::string& name : claims) {
      const json claim = client().get(claims_path() + "/" + name).json();
      EXPECT_TRUE(seen.insert(text_at(claim, "/spec/volumeName")).second) << name;
      EXPECT_EQ(volumes_of[name], 1) << name;
    }
    EXPECT_EQ(volumes_of.size(), claims.size());
  }

  TempDir folder_;
};

TEST_F(VolumesTest, EveryPodOfASetGetsAVolumeOfItsOwn) {
  const HostProvisioner provisioner(ns());
  ASSERT_NO_FATAL_FAILURE(start());
  std::set<std::string> claims;
  for (int i = 0; i < 9; ++i) {
    const std::string number = std::to_string(i);
    claims.insert("data-" + number);
    add_claim("data-" + number, "wait");
    add_pod("set-" + number, {"data-" + number});
  }
  for (int i = 0; i < 9; ++i) {
    const std::string number = std::to_string(i);
    const std::string node = wait_bound("set-" + number);
    ASSERT_NE(node, "") << tail(log(), 30);
    const json claim = client().get(claims_path() + "/data-" + number).json();
    EXPECT_EQ(claim.at("metadata").at("annotations").at(kSelectedNode), node);
    EXPECT_EQ(claim.at("metadata").at("annotations").at(kBindCompleted), "yes");
  }
  expect_one_volume_each(claims);
}

TEST_F(VolumesTest, TwoPodsAndOneFreeVolume) {
  const HostProvisioner provisioner(ns());
  add_local_volume("disk");
  for (const char* name : {"a", "b"}) add_claim(name, "local");
  ASSERT_NO_FATAL_FAILURE(start());
  add_pod("first", {"a"});
  ASSERT_NE(wait_bound("first"), "") << tail(log(), 30);
  add_pod("second", {"b"});
  EXPECT_THAT(wait_refused("second"),
              testing::HasSubstr("3 node(s) didn't find available persistent volumes to bind"));
  add_local_volume("another");
  EXPECT_NE(wait_bound("second"), "") << tail(log(), 30);
  expect_one_volume_each({"a", "b"});
}

// ---- what becomes of a decision when its objects change before it is written

class ChangedBeforeTheWriteTest : public VolumesTest {
 protected:
  // The pod's decision is made, and its write to the object at this path does not arrive yet.
  void decide_and_hold(const std::string& pod, const std::string& claim, const std::string& path) {
    auto proxy = start_proxy();
    ASSERT_TRUE(proxy) << proxy.error().message;
    proxy_ = std::move(*proxy);
    ASSERT_NO_FATAL_FAILURE(start(through(*proxy_, {}, folder_)));
    proxy_->hold(ApiProxy::What::kRequest, "PATCH", path);
    add_pod(pod, {claim});
    ASSERT_TRUE(proxy_->wait_held(30s)) << tail(log(), 30);
  }
  // The first refusal may be another, of the write that failed.
  void expect_refused(const std::string& pod, const std::string& why) {
    EXPECT_TRUE(eventually(30s, [&] { return wait_refused(pod).find(why) != std::string::npos; }))
        << wait_refused(pod) << "\n"
        << tail(log(), 30);
  }

  std::unique_ptr<ApiProxy> proxy_;
};

TEST_F(ChangedBeforeTheWriteTest, SomebodyElseTakesTheVolume) {
  const HostProvisioner provisioner(ns());
  add_local_volume("disk-a");
  for (const char* name : {"ours", "theirs"}) add_claim(name, "local");
  ASSERT_NO_FATAL_FAILURE(decide_and_hold("pod", "ours", "/persistentvolumes/disk-a"));
  const json theirs = client().get(claims_path() + "/theirs").json();
  change(std::string(kVolumesPath) + "/disk-a",
         {{"spec", {{"claimRef", claim_reference(theirs)}}}});
  ASSERT_TRUE(proxy_->pass_on(30s));
  expect_refused("pod", "3 node(s) didn't find available persistent volumes to bind");
  add_local_volume("disk-b");
  EXPECT_NE(wait_bound("pod"), "") << tail(log(), 30);
  expect_one_volume_each({"ours", "theirs"});
}

TEST_F(ChangedBeforeTheWriteTest, TheClaimGoesAndAnotherComesOfItsName) {
  const HostProvisioner provisioner(ns());
  add_claim("data", "wait");
  ASSERT_NO_FATAL_FAILURE(decide_and_hold("pod", "data", "/persistentvolumeclaims/data"));
  strip_finalizers(claims_path());
  remove(claims_path() + "/data");
  ASSERT_TRUE(proxy_->pass_on(30s));
  expect_refused("pod", "persistentvolumeclaim \"data\" not found");
  add_claim("data", "wait");
  EXPECT_NE(wait_bound("pod"), "") << tail(log(), 30);
  expect_one_volume_each({"data"});
}

TEST_F(ChangedBeforeTheWriteTest, TheClassGoes) {
  const HostProvisioner provisioner(ns());
  for (const char* name : {"early", "late"}) add_claim(name, "wait");
  ASSERT_NO_FATAL_FAILURE(decide_and_hold("first", "early", "/persistentvolumeclaims/early"));
  remove(std::string(kClassesPath) + "/wait");
  ASSERT_TRUE(proxy_->pass_on(30s));
  EXPECT_NE(wait_bound("first"), "") << "the node is chosen\n" << tail(log(), 30);
  add_pod("second", {"late"});
  expect_refused("second", "pod has unbound immediate PersistentVolumeClaims");
  create(kClassesPath, {{"metadata", {{"name", "wait"}}},
                        {"provisioner", "driver.example.com"},
                        {"volumeBindingMode", "WaitForFirstConsumer"}});
  EXPECT_NE(wait_bound("second"), "") << tail(log(), 30);
  expect_one_volume_each({"early", "late"});
}

// Each learns from the other's writes only. Where both choose one volume, which they do only if
// they decide at the same moment, one of them chooses again.
TEST_F(VolumesTest, TwoSchedulersTakeVolumesOfOneClass) {
  constexpr int kVolumes = 12;
  const std::string other = "another-scheduler";
  ASSERT_TRUE(write_file(folder_ / "other.yaml",
                         "apiVersion: kubescheduler.config.k8s.io/v1\n"
                         "kind: KubeSchedulerConfiguration\n"
                         "leaderElection: {leaderElect: false}\n"
                         "profiles:\n"
                         "- schedulerName: " +
                             other + "\n"));
  const HostProvisioner provisioner(ns());
  std::set<std::string> claims;
  for (int i = 0; i < kVolumes; ++i) {
    add_local_volume("disk-" + std::to_string(i));
    claims.insert("data-" + std::to_string(i));
    add_claim("data-" + std::to_string(i), "local");
  }
  Replica second(other,
                 {.kubeconfig = cluster().kubeconfig_token(), .config = folder_ / "other.yaml"});
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(second.start());
  for (int i = 0; i < kVolumes; ++i) {
    const std::string number = std::to_string(i);
    json pod = pod_object({.name = "pod-" + number,
                           .scheduler = i % 2 == 0 ? kScheduler : other,
                           .requests = {{"cpu", "1"}}});
    add_claim_to(pod, "data-" + number);
    create(pods_path(), pod);
  }
  for (int i = 0; i < kVolumes; ++i) {
    EXPECT_NE(wait_bound("pod-" + std::to_string(i), 60s), "")
        << i << "\n"
        << tail(log(), 30) << second.end_of_log();
  }
  expect_one_volume_each(claims);
  second.stop();
}

// A pod with two volumes to take and two to be made: four writes, and the Binding. The scheduler
// dies when the write at this place has left it, and the next one finds what those before it did.
struct KilledBefore {
  const char* name;
  const char* method;
  const char* path;
  std::size_t volumes_written;  // of the two that are there
  std::size_t claims_written;   // of the two whose volumes are made
};
void PrintTo(const KilledBefore& where, std::ostream* out) {
  *out << where.name;
}

class KilledBetweenWritesTest : public VolumesTest,
                                public testing::WithParamInterface<KilledBefore> {
 protected:
  std::size_t volumes_written() {
    const auto volumes = client().list(kVolumesPath);
    if (!volumes) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(*volumes, [](const json& volume) {
      return text_at(volume, "/spec/claimRef/name").starts_with("static-");
    }));
  }
  std::size_t claims_written() {
    const auto claims = client().list(claims_path());
    if (!claims) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(*claims, [](const json& claim) {
      return texts_at(claim, "/metadata/annotations").contains(kSelectedNode);
    }));
  }
};

TEST_P(KilledBetweenWritesTest, NothingIsBoundTwice) {
  const KilledBefore& where = GetParam();
  auto proxy = start_proxy();
  ASSERT_TRUE(proxy) << proxy.error().message;
  const std::set<std::string> claims{"static-a", "static-b", "made-a", "made-b"};
  add_local_volume("disk-a");
  add_local_volume("disk-b");
  for (const char* name : {"static-a", "static-b"}) add_claim(name, "local");
  for (const char* name : {"made-a", "made-b"}) add_claim(name, "wait");
  ASSERT_NO_FATAL_FAILURE(start(through(**proxy, {}, folder_)));
  std::optional<HostProvisioner> provisioner;
  // The Binding leaves only when all claims are bound.
  if (where.method == std::string("POST")) provisioner.emplace(ns());
  (*proxy)->hold(ApiProxy::What::kRequest, where.method, where.path);
  add_pod("pod", {"static-a", "static-b", "made-a", "made-b"});
  ASSERT_TRUE((*proxy)->wait_held(30s)) << tail(log(), 30);
  scheduler().kill();
  EXPECT_EQ(volumes_written(), where.volumes_written);
  EXPECT_EQ(claims_written(), where.claims_written);
  if (!provisioner) provisioner.emplace(ns());
  ASSERT_NO_FATAL_FAILURE(start());
  (void)(*proxy)->pass_on(30s);  // the dead scheduler's write arrives late
  ASSERT_NE(wait_bound("pod", 60s), "") << tail(log(), 30);
  expect_one_volume_each(claims);
}

// Volumes before claims, each in the order of the pod.
INSTANTIATE_TEST_SUITE_P(
    Writes, KilledBetweenWritesTest,
    testing::Values(KilledBefore{"FirstVolume", "PATCH", "/persistentvolumes/disk-a", 0, 0},
                    KilledBefore{"SecondVolume", "PATCH", "/persistentvolumes/disk-b", 1, 0},
                    KilledBefore{"FirstClaim", "PATCH", "/persistentvolumeclaims/made-a", 2, 0},
                    KilledBefore{"SecondClaim", "PATCH", "/persistentvolumeclaims/made-b", 2, 1},
                    KilledBefore{"Binding", "POST", "/pods/pod/binding", 2, 2}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace plimsoll::test
