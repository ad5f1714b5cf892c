#include "config/profile/profile_decode.hpp"

#include <map>
#include <set>

#include "config/profile/known_plugins.hpp"
#include "config/profile/plugin_args.hpp"

namespace plimsoll::config {
namespace {

// invalidPluginsByVersion: kube-scheduler names the core group's version there.
std::string removed_plugin_message(std::string_view name) {
  return invalid_value(go_quoted(name),
                       "was invalid in version \"v1\" (KubeSchedulerConfiguration is "
                       "version " +
                           go_quoted(kConfigApiVersion) +
                           "): remove it, NodeVolumeLimits does its work");
}

// The list `enabled` or `disabled` of one set.
std::vector<PluginRef> decode_plugin_list(Fields& set, std::string_view list, Problems& errors,
                                          Problems& warnings) {
  std::vector<PluginRef> out;
  set.each(list, [&](const Value& item, const std::string& path) {
    Fields fields(&item, path, errors);
    PluginRef plugin;
    fields.read("name", plugin.written);
    fields.read("weight", plugin.weight);
    fields.finish();
    if (!fields.present() && !item.is_null()) return;
    plugin.name = canonical_name(plugin.written);
    plugin.path = path;
    plugin.at = fields.at("name");
    if (plugin.written.empty()) {
      if (!mentions(errors, fields.path("name"))) {
        fields.problem("name", required_value("the name of a plugin"));
      }
      return;
    }
    if (list == "enabled") {
      if (plugin.written == "*") {
        fields.problem("name", invalid_value(go_quoted("*"),
                                             "only disabled plugins can be \"*\": name each "
                                             "plugin to enable"));
        return;
      }
      if (is_removed_plugin(plugin.name)) {
        errors.push_back({path, plugin.at, removed_plugin_message(plugin.written)});
      }
      if (plugin.weight && *plugin.weight < 0) {
        warnings.push_back({fields.path("weight"), fields.at("weight"),
                            "a negative weight turns the plugin's preference around"});
      }
    }
    out.push_back(std::move(plugin));
  });
  return out;
}

PluginSet decode_plugin_set(Fields& plugins, std::string_view name, Problems& errors,
                            Problems& warnings) {
  PluginSet out;
  Fields set(plugins.get(name), plugins.path(name), errors);
  out.enabled = decode_plugin_list(set, "enabled", errors, warnings);
  out.disabled = decode_plugin_list(set, "disabled", errors, warnings);
  set.finish();
  return out;
}

Plugins decode_plugins(Fields& profile, Problems& errors, Problems& warnings) {
  Plugins out;
  Fields plugins(profile.get("plugins"), profile.path("plugins"), errors);
  for (const ExtensionPoint point : all_extension_points()) {
    out.points[point] = decode_plugin_set(plugins, field_name(point), errors, warnings);
  }
  out.multi_point = decode_plugin_set(plugins, "multiPoint", errors, warnings);
  // kube-scheduler's own pod groups, which are off by default there (GenericWorkload).
  for (const std::string_view point :
       {"placementGenerate", "placementScore", "podGroupPostFilter"}) {
    const PluginSet set = decode_plugin_set(plugins, point, errors, warnings);
    for (const PluginRef& plugin : set.enabled) {
      if (point == "podGroupPostFilter" && is_default_plugin(plugin.name)) {
        warnings.push_back(
            {plugin.path, plugin.at, "has no effect: there is no " + std::string(point) + " here"});
        continue;
      }
      errors.push_back({plugin.path, plugin.at,
                        forbidden(std::string(point) +
                                  " belongs to a feature that is off by default (pod groups) and "
                                  "not supported: remove it")});
    }
  }
  plugins.finish();
  const PluginSet& sort = out.points[ExtensionPoint::kQueueSort];
  if (sort.enabled.size() > 1) {
    errors.push_back({plugins.path("queueSort.enabled"), sort.enabled[1].at,
                      invalid_value(std::to_string(sort.enabled.size()),
                                    "only one queue sort plugin can be enabled")});
  }
  return out;
}

// Args of kube-scheduler's own plugins have the version of the file.
void check_args_version(const PluginArgs& args, Problems& errors) {
  const Value* version = args.source.find("apiVersion");
  if (version == nullptr || !version->is_string() || !is_default_plugin(args.name)) return;
  if (version->text == kConfigApiVersion) return;
  errors.push_back(args.problem(
      "apiVersion", unsupported_value(version->text, {std::string(kConfigApiVersion)})));
}

std::vector<PluginArgs> decode_plugin_config(Fields& profile, Problems& errors) {
  std::vector<PluginArgs> out;
  std::set<std::string> seen;
  profile.each("pluginConfig", [&](const Value& item, const std::string& path) {
    Fields fields(&item, path, errors);
    PluginArgs args;
    fields.read("name", args.written);
    const Value* given = fields.get("args");
    fields.finish();
    if (!fields.present() && !item.is_null()) return;
    args.name = canonical_name(args.written);
    args.path = child_path(path, "args");
    if (args.written.empty()) {
      if (!mentions(errors, fields.path("name"))) {
        fields.problem("name", required_value("the name of a plugin"));
      }
      return;
    }
    if (!seen.insert(args.name).second) {
      errors.push_back({path, fields.at("name"), duplicate_value(args.written)});
    }
    if (is_removed_plugin(args.name)) {
      errors.push_back({path, fields.at("name"), removed_plugin_message(args.written)});
      return;
    }
    if (given != nullptr) {
      args.source = *given;
    } else {
      args.source.at = fields.at("name");
    }
    if (given != nullptr && !given->is_mapping()) {
      errors.push_back({args.path, given->at, wrong_type_message(*given, "a mapping")});
    } else {
      check_args_version(args, errors);
      args.json = passed_on_args(args.name, args.written, given);
    }
    out.push_back(std::move(args));
  });
  return out;
}

const PluginArgs* find_args(const Profile& profile, std::string_view name) {
  for (const PluginArgs& args : profile.plugin_args) {
    if (args.name == name) return &args;
  }
  return nullptr;
}

}  // namespace

void check_percentage(Fields& fields, std::int32_t percentage, Problems& warnings) {
  constexpr std::string_view kName = "percentageOfNodesToScore";
  if (percentage < 0 || percentage > 100) {
    fields.problem(kName, invalid_value(std::to_string(percentage), "not in valid range [0-100]"));
  } else if (percentage != 0 && percentage != 100) {
    warnings.push_back({fields.path(kName), fields.at(kName),
                        "has no effect: Plimsoll evaluates every node for every pod"});
  }
}

Profile decode_profile(const Value& value, const std::string& path, Problems& errors,
                       Problems& warnings) {
  Profile out;
  out.path = path;
  Fields fields(&value, path, errors);
  fields.read("schedulerName", out.scheduler_name);
  out.at = fields.at("schedulerName");
  if (fields.read("percentageOfNodesToScore", out.percentage_of_nodes_to_score)) {
    check_percentage(fields, *out.percentage_of_nodes_to_score, warnings);
  }
  out.plugins = decode_plugins(fields, errors, warnings);
  out.plugin_args = decode_plugin_config(fields, errors);
  fields.finish();
  return out;
}

void check_profiles_together(const std::vector<Profile>& profiles, Problems& errors) {
  std::map<std::string, const Profile*> seen;
  for (const Profile& profile : profiles) {
    const std::string path = child_path(profile.path, "schedulerName");
    if (profile.scheduler_name.empty()) {
      if (!mentions(errors, path)) errors.push_back({path, profile.at, required_value()});
      continue;
    }
    const auto [first, fresh] = seen.emplace(profile.scheduler_name, &profile);
    if (!fresh) {
      errors.push_back({path, profile.at,
                        duplicate_value(profile.scheduler_name) + ": " + first->second->path +
                            " has the same name"});
    }
  }
  if (profiles.empty()) return;
  const PluginSet& canon = profiles[0].plugins.points[ExtensionPoint::kQueueSort];
  const std::string sort = canon.enabled.empty() ? "" : canon.enabled[0].name;
  const PluginArgs* canon_args = find_args(profiles[0], sort);
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const PluginSet& set = profiles[i].plugins.points[ExtensionPoint::kQueueSort];
    if (!(set == canon)) {
      const Position at = !set.enabled.empty()    ? set.enabled[0].at
                          : !set.disabled.empty() ? set.disabled[0].at
                                                  : profiles[i].at;
      errors.push_back({child_path(profiles[i].path, "plugins.queueSort"), at,
                        invalid_value(set.enabled.empty() ? "none" : go_quoted(set.enabled[0].name),
                                      "must be the same for all profiles")});
    }
    const PluginArgs* args = find_args(profiles[i], sort);
    if (args != nullptr && (canon_args == nullptr || canon_args->json != args->json)) {
      errors.push_back(args->problem(
          "", invalid_value(args->json, "queueSort must be the same for all profiles")));
    }
  }
}

}  // namespace plimsoll::config
