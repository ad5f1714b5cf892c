// The kinds of <plimsoll/kinds.h>, as they come from an API server.
#include "framework/objects/kinds.hpp"

#include <gmock/gmock.h>

#include <plimsoll/fake_objects.hpp>
#include <string>

#include "framework/api/group_name.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/objects/gang_terms.hpp"
#include "framework/objects/pod_group.hpp"
#include "tests/support/decoded_objects.hpp"

namespace plimsoll {
namespace {

using sdk::kDisruptionBudgets;
using sdk::kNamespaces;
using sdk::kReplicaSets;
using sdk::kReplicationControllers;
using sdk::kServices;
using sdk::kStatefulSets;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KindsTest : public ::testing::Test {
 protected:
  static std::vector<std::string> texts(const plimsoll_list& list) {
    std::vector<std::string> all;
    for (const plimsoll_str& text : items<plimsoll_str>(list)) all.emplace_back(view(text));
    return all;
  }
  test::DecodedObjects decoded_;
};

TEST_F(KindsTest, ANamespaceHasItsMetadata) {
  const plimsoll_object& object = decoded_(kNamespaces, "", "team", R"({
      "metadata": {"name": "team", "uid": "u", "resourceVersion": "7",
                   "labels": {"tier": "a", "app": "b"}, "annotations": {"note": "x"},
                   "deletionTimestamp": "2026-01-01T00:00:00Z"},
      "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})");
  EXPECT_EQ(object.size, sizeof(plimsoll_object));
  EXPECT_EQ(view(object.meta.name), "team");
  EXPECT_EQ(view(object.meta.ns), "");
  EXPECT_EQ(view(object.meta.uid), "u");
  EXPECT_EQ(view(object.meta.resource_version), "7");
  EXPECT_GT(object.meta.deletion_ms, 0);
  EXPECT_EQ(object.unreadable.len, 0U);
  EXPECT_EQ(object.meta.annotations.count, 0U);
  const auto labels = items<plimsoll_label>(object.meta.labels);
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_EQ(view(labels[0].key), "app");
  EXPECT_EQ(view(labels[1].value), "a");
}

TEST_F(KindsTest, ServicesAndReplicationControllersSelectByAMap) {
  for (const auto& kind : {kServices, kReplicationControllers}) {
    const plimsoll_pod_selector& object =
        decoded_(kind, "ns", "web", R"({"spec": {"selector": {"b": "2", "a": "1"}}})");
    EXPECT_EQ(object.object.size, sizeof(plimsoll_pod_selector));
    EXPECT_EQ(view(object.object.meta.ns), "ns");
    EXPECT_EQ(view(object.object.meta.name), "web");
    EXPECT_EQ(object.selector.present, 1U);
    EXPECT_EQ(selector_text(object.selector), "a=1,b=2");
  }
  EXPECT_EQ(decoded_(kServices, "ns", "none", R"({"spec": {}})").selector.present, 0U);
  EXPECT_EQ(decoded_(kServices, "ns", "null", R"({"spec": {"selector": null}})").selector.present,
            0U);
  EXPECT_EQ(decoded_(kServices, "ns", "empty", R"({"spec": {"selector": {}}})").selector.present,
            1U);
}

TEST_F(KindsTest, ReplicaSetsAndStatefulSetsSelectByASelector) {
  for (const auto& kind : {kReplicaSets, kStatefulSets}) {
    const plimsoll_pod_selector& object = decoded_(kind, "ns", "web", R"({"spec": {
        "replicas": 3, "selector": {"matchLabels": {"a": "1"}, "matchExpressions": [
          {"key": "b", "operator": "NotIn", "values": ["2", "3"]}]}}})");
    EXPECT_EQ(selector_text(object.selector), "a=1,b notin (2,3)");
  }
}

TEST_F(KindsTest, ABudgetHasItsSelectorAndItsStatus) {
  const plimsoll_disruption_budget& budget = decoded_(kDisruptionBudgets, "ns", "b", R"({
      "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"a": "1"}}},
      "status": {"disruptionsAllowed": 2, "currentHealthy": 5, "disruptedPods": {
        "p-2": "2026-01-01T00:00:00Z", "p-1": "2026-01-01T00:00:00Z"}}})");
  EXPECT_EQ(budget.object.size, sizeof(plimsoll_disruption_budget));
  EXPECT_EQ(selector_text(budget.selector), "a=1");
  EXPECT_EQ(budget.disruptions_allowed, 2);
  EXPECT_THAT(texts(budget.disrupted_pods), ElementsAre("p-1", "p-2"));
}

