#include "config/foreign_args.hpp"

#include <map>
#include <vector>

namespace plimsoll::config {
namespace {

constexpr std::string_view kMatch = "NodeResourceTopologyMatch";
constexpr std::string_view kDevice = "NodeDevice";

struct IdleField {
  std::string_view plugin;
  std::string_view path;
  std::string_view default_json;  // the value that says nothing new; empty: there is none
  std::string_view why;
};

constexpr std::string_view kLedger =
    "Plimsoll's NUMA ledger takes every report as it comes and keeps what it has promised until a "
    "report covers it";

constexpr IdleField kIdleFields[] = {
    {kMatch, "cacheResyncPeriodSeconds", "0", kLedger},
    {kMatch, "discardReservedNodes", "false", kLedger},
    {kMatch, "cache.foreignPodsDetect", R"("All")",
     "the ledger counts every pod of a node, whichever scheduler placed it"},
    {kMatch, "cache.resyncMethod", R"("Autodetect")", kLedger},
    {kMatch, "cache.informerMode", R"("Dedicated")", "all plugins share one watch of the pods"},
    {kMatch, "cache.resyncScope", R"("All")", kLedger},
    {kMatch, "preemptionMode", R"("Disabled")", "preemption does not depend on it here"},
    {kDevice, "allocator", R"("")", "there is one allocator"},
    {kDevice, "gpuSharedResourceTemplatesConfig.configMapNamespace", "",
     "templates of shared NPUs are not read: pods that need one are refused"},
    {kDevice, "gpuSharedResourceTemplatesConfig.configMapName", "",
     "templates of shared NPUs are not read: pods that need one are refused"},
};

using FieldNames = std::vector<std::string_view>;

// By plugin, then by the path of the mapping, without list indices.
const FieldNames* fields_of(std::string_view plugin, const std::string& parent) {
  using Tables = std::map<std::string, FieldNames, std::less<>>;
  static const FieldNames kStrategy = {"type", "resources"};
  static const FieldNames kResource = {"name", "weight"};
  static const std::map<std::string_view, Tables> kFields = {
      {kMatch,
       {{"",
         {"scoringStrategy", "cacheResyncPeriodSeconds", "discardReservedNodes", "cache",
          "preemptionMode"}},
        {"cache", {"foreignPodsDetect", "resyncMethod", "informerMode", "resyncScope"}},
        {"scoringStrategy", kStrategy},
        {"scoringStrategy.resources", kResource}}},
      {"TopologyScore",
       {{"", {"scoringStrategy", "zoneView"}},
        {"scoringStrategy", kStrategy},
        {"scoringStrategy.resources", kResource}}},
      {kDevice,
       {{"",
         {"allocator", "scoringStrategy", "disableDeviceNUMATopologyAlignment",
          "gpuSharedResourceTemplatesConfig", "gpuShareUnsupportedModels", "deviceTypes"}},
        {"deviceTypes",
         {"name", "resource", "resources", "combinations", "memory", "topologyAware"}},
        {"deviceTypes.memory", {"bytes", "percent"}},
        {"deviceTypes.combinations", {"requests", "count", "amounts", "checks"}},
        {"deviceTypes.combinations.count", {"kind", "of"}},
        {"deviceTypes.combinations.amounts", {"resource", "of", "factor"}},
        {"deviceTypes.combinations.checks", {"of", "percent", "atMost", "multipleOf"}},
        {"gpuSharedResourceTemplatesConfig",
         {"configMapNamespace", "configMapName", "matchedResources"}},
        {"scoringStrategy", kStrategy},
        {"scoringStrategy.resources", kResource}}},
  };
  const auto tables = kFields.find(plugin);
  if (tables == kFields.end()) return nullptr;
  const auto found = tables->second.find(parent);
  return found == tables->second.end() ? nullptr : &found->second;
}

const Value* value_at(const Value& root, std::string_view path) {
  const Value* value = &root;
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = value->find(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value;
}

std::string without_indices(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == '[') inside = true;
    if (!inside) out += c;
    if (c == ']') inside = false;
  }
  return out;
}

}  // namespace

void warn_about_idle_args(const PluginArgs& args, Problems& warnings) {
  for (const IdleField& field : kIdleFields) {
    if (field.plugin != args.name) continue;
    const Value* value = value_at(args.source, field.path);
    if (value == nullptr || value->is_null() || to_json(*value) == field.default_json) continue;
    warnings.push_back(args.problem(field.path, "has no effect: " + std::string(field.why)));
  }
}

std::string nearest_args_field(std::string_view plugin, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string parent =
      dot == std::string_view::npos ? "" : without_indices(path.substr(0, dot));
  const FieldNames* known = fields_of(plugin, parent);
  if (known == nullptr) return {};
  return nearest(path.substr(dot == std::string_view::npos ? 0 : dot + 1), *known);
}

}  // namespace plimsoll::config
