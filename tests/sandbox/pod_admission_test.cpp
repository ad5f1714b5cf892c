#include "lab/sandbox/admission/pod_admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lab/sandbox/admission/object_defaults.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class PodAdmissionTest : public testing::Test {
 protected:
  void add(const ResourceName& kind, const std::string& name, json object) {
    object["metadata"] = {{"name", name}};
    ASSERT_TRUE(store_.create(kind, std::move(object)));
  }
  void add_in(const std::string& ns, const ResourceName& kind, const std::string& name,
              json object) {
    object["metadata"] = {{"name", name}, {"namespace", ns}};
    ASSERT_TRUE(store_.create(kind, std::move(object)));
  }
  void limit(const std::string& name, const json& limits) {
    json range = {{"metadata", {{"name", name}, {"namespace", "default"}}},
                  {"spec", {{"limits", json::array({limits})}}}};
    ASSERT_TRUE(admit_object(store_, kLimitRanges, range));
    ASSERT_TRUE(store_.create(kLimitRanges, std::move(range)));
  }
  // The spec that the pod gets, or why it is refused.
  json admitted(const json& spec) {
    json pod = {{"metadata", {{"name", "p"}, {"namespace", "default"}}}, {"spec", spec}};
    const auto done = admission_.admit(pod, &missing_);
    return done ? pod["spec"] : json(done.error().message);
  }
  // Of the only container of a pod.
  json resources_with(const json& own, const char* list = "containers") {
    const json spec = admitted({{list, json::array({{{"name", "c"}, {"resources", own}}})}});
    return spec.is_object() ? spec[list][0].value("resources", json::object()) : spec;
  }

  ObjectStore store_;
  PodAdmission admission_{store_};
  std::set<std::string> missing_;
};

TEST_F(PodAdmissionTest, APriorityClassGivesPriorityAndPolicy) {
  add(kPriorityClasses, "high", {{"value", 1000}, {"preemptionPolicy", "Never"}});
  const json spec = admitted({{"priorityClassName", "high"}});
  EXPECT_EQ(spec["priority"], 1000);
  EXPECT_EQ(spec["preemptionPolicy"], "Never");
  EXPECT_EQ(admitted({{"priorityClassName", "system-node-critical"}})["priority"], 2000001000);
  EXPECT_EQ(admitted({{"priorityClassName", "system-cluster-critical"}})["priority"], 2000000000);
  EXPECT_EQ(admitted({{"priorityClassName", "high"}, {"priority", 7}})["priority"], 7);
  EXPECT_TRUE(missing_.empty());
}

TEST_F(PodAdmissionTest, OfSeveralDefaultClassesTheLowestCounts) {
  EXPECT_EQ(admitted(json::object())["priority"], 0);
  add(kPriorityClasses, "b", {{"value", 20}, {"globalDefault", true}});
  EXPECT_EQ(admitted(json::object())["priority"], 20);
  add(kPriorityClasses, "a", {{"value", 10}, {"globalDefault", true}});
  add(kPriorityClasses, "c", {{"value", 5}});
  const json spec = admitted(json::object());
  EXPECT_EQ(spec["priority"], 10);
  EXPECT_EQ(spec["priorityClassName"], "a");
}

TEST_F(PodAdmissionTest, ARuntimeClassGivesOverheadAndWhereItRuns) {
  const json toleration = {{"key", "vm"}, {"operator", "Exists"}};
  add(kRuntimeClasses, "kata",
      {{"handler", "kata"},
       {"overhead", {{"podFixed", {{"cpu", "600m"}}}}},
       {"scheduling",
        {{"nodeSelector", {{"vm", "yes"}}}, {"tolerations", json::array({toleration})}}}});
  json spec = admitted({{"runtimeClassName", "kata"}, {"nodeSelector", {{"zone", "a"}}}});
  EXPECT_EQ(spec["overhead"], json({{"cpu", "600m"}}));
  EXPECT_EQ(spec["nodeSelector"], json({{"vm", "yes"}, {"zone", "a"}}));
  EXPECT_EQ(spec["tolerations"][2], toleration);
  EXPECT_EQ(spec["tolerations"].size(), 3U) << "and those of every pod";
  EXPECT_EQ(admitted(spec)["tolerations"].size(), 3U) << "they are there already";
  EXPECT_EQ(admitted({{"runtimeClassName", "kata"}, {"overhead", {{"cpu", "1"}}}})["overhead"],
            json({{"cpu", "1"}}));
  EXPECT_EQ(admitted({{"runtimeClassName", "kata"}, {"nodeSelector", {{"vm", "no"}}}}),
            "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; "
            "pod.spec.nodeSelector[vm] = no");
}

