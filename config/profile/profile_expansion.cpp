#include "config/profile/profile_expansion.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "config/profile/plugin_checks.hpp"
#include "config/profile/profile_merge.hpp"
#include "framework/runtime/profile_rules.hpp"

namespace plimsoll::config {
namespace {

using Names = std::set<std::string, std::less<>>;

// Who keeps back the pods with claims, or of groups, of a profile without the others.
constexpr std::string_view kKeepsBack = "UnsupportedFeatures";
constexpr std::string_view kAllocates = "DynamicResources";
constexpr std::string_view kPlacesGroups = "GangScheduling";

Names names_of(const std::vector<PluginRef>& plugins) {
  Names out;
  for (const PluginRef& plugin : plugins) out.insert(plugin.name);
  return out;
}

// Expands one profile; collects problems instead of stopping at the first.
class Expander {
 public:
  Expander(const Profile& profile, const PluginRegistry& registry, Problems& errors,
           Problems& warnings, const PluginMaker& make)
      : profile_(profile),
        registry_(registry),
        errors_(errors),
        warnings_(warnings),
        make_(make),
        checks_(registry_, errors, warnings) {}

  ProfileSpec run() {
    out_.scheduler_name = profile_.scheduler_name;
    multi_point_ = merge_plugin_set(default_plugin_set(registry_), profile_.plugins.multi_point);
    checks_.keep_existing(multi_point_.enabled, "plugin");
    checks_.keep_valid(multi_point_.enabled, std::nullopt);
    checks_.check_disabled(profile_.plugins.multi_point);
    for (const ExtensionPoint point : all_extension_points()) {
      specific_[point] = merge_plugin_set({}, profile_.plugins.points[point]);
      checks_.keep_existing(specific_[point].enabled, interface_name(point));
    }
    make_plugins();
    for (const ExtensionPoint point : all_extension_points()) {
      PluginSet& set = specific_[point];
      checks_.keep_valid(set.enabled, point);
      checks_.check_disabled(set);
      out_.points[point] = order(set, point);
      put_in_every_profile(point);
    }
    out_.plugins = named_plugins();
    check_required();
    set_weights();
    collect_args();
    return std::move(out_);
  }

 private:
  // Step 2 for one extension point.
  std::vector<PluginEntry> order(const PluginSet& set, ExtensionPoint point) const {
    std::vector<PluginEntry> overrides, from_multi_point, rest;
    const Names disabled = names_of(set.disabled);
    const Names specific = names_of(set.enabled);
    Names in_both;
    if (disabled.count("*") == 0) {
      for (const PluginRef& plugin : multi_point_.enabled) {
        if (!registry_.find(plugin.name)->second.has(point)) continue;
        if (disabled.count(plugin.name) != 0) continue;
        if (specific.count(plugin.name) != 0) {
          in_both.insert(plugin.name);
        } else {
          from_multi_point.push_back({plugin.name});
        }
      }
    }
    for (const PluginRef& plugin : set.enabled) {
      (in_both.count(plugin.name) != 0 ? overrides : rest).push_back({plugin.name});
    }
    overrides.insert(overrides.end(), from_multi_point.begin(), from_multi_point.end());
    overrides.insert(overrides.end(), rest.begin(), rest.end());
    return overrides;
  }

  void put_in_every_profile(ExtensionPoint point) {
    auto& plugins = out_.points[point];
    auto next = plugins.begin();
    for (const std::string_view name : plugins_of_every_profile()) {
      const auto found = registry_.find(name);
      if (found == registry_.end() || !found->second.has(point)) continue;
      const bool named =
          std::any_of(plugins.begin(), plugins.end(),
                      [&](const PluginEntry& plugin) { return plugin.name == name; });
      if (!named) next = plugins.insert(next, {std::string(name)}) + 1;
    }
  }

  // From here on the registry knows the points of this profile's plugins.
  void make_plugins() {
    if (!make_) return;
    for (const std::string& name : named_plugins()) {
      const auto points = make_(profile_.scheduler_name, args_for(name), errors_, warnings_);
      registry_[name] = points.value_or(ExtensionPoints{});
      if (!points) checks_.note_unusable(name);
    }
  }

  // Each once, in the order of first mention.
  [[nodiscard]] std::vector<std::string> named_plugins() const {
    std::vector<std::string> out;
    Names seen;
    const auto add = [&](const std::vector<PluginRef>& plugins) {
      for (const PluginRef& plugin : plugins) {
        if (seen.insert(plugin.name).second) out.push_back(plugin.name);
      }
    };
    add(multi_point_.enabled);
    for (const PluginSet& set : specific_.values) add(set.enabled);
    for (const std::string_view name : plugins_of_every_profile()) {
      if (registry_.find(name) != registry_.end() && seen.insert(std::string(name)).second) {
        out.emplace_back(name);
      }
    }
    return out;
  }

  // As they are given, or the defaults.
  [[nodiscard]] PluginArgs args_for(const std::string& name) const {
    const auto given = std::find_if(profile_.plugin_args.begin(), profile_.plugin_args.end(),
                                    [&](const PluginArgs& args) { return args.name == name; });
    if (given != profile_.plugin_args.end()) return *given;
    PluginArgs args;
    args.name = args.written = name;
    args.json = "{}";
    if (name == kKeepsBack) args.json = what_is_done_for().dump();
    const auto look = [&](const std::vector<PluginRef>& plugins) {
      for (const PluginRef& plugin : plugins) {
        if (plugin.name == name) args.named_at = plugin.at;
      }
    };
    for (const PluginSet& set : specific_.values) look(set.enabled);
    look(multi_point_.enabled);
    return args;
  }

