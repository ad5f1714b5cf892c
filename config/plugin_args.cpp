#include "config/plugin_args.hpp"

#include <map>

#include "config/args_readers.hpp"
#include "config/field_rules.hpp"
#include "config/scheduler_config.hpp"

namespace plimsoll::config {
namespace {

ArgsReader reader_of(std::string_view plugin) {
  static const std::map<std::string_view, ArgsReader> kReaders = {
      {"NodeResourcesFit", read_fit_args},
      {"NodeResourcesBalancedAllocation", read_balanced_allocation_args},
      {"NodeAffinity", read_node_affinity_args},
      {"PodTopologySpread", read_topology_spread_args},
      {"InterPodAffinity", read_inter_pod_affinity_args},
      {"DefaultPreemption", read_default_preemption_args},
      {"VolumeBinding", read_volume_binding_args},
      {"DynamicResources", read_dynamic_resources_args},
  };
  const auto found = kReaders.find(plugin);
  return found == kReaders.end() ? nullptr : found->second;
}

// Args may say which type they are; then it must be the plugin's.
void check_type(std::string_view plugin, Fields& args) {
  const std::string expected = std::string(plugin) + "Args";
  std::string api_version, kind;
  if (args.read("apiVersion", api_version) && api_version != kConfigApiVersion) {
    args.problem("apiVersion", unsupported_value(api_version, {std::string(kConfigApiVersion)}));
  }
  if (args.read("kind", kind) && kind != expected) {
    constexpr std::string_view kGroup = ".kubescheduler.config.k8s.io";
    args.problem("kind", "args for plugin " + std::string(plugin) + " were not of type " +
                             expected + std::string(kGroup) + ", got " + kind +
                             std::string(kGroup));
  }
}

}  // namespace

bool has_known_args(std::string_view plugin) {
  return reader_of(plugin) != nullptr;
}

std::string not_in_range(std::int64_t low, std::int64_t high) {
  return "not in valid range [" + std::to_string(low) + ", " + std::to_string(high) + "]";
}

void check_qualified_name(const std::string& name, const std::string& path, Position at,
                          Problems& errors) {
  for (const std::string& error : qualified_name_errors(name)) {
    errors.push_back({path, at, invalid_value(go_quoted(name), error)});
  }
}

Value string_list(const std::vector<std::string>& texts) {
  Value out = Value::sequence();
  for (const std::string& text : texts) out.add(Value::string(text));
  return out;
}

std::string normalise_args(std::string_view plugin, const Value* args, const std::string& path,
                           Problems& errors, Problems& warnings) {
  Fields fields(args, path, errors);
  check_type(plugin, fields);
  const Value normalised = reader_of(plugin)(fields, ArgsProblems{errors, warnings});
  fields.finish();
  return to_json(normalised);
}

std::string default_args(std::string_view plugin) {
  if (!has_known_args(plugin)) return "{}";
  Problems none;
  return normalise_args(plugin, nullptr, "", none, none);
}

std::string passed_on_args(std::string_view plugin, std::string_view written_name,
                           const Value* args) {
  if (args == nullptr || args->is_null()) return "{}";
  if (!args->is_mapping()) return to_json(*args);
  const Value* kind = args->find("kind");
  const bool usual =
      kind == nullptr || (kind->is_string() && (kind->text == std::string(plugin) + "Args" ||
                                                kind->text == std::string(written_name) + "Args"));
  if (!usual) return to_json(*args);
  Value out = *args;
  std::erase_if(out.members, [](const Member& member) {
    return member.key == "apiVersion" || member.key == "kind";
  });
  return to_json(out);
}

}  // namespace plimsoll::config