TEST_F(PodAdmissionTest, AClassThatIsNotThereIsNamedOnceAndAddsNothing) {
  const json spec = {{"priorityClassName", "high"}, {"runtimeClassName", "nvidia"}};
  EXPECT_EQ(admitted(spec)["priority"], 0);
  EXPECT_FALSE(admitted(spec).contains("overhead"));
  EXPECT_THAT(missing_, ElementsAre("PriorityClass \"high\"", "RuntimeClass \"nvidia\""));
}

TEST_F(PodAdmissionTest, OverTheApiClassesMustBeThereAndSayWhatThePodSays) {
  add(kPriorityClasses, "high", {{"value", 1000}, {"preemptionPolicy", "Never"}});
  add(kRuntimeClasses, "kata", {{"handler", "h"}, {"overhead", {{"podFixed", {{"cpu", "600m"}}}}}});
  const auto answer = [&](const json& spec) {
    json pod = {{"metadata", {{"name", "p"}, {"namespace", "default"}}}, {"spec", spec}};
    const auto done = admission_.admit(pod);
    return done ? "taken" : done.error().message.substr(std::string("pods \"p\" is ").size());
  };
  EXPECT_EQ(answer({{"priorityClassName", "low"}}),
            "forbidden: no PriorityClass with name low was found");
  EXPECT_EQ(answer({{"runtimeClassName", "none"}}),
            "forbidden: pod rejected: RuntimeClass \"none\" not found");
  EXPECT_THAT(answer({{"priority", 7}}), HasSubstr("the integer value of priority (7)"));
  EXPECT_THAT(answer({{"priorityClassName", "high"}, {"preemptionPolicy", "PreemptLowerPriority"}}),
              HasSubstr("the string value of PreemptionPolicy (PreemptLowerPriority)"));
  EXPECT_THAT(answer({{"overhead", {{"cpu", "1"}}}}), HasSubstr("Pod Overhead set without"));
  EXPECT_THAT(answer({{"runtimeClassName", "kata"}, {"overhead", {{"cpu", "1"}}}}),
              HasSubstr("Pod's Overhead doesn't match"));
  EXPECT_EQ(answer({{"priorityClassName", "high"},
                    {"priority", 1000},
                    {"runtimeClassName", "kata"},
                    {"overhead", {{"cpu", "0.6"}}}}),
            "taken");
}

TEST_F(PodAdmissionTest, OfTwoTolerationsTheWiderOneStays) {
  const json vm = {{"key", "vm"}, {"operator", "Exists"}};
  add(kRuntimeClasses, "kata",
      {{"handler", "h"}, {"scheduling", {{"tolerations", json::array({vm})}}}});
  const json narrow = {
      {"key", "vm"}, {"operator", "Equal"}, {"value", "a"}, {"effect", "NoSchedule"}};
  json spec = admitted({{"runtimeClassName", "kata"}, {"tolerations", json::array({narrow})}});
  EXPECT_EQ(spec["tolerations"].size(), 3U);
  EXPECT_EQ(spec["tolerations"].back(), vm);
  const json all = {{"operator", "Exists"}};
  spec = admitted({{"runtimeClassName", "kata"}, {"tolerations", json::array({all})}});
  EXPECT_EQ(spec["tolerations"], json::array({all}));
}

