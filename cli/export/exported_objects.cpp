#include "cli/export/exported_objects.hpp"

#include <plimsoll/join.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/export/export_table.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/json_field.hpp"
#include "framework/base/json_path.hpp"
#include "framework/base/split.hpp"
#include "plugins/topology/report/fingerprint.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

// Texts that mean something where a name may stand. "rbd" is the pool of those who name none.
constexpr auto kWords = std::to_array<std::string_view>(
    {"", "true", "false", "system-node-critical", "system-cluster-critical", "rbd", "v1", "apps/v1",
     "batch/v1", "ReplicationController", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node",
     "Pod"});

// Keys of labels and taints that are the same in every cluster.
constexpr auto kKeys = std::to_array<std::string_view>({
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-name",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "controller-revision-hash",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "gang.scheduling.koordinator.sh/groups",
    "gang.scheduling.koordinator.sh/min-available",
    "gang.scheduling.koordinator.sh/name",
    "gang.scheduling.koordinator.sh/waiting-time",
    "job-name",
    "koordinator.sh/gpu-isolation-provider",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "kubernetes.io/os",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.koordinator.sh/gpu-model",
    "node.koordinator.sh/gpu-partition-policy",
    "node.koordinator.sh/gpu-vendor",
    "node.koordinator.sh/numa-topology-policy",
    "node.koordinator.sh/secondary-device-well-planned",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "nvidia.com/gpu",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/min-available",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-template-hash",
    "scheduling.x-k8s.io/pod-group",
    "statefulset.kubernetes.io/pod-name",
    "topology.cinder.csi.openstack.org/zone",
    "topology.ebs.csi.aws.com/zone",
    "topology.gke.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
});

// Labels whose values programs read, or that are the same in every cluster.
constexpr auto kSpeaking = std::to_array<std::string_view>({
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "gang.scheduling.koordinator.sh/min-available",
    "gang.scheduling.koordinator.sh/waiting-time",
    "koordinator.sh/gpu-isolation-provider",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.koordinator.sh/gpu-model",
    "node.koordinator.sh/gpu-partition-policy",
    "node.koordinator.sh/gpu-vendor",
    "node.koordinator.sh/numa-topology-policy",
    "node.koordinator.sh/secondary-device-well-planned",
    "pod-group.scheduling.sigs.k8s.io/min-available",
});

constexpr std::array<std::string_view, 3> kZoneKeys{"failure-domain.beta.kubernetes.io/zone",
                                                    "topology.gke.io/zone",
                                                    "topology.kubernetes.io/zone"};
constexpr std::string_view kZoneDelimiter = "__";
constexpr std::string_view kFingerprint = "nodeTopologyPodsFingerprint";

template <size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

// ---- the table

class ExportedObjects::Table {
 public:
  struct Type;
  struct Field {
    std::string how;                // empty: stays as it is
    const Type* type = nullptr;     // of an object, or of a list of them
    bool is_text = false;           // the JSON text of one
    std::vector<std::string> only;  // the object goes if the text is none of these
  };
  struct Type {
    std::map<std::string, Field, std::less<>> fields;
    const Field* any = nullptr;  // of a map
    std::string keys;            // how the keys of a map are treated
    Field of_any;
  };

  Table() {
    for (const std::string& line : split(kExportTable, "\n")) {
      if (!line.empty()) read(split(line, " "));
    }
  }

  [[nodiscard]] const Type* find(std::string_view name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? nullptr : &found->second;
  }

 private:
  // Types may be named before their line.
  void read(const std::vector<std::string>& words) {
    Type& type = types_[words.front()];
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with('+')) {
        const Type& included = types_.at(word.substr(1));
        type.fields.insert(included.fields.begin(), included.fields.end());
        continue;
      }
      const size_t colon = std::min(word.find(':'), word.size());
      const std::string name = word.substr(0, colon);
      Field field = field_of(word.substr(std::min(colon + 1, word.size())));
      if (!name.starts_with('*')) {
        type.fields[name] = std::move(field);
        continue;
      }
      type.keys = name.substr(1);
      type.of_any = std::move(field);
      type.any = &type.of_any;
    }
  }

  Field field_of(std::string how) {
    Field field;
    if (how.find('|') != std::string::npos) {
      field.only = split(how, "|");
      return field;
    }
    field.is_text = how.starts_with('{');
    if (field.is_text) how = how.substr(1, how.size() - 2);
    if (!how.empty() && how.front() >= 'A' && how.front() <= 'Z') {
      field.type = &types_[how];
    } else {
      field.how = std::move(how);
    }
    return field;
  }

  std::map<std::string, Type, std::less<>> types_;  // nodes stay where they are
};

