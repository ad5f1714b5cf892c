// Random pods: where they may run, beside whom, and when.

#include "lint/fields.hpp"

namespace plimsoll::lint {
namespace {

Json label_requirement(Dice& dice, const Vocabulary& words) {
  constexpr std::array kOperators = {"In", "NotIn", "Exists", "DoesNotExist"};
  const auto [key, value] = words.node_label(dice);
  Json requirement = {{"key", key}, {"operator", dice.of(kOperators)}};
  if (requirement["operator"] == "In" || requirement["operator"] == "NotIn") {
    requirement["values"] = {value, words.value(dice)};
  }
  return requirement;
}

Json node_term(Dice& dice, const Vocabulary& words) {
  if (dice.one_in(6) && !words.node_names.empty()) {
    return {{"matchFields",
             {{{"key", "metadata.name"},
               {"operator", "In"},
               {"values", {dice.of(words.node_names)}}}}}};
  }
  return {{"matchExpressions", Json::array({label_requirement(dice, words)})}};
}

Json pod_term(Dice& dice, const Vocabulary& words) {
  Json term = {{"labelSelector", {{"matchLabels", {{words.key(dice), words.value(dice)}}}}},
               {"topologyKey", words.key(dice)}};
  if (dice.one_in(3)) term["namespaces"] = {"default", "team-1"};
  if (dice.one_in(4)) term["namespaceSelector"] = Json::object();
  return term;
}

// The lists of required and of preferred terms; `wrap`: the key of a preferred term.
Json required_and_preferred(Dice& dice, const Vocabulary& words, const char* wrap,
                            Json (*term)(Dice&, const Vocabulary&)) {
  Json rules = Json::object();
  if (!dice.one_in(3)) {
    Json required = Json::array({term(dice, words)});
    if (dice.one_in(3)) required.push_back(term(dice, words));
    rules["requiredDuringSchedulingIgnoredDuringExecution"] = std::move(required);
  }
  if (dice.one_in(2)) {
    rules["preferredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({Json{{"weight", 1 + dice.below(100)}, {wrap, term(dice, words)}}});
  }
  return rules;
}

void set_node_affinity(Json& pod, Dice& dice, const Vocabulary& words) {
  Json rules = required_and_preferred(dice, words, "preference", node_term);
  if (Json& required = rules["requiredDuringSchedulingIgnoredDuringExecution"];
      required.is_array()) {
    required = {{"nodeSelectorTerms", Json(required)}};
  } else {
    rules.erase("requiredDuringSchedulingIgnoredDuringExecution");
  }
  pod["spec"]["affinity"]["nodeAffinity"] = std::move(rules);
}

void set_pod_tolerations(Json& pod, Dice& dice, const Vocabulary& words) {
  constexpr std::array kToleratedEffects = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
  Json tolerations = Json::array();
  for (size_t left = dice.below(4); left > 0; --left) {
    Json toleration = {{"key", dice.one_in(2) ? "dedicated" : words.key(dice)}};
    if (dice.one_in(2)) {
      toleration["operator"] = "Exists";
      if (dice.one_in(3)) toleration.erase("key");
    } else {
      toleration["value"] = words.value(dice);
    }
    const std::string effect = dice.of(kToleratedEffects);
    if (!effect.empty()) toleration["effect"] = effect;
    tolerations.push_back(std::move(toleration));
  }
  pod["spec"]["tolerations"] = std::move(tolerations);
}

void set_spreading(Json& pod, Dice& dice, const Vocabulary& words) {
  pod["spec"]["topologySpreadConstraints"] = Json::array(
      {Json{{"maxSkew", 1 + dice.below(3)},
            {"topologyKey", words.key(dice)},
            {"whenUnsatisfiable", dice.one_in(2) ? "DoNotSchedule" : "ScheduleAnyway"},
            {"labelSelector", {{"matchLabels", {{words.key(dice), words.value(dice)}}}}}}});
}

// A node of the cluster, or none.
void set_node_text(Json& pod, Dice& dice, const Vocabulary& words, const char* part,
                   const char* field) {
  if (words.node_names.empty() || dice.one_in(3)) {
    pod[part].erase(field);
  } else {
    pod[part][field] = dice.of(words.node_names);
  }
}

constexpr Field kPodRuleFields[] = {
    {"spec.nodeSelector", "/spec/nodeSelector", true, 5,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       const auto [key, value] = words.node_label(dice);
       pod["spec"]["nodeSelector"] = {{key, value}};
     }},
    {"spec.affinity.nodeAffinity", "/spec/affinity/nodeAffinity", false, 4, set_node_affinity},
    {"spec.affinity.podAffinity", "/spec/affinity/podAffinity", false, 10,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["spec"]["affinity"]["podAffinity"] =
           required_and_preferred(dice, words, "podAffinityTerm", pod_term);
     }},
    {"spec.affinity.podAntiAffinity", "/spec/affinity/podAntiAffinity", false, 10,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["spec"]["affinity"]["podAntiAffinity"] =
           required_and_preferred(dice, words, "podAffinityTerm", pod_term);
     }},
    {"spec.tolerations", "/spec/tolerations", false, 2, set_pod_tolerations},
    {"spec.topologySpreadConstraints", "/spec/topologySpreadConstraints", false, 8, set_spreading},
    {"spec.schedulingGates", "/spec/schedulingGates", false, 0,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       pod["spec"]["schedulingGates"] = Json::array({Json{{"name", words.key(dice)}}});
     }},
    {"spec.nodeName", "/spec/nodeName", false, 12,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       set_node_text(pod, dice, words, "spec", "nodeName");
     }},
    {"status.nominatedNodeName", "/status/nominatedNodeName", false, 6,
     [](Json& pod, Dice& dice, const Vocabulary& words) {
       set_node_text(pod, dice, words, "status", "nominatedNodeName");
     }},
};

}  // namespace

std::span<const Field> pod_rule_fields() {
  return kPodRuleFields;
}

}  // namespace plimsoll::lint