TEST_F(PodAdmissionTest, WhatCannotBeReadAddsNothing) {
  add(kPriorityClasses, "text", {{"value", "1000"}});
  add(kPriorityClasses, "default", {{"value", json::array()}, {"globalDefault", true}});
  for (const json& odd : {json("x"), json::array(), json({{"podFixed", 1}}), json(nullptr)}) {
    const std::string name = "odd" + std::to_string(store_.count(kRuntimeClasses));
    add(kRuntimeClasses, name, {{"overhead", odd}, {"scheduling", odd}});
    EXPECT_FALSE(admitted({{"runtimeClassName", name}}).contains("overhead"));
  }
  EXPECT_EQ(admitted({{"priorityClassName", "text"}})["priority"], 0);
}

TEST_F(PodAdmissionTest, APodThatCannotBeReadIsRefused) {
  EXPECT_EQ(admitted({{"priorityClassName", 5}}),
            "the pod cannot be read: spec.priorityClassName: expected a string");
  EXPECT_THAT(admitted({{"nodeSelector", "x"}}), HasSubstr("spec.nodeSelector: "));
  EXPECT_THAT(resources_with({{"requests", {{"cpu", "much"}}}}),
              HasSubstr("spec.containers[0].resources.requests[cpu]: "));
}

TEST_F(PodAdmissionTest, ALimitRangeGivesRequestsAndLimits) {
  limit("range", {{"type", "Container"},
                  {"default", {{"cpu", "400m"}}},
                  {"defaultRequest", {{"cpu", "300m"}, {"memory", "60Mi"}}}});
  const json whole = {{"requests", {{"cpu", "300m"}, {"memory", "60Mi"}}},
                      {"limits", {{"cpu", "400m"}}}};
  EXPECT_EQ(resources_with(json::object()), whole);
  EXPECT_EQ(resources_with(json::object(), "initContainers"), whole);
  EXPECT_EQ(
      resources_with({{"limits", {{"cpu", "500m"}}}}),
      json({{"requests", {{"cpu", "500m"}, {"memory", "60Mi"}}}, {"limits", {{"cpu", "500m"}}}}))
      << "a limit became the request before";
  limit("second", {{"type", "Container"}, {"default", {{"memory", "1Gi"}, {"cpu", "9"}}}});
  EXPECT_EQ(resources_with(json::object())["limits"], json({{"cpu", "400m"}, {"memory", "1Gi"}}))
      << "the first one wins";
}

TEST_F(PodAdmissionTest, ALimitRangeIsItsOwnDefault) {
  limit("range", {{"type", "Container"}, {"max", {{"cpu", "2"}}}, {"min", {{"memory", "8Mi"}}}});
  EXPECT_EQ(resources_with(json::object()),
            json({{"requests", {{"cpu", "2"}, {"memory", "8Mi"}}}, {"limits", {{"cpu", "2"}}}}));
}

TEST_F(PodAdmissionTest, ALimitRangeForbids) {
  limit("range", {{"type", "Container"},
                  {"min", {{"cpu", "100m"}}},
                  {"max", {{"cpu", "2"}}},
                  {"maxLimitRequestRatio", {{"cpu", "2"}}}});
  const std::string start = "pods \"p\" is forbidden: ";
  EXPECT_EQ(resources_with({{"limits", {{"cpu", "50m"}}}}),
            start + "minimum cpu usage per Container is 100m, but request is 50m");
  EXPECT_EQ(resources_with({{"limits", {{"cpu", "3"}}}}),
            start + "maximum cpu usage per Container is 2, but limit is 3");
  EXPECT_EQ(resources_with({{"requests", {{"cpu", "500m"}}}}),
            start +
                "cpu max limit to request ratio per Container is 2, but provided ratio is "
                "4.000000");
  EXPECT_EQ(resources_with({{"limits", {{"cpu", "1"}}}})["requests"]["cpu"], "1");
}

