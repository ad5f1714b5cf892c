// Random nodes.

#include "lint/fields.hpp"

namespace plimsoll::lint {
namespace {

constexpr std::array kTaintEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};

Json random_node_amounts(Dice& dice, const Vocabulary& words, const Json& before) {
  Json map = {{"cpu", std::to_string(1 + dice.below(16))},
              {"memory", std::to_string(2 + dice.below(30)) + "Gi"},
              {"ephemeral-storage", std::to_string(4 + dice.below(60)) + "Gi"},
              {"pods", std::to_string(1 + dice.below(20))}};
  for (const std::string& resource : words.resources) {
    if (dice.one_in(2)) map[resource] = std::to_string(dice.below(9));
  }
  if (!before.is_object() || before.empty()) return map;
  // Nodes that were given keep what is not changed, so that they stay what their reports speak of.
  Json changed = before;
  for (size_t left = 1 + dice.below(3); left > 0; --left) {
    auto at = map.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(dice.below(map.size())));
    changed[at.key()] = at.value();
  }
  return changed;
}

Json at_or_empty(const Json& node, const char* pointer) {
  return node.value(Json::json_pointer(pointer), Json::object());
}

void set_node_taints(Json& node, Dice& dice, const Vocabulary& words) {
  Json taints = Json::array();
  for (size_t left = dice.below(4); left > 0; --left) {
    taints.push_back({{"key", dice.one_in(2) ? "dedicated" : words.key(dice)},
                      {"value", words.value(dice)},
                      {"effect", dice.of(kTaintEffects)}});
  }
  node["spec"]["taints"] = std::move(taints);
}

void set_node_images(Json& node, Dice& dice, const Vocabulary&) {
  Json images = Json::array();
  for (size_t i = 0; i < 3; ++i) {
    if (dice.one_in(2)) continue;
    images.push_back({{"names", {"example.com/app:" + std::to_string(i)}},
                      {"sizeBytes", (1 + dice.below(50)) * 50'000'000}});
  }
  node["status"]["images"] = std::move(images);
}

void set_node_conditions(Json& node, Dice& dice, const Vocabulary&) {
  constexpr std::array kStatuses = {"True", "False", "Unknown"};
  Json conditions = Json::array();
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    if (!dice.one_in(4)) conditions.push_back({{"type", type}, {"status", dice.of(kStatuses)}});
  }
  node["status"]["conditions"] = std::move(conditions);
}

constexpr Field kNodeFields[] = {
    {"status.allocatable", "/status/allocatable", true, 1,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       node["status"]["allocatable"] =
           random_node_amounts(dice, words, at_or_empty(node, "/status/allocatable"));
     }},
    {"status.capacity", "/status/capacity", true, 1,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       node["status"]["capacity"] =
           random_node_amounts(dice, words, at_or_empty(node, "/status/capacity"));
     }},
    {"metadata.labels", "/metadata/labels", true, 1,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       Json labels = words.labels(dice);
       // Some of those that it has stay.
       const Json before = at_or_empty(node, "/metadata/labels");
       for (const auto& [key, value] : before.items()) {
         if (dice.one_in(2)) labels[key] = value;
       }
       node["metadata"]["labels"] = std::move(labels);
     }},
    {"metadata.annotations", "/metadata/annotations", true, 2,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       node["metadata"]["annotations"] = words.annotation_map(dice);
     }},
    {"spec.taints", "/spec/taints", false, 3, set_node_taints},
    {"spec.unschedulable", "/spec/unschedulable", false, 5,
     [](Json& node, Dice&, const Vocabulary&) {
       node["spec"]["unschedulable"] = !node["spec"].value("unschedulable", false);
     }},
    {"status.images", "/status/images", false, 2, set_node_images},
    {"status.conditions", "/status/conditions", false, 2, set_node_conditions},
    {"status.declaredFeatures", "/status/declaredFeatures", false, 3,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       node["status"]["declaredFeatures"] = {words.key(dice)};
     }},
    {"metadata.resourceVersion", "/metadata/resourceVersion", false, 0,
     [](Json& node, Dice& dice, const Vocabulary&) {
       node["metadata"]["resourceVersion"] = std::to_string(1 + dice.below(100000));
     }},
    {"metadata.generation", "/metadata/generation", false, 0,
     [](Json& node, Dice& dice, const Vocabulary&) {
       node["metadata"]["generation"] = 1 + dice.below(1000);
     }},
    {"metadata.creationTimestamp", "/metadata/creationTimestamp", false, 0,
     [](Json& node, Dice& dice, const Vocabulary&) {
       node["metadata"]["creationTimestamp"] =
           "2026-01-" + std::to_string(10 + dice.below(20)) + "T00:00:00Z";
     }},
    {"metadata.ownerReferences", "/metadata/ownerReferences", false, 0,
     [](Json& node, Dice& dice, const Vocabulary& words) {
       node["metadata"]["ownerReferences"] = Json::array({Json{{"apiVersion", "v1"},
                                                               {"kind", "Machine"},
                                                               {"name", words.value(dice)},
                                                               {"uid", words.value(dice)}}});
     }},
};

}  // namespace

std::span<const Field> node_fields() {
  return kNodeFields;
}

Json random_node(Dice& dice, const Vocabulary& words, size_t index) {
  Json node;
  const bool given = index < words.nodes.size();
  if (given) {
    node = words.nodes[index];
  } else {
    const std::string name = "n" + std::to_string(index);
    node = {{"metadata", {{"name", name}, {"uid", "uid-" + name}}}};
  }
  for (const char* part : {"spec", "status"}) {
    if (!node[part].is_object()) node[part] = Json::object();
  }
  if (given && dice.one_in(2)) return node;
  for (const Field& field : kNodeFields) {
    if (field.presence == 0) continue;
    if (dice.one_in(given ? 4 * field.presence : field.presence)) field.set(node, dice, words);
  }
  return node;
}

}  // namespace plimsoll::lint
