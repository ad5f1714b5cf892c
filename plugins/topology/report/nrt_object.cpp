#include "plugins/topology/report/nrt_object.hpp"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <plimsoll/quantity.hpp>
#include <plimsoll/time_text.hpp>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/koordlet.hpp"

namespace plimsoll::topology {
namespace {

namespace od = simdjson::ondemand;
using plimsoll::sdk::parse_quantity;
using plimsoll::sdk::unit_of;

constexpr uint16_t kMaxNumaNodesLimit = 1024;
constexpr int kMaxZoneId = 63;
constexpr size_t kMaxQuoted = 64;  // of a text in a message
constexpr uint32_t kNotListed = UINT32_MAX;

// Where a field is. Spelled out only for an error: objects have hundreds of fields.
class Path {
 public:
  Path(std::string_view name) : name_(name) {}
  Path(const char* name) : name_(name) {}
  Path(const Path& up, std::string_view name) : up_(&up), name_(name) {}
  Path(const Path& up, size_t index) : up_(&up), index_(index) {}

  [[nodiscard]] std::string text() const {
    if (up_ == nullptr) return std::string(name_);
    if (!name_.empty()) return up_->text() + '.' + std::string(name_);
    return up_->text() + '[' + std::to_string(index_) + ']';
  }

 private:
  const Path* up_ = nullptr;
  std::string_view name_;
  size_t index_ = 0;
};

// Raised inside this file only, with the path of the field; parse_nrt turns it into its result.
struct FieldError : std::runtime_error {
  FieldError(const Path& path, std::string_view what)
      : std::runtime_error(path.text() + ": " + std::string(what)) {}
};

std::string text_of(od::value value, const Path& path) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) throw FieldError(path, "must be a string");
  return std::string(text);
}

bool is_null(od::value& value) {
  od::json_type type{};
  return value.type().get(type) == simdjson::SUCCESS && type == od::json_type::null;
}

// Calls `each(element, path)` for the elements of a list; null counts as an empty one.
template <typename Each>
void for_list(od::value value, const Path& path, const Each& each) {
  if (is_null(value)) return;
  od::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) throw FieldError(path, "must be a list");
  size_t index = 0;
  for (auto element : list) {
    od::value item;
    const Path at(path, index++);
    if (element.get(item) != simdjson::SUCCESS) throw FieldError(at, "broken JSON");
    each(item, at);
  }
}

// Calls `each(key, value)` for the fields of an object.
template <typename Each>
void for_object(od::value value, const Path& path, const Each& each) {
  od::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) {
    throw FieldError(path, "must be an object");
  }
  for (auto field : object) {
    std::string_view key;
    od::value item;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(item) != simdjson::SUCCESS) {
      throw FieldError(path, "broken JSON");
    }
    each(key, item);
  }
}

// A Quantity: a string or a number, taken as it is spelled.
std::string quantity_text(od::value value, const Path& path) {
  od::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) throw FieldError(path, "broken JSON");
  if (type == od::json_type::string) return text_of(value, path);
  if (type != od::json_type::number) throw FieldError(path, "must be a quantity");
  std::string_view token = value.raw_json_token();
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' ||
                            token.back() == '\t')) {
    token.remove_suffix(1);
  }
  return std::string(token);
}

int64_t amount_of(const std::string& resource, const std::optional<std::string>& text,
                  const Path& path) {
  if (!text) throw FieldError(path, "is missing");
  const auto amount = parse_quantity(*text, unit_of(resource));
  if (!amount) throw FieldError(path, "invalid quantity \"" + text->substr(0, kMaxQuoted) + "\"");
  return clamp_amount(*amount);
}