const ExportedObjects::Table& ExportedObjects::table() {
  static const Table kTable;
  return kTable;
}

// ---- words

class ExportedObjects::Words {
 public:
  // Looks for what gives texts a structure: zones, claims of generic ephemeral volumes, numbers.
  void prepare(const json& objects) {
    for (const json& object : objects) {
      prepare_labels(value_at(object, {"metadata", "labels"}));
      if (text_at(object, "kind") == "Pod") prepare_pod(object);
      find_numbers(object);
    }
  }
  // All texts have been asked for once.
  void number() {
    size_t width = 1;
    for (size_t left = atoms_.size(); left >= 10; left /= 10) ++width;
    size_t next = 0;
    for (auto& [text, word] : atoms_) {
      word = std::to_string(next++);
      word = "x" + std::string(width - word.size(), '0') + word;
    }
    numbered_ = true;
  }

  std::string name(const std::string& text) {
    if (is_one_of(kWords, text)) return text;
    if (text.find(kZoneDelimiter) != std::string::npos) {
      return joined(split(text, kZoneDelimiter), kZoneDelimiter,
                    [this](const std::string& part) { return name(part); });
    }
    if (const auto claim = claims_.find(text); claim != claims_.end()) {
      return atom(claim->second.first) + "-" + atom(claim->second.second);
    }
    if (zones_.contains(text)) {
      return joined(split(text, "-"), "-", [this](const std::string& part) { return atom(part); });
    }
    return atom(text);
  }
  std::string key(const std::string& text) {
    if (is_one_of(kKeys, text)) return text;
    return valid_like(is_label_key(text), name(text));
  }
  // Of the label or taint with this key.
  std::string value(const std::string& of, const std::string& text) {
    if (is_one_of(kSpeaking, of)) return text;
    if (numbers_.contains(of) && selector_number(text)) return text;
    return valid_like(is_label_value(text), name(text));
  }
  std::string image(const std::string& text) {
    const size_t colon = text.rfind(':');
    const size_t slash = text.rfind('/');
    if (colon == text.npos || (slash != text.npos && slash > colon)) return name(text);
    const std::string tag = text.substr(colon + 1);
    return name(text.substr(0, colon)) + ":" + (tag == "latest" ? tag : name(tag));
  }
  // What tells a volume from others. In-tree and CSI handles of one disk are compared.
  std::string handle(const std::string& text) {
    static constexpr std::array<std::string_view, 6> kParts{"projects", "zones",       "regions",
                                                            "disks",    "UNSPECIFIED", "aws:"};
    constexpr std::string_view kEbs = "vol-";
    return joined(split(text, "/"), "/", [&](const std::string& part) {
      if (is_one_of(kParts, part)) return part;
      return part.starts_with(kEbs) ? std::string(kEbs) + name(part.substr(kEbs.size()))
                                    : name(part);
    });
  }
  // A JSON list of "namespace/name".
  std::string groups(const std::string& text) {
    json list = json::parse(text, nullptr, false);
    for (json& each : list) {
      each = joined(split(each.get<std::string>(), "/"), "/",
                    [this](const std::string& part) { return name(part); });
    }
    return list.dump();
  }
  // The fingerprint of the same pods under their words; of pods that nobody knows, another.
  std::string fingerprint(const std::string& node, const std::string& text) {
    const auto here = pods_.find(node);
    static const std::vector<PodName> kNone;
    const std::vector<PodName>& pods = here == pods_.end() ? kNone : here->second;
    for (const auto& counts :
         {+[](const PodName&) { return true; }, +[](const PodName& pod) { return !pod.ended; },
          +[](const PodName& pod) { return !pod.ended && pod.guaranteed; }}) {
      std::vector<std::pair<std::string, std::string>> before;
      std::vector<std::pair<std::string, std::string>> after;
      for (const PodName& pod : pods) {
        if (!counts(pod)) continue;
        before.emplace_back(pod.ns, pod.name);
        after.emplace_back(name(pod.ns), name(pod.name));
      }
      if (topology::pod_fingerprint(before) == text) return topology::pod_fingerprint(after);
    }
    return topology::fingerprint_text(0);
  }
  // The same address is the same word. "0.0.0.0" is every address.
  std::string address(const std::string& text) {
    if (text.empty() || text == "0.0.0.0") return text;
    const auto [found, fresh] = addresses_.try_emplace(text);
    if (fresh) found->second = "address-" + std::to_string(addresses_.size());
    return found->second;
  }

