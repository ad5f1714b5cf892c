// What the table of field rules says: one object for each kind of rule, and what is wrong with it.

#include "lab/sandbox/store/field_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// "" or "CODE PATH: WHY" for an object of the kind with this patch over what it needs at least.
std::string wrong(const std::string& kind, const char* patch, Missing missing = Missing::kRefused) {
  json object = {{"metadata", {{"name", "x"}}}};
  if (kind == "Pod") object["spec"]["containers"] = json::array({{{"name", "c"}}});
  if (kind == "PersistentVolume") {
    object["spec"] = {{"capacity", {{"storage", "1Gi"}}},
                      {"accessModes", {"ReadWriteOnce"}},
                      {"csi", {{"driver", "d"}, {"volumeHandle", "h"}}}};
  }
  object.merge_patch(json::parse(patch));
  const auto& kinds = default_kinds();
  const auto info = std::ranges::find(kinds, kind, &KindInfo::kind);
  const auto checked = check_fields(*info, object, missing);
  if (checked) return "";
  const std::string& all = checked.error().message;
  const std::string mark = checked.error().code == 400 ? " as a " + kind + ": " : " is invalid: ";
  return std::to_string(checked.error().code) + " " + all.substr(all.find(mark) + mark.size());
}

std::string wrong_container(const char* container) {
  const std::string patch = R"({"spec": {"initContainers": [)" + std::string(container) + "]}}";
  return wrong("Pod", patch.c_str());
}

TEST(FieldRules, TakeWhatIsRight) {
  for (const char* kind : {"Pod", "PersistentVolume", "Node", "Namespace", "LimitRange"}) {
    EXPECT_EQ(wrong(kind, "{}"), "") << kind;
  }
}

TEST(FieldRules, NameTheFirstWrongField) {
  EXPECT_EQ(wrong("Pod", R"({"spec": 3})"), "400 spec: expected an object");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"containers": null}})", Missing::kTaken), "");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"priority": 3000000000}})"),
            "400 spec.priority: expected an integer of 32 bits");
  EXPECT_EQ(wrong("Pod", R"({"metadata": {"labels": {"-a": "b"}}})"),
            "422 metadata.labels: Invalid value: \"-a\": must be a qualified name");
  EXPECT_EQ(wrong("Pod", R"({"metadata": {"annotations": {"A/b": ""}}})"), "");
  EXPECT_EQ(wrong("Pod", R"({"metadata": {"generateName": "a-"}})"), "");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"restartPolicy": "Maybe"}})"),
            "422 spec.restartPolicy: Unsupported value: \"Maybe\": supported values: "
            "Always,OnFailure,Never");
  // A wrong type is found before a wrong value.
  EXPECT_EQ(wrong("Pod", R"({"spec": {"restartPolicy": "Maybe", "hostNetwork": "a"}})"),
            "400 spec.hostNetwork: expected true or false");
}

TEST(FieldRules, HoldForEachOfSeveralNames) {
  EXPECT_EQ(wrong_container(R"({"name": "A"})"),
            "422 spec.initContainers[0].name: Invalid value: \"A\": is not a valid label");
  EXPECT_EQ(wrong_container(R"({"name": "a", "ports": [{"containerPort": 70000}]})"),
            "422 spec.initContainers[0].ports[0].containerPort: Invalid value: 70000: must be at "
            "most 65535");
  EXPECT_EQ(wrong_container(R"({"name": "a", "ports": [{"containerPort": -1}]})"),
            "422 spec.initContainers[0].ports[0].containerPort: Invalid value: -1: must be at "
            "least 1");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"affinity": {"podAntiAffinity":
              {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}}}})"),
            "422 spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            "topologyKey: Required value");
  EXPECT_EQ(wrong("Node", R"({"status": {"images": [3]}})"),
            "400 status.images[0]: expected an object");
}