TEST_F(KindsTest, AVolumeHasWhatClaimsAndNodesAskOfIt) {
  const plimsoll_persistent_volume& volume = decoded_(sdk::kPersistentVolumes, "", "pv", R"({
      "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
      "spec": {"capacity": {"storage": "10Gi", "other": 7}, "accessModes": ["ReadWriteOnce"],
               "storageClassName": "disk", "volumeMode": "Block",
               "volumeAttributesClassName": "fast",
               "claimRef": {"namespace": "ns", "name": "c", "uid": "u", "resourceVersion": "3"},
               "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                   {"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}},
               "csi": {"driver": "d", "volumeHandle": "h"}},
      "status": {"phase": "Bound"}})");
  EXPECT_EQ(volume.object.size, sizeof(plimsoll_persistent_volume));
  EXPECT_EQ(volume.object.unreadable.len, 0U) << view(volume.object.unreadable);
  EXPECT_EQ(volume.object.meta.annotations.count, 1U);
  EXPECT_EQ(view(volume.capacity), "10Gi");
  EXPECT_THAT(texts(volume.access_modes), ElementsAre("ReadWriteOnce"));
  EXPECT_EQ(view(volume.storage_class), "disk");
  EXPECT_EQ(view(volume.volume_mode), "Block");
  EXPECT_EQ(view(volume.attributes_class), "fast");
  EXPECT_EQ(view(volume.phase), "Bound");
  ASSERT_NE(volume.claim, nullptr);
  EXPECT_EQ(view(volume.claim->ns), "ns");
  EXPECT_EQ(view(volume.claim->name), "c");
  EXPECT_EQ(view(volume.claim->uid), "u");
  EXPECT_EQ(view(volume.claim->resource_version), "3");
  EXPECT_EQ(volume.has_node_affinity, 1U);
  const auto terms = items<plimsoll_node_selector_term>(volume.node_affinity);
  ASSERT_EQ(terms.size(), 1U);
  const auto expressions = items<plimsoll_requirement>(terms[0].expressions);
  ASSERT_EQ(expressions.size(), 1U);
  EXPECT_THAT(texts(expressions[0].values), ElementsAre("a", "b"));
  EXPECT_EQ(view(volume.csi_driver), "d");
  EXPECT_EQ(view(volume.csi_handle), "h");
  EXPECT_EQ(volume.source, nullptr);
}

TEST_F(KindsTest, AnInTreeVolumeHasItsSource) {
  const plimsoll_persistent_volume& disk = decoded_(sdk::kPersistentVolumes, "", "pv", R"({
      "spec": {"cinder": {"volumeID": "c"}, "nfs": {"server": "s"},
               "azureDisk": {"diskURI": "u", "kind": "Managed"}, "portworxVolume": null}})");
  ASSERT_NE(disk.source, nullptr);
  EXPECT_EQ(view(disk.source->kind), "azureDisk") << "the first of several, in a fixed order";
  EXPECT_EQ(view(disk.source->target), "u");
  EXPECT_THAT(texts(disk.source->details), ElementsAre("Managed"));
  EXPECT_EQ(view(disk.volume_mode), "Filesystem");
  EXPECT_EQ(disk.claim, nullptr);
  EXPECT_EQ(disk.has_node_affinity, 0U);
  const plimsoll_persistent_volume& other =
      decoded_(sdk::kPersistentVolumes, "", "pv", R"({"spec": {"nfs": {"server": 7}}})");
  EXPECT_EQ(other.object.unreadable.len, 0U) << "nobody reads it";
  EXPECT_EQ(other.source, nullptr);
}