 private:
  struct PodName {
    std::string ns;
    std::string name;
    bool ended;
    bool guaranteed;
  };

  template <typename Each>
  static std::string joined(std::vector<std::string> parts, std::string_view by, const Each& each) {
    for (std::string& part : parts) part = each(part);
    return sdk::join(parts, by);
  }

  // What is no label must not become one.
  static std::string valid_like(bool valid, std::string word) { return valid ? word : word + "!"; }

  std::string atom(const std::string& text) {
    if (is_one_of(kWords, text)) return text;
    if (numbered_) return atoms_.at(text);
    atoms_.try_emplace(text);
    return text;
  }

  // The region of a GCE disk is the first two parts of its zones.
  void prepare_labels(const json& labels) {
    for (const std::string_view key : kZoneKeys) {
      for (const std::string& zone :
           split(text_at(labels, std::string(key).c_str()), kZoneDelimiter)) {
        const std::vector<std::string> parts = split(zone, "-");
        if (parts.size() != 3) continue;
        zones_.insert(zone);
        zones_.insert(parts[0] + "-" + parts[1]);
      }
    }
  }

  void prepare_pod(const json& pod) {
    const json& metadata = value_at(pod, {"metadata"});
    const std::string name = text_at(metadata, "name");
    if (const std::string node = text_in(pod, {"spec", "nodeName"}); !node.empty()) {
      const std::string phase = text_in(pod, {"status", "phase"});
      pods_[node].push_back({text_at(metadata, "namespace"), name,
                             phase == "Succeeded" || phase == "Failed",
                             text_in(pod, {"status", "qosClass"}) == "Guaranteed"});
    }
    for (const json& volume : value_at(pod, {"spec", "volumes"})) {
      if (!volume.contains("ephemeral")) continue;
      const std::string of_volume = text_at(volume, "name");
      claims_.try_emplace(name + "-" + of_volume, name, of_volume);
    }
  }

  void find_numbers(const json& value) {
    if (value.is_object()) {
      const std::string op = text_at(value, "operator");
      if (op == "Gt" || op == "Lt") numbers_.insert(text_at(value, "key"));
    }
    if (!value.is_structured()) return;
    for (const json& inner : value) find_numbers(inner);
  }

  std::map<std::string, std::string, std::less<>> atoms_;  // their words, once they are numbered
  bool numbered_ = false;
  std::set<std::string, std::less<>> zones_;  // "us-east4-b" and "us-east4": words by parts
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> claims_;  // pod, volume
  std::set<std::string, std::less<>> numbers_;  // keys of labels that are compared as numbers
  std::unordered_map<std::string, std::vector<PodName>> pods_;  // by node
  std::unordered_map<std::string, std::string> addresses_;
};

// ---- going through the objects

class ExportedObjects::Pass {
 public:
  using Type = Table::Type;
  using Field = Table::Field;

  Pass(Words& words, bool rename) : words_(words), rename_(rename) {}

  void object(std::string_view kind, json& object) {
    const Type* type = table().find(kind);
    if (type == nullptr || !object.is_object()) return;
    object_name_ = text_in(object, {"metadata", "name"});
    const json version = value_at(object, {"apiVersion"});
    (void)of_type(*type, object);
    object["apiVersion"] = version;
    object["kind"] = kind;
  }