// The names of resources, numbered as they come.
class Names {
 public:
  uint32_t number(const std::string& name, const Path& path) {
    const auto [known, is_new] = numbers_.try_emplace(name, static_cast<uint32_t>(numbers_.size()));
    if (is_new && numbers_.size() > kMaxResources) {
      throw FieldError(path, "more than " + std::to_string(kMaxResources) + " names of resources");
    }
    return known->second;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

ZoneResource read_resource(od::value value, const Path& path) {
  ZoneResource resource;
  std::optional<std::string> capacity, allocatable, available;
  for_object(value, path, [&](std::string_view key, od::value field) {
    if (key == "name") resource.name = text_of(field, Path(path, "name"));
    if (key == "capacity") capacity = quantity_text(field, Path(path, "capacity"));
    if (key == "allocatable") allocatable = quantity_text(field, Path(path, "allocatable"));
    if (key == "available") available = quantity_text(field, Path(path, "available"));
  });
  if (resource.name.empty()) throw FieldError(Path(path, "name"), "is missing");
  resource.capacity = amount_of(resource.name, capacity, Path(path, "capacity"));
  resource.allocatable =
      amount_of(resource.name, allocatable.value_or("0"), Path(path, "allocatable"));
  resource.available = amount_of(resource.name, available, Path(path, "available"));
  return resource;
}

void read_cost(od::value value, const Path& path, NrtZone& zone) {
  std::string name;
  int64_t cost = 0;
  for_object(value, path, [&](std::string_view key, od::value field) {
    if (key == "name") name = text_of(field, Path(path, "name"));
    if (key == "value" && field.get_int64().get(cost) != simdjson::SUCCESS) {
      throw FieldError(Path(path, "value"), "must be a whole number");
    }
  });
  const int id = zone_id_of(name);
  if (id < 0 || id > kMaxZoneId) return;
  const int64_t limit = std::numeric_limits<int32_t>::max();
  const ZoneCost read{static_cast<uint32_t>(id),
                      static_cast<int32_t>(std::clamp<int64_t>(cost, 0, limit))};
  const auto known = std::find_if(zone.costs.begin(), zone.costs.end(), [&](const ZoneCost& each) {
    return each.zone_id == read.zone_id;
  });
  if (known == zone.costs.end()) {
    zone.costs.push_back(read);
  } else {
    *known = read;  // the last counts
  }
}

void read_resources(od::value list, const Path& path, Names& names, NrtZone& zone) {
  std::vector<uint32_t> listed(kMaxResources, kNotListed);  // positions, by number of the name
  for_list(list, path, [&](od::value item, const Path& at) {
    ZoneResource resource = read_resource(item, at);
    uint32_t& position = listed[names.number(resource.name, at)];
    if (position == kNotListed) {
      position = static_cast<uint32_t>(zone.resources.size());
      zone.resources.push_back(std::move(resource));
    } else {
      zone.resources[position] = std::move(resource);  // the last counts
    }
  });
}

// Nothing: a zone that is no NUMA node.
std::optional<NrtZone> read_zone(od::value value, const Path& path, Names& names) {
  NrtZone zone;
  std::string name;
  std::string type;
  for_object(value, path, [&](std::string_view key, od::value field) {
    if (key == "name") name = text_of(field, Path(path, "name"));
    if (key == "type") type = text_of(field, Path(path, "type"));
    if (key == "costs") {
      for_list(field, Path(path, "costs"),
               [&](od::value cost, const Path& at) { read_cost(cost, at, zone); });
    }
    if (key == "resources") {
      zone.resources.clear();
      read_resources(field, Path(path, "resources"), names, zone);
    }
  });
  if (name.empty()) throw FieldError(Path(path, "name"), "is missing");
  if (type.empty()) throw FieldError(Path(path, "type"), "is missing");
  const int id = zone_id_of(name);
  if (type != "Node" || id < 0 || id > kMaxZoneId) return std::nullopt;
  zone.id = static_cast<uint32_t>(id);
  return zone;
}

// topologyPolicies[0]; names that say no more than the default leave it.
void apply_policy_name(std::string_view name, TopologyManager& manager) {
  struct Row {
    std::string_view name;
    Policy policy;
    Scope scope;
  };
  static constexpr Row kRows[] = {
      {"SingleNUMANodeContainerLevel", Policy::kSingleNumaNode, Scope::kContainer},
      {"SingleNUMANodePodLevel", Policy::kSingleNumaNode, Scope::kPod},
      {"RestrictedContainerLevel", Policy::kRestricted, Scope::kContainer},
      {"RestrictedPodLevel", Policy::kRestricted, Scope::kPod},
      {"BestEffortContainerLevel", Policy::kBestEffort, Scope::kContainer},
      {"BestEffortPodLevel", Policy::kBestEffort, Scope::kPod},
  };
  for (const Row& row : kRows) {
    if (row.name != name) continue;
    manager.policy = row.policy;
    manager.scope = row.scope;
  }
}

// The last valid attribute of a name counts; others are as if they were not there.
void apply_attribute(const std::string& name, const std::string& value, NrtObject& nrt) {
  TopologyManager& manager = nrt.manager;
  if (name == "topologyManagerPolicy") {
    for (Policy policy :
         {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
      if (value == to_string(policy)) manager.policy = policy;
    }
  } else if (name == "topologyManagerScope") {
    if (value == "container") manager.scope = Scope::kContainer;
    if (value == "pod") manager.scope = Scope::kPod;
  } else if (name == "topologyManagerMaxNUMANodes") {
    int64_t number = 0;
    const std::string_view digits = std::string_view(value).substr(value.starts_with('+') ? 1 : 0);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size() && number > 1) {
      manager.max_numa_nodes = static_cast<uint16_t>(std::min<int64_t>(number, kMaxNumaNodesLimit));
    }
  } else if (name == kFingerprintMethodAttribute) {
    nrt.method = value == "with-exclusive-resources" ? FingerprintMethod::kExclusiveResources
                                                     : FingerprintMethod::kAll;
  } else if (name == kKubeletStateAttribute) {
    nrt.kubelet_away = value == kKubeletAway;
  }
}

// Annotations that count only where attributes are not there.
struct Annotated {
  std::string fingerprint;
  std::optional<std::string> koordlet;
};

void read_metadata(od::value value, NrtObject& nrt, Annotated& annotated) {
  for_object(value, "metadata", [&](std::string_view key, od::value field) {
    if (key == "name") nrt.name = text_of(field, "metadata.name");
    if (key == "resourceVersion") {
      nrt.resource_version = text_of(field, "metadata.resourceVersion");
    }
    if (key == "annotations" && !is_null(field)) {
      const Path annotations("metadata.annotations");
      for_object(field, annotations, [&](std::string_view name, od::value text) {
        if (name == kFingerprintAnnotation) {
          annotated.fingerprint = text_of(text, Path(annotations, name));
        } else if (name == kKoordletCpuAnnotation) {
          annotated.koordlet = text_of(text, Path(annotations, name));
        } else if (name == kMachineAnnotation) {
          nrt.machine_facts = text_of(text, Path(annotations, name));
        } else if (name == kFreeAnnotation) {
          nrt.free_facts = text_of(text, Path(annotations, name));
        }
      });
    }
    if (key == "ownerReferences") {
      for_list(field, "metadata.ownerReferences", [&](od::value entry, const Path& at) {
        std::string kind;
        std::string uid;
        for_object(entry, at, [&](std::string_view name, od::value text) {
          if (name == "kind") kind = text_of(text, Path(at, "kind"));
          if (name == "uid") uid = text_of(text, Path(at, "uid"));
        });
        if (kind == "Node") nrt.node_uids.push_back(std::move(uid));
      });
    }
    if (key == "managedFields") {
      for_list(field, "metadata.managedFields", [&](od::value entry, const Path& at) {
        for_object(entry, at, [&](std::string_view name, od::value item) {
          if (name != "time" || is_null(item)) return;
          const auto written = sdk::parse_time(text_of(item, Path(at, "time")));
          nrt.written_ms = std::max(nrt.written_ms, written.value_or(0));
        });
      });
    }
  });
}

NrtAttribute read_attribute(od::value value, const Path& path) {
  NrtAttribute attribute;
  for_object(value, path, [&](std::string_view key, od::value field) {
    if (key == "name") attribute.name = text_of(field, Path(path, "name"));
    if (key == "value") attribute.value = text_of(field, Path(path, "value"));
  });
  return attribute;
}

void contradict(NrtObject& nrt, const std::string& what) {
  if (what.empty()) return;
  nrt.contradiction += (nrt.contradiction.empty() ? "" : "; ") + what;
}

// Exporters that do not know what is allocatable say 0, or nothing. With that no manager would hand
// anything out, and nothing would be aligned.
void mend_allocatable(NrtObject& nrt) {
  std::set<std::string_view> unsaid;
  for (const NrtZone& zone : nrt.zones)
    for (const ZoneResource& each : zone.resources)
      if (each.allocatable <= 0 && each.available > 0 && each.capacity > 0)
        unsaid.insert(each.name);
  if (unsaid.empty()) return;
  for (NrtZone& zone : nrt.zones)
    for (ZoneResource& each : zone.resources)
      if (each.allocatable <= 0 && unsaid.contains(each.name)) each.allocatable = each.capacity;
  contradict(nrt, "zones have " + std::string(unsaid.begin()->substr(0, kMaxQuoted)) +
                      (unsaid.size() > 1 ? " and other resources" : "") +
                      " available, but allocatable is 0 or missing; their capacity counts instead");
}

NrtObject read_object(od::value root) {
  NrtObject nrt;
  std::string policy;
  Names names;
  Annotated annotated;
  for_object(root, "the object", [&](std::string_view key, od::value field) {
    if (key == "metadata") read_metadata(field, nrt, annotated);
    if (key == "topologyPolicies") {
      bool first = true;
      for_list(field, key, [&](od::value item, const Path& at) {
        std::string text = text_of(item, at);
        if (std::exchange(first, false)) policy = std::move(text);
      });
    }
    if (key == "attributes") {
      for_list(field, key, [&](od::value item, const Path& at) {
        nrt.attributes.push_back(read_attribute(item, at));
      });
    }
    if (key == "zones") {
      for_list(field, key, [&](od::value item, const Path& at) {
        std::optional<NrtZone> zone = read_zone(item, at, names);
        if (!zone) return;
        for (const NrtZone& other : nrt.zones) {
          if (other.id == zone->id) {
            throw FieldError(Path(at, "name"),
                             "node-" + std::to_string(zone->id) + " is listed twice");
          }
        }
        nrt.zones.push_back(std::move(*zone));
      });
    }
  });
  if (nrt.name.empty()) throw FieldError("metadata.name", "is missing");
  apply_policy_name(policy, nrt.manager);
  mend_allocatable(nrt);
  if (annotated.koordlet)
    contradict(nrt, add_koordlet_settings(*annotated.koordlet, nrt.attributes));
  for (const auto& [name, value] : nrt.attributes) {
    apply_attribute(name, value, nrt);
    if (name == kFingerprintAttribute && nrt.fingerprint.empty()) nrt.fingerprint = value;
  }
  if (nrt.fingerprint.empty() && !annotated.fingerprint.empty()) {
    nrt.fingerprint = annotated.fingerprint;
    nrt.method = FingerprintMethod::kAll;
  }
  return nrt;
}

}  // namespace

int zone_id_of(std::string_view zone_name) {
  constexpr std::string_view kPrefix = "node-";
  if (!zone_name.starts_with(kPrefix)) return -1;
  std::string_view digits = zone_name.substr(kPrefix.size());
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int id = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  return error == std::errc() && end == digits.data() + digits.size() && id >= 0 ? id : -1;
}

Parsed<NrtObject> parse_nrt(std::string_view json) {
  // One parser per thread: it keeps its buffers.
  thread_local od::parser parser;
  try {
    const simdjson::padded_string padded(json);
    od::document document;
    if (const auto error = parser.iterate(padded).get(document); error != simdjson::SUCCESS) {
      return bad(std::string("not JSON: ") + simdjson::error_message(error));
    }
    od::value root;
    if (document.get_value().get(root) != simdjson::SUCCESS) return bad("must be an object");
    return read_object(root);
  } catch (const std::exception& error) {
    return bad(error.what());
  }
}

}  // namespace plimsoll::topology