TEST_F(KindsTest, AClaimHasWhatItAsksFor) {
  const plimsoll_persistent_volume_claim& claim =
      decoded_(sdk::kPersistentVolumeClaims, "ns", "c", R"({
      "metadata": {"annotations": {"volume.kubernetes.io/selected-node": "n"},
                   "ownerReferences": [{"kind": "Pod", "uid": "p", "controller": true}]},
      "spec": {"volumeName": "pv", "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
               "resources": {"requests": {"storage": 1024}, "limits": {"storage": "no matter"}},
               "storageClassName": "", "volumeAttributesClassName": "fast",
               "selector": {"matchLabels": {"a": "1"}}},
      "status": {"phase": "Pending"}})");
  EXPECT_EQ(claim.object.size, sizeof(plimsoll_persistent_volume_claim));
  EXPECT_EQ(claim.object.unreadable.len, 0U) << view(claim.object.unreadable);
  EXPECT_EQ(claim.object.meta.annotations.count, 1U);
  EXPECT_EQ(claim.object.meta.owners.count, 1U);
  EXPECT_EQ(view(claim.volume_name), "pv");
  EXPECT_EQ(view(claim.request), "1024");
  EXPECT_THAT(texts(claim.access_modes), ElementsAre("ReadWriteOnce", "ReadOnlyMany"));
  EXPECT_EQ(claim.has_storage_class, 1U) << "\"\" is a class name";
  EXPECT_EQ(claim.storage_class.len, 0U);
  EXPECT_EQ(view(claim.volume_mode), "Filesystem");
  EXPECT_EQ(view(claim.attributes_class), "fast");
  EXPECT_EQ(view(claim.phase), "Pending");
  EXPECT_EQ(selector_text(claim.selector), "a=1");
  const auto& bare = decoded_(sdk::kPersistentVolumeClaims, "ns", "c",
                              R"({"spec": {"storageClassName": null, "selector": null}})");
  EXPECT_EQ(bare.has_storage_class + bare.selector.present, 0U);
}

TEST_F(KindsTest, TheOtherStorageKindsHaveTheirFields) {
  const plimsoll_storage_class& made = decoded_(sdk::kStorageClasses, "", "disk", R"({
      "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": [
        {"matchLabelExpressions": [{"key": "zone", "values": ["a"]}, {"key": "rack"}]}, {}]})");
  EXPECT_EQ(view(made.provisioner), "p");
  EXPECT_EQ(view(made.binding_mode), "WaitForFirstConsumer");
  const auto terms = items<plimsoll_node_selector_term>(made.allowed_topologies);
  ASSERT_EQ(terms.size(), 2U);
  const auto expressions = items<plimsoll_requirement>(terms[0].expressions);
  ASSERT_EQ(expressions.size(), 2U);
  EXPECT_EQ(expressions[0].op, static_cast<uint32_t>(PLIMSOLL_OP_IN));
  EXPECT_EQ(expressions[1].op, static_cast<uint32_t>(PLIMSOLL_OP_INVALID)) << "one of no values";

  const plimsoll_csi_node& node = decoded_(sdk::kCsiNodes, "", "n", R"({
      "metadata": {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "x"}},
      "spec": {"drivers": [{"name": "d", "allocatable": {"count": 0}},
                           {"name": "e", "allocatable": {"count": null}}, {"name": "f"}]}})");
  const auto drivers = items<plimsoll_csi_node_driver>(node.drivers);
  ASSERT_EQ(drivers.size(), 3U);
  EXPECT_EQ(view(drivers[0].name), "d");
  EXPECT_EQ(drivers[0].has_count, 1U);
  EXPECT_EQ(drivers[1].has_count + drivers[2].has_count, 0U);
  EXPECT_EQ(node.object.meta.annotations.count, 1U);

  const plimsoll_csi_driver& driver =
      decoded_(sdk::kCsiDrivers, "", "d",
               R"({"spec": {"storageCapacity": true, "preventPodSchedulingIfMissing": false}})");
  EXPECT_EQ(driver.storage_capacity, 1U);
  EXPECT_EQ(driver.prevents_scheduling_if_missing, 0U);

  const plimsoll_csi_storage_capacity& capacity =
      decoded_(sdk::kCsiStorageCapacities, "ns", "s", R"({"storageClassName": "disk",
          "capacity": "1Ti", "maximumVolumeSize": "1Gi", "nodeTopology": {}})");
  EXPECT_EQ(view(capacity.storage_class), "disk");
  EXPECT_EQ(view(capacity.capacity), "1Ti");
  EXPECT_EQ(view(capacity.maximum_volume_size), "1Gi");
  EXPECT_EQ(capacity.node_topology.present, 1U);

  const plimsoll_volume_attachment& attachment = decoded_(
      sdk::kVolumeAttachments, "", "a",
      R"({"spec": {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "pv"}}})");
  EXPECT_EQ(view(attachment.attacher), "d");
  EXPECT_EQ(view(attachment.node_name), "n");
  EXPECT_EQ(view(attachment.volume_name), "pv");
}

