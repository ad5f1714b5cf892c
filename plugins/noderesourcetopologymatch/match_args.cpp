#include "plugins/noderesourcetopologymatch/match_args.hpp"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "plugins/topology/scoring_args.hpp"

namespace plimsoll::topology {
namespace {

using Json = nlohmann::json;

struct Reader {
  MatchArgs& args;
  std::vector<std::string>& errors;

  void wrong_type(const std::string& path, const Json& value, const char* wanted) {
    errors.push_back(path + ": Invalid value: " + value.dump() + ": must be " + wanted);
  }

  void unknown(const std::string& path) { errors.push_back("unknown field \"" + path + "\""); }

  // The reference takes any text; one that it does not know means something else than it seems.
  void choice(const std::string& path, const Json& value, std::string& out,
              std::initializer_list<const char*> known) {
    if (value.is_null()) return;
    if (!value.is_string()) return wrong_type(path, value, "a string");
    const auto text = value.get<std::string>();
    if (std::find(known.begin(), known.end(), text) == known.end()) {
      args.warnings.push_back(path + ": \"" + text + "\" is not known and has no effect");
      return;
    }
    out = text;
  }

  void cache(const Json& value) {
    if (value.is_null()) return;
    if (!value.is_object()) return wrong_type("cache", value, "an object");
    for (const auto& [key, item] : value.items()) {
      const std::string path = "cache." + key;
      if (key == "foreignPodsDetect") {
        choice(path, item, args.foreign_pods_detect, {"None", "All", "OnlyExclusiveResources"});
      } else if (key == "resyncMethod") {
        choice(path, item, args.resync_method, {"Autodetect", "All", "OnlyExclusiveResources"});
      } else if (key == "informerMode") {
        choice(path, item, args.informer_mode, {"Dedicated", "Shared"});
      } else if (key == "resyncScope") {
        choice(path, item, args.resync_scope, {"All", "OnlyResources"});
      } else {
        unknown(path);
      }
    }
  }

  void preemption(const Json& value) {
    if (value.is_null()) return;
    if (!value.is_string()) return wrong_type("preemptionMode", value, "a string");
    const auto mode = value.get<std::string>();
    if (mode != "Enabled" && mode != "Disabled") {
      errors.push_back("preemptionMode: Invalid value: \"" + mode + "\": invalid PreemptionMode");
    }
    args.preemption = mode == "Enabled";
  }

  void admission(const Json& value) {
    if (value.is_null()) return;
    if (!value.is_string()) return wrong_type("admissionModel", value, "a string");
    const auto model = value.get<std::string>();
    if (model != "Kubelet" && model != "Reference") {
      errors.push_back("admissionModel: Unsupported value: \"" + model +
                       "\": supported values: \"Kubelet\", \"Reference\"");
    }
    args.admission = model == "Reference" ? AdmissionModel::kReference : AdmissionModel::kKubelet;
  }

  void field(const std::string& key, const Json& value) {
    if (key == "apiVersion" || key == "kind") {
      if (!value.is_string()) wrong_type(key, value, "a string");
      if (key == "kind" && value.is_string() && value != "NodeResourceTopologyMatchArgs") {
        errors.push_back("want args to be of type NodeResourceTopologyMatchArgs, got " +
                         value.get<std::string>());
      }
    } else if (key == "scoringStrategy") {
      args.scoring = parse_scoring_strategy(value.dump(), errors);
    } else if (key == "cacheResyncPeriodSeconds") {
      if (value.is_null()) return;
      if (!value.is_number_integer()) return wrong_type(key, value, "a whole number");
      args.cache_resync_period_seconds = value.get<int64_t>();
    } else if (key == "discardReservedNodes") {
      if (value.is_null()) return;
      if (!value.is_boolean()) return wrong_type(key, value, "true or false");
      args.discard_reserved_nodes = value.get<bool>();
    } else if (key == "cache") {
      cache(value);
    } else if (key == "admissionModel") {
      admission(value);
    } else if (key == "preemptionMode") {
      preemption(value);
    } else {
      unknown(key);
    }
  }
};

}  // namespace

MatchArgs parse_match_args(std::string_view json) {
  MatchArgs args;
  if (json.empty()) return args;
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_null()) return args;
  if (!value.is_object()) {
    throw std::runtime_error("NodeResourceTopologyMatchArgs: must be an object");
  }
  std::vector<std::string> errors;
  Reader reader{args, errors};
  for (const auto& [key, item] : value.items()) reader.field(key, item);
  if (!errors.empty()) throw std::runtime_error(aggregate(errors));
  return args;
}

}  // namespace plimsoll::topology
