#include "lab/sandbox/apiserver/cluster_loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kExport =
    R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[
  {"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u-node","resourceVersion":"991",
    "creationTimestamp":"2024-01-02T03:04:05Z","managedFields":[{"manager":"kubelet"}]},
    "status":{"allocatable":{"cpu":"4"}}},
  {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p1","namespace":"team","uid":"u-pod",
    "resourceVersion":"12345"},"spec":{"nodeName":"n1","containers":[{"name":"c"}]},
    "status":{"phase":"Running"}},
  {"apiVersion":"topology.node.k8s.io/v1alpha1","kind":"NodeResourceTopology","metadata":{"name":"n1",
    "managedFields":[{"manager":"koordlet","time":"2024-01-02T04:00:00Z"}]},
    "zones":[]},
  {"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Device","metadata":{"name":"n1"},"spec":{}},
  {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b","namespace":"team"}},
  {"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"}}]})";

TEST(ClusterLoader, KeepsIdentityAndGivesVersionsAnew) {
  ObjectStore store;
  const auto report = load_cluster(store, {kExport});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->notes.empty());
  EXPECT_EQ(report->by_kind.at("Pod"), 1U);
  const auto node = store.get(kNodes, {"", "n1"});
  ASSERT_TRUE(node);
  const json object = (*node)->parse();
  EXPECT_EQ((*node)->uid, "u-node");
  EXPECT_EQ(object["metadata"]["creationTimestamp"], "2024-01-02T03:04:05Z");
  EXPECT_FALSE(object["metadata"].contains("managedFields"));
  // But a report says when it was written.
  EXPECT_EQ((*store.get(kNodeResourceTopologies, {"", "n1"}))
                ->parse()["metadata"]["managedFields"][0]["time"],
            "2024-01-02T04:00:00Z");
  EXPECT_NE(object["metadata"]["resourceVersion"], "991");
  const json pod = (*store.get(kPods, {"team", "p1"}))->parse();
  EXPECT_EQ(pod["spec"]["nodeName"], "n1");
  EXPECT_EQ(pod["status"]["phase"], "Running");
  EXPECT_EQ((*store.get(kNodeResourceTopologies, {"", "n1"}))->parse()["apiVersion"],
            "topology.node.k8s.io/v1alpha2");
  EXPECT_TRUE(store.get(kDevices, {"", "n1"}));
  EXPECT_TRUE(store.get({"policy", "poddisruptionbudgets"}, {"team", "b"}));
  EXPECT_TRUE(store.get({"storage.k8s.io", "storageclasses"}, {"", "fast"}));
  EXPECT_TRUE(store.get(kNamespaces, {"", "team"}));
}

// What waits for the first report of a new node does not wait for those of a file.
TEST(ClusterLoader, NodesWereThereBefore) {
  ObjectStore store;
  const std::string before = timestamp_now(std::chrono::seconds(30));
  ASSERT_TRUE(
      load_cluster(store, {R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})"}));
  const json node = (*store.get(kNodes, {"", "n"}))->parse();
  EXPECT_LT(node["metadata"]["creationTimestamp"].get<std::string>(), before);
  EXPECT_GT(node["metadata"]["creationTimestamp"].get<std::string>(), "2024");
}

// A verdict of another run would pass for one of this run's scheduler.
// A Node without a UID gets one: the report would be that of another Node.
TEST(ClusterLoader, AReportBelongsToTheNodeOfItsName) {
  for (const bool named : {true, false}) {
    ObjectStore store;
    const std::string node =
        std::string(R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n")") +
        (named ? R"(,"uid":"u-node"}})" : "}}");
    const char* report = R"({"kind":"NodeResourceTopology",
        "apiVersion":"topology.node.k8s.io/v1alpha2","metadata":{"name":"n","ownerReferences":[
        {"apiVersion":"v1","kind":"Node","name":"n","uid":"u-earlier"}]},"zones":[]})";
    const auto loaded = load_cluster(store, {report, node});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto found = store.get(kNodeResourceTopologies, {"", "n"});
    ASSERT_TRUE(found);
    EXPECT_EQ((*found)->parse()["metadata"].contains("ownerReferences"), named);
  }
}