 private:
  // False: it is none of those in a list that are kept. What has another shape than the type stays
  // as wrong as it is, without its texts.
  bool of_type(const Type& type, json& value) {
    if (value.is_array()) {
      json::array_t kept;
      for (json& each : value) {
        if (each.is_array()) each = json::array();
        if (of_type(type, each)) kept.push_back(std::move(each));
      }
      value = std::move(kept);
      return true;
    }
    if (value.is_string()) value = "";
    if (!value.is_object()) return true;
    // Whose value a text is.
    std::string of = text_at(value, "key");
    if (of.empty()) of = text_at(value, "name");
    json made = json::object();
    for (auto& [name, inner] : value.items()) {
      const auto known = type.fields.find(name);
      const bool listed = known != type.fields.end();
      const Field* field = listed ? &known->second : type.any;
      if (field == nullptr) continue;
      if (!of_field(*field, listed ? of : name, inner)) {
        value = json::object();
        return false;
      }
      made[listed ? name : with(type.keys, "", name)] = std::move(inner);
    }
    value = std::move(made);
    return true;
  }

  bool of_field(const Field& field, const std::string& of, json& value) {
    if (field.is_text) {
      if (value.is_structured()) value = json::object();
      if (value.is_string()) value = json_text(*field.type, value.get<std::string>());
    } else if (field.type != nullptr) {
      (void)of_type(*field.type, value);
    } else if (value.is_array()) {
      for (json& each : value) {
        if (each.is_string()) each = with(field.how, of, each.get<std::string>());
        if (each.is_structured()) each = json::object();
      }
    } else if (value.is_string()) {
      const auto text = value.get<std::string>();
      if (!field.only.empty() && std::ranges::find(field.only, text) == field.only.end()) {
        return false;
      }
      value = with(field.how, of, text);
    } else if (value.is_object()) {
      value = json::object();
    }
    return true;
  }

  std::string json_text(const Type& type, const std::string& text) {
    if (text.empty()) return text;
    json inner = json::parse(text, nullptr, false);
    if (inner.is_discarded()) return "?";
    (void)of_type(type, inner);
    return inner.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  // `of`: the key of the label or the name of the attribute whose value the text is.
  std::string with(const std::string& how, const std::string& of, const std::string& text) {
    if (how.empty()) return text;
    if (how == "there") return "yes";
    if (!rename_) return kept(how, of, text);
    if (how == "name") return words_.name(text);
    if (how == "key") return words_.key(text);
    if (how == "value") return words_.value(of, text);
    if (how == "image") return words_.image(text);
    if (how == "handle") return words_.handle(text);
    if (how == "groups") return text.starts_with('[') ? words_.groups(text) : text;
    if (is_fingerprint(how, of) && !text.empty()) return words_.fingerprint(object_name_, text);
    return text;
  }

  std::string kept(const std::string& how, const std::string& of, const std::string& text) {
    if (how == "address") return words_.address(text);
    if (how == "groups") {
      const json list = json::parse(text, nullptr, false);
      const auto is_name = [](const json& each) { return each.is_string(); };
      const bool names = list.is_array() && std::ranges::all_of(list, is_name);
      return text.empty() ? text : names ? list.dump() : "{}";
    }
    if (is_fingerprint(how, of)) {
      uint64_t sum = 0;
      return topology::parse_fingerprint(text, sum) ? text : "";
    }
    return text;
  }

  static bool is_fingerprint(const std::string& how, const std::string& of) {
    return how == "fingerprint" || (how == "attribute" && of == kFingerprint);
  }

  Words& words_;
  bool rename_;
  std::string object_name_;
};

ExportedObjects::ExportedObjects() : words_(std::make_unique<Words>()) {}
ExportedObjects::~ExportedObjects() = default;

void ExportedObjects::keep(std::string_view kind, json& object) {
  Pass(*words_, false).object(kind, object);
}

void ExportedObjects::anonymise(json& objects) {
  words_->prepare(objects);
  Pass rename(*words_, true);
  for (const json& object : objects) {
    json copy = object;  // only to learn the texts
    rename.object(text_at(object, "kind"), copy);
  }
  words_->number();
  for (json& object : objects) rename.object(text_at(object, "kind"), object);
}

}  // namespace plimsoll::cli