TEST_F(PodAdmissionTest, ALimitRangeForWholePodsCountsInitContainersAndSidecars) {
  limit("range", {{"type", "Pod"}, {"max", {{"cpu", "2"}}}});
  const auto container = [](const char* name, const char* cpu, const char* restarts = nullptr) {
    json made = {{"name", name}, {"resources", {{"limits", {{"cpu", cpu}}}}}};
    if (restarts != nullptr) made["restartPolicy"] = restarts;
    return made;
  };
  EXPECT_TRUE(admitted({{"initContainers", json::array({container("i", "2")})},
                        {"containers", json::array({container("c", "2")})}})
                  .is_object());
  EXPECT_EQ(admitted({{"initContainers", json::array({container("i", "1", "Always")})},
                      {"containers", json::array({container("c", "1500m")})}}),
            "pods \"p\" is forbidden: maximum cpu usage per Pod is 2, but limit is 2500m");
  EXPECT_EQ(admitted({{"containers", json::array({{{"name", "c"}}})}}),
            "pods \"p\" is forbidden: maximum cpu usage per Pod is 2.  No limit is specified");
}

TEST_F(PodAdmissionTest, ALimitRangeForbidsClaims) {
  limit("range", {{"type", "PersistentVolumeClaim"},
                  {"min", {{"storage", "1Gi"}}},
                  {"max", {{"storage", "2Gi"}}}});
  const auto claim_of = [&](const char* size) {
    json claim = {{"metadata", {{"name", "c"}, {"namespace", "default"}}},
                  {"spec", {{"resources", {{"requests", {{"storage", size}}}}}}}};
    const auto done = admit_object(store_, kPersistentVolumeClaims, claim);
    return done ? std::string() : done.error().message;
  };
  EXPECT_EQ(claim_of("1Gi"), "");
  EXPECT_EQ(claim_of("3Gi"),
            "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
            "PersistentVolumeClaim is 2Gi, but request is 3Gi");
  EXPECT_EQ(claim_of("1Mi"),
            "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
            "PersistentVolumeClaim is 1Gi, but request is 1Mi");
}

TEST_F(PodAdmissionTest, AQuotaThatIsFullRefuses) {
  add_in("default", kResourceQuotas, "q",
         {{"spec", {{"hard", {{"requests.cpu", "1"}, {"limits.memory", "2Gi"}, {"pods", "3"}}}}}});
  const auto create = [&](const char* name, const json& resources) -> std::string {
    json pod = {
        {"metadata", {{"name", name}, {"namespace", "default"}}},
        {"spec", {{"containers", json::array({{{"name", "c"}, {"resources", resources}}})}}}};
    if (auto done = admission_.admit(pod, &missing_); !done) return done.error().message;
    EXPECT_TRUE(store_.create(kPods, std::move(pod)));
    return "";
  };
  const json amounts = {{"requests", {{"cpu", "600m"}}}, {"limits", {{"memory", "1Gi"}}}};
  EXPECT_EQ(create("a", json::object()),
            "pods \"a\" is forbidden: failed quota: q: must specify limits.memory for: c; "
            "requests.cpu for: c");
  EXPECT_EQ(create("a", amounts), "");
  const std::string full =
      "pods \"b\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: "
      "requests.cpu=600m, limited: requests.cpu=1";
  EXPECT_EQ(create("b", amounts), full);
  EXPECT_EQ(create("b", amounts), full);
  ASSERT_TRUE(store_.modify(kPods, {"default", "a"}, {}, [](json& pod) -> ApiResult<void> {
    pod["status"]["phase"] = "Succeeded";
    return {};
  }));
  EXPECT_EQ(create("b", amounts), "") << "a pod that has ended takes nothing";
  const json quota = (*store_.get(kResourceQuotas, {"default", "q"}))->parse();
  EXPECT_EQ(quota["status"]["used"],
            json({{"limits.memory", "1Gi"}, {"pods", "1"}, {"requests.cpu", "600m"}}));
}

TEST_F(PodAdmissionTest, AQuotaCountsWhatIsInItsScopes) {
  add_in("default", kResourceQuotas, "q",
         {{"spec",
           {{"hard", {{"pods", "0"}}},
            {"scopeSelector",
             {{"matchExpressions", json::array({{{"scopeName", "PriorityClass"},
                                                 {"operator", "In"},
                                                 {"values", json::array({"high"})}}})}}}}}});
  add(kPriorityClasses, "high", {{"value", 1000}});
  EXPECT_TRUE(admitted(json::object()).is_object());
  EXPECT_EQ(admitted({{"priorityClassName", "high"}}),
            "pods \"p\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: "
            "pods=0");
}

