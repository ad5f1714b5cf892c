#include "config/profile/profile_merge.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::config {

PluginSet default_plugin_set(const PluginRegistry& registry) {
  PluginSet out;
  for (const DefaultPlugin& plugin : default_plugins()) {
    if (registry.find(plugin.name) == registry.end()) continue;
    PluginRef ref;
    ref.name = ref.written = plugin.name;
    if (plugin.weight != 0) ref.weight = plugin.weight;
    out.enabled.push_back(std::move(ref));
  }
  return out;
}

PluginSet merge_plugin_set(const PluginSet& defaults, const PluginSet& custom) {
  PluginSet out;
  out.disabled = custom.disabled;
  out.disabled.insert(out.disabled.end(), defaults.disabled.begin(), defaults.disabled.end());
  std::set<std::string_view> disabled;
  for (const PluginRef& plugin : out.disabled) disabled.insert(plugin.name);
  std::set<std::size_t> replacing;
  if (disabled.count("*") == 0) {
    for (const PluginRef& plugin : defaults.enabled) {
      if (disabled.count(plugin.name) != 0) continue;
      // If several custom entries have the name, the last one replaces the default; the others are
      // duplicates.
      const auto last =
          std::find_if(custom.enabled.rbegin(), custom.enabled.rend(),
                       [&](const PluginRef& mine) { return mine.name == plugin.name; });
      if (last == custom.enabled.rend()) {
        out.enabled.push_back(plugin);
      } else {
        out.enabled.push_back(*last);
        replacing.insert(static_cast<std::size_t>(custom.enabled.rend() - last) - 1);
      }
    }
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) {
    if (replacing.count(i) == 0) out.enabled.push_back(custom.enabled[i]);
  }
  return out;
}

}  // namespace plimsoll::config
