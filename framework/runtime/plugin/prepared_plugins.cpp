#include "framework/runtime/plugin/prepared_plugins.hpp"

#include <optional>
#include <utility>

#include "framework/runtime/plugin/plugin_instance.hpp"

namespace plimsoll {

PreparedPlugins::PreparedPlugins(SymbolTable& symbols, metrics::Registry* registry)
    : env_(symbols, late_) {
  if (registry != nullptr) env_.plugin_metrics.show_in(*registry);
}

PreparedPlugins::~PreparedPlugins() {
  late_.drop();
}

Result<std::vector<ExtensionPoint>> PreparedPlugins::make(const Modules& modules,
                                                          const std::string& scheduler_name,
                                                          const std::string& plugin,
                                                          const std::string& args_json,
                                                          std::vector<std::string>* args_warnings) {
  std::unique_ptr<PluginInstance>& instance = made_[{scheduler_name, plugin, args_json}];
  if (instance == nullptr) {
    const ModuleRecord* module = modules.find(plugin);
    if (module == nullptr) {
      return fail(ErrorCode::kNotFound, "plugin " + in_quotes(plugin) + " does not exist");
    }
    std::optional<ArgsWarnings> warnings;
    if (args_warnings != nullptr) warnings.emplace();
    auto made = PluginInstance::create(*module, args_json, scheduler_name, env_);
    if (warnings) *args_warnings = std::move(warnings->texts);
    if (!made) return fail(made.error());
    instance = std::move(*made);
  }
  std::vector<ExtensionPoint> points;
  for (size_t i = 0; i < kExtensionPoints; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    if (instance->implements(point)) points.push_back(point);
  }
  if (points.empty() && !instance->is_told()) {
    instance = nullptr;
    return fail(ErrorCode::kInvalid,
                "the plugin would do nothing: it has none of the functions that a scheduler calls. "
                "Are their names misspelt? docs/plugins.md has them");
  }
  return points;
}

std::unique_ptr<PluginInstance> PreparedPlugins::take(const std::string& scheduler_name,
                                                      const std::string& plugin,
                                                      const std::string& args_json) {
  const auto found = made_.find({scheduler_name, plugin, args_json});
  if (found == made_.end()) return nullptr;
  auto instance = std::move(found->second);
  made_.erase(found);
  return instance;
}

void PreparedPlugins::pass_on(HostBackend& backend) {
  env_.set_backend(backend);
  late_.pass_on(backend);
}

}  // namespace plimsoll