TEST_F(PodAdmissionTest, AQuotaCountsClaimsByTheirClass) {
  add_in("default", kResourceQuotas, "q",
         {{"spec", {{"hard", {{"fast.storageclass.storage.k8s.io/requests.storage", "1Gi"}}}}}});
  const auto claim_of = [&](const char* name) {
    json claim = {
        {"metadata", {{"name", "c"}, {"namespace", "default"}}},
        {"spec",
         {{"storageClassName", name}, {"resources", {{"requests", {{"storage", "2Gi"}}}}}}}};
    const auto done = admit_object(store_, kPersistentVolumeClaims, claim);
    return done ? std::string() : done.error().message;
  };
  EXPECT_EQ(claim_of("slow"), "");
  const std::string what = "fast.storageclass.storage.k8s.io/requests.storage=";
  EXPECT_EQ(claim_of("fast"),
            "persistentvolumeclaims \"c\" is forbidden: exceeded quota: q, "
            "requested: " +
                what + "2Gi, used: " + what + "0, limited: " + what + "1Gi");
}

TEST_F(PodAdmissionTest, AMemberOfAnotherTypeInAQuotaCountsNothing) {
  for (const json& odd : {json("x"), json(5), json::array({1}), json(nullptr)}) {
    add_in("default", kResourceQuotas, "odd" + std::to_string(store_.count(kResourceQuotas)),
           {{"spec", {{"hard", odd}, {"scopes", odd}, {"scopeSelector", odd}}}});
    add_in("default", kLimitRanges, "odd" + std::to_string(store_.count(kLimitRanges)),
           {{"spec", {{"limits", odd}}}});
  }
  EXPECT_TRUE(admitted(json::object()).is_object());
}

TEST_F(PodAdmissionTest, APodHasTheZoneOfItsNode) {
  json node = {{"metadata", {{"name", "n"}, {"labels", {{"topology.kubernetes.io/zone", "z"}}}}}};
  ASSERT_TRUE(store_.create(kNodes, node));
  json pod = {{"metadata", {{"name", "p"}, {"namespace", "default"}}},
              {"spec", {{"nodeName", "n"}}}};
  ASSERT_TRUE(admission_.admit(pod, &missing_));
  EXPECT_EQ(pod["metadata"]["labels"], json({{"topology.kubernetes.io/zone", "z"}}));
}

TEST(ClusterLoader, WhatAnApiServerWouldNotTakeIsLeftOut) {
  ObjectStore store;
  const auto report = load_cluster(store, {R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c",
     "resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"},"spec":{"restartPolicy":"Odd"}},
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"Odd"}]}},
    {"apiVersion":"v1","kind":"Node","metadata":{"name":"m"},"spec":{"unschedulable":"yes"}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"short"},"spec":{}}]})"});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(
      report->notes,
      ElementsAre(HasSubstr("spec.taints[0].effect: Unsupported value: \"Odd\""),
                  HasSubstr("spec.unschedulable: expected true or false"),
                  HasSubstr("spec.containers[0].resources.requests: Invalid value: \"2\": must be "
                            "less than or equal to cpu limit of 1"),
                  HasSubstr("spec.restartPolicy: Unsupported value: \"Odd\"")));
  EXPECT_EQ(store.count(kPods), 1U) << "a file need not say what no decision reads";
}