TEST(FieldRules, TellItemsAndMembersApart) {
  EXPECT_EQ(wrong("Pod", R"({"spec": {"containers": [{"name": "a"}, {"name": "a"}]}})"),
            "422 spec.containers[1]: Duplicate value");
  EXPECT_EQ(wrong("Node", R"({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"},
              {"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}]}})"),
            "422 spec.taints[2]: Duplicate value");
  EXPECT_EQ(wrong("Node", R"({"status": {"declaredFeatures": ["A", "B", "A"]}})"),
            "422 status.declaredFeatures[2]: Duplicate value");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"resourceClaims": [{"name": "a"}]}})"),
            "422 spec.resourceClaims[0]: Required value: must have one of "
            "resourceClaimName,resourceClaimTemplateName");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"volumes": [{"name": "a", "emptyDir": {}, "nfs": {}}]}})"),
            "422 spec.volumes[0]: Forbidden: may not have more than one of *");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"volumes": [{"name": "a"}]}})"), "");
  EXPECT_EQ(wrong("PersistentVolume", R"({"spec": {"csi": null}})"),
            "422 spec: Required value: must have one of *");
  EXPECT_EQ(wrong("PersistentVolume", R"({"spec": {"csi": null}})", Missing::kTaken), "");
  EXPECT_EQ(wrong("PersistentVolume",
                  R"({"spec": {"accessModes": ["ReadWriteMany", "ReadWriteOncePod"]}})"),
            "422 spec.accessModes: Forbidden: may not have ReadWriteOncePod with others");
  EXPECT_EQ(wrong("ResourceQuota", R"({"spec": {"scopes": ["NotTerminating", "Terminating"]}})"),
            "422 spec.scopes: Forbidden: may not have Terminating with others");
}

TEST(FieldRules, KnowAmounts) {
  EXPECT_EQ(wrong("PersistentVolume", R"({"spec": {"capacity": {"storage": "0"}}})"),
            "422 spec.capacity.storage: Invalid value: \"0\": must be greater than zero");
  EXPECT_EQ(wrong("PersistentVolume", R"({"spec": {"capacity": {"storage": []}}})"),
            "400 spec.capacity[storage]: expected a quantity");
  EXPECT_EQ(wrong("Node", R"({"status": {"capacity": {"anything": "1"}}})"), "");
  EXPECT_EQ(wrong("Node", R"({"status": {"capacity": {"a.b/c": "500m"}}})"),
            "422 status.capacity[a.b/c]: Invalid value: \"500m\": must be an integer");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"overhead": {"pods": "1"}}})"),
            "422 spec.overhead[pods]: Invalid value: \"pods\": must be a standard resource");
  const auto resources = [](const std::string& given) {
    return wrong_container((R"({"name": "a", "resources": )" + given + "}").c_str());
  };
  const std::string at = "422 spec.initContainers[0].resources";
  EXPECT_EQ(resources(R"({"limits": {"cpu": "-1"}})"),
            at + ".limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0");
  EXPECT_EQ(resources(R"({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})"),
            at + ".requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1");
  EXPECT_EQ(resources(R"({"requests": {"a.b/c": "1"}})"), at + ".limits: Required value: of a.b/c");
  EXPECT_EQ(resources(R"({"limits": {"hugepages-2Mi": "2Mi"}})"),
            at + ": Forbidden: HugePages require cpu or memory");
  EXPECT_EQ(wrong("Pod", R"({"spec": {"resources": {"limits": {"ephemeral-storage": "1"}}}})"),
            "422 spec.resources.limits[ephemeral-storage]: Invalid value: \"ephemeral-storage\": "
            "must be a standard resource");
}

TEST(FieldRules, KnowLimitsAndQuotas) {
  EXPECT_EQ(wrong("LimitRange", R"({"spec": {"limits": [{"type": "Pod", "max": {"pods": 1}}]}})"),
            "422 spec.limits[0].max[pods]: Invalid value: \"pods\": must be a standard resource");
  EXPECT_EQ(wrong("LimitRange", R"({"spec": {"limits":
              [{"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}]}})"),
            "422 spec.limits[0].min[cpu]: Invalid value: \"2\": must not be more than max, 1");
  const auto quota = [](const std::string& spec) {
    return wrong("ResourceQuota", (R"({"spec": )" + spec + "}").c_str());
  };
  for (const char* name : {"cpu", "limits.memory", "requests.storage", "requests.hugepages-2Mi",
                           "services.nodeports", "requests.a.b/c", "count/widgets.a.b"}) {
    EXPECT_EQ(quota(R"({"hard": {")" + std::string(name) + R"(": "1"}})"), "") << name;
  }
  EXPECT_EQ(quota(R"({"hard": {"requests.pods": "1"}})"),
            "422 spec.hard[requests.pods]: Invalid value: \"requests.pods\": must be a standard "
            "resource");
  EXPECT_EQ(quota(R"({"hard": {"pods": "1500m"}})"),
            "422 spec.hard[pods]: Invalid value: \"1500m\": must be an integer");
  EXPECT_EQ(quota(R"({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]})"),
            "422 spec.scopes: Invalid value: \"BestEffort\": unsupported scope applied to resource "
            "cpu");
}

}  // namespace
}  // namespace plimsoll::sandbox
