#pragma once
// Plugins that are made while a profile file is checked, and run afterwards: each once, with its
// args. Which extension points a plugin has is known only once it is made.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "framework/runtime/plugin/late_backend.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll {

class PluginInstance;

// Main thread, until a scheduler takes it over.
class PreparedPlugins {
 public:
  // Both outlive this; `registry`: where the plugins' metrics are shown, null: nowhere.
  explicit PreparedPlugins(SymbolTable& symbols, metrics::Registry* registry = nullptr);
  ~PreparedPlugins();
  PreparedPlugins(const PreparedPlugins&) = delete;
  PreparedPlugins& operator=(const PreparedPlugins&) = delete;

  // The extension points of the plugin, made for this profile with these args if it was not yet.
  // Fails in the words of the plugin's constructor, and where the scheduler would never call the
  // plugin. What the constructor warns about its args, "path: text"
  // each, is put into `args_warnings`; null: it is logged.
  [[nodiscard]] Result<std::vector<ExtensionPoint>> make(
      const Modules& modules, const std::string& scheduler_name, const std::string& plugin,
      const std::string& args_json, std::vector<std::string>* args_warnings = nullptr);
  // What make() has made for the same; null: nothing, or it was taken.
  [[nodiscard]] std::unique_ptr<PluginInstance> take(const std::string& scheduler_name,
                                                     const std::string& plugin,
                                                     const std::string& args_json);

  // What the plugins share; outlives them.
  [[nodiscard]] Environment& env() { return env_; }
  // The scheduler that runs them has come (LateBackend).
  void pass_on(HostBackend& backend);

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // profile, plugin, args

  LateBackend late_;
  Environment env_;
  std::map<Key, std::unique_ptr<PluginInstance>> made_;
};

}  // namespace plimsoll