TEST(PodDefaults, PortsOnTheHostsNetworkAreTheHosts) {
  const json container = {{"name", "c"},
                          {"ports",
                           {{{"containerPort", 80}},
                            {{"containerPort", 81}, {"hostPort", 0}},
                            {{"containerPort", 82}, {"hostPort", 8082}},
                            {{"containerPort", 83}, {"hostPort", nullptr}}}}};
  json pod = {{"spec", {{"hostNetwork", true}, {"initContainers", json::array({container})}}}};
  set_pod_defaults(pod);
  const json& ports = pod["spec"]["initContainers"][0]["ports"];
  EXPECT_EQ(ports[0]["hostPort"], 80);
  EXPECT_EQ(ports[1]["hostPort"], 81);
  EXPECT_EQ(ports[2]["hostPort"], 8082);
  EXPECT_EQ(ports[3]["hostPort"], 83);
  json apart = {{"spec", {{"containers", json::array({container})}}}};
  set_pod_defaults(apart);
  EXPECT_FALSE(apart["spec"]["containers"][0]["ports"][0].contains("hostPort"));
}

TEST(PodDefaults, LabelKeysOfAffinityBecomeRequirements) {
  const json term = {{"topologyKey", "zone"},
                     {"labelSelector", {{"matchLabels", {{"app", "web"}}}}},
                     {"matchLabelKeys", {"rev", "none"}},
                     {"mismatchLabelKeys", json::array({"tenant"})}};
  json open = term;
  open["labelSelector"] = nullptr;
  json pod = {
      {"metadata", {{"labels", {{"rev", "2"}, {"tenant", "t"}}}}},
      {"spec",
       {{"affinity",
         {{"podAffinity",
           {{"preferredDuringSchedulingIgnoredDuringExecution",
             json::array({{{"weight", 1}, {"podAffinityTerm", term}}})}}},
          {"podAntiAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution", json::array({term, open})}}}}}}}};
  set_pod_defaults(pod);
  const json wanted = {{{"key", "rev"}, {"operator", "In"}, {"values", json::array({"2"})}},
                       {{"key", "tenant"}, {"operator", "NotIn"}, {"values", json::array({"t"})}}};
  const json& affinity = pod["spec"]["affinity"];
  EXPECT_EQ(affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]
                    ["podAffinityTerm"]["labelSelector"]["matchExpressions"],
            wanted);
  const json& required =
      affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  EXPECT_EQ(required[0]["labelSelector"]["matchExpressions"], wanted);
  EXPECT_TRUE(required[1]["labelSelector"].is_null());
  const json once = pod;
  set_pod_defaults(pod);
  EXPECT_EQ(pod, once) << "an exported pod has them already";
}

TEST(PodDefaults, OddAffinityStaysAsItIs) {
  for (const char* odd :
       {R"([])", R"({"podAffinity": []})", R"({"podAffinity": {"required": 1}})",
        R"({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [1, {}]}})",
        R"({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": ["x"]}})",
        R"({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"labelSelector": "x", "matchLabelKeys": ["a"]},
             {"labelSelector": {}, "matchLabelKeys": [1, "b"]}]}})"}) {
    const json affinity = json::parse(odd);
    json pod = {{"metadata", {{"labels", {{"a", "1"}}}}}, {"spec", {{"affinity", affinity}}}};
    set_pod_defaults(pod);
    EXPECT_EQ(pod["spec"]["affinity"], affinity) << odd;
  }
}

TEST(ClusterLoader, ClassesCountForPodsWhereverTheyStandInTheFile) {
  ObjectStore store;
  const auto report = load_cluster(store, {R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"new"},
     "spec":{"priorityClassName":"high","runtimeClassName":"nvidia"}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"exported","uid":"u"},
     "spec":{"priorityClassName":"high","priority":5,"runtimeClassName":"gone"}},
    {"apiVersion":"v1","kind":"Pod","metadata":{"name":"named","uid":"v"},
     "spec":{"priorityClassName":"high"}},
    {"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},
     "value":1000}]})"});
  ASSERT_TRUE(report) << report.error().message;
  const auto priority = [&](const char* name) {
    return (*store.get(kPods, {"default", name}))->parse()["spec"]["priority"];
  };
  EXPECT_EQ(priority("new"), 1000);
  EXPECT_EQ(priority("exported"), 5) << "its cluster has admitted it";
  EXPECT_EQ(priority("named"), 1000);
  EXPECT_THAT(report->notes, ElementsAre(HasSubstr("RuntimeClass \"nvidia\" is named by pods")));
}

}  // namespace
}  // namespace plimsoll::sandbox
