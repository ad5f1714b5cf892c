#include "lab/lint/world.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <set>

#include "lab/lint/fields.hpp"
#include "lab/lint/words.hpp"

namespace plimsoll::lint {
namespace {

using Texts = std::set<std::string>;

Json::json_pointer pointer_of(const std::string& path) {
  std::string pointer = path.empty() ? "" : "/";
  for (const char c : path) {
    if (c != ']') pointer += c == '.' || c == '[' ? '/' : c;
  }
  return Json::json_pointer(pointer);
}

std::vector<Field> fields_of(const char* text) {
  std::vector<Field> fields;
  for (const Json& row : Json::parse(text)) {
    Field field{.name = row[0], .presence = row[1], .pattern = row[2]};
    const size_t each = field.name.find("[].");
    field.each = each != std::string::npos;
    field.at = pointer_of(field.name.substr(0, each));
    if (field.each) field.within = pointer_of(field.name.substr(each + 3));
    fields.push_back(std::move(field));
  }
  return fields;
}

// Whether it is like a pod or node; what it lacks of one is added.
bool complete(Json& object, bool is_pod) {
  if (!object.is_object() || !object.contains("metadata")) return false;
  for (const char* part : {"metadata", "spec", "status"}) {
    if (object[part].is_null() && part != std::string_view("metadata")) {
      object[part] = Json::object();
    }
    if (!object[part].is_object()) return false;
  }
  if (!is_pod) return true;
  Json& containers = object["spec"]["containers"];
  if (containers.is_null() || containers == Json::array()) {
    containers = Json::array({Json{{"name", "main"}, {"image", "example.com/app:0"}}});
  }
  return containers.is_array() && std::all_of(containers.begin(), containers.end(),
                                              [](const Json& one) { return one.is_object(); });
}

void take_keys(const Json& map, Texts& keys, Texts* values = nullptr) {
  if (!map.is_object()) return;
  for (const auto& [key, value] : map.items()) {
    keys.insert(key);
    if (values != nullptr && value.is_string()) values->insert(value.get<std::string>());
  }
}

// Of args: each text may be a label's key or value.
void take_texts(const Json& value, Texts& texts) {
  if (value.is_string()) texts.insert(value.get<std::string>().substr(0, 63));
  if (!value.is_structured()) return;
  for (const Json& part : value) take_texts(part, texts);
}

// A name that a field of an object may have.
bool is_field(std::string_view text) {
  return !text.empty() && text.size() <= 40 && text[0] >= 'a' && text[0] <= 'z' &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

Json as_template(Json pod) {
  for (const char* key : {"uid", "resourceVersion", "managedFields"}) pod["metadata"].erase(key);
  pod["status"] = Json::object();
  pod["spec"].erase("nodeName");
  return pod;
}

}  // namespace

Result<World> World::of(const Options& options) {
  World world;
  Texts keys = {"app",
                "tier",
                "topology.kubernetes.io/zone",
                "kubernetes.io/hostname",
                "dedicated",
                "node.kubernetes.io/instance-type"};
  Texts values = {"true", "false", "yes", "no", "0", "1", "2", "4", "10", "web"};
  Texts resources;
  Json annotations = Json::array();
  for (const Object& object : options.objects) {
    Json json = Json::parse(object.json, nullptr, false);
    const bool is_pod = object.resource == "pods";
    const bool is_own = is_pod || object.resource == "nodes";
    if (is_own ? !complete(json, is_pod)
               : !json.is_object() || !json.value("metadata", Json()).is_object()) {
      return fail(ErrorCode::kInvalid, object.resource + " " + object.name + ": not an object");
    }
    take_keys(json["metadata"]["labels"], keys, &values);
    const Json given = json["metadata"].value("annotations", Json());
    for (const auto& [key, value] : given.items()) {
      annotations.push_back({{"'", {{key, value}}}});
    }
    if (!is_own) continue;
    take_keys(json["status"].value("allocatable", Json()), resources);
    for (const Json& container : json["spec"].value("containers", Json::array())) {
      take_keys(container.value("/resources/requests"_json_pointer, Json()), resources);
    }
    if (is_pod && json["spec"].value("nodeName", Json()).is_string()) world.placed.push_back(json);
    is_pod ? world.pods.push_back(as_template(std::move(json)))
           : world.nodes.push_back(std::move(json));
  }
  Texts of_args;
  for (const auto& [plugin, args] : options.args) {
    take_texts(Json::parse(args, nullptr, false), of_args);
  }
  values.insert(of_args.begin(), of_args.end());
  Texts fields = {"name", "type", "value", "count"};
  for (const std::string& word : options.words) {
    values.insert(word.substr(0, 63));
    if (is_field(word)) fields.insert(word);
    if (!is_label_key(word)) continue;
    keys.insert(word);
    // "nvidia.com/gpu", "hugepages-2Mi"
    if (word.find('/') != std::string::npos || word.starts_with("hugepages-")) {
      resources.insert(word);
    }
  }
  for (const char* known : {"cpu", "memory", "ephemeral-storage", "pods"}) resources.erase(known);
  if (resources.empty()) resources.insert("example.com/gpu");
  values.erase("");
  auto& lists = world.words.lists;
  lists["key"].assign(keys.begin(), keys.end());
  // What args name is what the plugin looks at: as often as all else together, half the time.
  for (const std::string& text : of_args) {
    if (is_label_key(text)) lists["key"].insert(lists["key"].end(), 1 + keys.size() / 4, text);
  }
  lists["field"].assign(fields.begin(), fields.end());
  lists["value"].assign(values.begin(), values.end());
  lists["resource"].assign(resources.begin(), resources.end());
  world.words.parts = Json::parse(kParts);
  if (!annotations.empty()) world.words.parts["given"]["|"] = std::move(annotations);
  return world;
}

void World::set(Json& object, const Field& field) {
  if (field.each) {
    for (Json& one : object[field.at]) one[field.within] = draw(dice, field.pattern, words, object);
    return;
  }
  Json value = draw(dice, field.pattern, words, object);
  if (!value.is_null()) {
    object[field.at] = std::move(value);
  } else if (object.contains(field.at)) {
    object[field.at.parent_pointer()].erase(field.at.back());
  }
}

bool World::change(Json& object, const Field& field) {
  constexpr int kTries = 4;
  const auto value = [&] { return object.contains(field.at) ? object.at(field.at) : Json(); };
  const Json before = value();
  for (int tries = 0; tries < kTries; ++tries) {
    set(object, field);
    if (value() != before) return true;
  }
  return false;
}

void World::vary(Json& object, const std::vector<Field>& fields, unsigned rarity) {
  for (const Field& field : fields) {
    if (field.presence != 0 && dice.one_in(rarity * field.presence)) set(object, field);
  }
}

Json World::pod(const std::string& name) {
  const bool given = !pods.empty() && !dice.one_in(4);
  Json pod = given ? dice.of(pods) : Json{{"metadata", Json::object()}};
  static_cast<void>(complete(pod, true));
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = "uid-" + name;
  if (!pod["metadata"].contains("namespace")) pod["metadata"]["namespace"] = "default";
  pod["spec"]["schedulerName"] = "lint";
  pod["status"]["phase"] = "Pending";
  if (!given || !dice.one_in(3)) vary(pod, pod_fields(), given ? 5 : 1);
  return pod;
}

Json World::node(size_t index) {
  const bool given = index < nodes.size();
  static const Json kNew = Json::parse(kNode);
  Json node = given ? nodes[index] : draw(dice, kNew, words);
  if (!given) {
    node["metadata"]["name"] = "n" + std::to_string(index);
    node["metadata"]["uid"] = "uid-n" + std::to_string(index);
  }
  if (!given || !dice.one_in(2)) vary(node, node_fields(), given ? 4 : 1);
  return node;
}

Json World::object(const std::string& name) {
  static const Json kObject = Json::parse(R"({"+": [{"{field}*3": "=scalar"},
    {"metadata": {"labels": "=few", "annotations": "=few"}, "spec": "=tree", "status": "=tree"}]})");
  Json object = draw(dice, kObject, words);
  object["metadata"]["name"] = name;
  object["metadata"]["uid"] = "uid-" + name;
  return object;
}

const std::vector<Field>& pod_fields() {
  static const std::vector<Field> kAll = fields_of(kPodFields);
  return kAll;
}

const std::vector<Field>& node_fields() {
  static const std::vector<Field> kAll = fields_of(kNodeFields);
  return kAll;
}

const Field& pod_field(std::string_view name) {
  const auto& all = pod_fields();
  const auto at = std::find_if(all.begin(), all.end(),
                               [name](const Field& field) { return field.name == name; });
  if (at == all.end()) std::abort();  // a name of the lint's own
  return *at;
}

std::string name_of(const Json& object) {
  return object["metadata"]["name"].get<std::string>();
}

std::string value_text(const Json& object, const Field& field) {
  constexpr size_t kShown = 160;
  if (!object.contains(field.at)) return "none";
  std::string text = object.at(field.at).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

}  // namespace plimsoll::lint
