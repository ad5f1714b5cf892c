#include "framework/extenders/object_json.hpp"

#include <plimsoll/views.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::extender_wire {
namespace {

using Json = nlohmann::json;
using sdk::List;
using sdk::view;

std::string text(const plimsoll_str& value) {
  return std::string(view(value));
}

Json texts(sdk::Strings list) {
  Json all = Json::array();
  for (const plimsoll_str& each : list) all.push_back(text(each));
  return all;
}

Json labels(sdk::Labels list) {
  Json all = Json::object();
  for (const plimsoll_label& each : list) all[text(each.key)] = text(each.value);
  return all;
}

Json metadata(const plimsoll_meta& meta) {
  Json made{{"name", text(meta.name)},
            {"uid", text(meta.uid)},
            {"resourceVersion", text(meta.resource_version)},
            {"labels", labels(meta.labels)},
            {"annotations", labels(meta.annotations)}};
  if (meta.ns.len != 0) made["namespace"] = text(meta.ns);
  return made;
}

// CPU is in thousandths.
Json amounts(List<plimsoll_resource> resources) {
  Json all = Json::object();
  for (const plimsoll_resource& resource : resources) {
    const bool milli = resource.index == PLIMSOLL_RESOURCE_CPU && resource.value % 1000 != 0;
    const int64_t value =
        resource.index == PLIMSOLL_RESOURCE_CPU && !milli ? resource.value / 1000 : resource.value;
    all[text(resource.name)] = std::to_string(value) + (milli ? "m" : "");
  }
  return all;
}

const char* effect_name(uint32_t effect) {
  switch (effect) {
    case PLIMSOLL_EFFECT_NO_SCHEDULE:
      return "NoSchedule";
    case PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE:
      return "PreferNoSchedule";
    case PLIMSOLL_EFFECT_NO_EXECUTE:
      return "NoExecute";
    default:
      return "";
  }
}

Json containers(List<plimsoll_container> list) {
  Json all = Json::array();
  for (const plimsoll_container& container : list) {
    all.push_back(
        {{"name", text(container.name)},
         {"image", text(container.image)},
         {"resources",
          {{"requests", amounts(container.requests)}, {"limits", amounts(container.limits)}}}});
  }
  return all;
}

}  // namespace

Json node_json(const plimsoll_node& node) {
  Json taints = Json::array();
  for (const plimsoll_taint& taint : List<plimsoll_taint>(node.taints)) {
    taints.push_back({{"key", text(taint.key)},
                      {"value", text(taint.value)},
                      {"effect", effect_name(taint.effect)}});
  }
  Json images = Json::array();
  for (const plimsoll_image& image : List<plimsoll_image>(node.images)) {
    images.push_back({{"names", texts(image.names)}, {"sizeBytes", image.bytes}});
  }
  Json conditions = Json::array();
  for (const plimsoll_condition& condition : List<plimsoll_condition>(node.conditions)) {
    conditions.push_back({{"type", text(condition.type)}, {"status", text(condition.status)}});
  }
  return {{"metadata", metadata(node.meta)},
          {"spec", {{"unschedulable", node.unschedulable != 0}, {"taints", std::move(taints)}}},
          {"status",
           {{"capacity", amounts(node.capacity)},
            {"allocatable", amounts(node.allocatable)},
            {"conditions", std::move(conditions)},
            {"images", std::move(images)},
            {"declaredFeatures", texts(node.declared_features)}}}};
}

Json pod_json(const plimsoll_pod& pod) {
  return {{"metadata", metadata(pod.meta)},
          {"spec",
           {{"nodeName", text(pod.node_name)},
            {"schedulerName", text(pod.scheduler_name)},
            {"priority", pod.priority},
            {"priorityClassName", text(pod.priority_class_name)},
            {"initContainers", containers(pod.init_containers)},
            {"containers", containers(pod.containers)}}},
          {"status", Json::object()}};
}

}  // namespace plimsoll::extender_wire