TEST(ClusterLoader, APodWithoutANodeLosesItsVerdict) {
  const auto pod = [](const char* name, const json& spec, const char* status) {
    return json{{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", name}}},
                {"spec", spec},
                {"status",
                 {{"conditions",
                   {{{"type", "Ours"}, {"status", "True"}},
                    {{"type", "PodScheduled"}, {"status", status}, {"message", "old"}}}}}}}
        .dump();
  };
  ObjectStore store;
  ASSERT_TRUE(load_cluster(
      store, {pod("waits", {{"priority", 1}}, "False"), pod("runs", {{"nodeName", "n"}}, "True"),
              pod("gated", {{"schedulingGates", {{{"name", "g"}}}}}, "False")}));
  const auto conditions = [&](const char* name) {
    return (*store.get(kPods, {"default", name}))->parse()["status"]["conditions"];
  };
  ASSERT_EQ(conditions("waits").size(), 1U);
  EXPECT_EQ(conditions("waits")[0]["type"], "Ours");
  ASSERT_EQ(conditions("runs").size(), 2U);
  EXPECT_EQ(conditions("runs")[1]["message"], "old");
  ASSERT_EQ(conditions("gated").size(), 2U);
  EXPECT_EQ(conditions("gated")[1]["reason"], "SchedulingGated") << "the API server writes it";
}

// As kube-apiserver's defaulting and its admission plugin DefaultStorageClass.
TEST(ClusterLoader, SetsTheDefaultsOfOtherKinds) {
  ObjectStore store;
  const auto report = load_cluster(store, {R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "none"}, "spec": {}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "empty"},
     "spec": {"storageClassName": ""}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "beta",
     "annotations": {"volume.beta.kubernetes.io/storage-class": "x"}}, "spec": {}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "bound"},
     "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "bare"}},
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "old",
     "creationTimestamp": "2024-01-01T00:00:00Z",
     "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "newest",
     "creationTimestamp": "2025-01-01T00:00:00Z",
     "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}},
    {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "other",
     "creationTimestamp": "2026-01-01T00:00:00Z"}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"worker": null}},
     "status": {"capacity": {"cpu": "4", "odd": null}}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "full", "annotations": {"a": null}},
     "status": {"capacity": {"cpu": "4"}, "allocatable": {}}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [
     {"name": "c", "resources": {"requests": {"cpu": null}, "limits": {"memory": null}}}]}}]})"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->notes.empty());
  const auto spec_of = [&](const char* claim) {
    json spec = (*store.get(kPersistentVolumeClaims, {"default", claim}))->parse()["spec"];
    EXPECT_EQ(spec["volumeMode"], "Filesystem");
    spec.erase("volumeMode");
    return spec;
  };
  EXPECT_EQ(spec_of("none"), (json{{"storageClassName", "newest"}}));
  EXPECT_EQ(spec_of("empty"), (json{{"storageClassName", ""}}));
  EXPECT_EQ(spec_of("beta"), json::object());
  EXPECT_EQ(spec_of("bound"), (json{{"volumeName", "v"}}));
  EXPECT_EQ(spec_of("bare"), (json{{"storageClassName", "newest"}}));
  const json node = (*store.get(kNodes, {"", "n"}))->parse();
  EXPECT_EQ(node["metadata"]["labels"], (json{{"worker", ""}}));
  EXPECT_EQ(node["status"]["allocatable"], (json{{"cpu", "4"}, {"odd", "0"}}));
  const json full = (*store.get(kNodes, {"", "full"}))->parse();
  EXPECT_EQ(full["metadata"]["annotations"], (json{{"a", ""}}));
  EXPECT_EQ(full["status"]["allocatable"], json::object()) << "nothing is allocatable";
  EXPECT_EQ((*store.get(kNamespaces, {"", "team"}))->parse()["metadata"]["labels"],
            (json{{"kubernetes.io/metadata.name", "team"}}));
  const json pod = (*store.get(kPods, {"default", "p"}))->parse();
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"],
            (json{{"requests", {{"cpu", "0"}, {"memory", "0"}}}, {"limits", {{"memory", "0"}}}}));
}

TEST(ClusterLoader, LeavesOutWhatAnApiServerWouldNotTake) {
  ObjectStore store;
  const auto report = load_cluster(store, {R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"going"},"status":{"phase":"Terminating"}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"new","namespace":"going"},"spec":{}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"old","namespace":"going","uid":"u"},
     "spec":{"priority":0}},
    {"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"a"},
     "value":1,"globalDefault":true},
    {"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"b"},
     "value":2,"globalDefault":true},
    {"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"l"},"spec":{"limits":[
     {"type":"Container","max":{"cpu":"1"},"defaultRequest":{"cpu":"2"}}]}}]})"});
  ASSERT_TRUE(report);
  EXPECT_THAT(report->notes,
              testing::UnorderedElementsAre(HasSubstr("namespace going because it is being"),
                                            HasSubstr("PriorityClass a is already marked"),
                                            HasSubstr("defaultRequest[cpu]")));
  EXPECT_TRUE(store.get(kPods, {"going", "old"}));
}

TEST(ClusterLoader, TypedListsAndSingleObjects) {
  ObjectStore store;
  const auto report =
      load_cluster(store, {R"({"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"},
                  "spec":{"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}]})",
                           R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})",
                           R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})"});
  ASSERT_TRUE(report) << report.error().message;
  const json pod = (*store.get(kPods, {"default", "a"}))->parse();
  EXPECT_EQ(pod["status"]["qosClass"], "Guaranteed");
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1");
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_THAT(report->notes[0], HasSubstr("text 3 is left out: nodes \"n\" already exists"));
}

TEST(ClusterLoader, NamesEveryMistakeAndStoresNothing) {
  ObjectStore store;
  const auto report = load_cluster(
      store,
      {R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"fine"}})", "{oops",
       R"({"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}},
                 {"kind":"Node","apiVersion":"v1"}, 7, {"metadata":{"name":"x"}},
                 {"kind":"Node","apiVersion":"v1","metadata":{"name":"y","labels":{"a":1}}}]})"});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalid);
  for (const char* part : {"text 2: ", "text 3, item 1 (Pod): a pod without a spec",
                           "text 3, item 2 (Node): no metadata.name", "item 3: not a JSON object",
                           "item 4: no apiVersion", "item 5 (Node): metadata.labels"}) {
    EXPECT_THAT(report.error().message, HasSubstr(part));
  }
  EXPECT_EQ(store.count(kNodes), 0U);
}

}  // namespace
}  // namespace plimsoll::sandbox