  // Which pods need not be kept back.
  [[nodiscard]] nlohmann::json what_is_done_for() const {
    nlohmann::json args = nlohmann::json::object();
    if (allocates_claims()) args["resourceClaims"] = true;
    if (runs_at(kPlacesGroups, ExtensionPoint::kPreEnqueue)) args["schedulingGroups"] = true;
    return args;
  }

  // Whether pods with resource claims get what they ask for, from the first point to the last.
  [[nodiscard]] bool allocates_claims() const {
    using enum ExtensionPoint;
    return runs_at(kAllocates, kPreFilter) && runs_at(kAllocates, kFilter) &&
           runs_at(kAllocates, kReserve) && runs_at(kAllocates, kPreBind);
  }
  [[nodiscard]] bool runs_at(std::string_view name, ExtensionPoint point) const {
    const std::vector<PluginEntry> plugins = order(specific_[point], point);
    return std::any_of(plugins.begin(), plugins.end(),
                       [&](const PluginEntry& plugin) { return plugin.name == name; });
  }

  void check_required() {
    if (checks_.any_missing()) return;  // what is missing may be just the one that is required
    for (auto& [point, text] : required_points_problems(out_)) {
      const std::string path = "plugins." + std::string(field_name(point));
      errors_.push_back({child_path(profile_.path, path), profile_.at, std::move(text)});
    }
  }

  // The specific weight beats multiPoint's; 0 or none means 1.
  void set_weights() {
    const auto find = [](const std::vector<PluginRef>& plugins, const std::string& name) {
      const auto found = std::find_if(plugins.begin(), plugins.end(),
                                      [&](const PluginRef& plugin) { return plugin.name == name; });
      return found == plugins.end() ? nullptr : &*found;
    };
    for (PluginEntry& plugin : out_.points[ExtensionPoint::kScore]) {
      const PluginRef* said = find(specific_[ExtensionPoint::kScore].enabled, plugin.name);
      if (said == nullptr) said = find(multi_point_.enabled, plugin.name);
      const std::int32_t weight = said == nullptr ? 0 : said->weight.value_or(0);
      plugin.weight = weight == 0 ? 1 : weight;
    }
  }

  void collect_args() {
    for (const std::string& name : out_.plugins) out_.args[name] = args_for(name).json;
    for (const PluginArgs& args : profile_.plugin_args) {
      if (out_.args.contains(args.name) || checks_.missing(args.name)) continue;
      const bool exists = registry_.find(args.name) != registry_.end();
      const bool absent = !exists && is_default_plugin(args.name);
      warnings_.push_back(
          args.problem("", (absent ? "have no effect: this build does not have "
                                   : "have no effect: this profile does not enable ") +
                               args.written));
    }
  }

  const Profile& profile_;
  PluginRegistry registry_;
  Problems& errors_;
  Problems& warnings_;
  const PluginMaker& make_;
  ProfileSpec out_;
  PluginSet multi_point_;
  PerExtensionPoint<PluginSet> specific_;
  PluginChecks checks_;
};

// All profiles share one queue, so they must sort it alike. Sets at queueSort that differ, and args
// of a plugin that is named there, are the decoder's to report (validateCommonQueueSort); here it
// is about what multiPoint and the defaults bring.
void check_queue_sort(const SchedulerConfig& config, const std::vector<ProfileSpec>& profiles,
                      Problems& errors) {
  const auto sorter = [](const ProfileSpec& profile) {
    const auto& sorters = profile.points[ExtensionPoint::kQueueSort];
    return sorters.size() == 1 ? sorters[0].name : std::string();
  };
  const auto written = [&config](std::size_t i) -> const PluginSet& {
    return config.profiles[i].plugins.points[ExtensionPoint::kQueueSort];
  };
  const std::string first = sorter(profiles[0]);
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const std::string mine = sorter(profiles[i]);
    if (first.empty() || mine.empty() || !(written(i) == written(0))) continue;
    const std::string name = go_quoted(profiles[i].scheduler_name);
    const std::string path = child_path(config.profiles[i].path, "plugins.queueSort");
    if (mine != first) {
      errors.push_back({path, config.profiles[i].at,
                        "different queue sort plugins for profile " + name + ": " +
                            go_quoted(mine) + ", first: " + go_quoted(first)});
    } else if (written(0).enabled.empty() &&
               profiles[i].args.at(mine) != profiles[0].args.at(first)) {
      errors.push_back(
          {path, config.profiles[i].at, "different queue sort plugin args for profile " + name});
    }
  }
}

}  // namespace

ProfileSpec expand_profile(const Profile& profile, const PluginRegistry& registry, Problems& errors,
                           Problems& warnings, const PluginMaker& make) {
  return Expander(profile, registry, errors, warnings, make).run();
}

Expansion expand_profiles(const SchedulerConfig& config, const PluginRegistry& registry,
                          const PluginMaker& make) {
  Expansion out;
  for (const Profile& profile : config.profiles) {
    out.profiles.push_back(expand_profile(profile, registry, out.errors, out.warnings, make));
  }
  if (!out.profiles.empty()) check_queue_sort(config, out.profiles, out.errors);
  sort_by_position(out.errors);
  sort_by_position(out.warnings);
  return out;
}

}  // namespace plimsoll::config
