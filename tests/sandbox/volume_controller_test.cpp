#include "lab/sandbox/storage/volume_controller.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

namespace plimsoll::sandbox {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

json volume(const std::string& name, const std::string& size) {
  return {{"metadata", {{"name", name}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"capacity", {{"storage", size}}},
            {"persistentVolumeReclaimPolicy", "Retain"},
            {"storageClassName", "disk"}}}};
}

json claim(const std::string& name) {
  return {{"metadata", {{"name", name}, {"namespace", "team"}}},
          {"spec",
           {{"accessModes", {"ReadWriteOnce"}},
            {"resources", {{"requests", {{"storage", "2Gi"}}}}},
            {"storageClassName", "disk"}}}};
}

class VolumeControllerTest : public testing::Test {
 protected:
  void add_class(const std::string& mode, const std::string& provisioner) {
    add(kStorageClasses, {{"metadata", {{"name", "disk"}}},
                          {"provisioner", provisioner},
                          {"volumeBindingMode", mode}});
  }
  void add(const ResourceName& resource, json object) {
    ASSERT_TRUE(store_.create(resource, std::move(object)));
  }
  json get(const ResourceName& resource, const ObjectKey& key) {
    const auto found = store_.get(resource, key);
    return found ? (*found)->parse() : json();
  }
  json claim_now(const std::string& name) { return get(kPersistentVolumeClaims, {"team", name}); }
  json volume_now(const std::string& name) { return get(kPersistentVolumes, {"", name}); }
  template <typename Condition>
  bool eventually(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }
  bool is_bound(const std::string& name, const std::string& to) {
    return eventually([&] {
      const json now = claim_now(name);
      return now.is_object() && now.at("spec").value("volumeName", "") == to;
    });
  }
  void annotate(const std::string& name, const std::string& node) {
    ASSERT_TRUE(store_.modify(
        kPersistentVolumeClaims, {"team", name}, {}, [&](json& now) -> ApiResult<void> {
          now["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = node;
          return {};
        }));
  }

  ObjectStore store_;
};

TEST_F(VolumeControllerTest, ImmediateClaimsTakeTheSmallestVolumeThatFits) {
  add_class("Immediate", "kubernetes.io/no-provisioner");
  add(kPersistentVolumes, volume("small", "1Gi"));
  add(kPersistentVolumes, volume("large", "9Gi"));
  add(kPersistentVolumes, volume("fitting", "3Gi"));
  SimulatedVolumes volumes(store_);
  ASSERT_TRUE(eventually([&] {
    return volumes.quiet() && volume_now("large")["status"].value("phase", "") == "Available";
  }));
  add(kPersistentVolumeClaims, claim("a"));
  EXPECT_TRUE(is_bound("a", "fitting"));
  EXPECT_TRUE(eventually([&] { return volumes.stats().bound == 1; }));
  EXPECT_EQ(volume_now("fitting").at("spec").at("claimRef").at("name"), "a");
  ASSERT_TRUE(store_.remove(kPersistentVolumeClaims, {"team", "a"}));
  EXPECT_TRUE(
      eventually([&] { return volume_now("fitting").at("status").at("phase") == "Released"; }));
}

TEST_F(VolumeControllerTest, ASelectedNodeGetsAVolumeOfItsZone) {
  add_class("WaitForFirstConsumer", "driver.example.com");
  add(kNodes, {{"metadata", {{"name", "n1"}, {"labels", {{"topology.kubernetes.io/zone", "z"}}}}}});
  SimulatedVolumes volumes(store_);
  add(kPersistentVolumeClaims, claim("a"));
  ASSERT_TRUE(eventually(
      [&] { return volumes.quiet() && claim_now("a")["status"].value("phase", "") == "Pending"; }));
  EXPECT_EQ(claim_now("a").at("spec").count("volumeName"), 0U) << "it waits for its consumer";
  annotate("a", "n1");
  const std::string name = "pvc-" + claim_now("a").at("metadata").at("uid").get<std::string>();
  ASSERT_TRUE(is_bound("a", name));
  const json made = volume_now(name);
  EXPECT_EQ(made.at("spec").at("csi").at("driver"), "driver.example.com");
  EXPECT_EQ(made.at("spec")
                .at("nodeAffinity")
                .at("required")
                .at("nodeSelectorTerms")
                .at(0)
                .at("matchExpressions")
                .at(0)
                .at("values")
                .at(0),
            "z");
  EXPECT_EQ(claim_now("a").at("metadata").at("annotations").at("pv.kubernetes.io/bind-completed"),
            "yes");
  ASSERT_TRUE(store_.remove(kPersistentVolumeClaims, {"team", "a"}));
  EXPECT_TRUE(eventually([&] { return volume_now(name).is_null(); })) << "it goes with its claim";
}

TEST_F(VolumeControllerTest, AVolumeThatNamesAClaimIsBoundToIt) {
  add_class("WaitForFirstConsumer", "kubernetes.io/no-provisioner");
  add(kPersistentVolumeClaims, claim("a"));
  SimulatedVolumes volumes(store_);
  json named = volume("pv", "5Gi");
  named["spec"]["claimRef"] = {{"name", "a"}, {"namespace", "team"}};
  add(kPersistentVolumes, named);
  EXPECT_TRUE(is_bound("a", "pv"));
  EXPECT_EQ(volume_now("pv").at("spec").at("claimRef").at("uid"),
            claim_now("a").at("metadata").at("uid"));
}

TEST_F(VolumeControllerTest, EphemeralVolumesGetClaimsThatGoWithThePod) {
  add_class("Immediate", "driver.example.com");
  SimulatedVolumes volumes(store_);
  const json ephemeral = {
      {"name", "scratch"},
      {"ephemeral", {{"volumeClaimTemplate", {{"spec", claim("x").at("spec")}}}}}};
  add(kPods,
      {{"metadata", {{"name", "p"}, {"namespace", "team"}}}, {"spec", {{"volumes", {ephemeral}}}}});
  ASSERT_TRUE(eventually([&] { return claim_now("p-scratch").is_object(); }));
  EXPECT_EQ(claim_now("p-scratch").at("metadata").at("ownerReferences").at(0).at("name"), "p");
  ASSERT_TRUE(store_.remove(kPods, {"team", "p"}));
  EXPECT_TRUE(eventually([&] { return claim_now("p-scratch").is_null(); }));
}

}  // namespace
}  // namespace plimsoll::sandbox
