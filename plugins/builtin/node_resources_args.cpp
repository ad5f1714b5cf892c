// NodeResourcesFitArgs and NodeResourcesBalancedAllocationArgs, v1.
#include <plimsoll/args.hpp>
#include <set>

#include "framework/base/quote.hpp"
#include "plugins/builtin/columns/label_rules.hpp"
#include "plugins/builtin/default_args.hpp"
#include "plugins/builtin/node_resources.hpp"

namespace plimsoll::builtin {
namespace {

constexpr int64_t kMaxUtilization = 100;
constexpr int64_t kMaxShapeScore = 10;  // config.MaxCustomPriorityScore

// What a name that is listed a second time is.
enum class Again { kCounts, kIsAnError };

// No resources at all: what `out` has stays.
void read_resources(sdk::Args& args, int64_t most, Again again, std::vector<ResourceWeight>& out) {
  std::vector<ResourceWeight> resources;
  std::set<std::string> seen;
  args.each_object("resources", [&](sdk::Args& each) {
    ResourceWeight& resource = resources.emplace_back();
    each.read("name", resource.name);
    each.read("weight", resource.weight, 0, most);
    if (resource.weight == 0) resource.weight = 1;  // the API server's default
    if (resource.name.empty()) each.warn("name", "names no resource: the entry has no effect");
    if (seen.insert(resource.name).second) return;
    const std::string listed = go_quoted(resource.name) + " is listed before";
    if (again == Again::kIsAnError) return each.problem("name", listed);
    each.warn("name", "the resource " + listed + ": both weights count");
  });
  if (!resources.empty()) out = std::move(resources);
}

void read_strategy(sdk::Args& strategy, FitArgs& out) {
  constexpr std::string_view kRatio = "requestedToCapacityRatio";
  read_resources(strategy, 100, Again::kCounts, out.resources);
  strategy.require("type");
  const bool typed =
      strategy.choice("type", out.strategy,
                      {{"LeastAllocated", Strategy::kLeastAllocated},
                       {"MostAllocated", Strategy::kMostAllocated},
                       {"RequestedToCapacityRatio", Strategy::kRequestedToCapacityRatio}});
  const bool given = strategy.has(kRatio);
  if (!typed) return;
  if (out.strategy != Strategy::kRequestedToCapacityRatio) {
    if (given) strategy.problem(kRatio, "is for the type RequestedToCapacityRatio");
    return;
  }
  strategy.require(kRatio);
  strategy.object(kRatio, [&out](sdk::Args& ratio) { read_shape(ratio, out.shape); });
}

}  // namespace

void read_shape(sdk::Args& args, std::vector<ShapePoint>& out) {
  std::vector<ShapePoint> points;
  args.each_object("shape", [&points](sdk::Args& each) {
    ShapePoint point;
    each.read("utilization", point.utilization, 0, kMaxUtilization);
    each.read("score", point.score, 0, kMaxShapeScore);
    point.score *= 100 / kMaxShapeScore;
    if (!points.empty() && points.back().utilization >= point.utilization) {
      each.problem("utilization", "must be larger than that of the point before");
    }
    points.push_back(point);
  });
  if (points.empty()) return args.problem("shape", "must have a point");
  out = std::move(points);
}

FitArgs read_fit_args(const sdk::Host& host, std::string_view json) {
  FitArgs out;
  read_over(kFitDefaults, host, json, {"NodeResourcesFitArgs"}, [&out](sdk::Args& args) {
    args.each_name("ignoredResources", [&](const std::string& path, const std::string& name) {
      require_label_key(args, path, name);
      out.ignored_resources.push_back(name);
    });
    args.each_name("ignoredResourceGroups", [&](const std::string& path, const std::string& name) {
      if (name.find('/') != std::string::npos) {
        args.problem_at(path, "must be a group, which has no \"/\", not " + go_quoted(name));
      } else {
        require_label_key(args, path, name);
      }
      out.ignored_groups.push_back(name);
    });
    args.object("scoringStrategy", [&out](sdk::Args& strategy) { read_strategy(strategy, out); });
  });
  return out;
}

std::vector<ResourceWeight> read_balanced_args(const sdk::Host& host, std::string_view json) {
  std::vector<ResourceWeight> out;
  read_over(kBalancedDefaults, host, json, {"NodeResourcesBalancedAllocationArgs"},
            [&out](sdk::Args& args) { read_resources(args, 1, Again::kIsAnError, out); });
  return out;
}

}  // namespace plimsoll::builtin