TEST_F(KindsTest, AQuantityOrAFieldOfTheWrongTypeMakesAStorageObjectUnreadable) {
  const auto problem_of = [&](const auto& kind, const char* json) {
    return std::string(view(decoded_(kind, "ns", "n", json).object.unreadable));
  };
  EXPECT_THAT(problem_of(sdk::kPersistentVolumes, R"({"spec": {"capacity": {"storage": "much"}}})"),
              HasSubstr("spec.capacity.storage"));
  EXPECT_THAT(problem_of(sdk::kPersistentVolumeClaims,
                         R"({"spec": {"resources": {"requests": {"storage": true}}}})"),
              HasSubstr("spec.resources.requests.storage"));
  EXPECT_THAT(problem_of(sdk::kCsiNodes, R"({"spec": {"drivers": [{"name": 1}]}})"),
              HasSubstr("spec.drivers[0].name"));
  EXPECT_THAT(problem_of(sdk::kCsiStorageCapacities, R"({"nodeTopology": []})"),
              HasSubstr("nodeTopology"));
  EXPECT_THAT(problem_of(sdk::kVolumeAttachments, R"({"metadata": {"annotations": {"a": 1}}})"),
              HasSubstr("metadata.annotations"));
}

TEST_F(KindsTest, WhatCannotBeReadIsNamedAndTheRestIsAsIfAbsent) {
  const plimsoll_pod_selector& wrong = decoded_(kStatefulSets, "ns", "web", R"({
      "metadata": {"name": "web", "uid": "u"},
      "spec": {"selector": {"matchLabels": {"a": 1}}}})");
  EXPECT_THAT(std::string(view(wrong.object.unreadable)), HasSubstr("spec.selector.matchLabels"));
  EXPECT_EQ(view(wrong.object.meta.name), "web");
  EXPECT_EQ(view(wrong.object.meta.ns), "ns");
  EXPECT_EQ(wrong.object.meta.uid.len, 0U);
  EXPECT_EQ(wrong.selector.present, 0U);
  for (const char* json : {"", "{", "[]", "7", R"({"metadata": 3})", "{\"spec\": {\"selector\": \"",
                           R"({"metadata": {"labels": {"a": {}}}})"}) {
    const plimsoll_object& object = decoded_(kNamespaces, "", "n", json);
    EXPECT_NE(object.unreadable.len, 0U) << json;
    EXPECT_EQ(object.meta.labels.count, 0U) << json;
  }
}

TEST_F(KindsTest, OtherKindsAreNotDecoded) {
  for (const char* resource : {"configmaps", "services.v1.example.com", "deployments.v1.apps"}) {
    EXPECT_EQ(decode_object(resource, "ns", "n", "{}"), nullptr);
  }
  const RawRef raw = decoded({"services", "ns", "n", "u", "1", "{}"});
  ASSERT_NE(raw->decoded, nullptr);
  EXPECT_EQ(raw->json, "{}");
}

const PodGroup& pod_group(const ObjectRef& object) {
  return *reinterpret_cast<const PodGroup*>(object.get());
}

