#include "cli/anonymiser.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace plimsoll::cli {
namespace {

using nlohmann::json;

// A key below one of these domains is the same in every cluster.
constexpr std::array<std::string_view, 8> kDomains{"kubernetes.io",  "k8s.io",   "plimsoll.io",
                                                   "koordinator.sh", "x-k8s.io", "nvidia.com",
                                                   "volcano.sh",     "hami.io"};
constexpr std::array<std::string_view, 5> kSpeaking{"plimsoll.io", "koordinator.sh", "nvidia.com",
                                                    "volcano.sh", "hami.io"};
// Fields whose text is a name, in whatever object.
constexpr std::array<std::string_view, 21> kNames{"name",
                                                  "generateName",
                                                  "namespace",
                                                  "nodeName",
                                                  "claimName",
                                                  "nominatedNodeName",
                                                  "image",
                                                  "priorityClassName",
                                                  "volumeName",
                                                  "storageClassName",
                                                  "runtimeClassName",
                                                  "serviceAccountName",
                                                  "hostname",
                                                  "subdomain",
                                                  "value",
                                                  "serviceName",
                                                  "nodeID",
                                                  "secretName",
                                                  "volumeHandle",
                                                  "serviceAccount",
                                                  "handler"};
// Fields whose texts are keys of labels or taints.
constexpr std::array<std::string_view, 2> kKeys{"key", "topologyKey"};
// Lists of names.
constexpr std::array<std::string_view, 6> kLists{
    "values", "namespaces", "names", "imagePullSecrets", "matchLabelKeys", "mismatchLabelKeys"};
// Objects whose members are labels.
constexpr std::array<std::string_view, 4> kLabels{"labels", "matchLabels", "selector",
                                                  "nodeSelector"};
// What is dropped whole.
constexpr std::array<std::string_view, 7> kDropped{"addresses", "nodeInfo", "podIP",      "podIPs",
                                                   "hostIP",    "hostIPs",  "description"};
// Whose content stays as it is: zones and devices have names that say nothing.
constexpr std::array<std::string_view, 9> kKept{"zones",   "attributes",  "devices",
                                                "limits",  "requests",    "capacity",
                                                "drivers", "allocatable", "conditions"};

template <size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

template <size_t kCount>
bool is_below(const std::array<std::string_view, kCount>& domains, std::string_view key) {
  const std::string_view domain = key.substr(0, key.find('/'));
  return std::ranges::any_of(domains, [&](std::string_view known) {
    return domain == known ||
           (domain.ends_with(known) && domain[domain.size() - known.size() - 1] == '.');
  });
}

bool is_well_known(std::string_view key) {
  return is_below(kDomains, key);
}

// The value of such a label is a word that programs read, not a name.
bool has_meaning(std::string_view key) {
  return is_below(kSpeaking, key);
}

// A number, or a word that means the same to every program.
bool is_plain(const std::string& text) {
  return text.empty() || text == "true" || text == "false" ||
         text.find_first_not_of("0123456789.") == std::string::npos;
}

class Anonymiser {
 public:
  void object(json& object) {
    const std::string kind = object.value("kind", "");
    json& metadata = object["metadata"];
    if (metadata.is_object()) {
      if (const auto found = metadata.find("annotations");
          found != metadata.end() && found->is_object()) {
        annotations(*found);
      }
    }
    for (auto& [field, value] : object.items()) {
      if (field == "apiVersion" || field == "kind" || field == "provisioner") continue;
      look(field, value);
    }
  }

 private:
  std::string word(const std::string& text) {
    if (is_plain(text)) return text;
    const auto [at, fresh] = words_.try_emplace(text);
    if (fresh) at->second = "x" + std::to_string(words_.size());
    return at->second;
  }
  std::string key(const std::string& text) { return is_well_known(text) ? text : word(text); }

  void labels(json& object) {
    json made = json::object();
    for (auto& [name, value] : object.items()) {
      const bool renamed = value.is_string() && !has_meaning(name);
      made[key(name)] = renamed ? json(word(value.get<std::string>())) : value;
    }
    object = std::move(made);
  }

  // Those that say where a pod or what a node is; in a JSON text containers are named by keys.
  void annotations(json& object) {
    json made = json::object();
    for (auto& [name, value] : object.items()) {
      if (!is_well_known(name) || !value.is_string()) continue;
      json inner = json::parse(value.get<std::string>(), nullptr, false);
      if (inner.is_object() && name == "topology.plimsoll.io/zones") {
        json renamed = json::object();
        for (auto& [container, zones] : inner.items()) renamed[word(container)] = zones;
        made[name] = renamed.dump();
      } else {
        made[name] = value;
      }
    }
    object = std::move(made);
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as objects are
  void look(const std::string& field, json& value) {
    if (is_one_of(kDropped, field)) {
      value = value.is_array() ? json::array() : value.is_object() ? json::object() : json("");
      return;
    }
    if (is_one_of(kKept, field) || field == "annotations") return;
    if (value.is_string()) {
      if (is_one_of(kNames, field)) value = word(value.get<std::string>());
      if (is_one_of(kKeys, field)) value = key(value.get<std::string>());
      return;
    }
    if (value.is_array()) {
      for (json& element : value) {
        if (element.is_string() && is_one_of(kLists, field)) {
          const auto text = element.get<std::string>();
          element = field.ends_with("LabelKeys") ? key(text) : word(text);
        } else {
          look(field, element);
        }
      }
      return;
    }
    if (!value.is_object()) return;
    const bool expressions = value.contains("matchLabels") || value.contains("matchExpressions");
    if (is_one_of(kLabels, field) && !expressions) return labels(value);
    for (auto& [name, inner] : value.items()) look(name, inner);
  }

  std::unordered_map<std::string, std::string> words_;
};

}  // namespace

void anonymise(json& objects) {
  Anonymiser anonymiser;
  for (json& object : objects) {
    if (object.is_object()) anonymiser.object(object);
  }
}

}  // namespace plimsoll::cli
