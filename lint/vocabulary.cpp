#include "lint/vocabulary.hpp"

#include <algorithm>
#include <set>

#include "lint/words.hpp"

namespace plimsoll::lint {
namespace {

constexpr std::array kCommonKeys = {"app",
                                    "tier",
                                    "dedicated",
                                    "topology.kubernetes.io/zone",
                                    "kubernetes.io/hostname",
                                    "node.kubernetes.io/instance-type"};
constexpr std::array kCommonValues = {"true", "false", "yes", "no", "0",
                                      "1",    "2",     "4",   "10", "web"};
constexpr size_t kFewKeys = 4;

void take_keys(const Json& map, std::set<std::string>& keys, std::set<std::string>& values) {
  if (!map.is_object()) return;
  for (const auto& [key, value] : map.items()) {
    keys.insert(key);
    if (value.is_string() && !value.empty()) values.insert(value.get<std::string>());
  }
}

Json metadata_part(const Json& object, const char* part) {
  return object.value("/metadata"_json_pointer, Json::object()).value(part, Json::object());
}

// Of args: each text may be a label's key or value.
void take_texts(const Json& value, std::set<std::string>& keys) {
  if (value.is_string() && is_label_key(value.get<std::string>())) keys.insert(value);
  if (!value.is_structured()) return;
  for (const Json& part : value) take_texts(part, keys);
}

Json as_template(Json pod) {
  Json& metadata = pod["metadata"];
  for (const char* key : {"uid", "resourceVersion", "managedFields"}) metadata.erase(key);
  pod.erase("status");
  pod["spec"].erase("nodeName");
  return pod;
}

}  // namespace

Result<Vocabulary> Vocabulary::of(const Options& options) {
  Vocabulary all;
  std::set<std::string> keys(kCommonKeys.begin(), kCommonKeys.end());
  std::set<std::string> values(kCommonValues.begin(), kCommonValues.end());
  std::set<std::string> resources;
  for (const Object& object : options.objects) {
    Json json = Json::parse(object.json, nullptr, false);
    if (!json.is_object() || !json.value("metadata", Json()).is_object()) {
      return fail(ErrorCode::kInvalid, object.resource + " " + object.name + ": not an object");
    }
    take_keys(metadata_part(json, "labels"), keys, values);
    const Json annotations = metadata_part(json, "annotations");
    for (const auto& [key, value] : annotations.items()) {
      all.annotations.push_back({{"key", key}, {"value", value}});
    }
    if (object.resource == "nodes") {
      const Json amounts = json.value("/status/allocatable"_json_pointer, Json::object());
      for (const auto& [name, amount] : amounts.items()) {
        resources.insert(name);
      }
      all.nodes.push_back(std::move(json));
    } else if (object.resource == "pods") {
      for (const Json& container : json.value("/spec/containers"_json_pointer, Json::array())) {
        const Json amounts = container.value("/resources/requests"_json_pointer, Json::object());
        for (const auto& [name, amount] : amounts.items()) {
          resources.insert(name);
        }
      }
      if (json["spec"].contains("nodeName")) all.placed.push_back(json);
      all.pods.push_back(as_template(std::move(json)));
    }
  }
  for (const auto& [plugin, args] : options.args) {
    take_texts(Json::parse(args, nullptr, false), keys);
  }
  for (const std::string& word : options.words) {
    if (is_label_key(word)) keys.insert(word);
    values.insert(word.substr(0, 63));
    // "nvidia.com/gpu", "hugepages-2Mi"
    if (is_label_key(word) &&
        (word.find('/') != std::string::npos || word.starts_with("hugepages-"))) {
      resources.insert(word);
    }
  }
  for (const char* known : {"cpu", "memory", "ephemeral-storage", "pods"}) resources.erase(known);
  if (resources.empty()) resources.insert("example.com/gpu");
  values.erase("");
  all.keys.assign(keys.begin(), keys.end());
  all.values.assign(values.begin(), values.end());
  all.resources.assign(resources.begin(), resources.end());
  return all;
}

std::pair<std::string, std::string> Vocabulary::node_label(Dice& dice) const {
  if (node_labels.empty() || dice.one_in(4)) return {key(dice), value(dice)};
  return dice.of(node_labels);
}

Json Vocabulary::labels(Dice& dice) const {
  Json map = Json::object();
  if (dice.one_in(3)) {  // many: about half of all keys
    for (const std::string& key : keys) {
      if (dice.one_in(2)) map[key] = dice.one_in(2) ? dice.of(kCommonValues) : value(dice);
    }
    return map;
  }
  for (size_t left = dice.below(kFewKeys + 1); left > 0; --left) {
    map[key(dice)] = dice.one_in(2) ? dice.of(kCommonValues) : value(dice);
  }
  return map;
}

Json Vocabulary::annotation_map(Dice& dice) const {
  Json map = labels(dice);
  if (!annotations.empty() && !dice.one_in(3)) {
    const Json& known = dice.of(annotations);
    map[known["key"].get<std::string>()] = known["value"];
  }
  return map;
}

Json Vocabulary::amounts(Dice& dice) const {
  Json map = Json::object();
  if (dice.one_in(6)) return map;
  if (!dice.one_in(6)) map["cpu"] = std::to_string(250 * (1 + dice.below(16))) + "m";
  if (!dice.one_in(6)) map["memory"] = std::to_string(1 + dice.below(8)) + "Gi";
  if (dice.one_in(6)) map["ephemeral-storage"] = std::to_string(1 + dice.below(8)) + "Gi";
  if (dice.one_in(3)) map[dice.of(resources)] = std::to_string(1 + dice.below(3));
  return map;
}

}  // namespace plimsoll::lint