TEST(PodGroupKind, SaysWhatIsNeededAndWhatWasSaid) {
  const ObjectRef read = decode_object("podgroups.v1beta1.scheduling.k8s.io", "ns", "g", R"({
      "metadata": {"name": "g", "uid": "u", "generation": 3},
      "spec": {"schedulingPolicy": {"gang": {"minCount": 16}}, "priority": 100,
               "disruptionMode": {"all": {}}, "preemptionPolicy": "Never"},
      "status": {"conditions": [
          {"type": "Other", "status": "True", "reason": "x"},
          {"type": "PodGroupInitiallyScheduled", "status": "False", "reason": "Unschedulable",
           "message": "no room", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  const PodGroup& group = pod_group(read);
  EXPECT_TRUE(group.gang);
  EXPECT_EQ(group.min_count, 16);
  EXPECT_EQ(group.priority, 100);
  EXPECT_TRUE(group.disrupts_all);
  EXPECT_EQ(group.preemption_policy, "Never");
  EXPECT_EQ(group.version, "v1beta1");
  EXPECT_EQ(view(read->meta.uid), "u");
  EXPECT_EQ(read->meta.generation, 3);
  EXPECT_EQ(group.status + group.reason + group.message + group.transition_time,
            "FalseUnschedulableno room2026-01-01T00:00:00Z");
  EXPECT_EQ(group.not_honoured, "");
}

TEST(PodGroupKind, ABasicOneNeedsOnePod) {
  const ObjectRef read = decode_object("podgroups.v1.scheduling.k8s.io", "ns", "g",
                                       R"({"spec": {"schedulingPolicy": {"basic": {}}}})");
  EXPECT_FALSE(pod_group(read).gang);
  EXPECT_EQ(pod_group(read).min_count, 1);
  EXPECT_EQ(pod_group(read).version, "v1");
}

TEST(PodGroupKind, NamesWhatItCannotHonourOrRead) {
  const auto of = [](const std::string& spec) {
    return decode_object("podgroups.v1beta1.scheduling.k8s.io", "ns", "g",
                         R"({"spec": {)" + spec + "}}");
  };
  EXPECT_EQ(pod_group(of(R"("schedulingConstraints": {"topology": [{"key": "rack"}]})"))
                .required_topology,
            "rack");
  EXPECT_EQ(pod_group(of(R"("resourceClaims": [{"name": "c"}])")).not_honoured, "resourceClaims");
  EXPECT_EQ(pod_group(of(R"("parentCompositePodGroupName": "p")")).not_honoured,
            "parentCompositePodGroupName");
  for (const char* bad :
       {R"("schedulingPolicy": {"gang": {"minCount": 0}})", R"("schedulingPolicy": 7)",
        R"("priority": "high")", R"("schedulingConstraints": {"topology": [{"key": 1}]})"}) {
    const ObjectRef read = of(bad);
    EXPECT_NE(view(read->unreadable), "") << bad;
    EXPECT_EQ(view(read->meta.name), "g");
  }
}

// Of Coscheduling: nothing of scheduling.k8s.io's fields, and no condition, counts.
TEST(PodGroupKind, IsReadInCoschedulingsFormToo) {
  const auto of = [](const std::string& spec) {
    return decode_object("podgroups.v1alpha1.scheduling.x-k8s.io", "ns", "g",
                         R"({"metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z",
                             "annotations": {"topology.plimsoll.io/required": "rack"}},
                             "spec": {)" +
                             spec + R"(},
                             "status": {"phase": "Running", "conditions": [
                               {"type": "PodGroupInitiallyScheduled", "status": "True"}]}})");
  };
  const ObjectRef read = of(R"("minMember": 16, "minResources": {"cpu": 3}, "priority": 7,
                               "scheduleTimeoutSeconds": 5, "disruptionMode": {"all": {}})");
  const PodGroup& group = pod_group(read);
  EXPECT_EQ(group.unreadable, "");
  EXPECT_EQ(group.min_count, 16);
  EXPECT_EQ(group.uid + group.required_topology, "urack");
  EXPECT_EQ(group.object.meta.creation_ms, 1'767'225'600'000);
  EXPECT_EQ(group.priority, 0);
  EXPECT_FALSE(group.disrupts_all);
  EXPECT_EQ(group.status, "");
  for (const char* least : {"", R"("minMember": 0)", R"("minMember": -3)", R"("minMember": null)"})
    EXPECT_EQ(pod_group(of(least)).min_count, 1) << least;
  for (const char* bad :
       {R"("minMember": 2147483648)", R"("minMember": "3")", R"("minMember": 1.5)"})
    EXPECT_NE(pod_group(of(bad)).unreadable, "") << bad;
}

TEST(PodGroupKind, AsksForDomainsByAnnotationToo) {
  const auto of = [](const std::string& spec) {
    return decode_object("podgroups.v1beta1.scheduling.k8s.io", "ns", "g",
                         R"({"metadata": {"annotations": {"topology.plimsoll.io/required": "block",
                         "topology.plimsoll.io/preferred": "rack", "x": "y"}}, "spec": {)" +
                             spec + "}}");
  };
  const ObjectRef plain = of("");
  EXPECT_EQ(pod_group(plain).required_topology + " " + pod_group(plain).preferred_topology,
            "block rack");
  EXPECT_EQ(pod_group(of(R"("schedulingConstraints": {"topology": [{"key": "zone"}]})"))
                .required_topology,
            "zone");
}

// ---- Koordinator's gangs

std::string gang_of(sdk::FakePod& pod) {
  const GroupName name = group_of(pod.get(), GroupKinds().set(index_of(GroupKind::kGang)));
  return name ? std::string(name.ns) + "/" + std::string(name.name) : "";
}

