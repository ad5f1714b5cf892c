// NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs, v1.
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "plugins/builtin/node_resources.hpp"

namespace plimsoll::builtin {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxWeight = 100;
constexpr int64_t kMaxUtilization = 100;
constexpr int64_t kMaxShapeScore = 10;  // config.MaxCustomPriorityScore

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::invalid_argument(path + ": " + why);
}

const Json* find(const Json& object, const std::string& path, const char* key) {
  if (!object.is_object()) refuse(path, "expected an object");
  const auto at = object.find(key);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::string text(const Json& value, const std::string& path) {
  if (!value.is_string()) refuse(path, "expected a string");
  return value.get<std::string>();
}

int64_t number(const Json& value, const std::string& path, int64_t least, int64_t most) {
  if (!value.is_number_integer()) refuse(path, "expected a whole number");
  const auto result = value.get<int64_t>();
  if (result < least || result > most) {
    refuse(path, "must be from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return result;
}

const Json& list(const Json& value, const std::string& path) {
  if (!value.is_array()) refuse(path, "expected a list");
  return value;
}

std::string element(const std::string& path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::vector<std::string> texts(const Json& args, const char* key) {
  std::vector<std::string> result;
  const Json* value = find(args, "args", key);
  if (value == nullptr) return result;
  for (const Json& each : list(*value, key)) {
    result.push_back(text(each, element(key, result.size())));
  }
  return result;
}

void read_resources(const Json& value, const std::string& path, std::vector<ResourceWeight>* out) {
  std::vector<ResourceWeight> resources;
  for (const Json& each : list(value, path)) {
    const std::string here = element(path, resources.size());
    ResourceWeight resource;
    const Json* name = find(each, here, "name");
    if (name == nullptr) refuse(here + ".name", "is required");
    resource.name = text(*name, here + ".name");
    const Json* weight = find(each, here, "weight");
    // The API server's default for a weight of 0 is 1.
    if (weight != nullptr && *weight != 0) {
      resource.weight = number(*weight, here + ".weight", 1, kMaxWeight);
    }
    resources.push_back(std::move(resource));
  }
  if (!resources.empty()) *out = std::move(resources);
}

std::vector<ShapePoint> read_shape(const Json& strategy) {
  const std::string path = "scoringStrategy.requestedToCapacityRatio";
  const Json* ratio = find(strategy, "scoringStrategy", "requestedToCapacityRatio");
  const Json* shape = ratio != nullptr ? find(*ratio, path, "shape") : nullptr;
  if (shape == nullptr || shape->empty()) refuse(path + ".shape", "at least one point is required");
  std::vector<ShapePoint> points;
  for (const Json& each : list(*shape, path + ".shape")) {
    const std::string here = element(path + ".shape", points.size());
    ShapePoint point;
    if (const Json* value = find(each, here, "utilization")) {
      point.utilization = number(*value, here + ".utilization", 0, kMaxUtilization);
    }
    if (const Json* value = find(each, here, "score")) {
      point.score = number(*value, here + ".score", 0, kMaxShapeScore) * (100 / kMaxShapeScore);
    }
    if (!points.empty() && points.back().utilization >= point.utilization) {
      refuse(here + ".utilization", "must be larger than that of the point before");
    }
    points.push_back(point);
  }
  return points;
}

Json parse(std::string_view json) {
  if (json.empty()) return Json::object();
  Json args = Json::parse(json);
  if (args.is_null()) return Json::object();
  return args;
}

}  // namespace

FitArgs read_fit_args(std::string_view json) {
  const Json args = parse(json);
  FitArgs result;
  result.ignored_resources = texts(args, "ignoredResources");
  result.ignored_groups = texts(args, "ignoredResourceGroups");
  const Json* strategy = find(args, "args", "scoringStrategy");
  if (strategy == nullptr) return result;
  if (const Json* resources = find(*strategy, "scoringStrategy", "resources")) {
    read_resources(*resources, "scoringStrategy.resources", &result.resources);
  }
  const Json* type = find(*strategy, "scoringStrategy", "type");
  const std::string name = type != nullptr ? text(*type, "scoringStrategy.type") : "LeastAllocated";
  if (name == "LeastAllocated") {
    result.strategy = Strategy::kLeastAllocated;
  } else if (name == "MostAllocated") {
    result.strategy = Strategy::kMostAllocated;
  } else if (name == "RequestedToCapacityRatio") {
    result.strategy = Strategy::kRequestedToCapacityRatio;
    result.shape = read_shape(*strategy);
  } else {
    refuse("scoringStrategy.type", "unknown strategy \"" + name +
                                       "\"; there are LeastAllocated, MostAllocated and "
                                       "RequestedToCapacityRatio");
  }
  return result;
}

std::vector<ResourceWeight> read_balanced_args(std::string_view json) {
  const Json args = parse(json);
  std::vector<ResourceWeight> resources{{"cpu", 1}, {"memory", 1}};
  if (const Json* value = find(args, "args", "resources")) {
    read_resources(*value, "resources", &resources);
    for (size_t i = 0; i < resources.size(); ++i) {
      if (resources[i].weight != 1) refuse(element("resources", i) + ".weight", "must be 1");
    }
  }
  return resources;
}

}  // namespace plimsoll::builtin
