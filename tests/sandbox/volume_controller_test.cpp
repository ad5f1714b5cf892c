#include "tests/sandbox/controllers_test.hpp"

namespace plimsoll::sandbox {
namespace {

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

class VolumeControllerTest : public ControllersTest {
 protected:
  void add_class(const std::string& mode, const std::string& provisioner) {
    add(kStorageClasses, {{"metadata", {{"name", "disk"}}},
                          {"provisioner", provisioner},
                          {"volumeBindingMode", mode}});
  }
  json claim_now(const std::string& name) { return get(kPersistentVolumeClaims, {"team", name}); }
  json volume_now(const std::string& name) { return get(kPersistentVolumes, {"", name}); }
  bool is_bound(const std::string& name, const std::string& to) {
    return eventually([&] {
      const json now = claim_now(name);
      return now.is_object() && now.at("spec").value("volumeName", "") == to;
    });
  }
  void annotate(const std::string& name, const std::string& node) {
    change(kPersistentVolumeClaims, {"team", name}, [&](json& now) {
      now["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = node;
    });
  }
};

TEST_F(VolumeControllerTest, ImmediateClaimsTakeTheSmallestVolumeThatFits) {
  add_class("Immediate", "kubernetes.io/no-provisioner");
  add(kPersistentVolumes, volume("small", "1Gi"));
  add(kPersistentVolumes, volume("large", "9Gi"));
  add(kPersistentVolumes, volume("fitting", "3Gi"));
  SimulatedControllers controllers(store_);
  ASSERT_TRUE(eventually([&] {
    return controllers.quiet() && volume_now("large")["status"].value("phase", "") == "Available";
  }));
  add(kPersistentVolumeClaims, claim("a"));
  EXPECT_TRUE(is_bound("a", "fitting"));
  EXPECT_EQ(volume_now("fitting").at("spec").at("claimRef").at("name"), "a");
  ASSERT_TRUE(store_.remove(kPersistentVolumeClaims, {"team", "a"}));
  EXPECT_TRUE(
      eventually([&] { return volume_now("fitting").at("status").at("phase") == "Released"; }));
}

TEST_F(VolumeControllerTest, ASelectedNodeGetsAVolumeOfItsZone) {
  add_class("WaitForFirstConsumer", "driver.example.com");
  add(kNodes, {{"metadata", {{"name", "n1"}, {"labels", {{"topology.kubernetes.io/zone", "z"}}}}}});
  SimulatedControllers controllers(store_);
  add(kPersistentVolumeClaims, claim("a"));
  ASSERT_TRUE(eventually([&] {
    return controllers.quiet() && claim_now("a")["status"].value("phase", "") == "Pending";
  }));
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
  SimulatedControllers controllers(store_);
  json named = volume("pv", "5Gi");
  named["spec"]["claimRef"] = {{"name", "a"}, {"namespace", "team"}};
  add(kPersistentVolumes, named);
  EXPECT_TRUE(is_bound("a", "pv"));
  EXPECT_EQ(volume_now("pv").at("spec").at("claimRef").at("uid"),
            claim_now("a").at("metadata").at("uid"));
}

TEST_F(VolumeControllerTest, EphemeralVolumesGetClaimsThatGoWithThePod) {
  add_class("Immediate", "driver.example.com");
  SimulatedControllers controllers(store_);
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

// Kubernetes: findBestMatchForClaim and checkVolumeSatisfyClaim.
TEST_F(VolumeControllerTest, StaticVolumesGoToClaimsByTheRulesOfTheBinder) {
  add_class("Immediate", "kubernetes.io/no-provisioner");
  json block = volume("block", "2Gi");
  block["spec"]["volumeMode"] = "Block";
  add(kPersistentVolumes, block);
  json fast = volume("fast", "9Gi");
  fast["metadata"]["labels"] = {{"speed", "high"}};
  add(kPersistentVolumes, fast);
  json annotated = volume("annotated", "5Gi");
  annotated["spec"]["storageClassName"] = "";
  annotated["metadata"]["annotations"] = {{"volume.beta.kubernetes.io/storage-class", "old"}};
  add(kPersistentVolumes, annotated);
  add(kPersistentVolumes, volume("slow", "3Gi"));
  json small = volume("small", "1Gi");
  small["spec"]["claimRef"] = {{"name", "too-large"}, {"namespace", "team"}};
  add(kPersistentVolumes, small);
  json selects = claim("selects");
  selects["spec"]["selector"]["matchLabels"] = {{"speed", "high"}};
  add(kPersistentVolumeClaims, selects);
  json old = claim("old");
  old["spec"]["storageClassName"] = "old";
  add(kPersistentVolumeClaims, old);
  json asks = claim("asks");  // for a volume that is smaller than it needs
  asks["spec"]["volumeName"] = "slow";
  asks["spec"]["resources"]["requests"]["storage"] = "4Gi";
  add(kPersistentVolumeClaims, asks);
  add(kPersistentVolumeClaims, claim("too-large"));
  SimulatedControllers controllers(store_);
  EXPECT_TRUE(is_bound("selects", "fast"));
  EXPECT_TRUE(is_bound("old", "annotated"));
  EXPECT_TRUE(is_bound("too-large", "slow")) << "the volume that names it is too small";
  ASSERT_TRUE(eventually([&] { return controllers.quiet(); }));
  EXPECT_EQ(claim_now("asks").at("status").at("phase"), "Pending");
  EXPECT_EQ(volume_now("block").at("status").at("phase"), "Available");
  EXPECT_EQ(volume_now("small").at("status").at("phase"), "Available");
}

TEST_F(VolumeControllerTest, VolumesOfAnInTreeClassAreOfItsCsiDriver) {
  add_class("Immediate", "kubernetes.io/aws-ebs");
  SimulatedControllers controllers(store_);
  add(kPersistentVolumeClaims, claim("a"));
  const std::string name = "pvc-" + claim_now("a").at("metadata").at("uid").get<std::string>();
  ASSERT_TRUE(is_bound("a", name));
  EXPECT_EQ(volume_now(name).at("spec").at("csi").at("driver"), "ebs.csi.aws.com");
}

TEST_F(VolumeControllerTest, AVolumeIsWhereTheTopologyKeysOfItsDriverSay) {
  add_class("WaitForFirstConsumer", "driver.example.com");
  add(kNodes, {{"metadata",
                {{"name", "n1"},
                 {"labels", {{"topology.kubernetes.io/zone", "z"}, {"driver/node", "n1"}}}}}});
  add(kCsiNodes,
      {{"metadata", {{"name", "n1"}}},
       {"spec",
        {{"drivers", {{{"name", "driver.example.com"}, {"topologyKeys", {"driver/node"}}}}}}}});
  SimulatedControllers controllers(store_);
  add(kPersistentVolumeClaims, claim("a"));
  annotate("a", "n1");
  const std::string name = "pvc-" + claim_now("a").at("metadata").at("uid").get<std::string>();
  ASSERT_TRUE(is_bound("a", name));
  EXPECT_EQ(volume_now(name).at("spec").at("nodeAffinity").at("required").at("nodeSelectorTerms"),
            json::parse(R"([{"matchExpressions": [
              {"key": "driver/node", "operator": "In", "values": ["n1"]}]}])"));
}

class StorageCapacityTest : public VolumeControllerTest {
 protected:
  void SetUp() override {
    add_class("WaitForFirstConsumer", "driver.example.com");
    add(kCsiDrivers,
        {{"metadata", {{"name", "driver.example.com"}}}, {"spec", {{"storageCapacity", true}}}});
    for (const char* name : {"n1", "n2"}) {
      add(kNodes, {{"metadata", {{"name", name}, {"labels", {{"driver/node", name}}}}}});
      add_capacity(name, "disk", name);
    }
  }
  void add_capacity(const std::string& name, const std::string& storage_class,
                    const std::string& node) {
    add(kCsiStorageCapacities, {{"metadata", {{"name", name}, {"namespace", "driver"}}},
                                {"storageClassName", storage_class},
                                {"capacity", "5Gi"},
                                {"maximumVolumeSize", "4Gi"},
                                {"nodeTopology", {{"matchLabels", {{"driver/node", node}}}}}});
  }
  bool leaves(const std::string& name, const std::string& capacity, const std::string& largest) {
    return eventually([&] {
      const json now = get(kCsiStorageCapacities, {"driver", name});
      return now.at("capacity") == capacity && now.at("maximumVolumeSize") == largest;
    });
  }
};

TEST_F(StorageCapacityTest, ItShrinksByTheVolumesAndGrowsWhenTheyGo) {
  for (const char* name : {"twin", "other"}) {
    add(kStorageClasses, {{"metadata", {{"name", name}}},
                          {"provisioner", "driver.example.com"},
                          {"volumeBindingMode", "WaitForFirstConsumer"}});
    add_capacity(name, name, "n1");
  }
  change(kStorageClasses, {"", "other"}, [](json& now) {
    now["parameters"]["pool"] = "ssd";
    now["reclaimPolicy"] = "Retain";
  });
  SimulatedControllers controllers(store_);
  add(kPersistentVolumeClaims, claim("a"));
  annotate("a", "n1");
  EXPECT_TRUE(leaves("n1", "3Gi", "3Gi"));
  EXPECT_TRUE(leaves("twin", "3Gi", "3Gi")) << "a class of the same storage";
  EXPECT_TRUE(leaves("other", "5Gi", "4Gi"));
  EXPECT_TRUE(leaves("n2", "5Gi", "4Gi"));
  const std::string name = "pvc-" + claim_now("a").at("metadata").at("uid").get<std::string>();
  ASSERT_TRUE(is_bound("a", name));
  ASSERT_TRUE(store_.remove(kPersistentVolumeClaims, {"team", "a"}));
  EXPECT_TRUE(leaves("n1", "5Gi", "4Gi"));
  EXPECT_TRUE(leaves("twin", "5Gi", "4Gi"));

  json kept = claim("kept");
  kept["spec"]["storageClassName"] = "other";
  add(kPersistentVolumeClaims, kept);
  annotate("kept", "n1");
  const std::string retained =
      "pvc-" + claim_now("kept").at("metadata").at("uid").get<std::string>();
  ASSERT_TRUE(is_bound("kept", retained));
  ASSERT_TRUE(store_.remove(kPersistentVolumeClaims, {"team", "kept"}));
  EXPECT_TRUE(
      eventually([&] { return volume_now(retained).at("status").at("phase") == "Released"; }));
  ASSERT_TRUE(store_.remove(kPersistentVolumes, {"", retained}));
  ASSERT_TRUE(eventually([&] { return controllers.quiet(); }));
  EXPECT_TRUE(leaves("other", "3Gi", "3Gi")) << "what is retained is still there";
}

TEST_F(StorageCapacityTest, AClaimThatIsBoundAtOnceTakesThePlaceWithMostRoom) {
  for (const char* name : {"at-once", "unknown"}) {  // the driver does not say what the latter has
    add(kStorageClasses, {{"metadata", {{"name", name}}},
                          {"provisioner", "driver.example.com"},
                          {"volumeBindingMode", "Immediate"}});
  }
  add_capacity("small", "at-once", "n1");
  change(kCsiStorageCapacities, {"driver", "small"},
         [](json& now) { now["capacity"] = now["maximumVolumeSize"] = "3Gi"; });
  add_capacity("large", "at-once", "n2");
  SimulatedControllers controllers(store_);
  for (const char* name : {"a", "b", "c", "d"}) {
    json asks = claim(name);
    asks["spec"]["storageClassName"] = std::string(name) == "d" ? "unknown" : "at-once";
    add(kPersistentVolumeClaims, asks);
    const std::string made = "pvc-" + claim_now(name).at("metadata").at("uid").get<std::string>();
    ASSERT_TRUE(is_bound(name, made));
  }
  EXPECT_TRUE(leaves("large", "1Gi", "1Gi"));
  EXPECT_TRUE(leaves("small", "1Gi", "1Gi"));
}

TEST_F(StorageCapacityTest, AClaimThatFindsTooLittleGivesItsNodeUp) {
  SimulatedControllers controllers(store_);
  for (const char* name : {"a", "b", "c"}) {
    add(kPersistentVolumeClaims, claim(name));
    annotate(name, "n1");
  }
  EXPECT_TRUE(leaves("n1", "1Gi", "1Gi"));
  EXPECT_TRUE(eventually([&] {
    return !claim_now("c")
                .at("metadata")
                .at("annotations")
                .contains("volume.kubernetes.io/selected-node");
  }));
  EXPECT_FALSE(claim_now("c").at("spec").contains("volumeName"));
  annotate("c", "n2");
  EXPECT_TRUE(leaves("n2", "3Gi", "3Gi"));
}

}  // namespace
}  // namespace plimsoll::sandbox