TEST(Gang, ReadsEveryWayToNameOne) {
  sdk::FakePod ordinary("ns/a");
  EXPECT_EQ(gang_of(ordinary), "");
  for (const char* label :
       {"pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name",
        "gang.scheduling.koordinator.sh/name"}) {
    sdk::FakePod pod("ns/a");
    pod.label(label, "train");
    EXPECT_EQ(gang_of(pod), "ns/train") << label;
  }
  sdk::FakePod pod("ns/a");
  pod.annotation("gang.scheduling.koordinator.sh/name", "train");
  EXPECT_EQ(gang_of(pod), "ns/train");
  pod.label("pod-group.scheduling.sigs.k8s.io", "first");
  EXPECT_EQ(gang_of(pod), "ns/first");
  pod.label("scheduling.x-k8s.io/pod-group", "other");
  EXPECT_EQ(gang_of(pod), "") << "it is a group of another kind, whether or not that counts";
}

TEST(Gang, ReadsWhatAPodSaysOfIt) {
  sdk::FakePod light("ns/a");
  light.label("pod-group.scheduling.sigs.k8s.io/name", "train")
      .label("pod-group.scheduling.sigs.k8s.io/min-available", "5");
  EXPECT_EQ(gang_terms(light.get()), (GangTerms{5}));
  sdk::FakePod gang("ns/a");
  gang.annotation("gang.scheduling.koordinator.sh/name", "train");
  EXPECT_EQ(gang_terms(gang.get()), GangTerms());
  gang.annotation("gang.scheduling.koordinator.sh/min-available", "3")
      .annotation("gang.scheduling.koordinator.sh/total-number", "3")
      .annotation("gang.scheduling.koordinator.sh/mode", "NonStrict")
      .annotation("gang.scheduling.koordinator.sh/waiting-time", "1m30s")
      .annotation("gang.scheduling.koordinator.sh/groups", R"(["ns/train"])")
      .annotation("pod-group.scheduling.sigs.k8s.io/match-policy", "only-waiting");
  EXPECT_EQ(gang_terms(gang.get()), (GangTerms{3, GangTerms::Match::kOnlyWaiting}));
}

TEST(Gang, SaysWhatItCannotRead) {
  const auto problem = [](const std::string& key, const std::string& value) {
    sdk::FakePod pod("ns/a");
    pod.annotation("gang.scheduling.koordinator.sh/name", "train")
        .annotation("gang.scheduling.koordinator.sh/" + key, value);
    const std::string said = gang_terms(pod.get()).problem;
    const std::string begin = "gang.scheduling.koordinator.sh/" + key + " ";
    return said.starts_with(begin) ? said.substr(begin.size()) : said;
  };
  for (const char* number : {"three", "-1", "1.5", "99999999999"}) {
    EXPECT_EQ(problem("min-available", number), "is not a number") << number;
    EXPECT_EQ(problem("total-number", number), "is not a number") << number;
  }
  EXPECT_EQ(problem("mode", "strict"), "is neither Strict nor NonStrict");
  EXPECT_EQ(problem("waiting-time", "-5s"), "is not a duration");
  EXPECT_EQ(problem("waiting-time", "soon"), "is not a duration");
  EXPECT_EQ(problem("match-policy", "often"),
            "is none of once-satisfied, only-waiting, waiting-and-running");
  for (const char* list : {R"(["ns/train","ns/eval"])", R"(["other/train"])", "{", R"({"a":1})"})
    EXPECT_EQ(problem("groups", list), "is not supported: name no other group") << list;
  std::string list = R"(["ns/train")";
  while (list.size() < 1024) list += R"(,"ns/train")";
  EXPECT_EQ(problem("groups", list + "]"), "is too long") << "whatever it says";
  for (const char* key : {"min-available", "total-number", "waiting-time"})
    EXPECT_EQ(problem(key, std::string(1024, '0') + "5"), "is too long") << key;
  sdk::FakePod few("ns/a");
  few.annotation("gang.scheduling.koordinator.sh/name", "train")
      .annotation("gang.scheduling.koordinator.sh/min-available", "3")
      .annotation("gang.scheduling.koordinator.sh/total-number", "2");
  EXPECT_EQ(gang_terms(few.get()).problem,
            "gang.scheduling.koordinator.sh/total-number is less than min-available");
}

}  // namespace
}  // namespace plimsoll
