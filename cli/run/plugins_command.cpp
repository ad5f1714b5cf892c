#include <plimsoll/join.hpp>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/line/failure.hpp"
#include "cli/line/table.hpp"
#include "cli/run/commands.hpp"
#include "cli/run/wiring.hpp"

namespace plimsoll::cli {
namespace {

nlohmann::json as_json(const Modules& modules) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const auto& record : modules.records()) {
    nlohmann::json plugin{
        {"name", record->name}, {"version", record->version}, {"loaded", record->loaded}};
    plugin["path"] = record->path.empty() ? "builtin" : record->path;
    if (!record->license.empty()) plugin["license"] = record->license;
    if (record->loaded) {
      const auto points = modules.extension_points(record->name);
      plugin["extensionPoints"] = nlohmann::json::array();
      if (!points) plugin["unknown"] = points.error().message;
      for (const ExtensionPoint point : points.value_or(std::vector<ExtensionPoint>{})) {
        plugin["extensionPoints"].push_back(name(point));
      }
    } else {
      plugin["refused"] = record->refusal;
    }
    plugins.push_back(std::move(plugin));
  }
  return plugins;
}

}  // namespace

int list_plugins(const PluginsArguments& arguments) {
  const auto modules = load_modules(arguments.plugin_directories);
  if (!modules) {
    std::cerr << "plimsoll plugins: " << modules.error().message << "\n";
    return 1;
  }
  const nlohmann::json plugins = as_json(*modules);
  if (arguments.output == "json") {
    std::cout << plugins.dump(2) << "\n";
    return 0;
  }
  Table table({"NAME", "VERSION", "FROM", "EXTENSION POINTS"});
  bool refused = false;
  for (const auto& plugin : plugins) {
    if (plugin["loaded"].get<bool>()) {
      // Notes before ABI 1.4 do not state them, and creating the plugin may require args.
      const std::string points =
          plugin.contains("unknown")
              ? "known with its args only: " + plugin["unknown"].get<std::string>()
              : sdk::join(plugin["extensionPoints"].get<std::vector<std::string>>(), ",");
      table.add({plugin["name"], plugin["version"], plugin["path"], points});
    } else {
      refused = true;
    }
  }
  std::cout << table.text();
  if (refused) std::cout << "\nRefused:\n";
  for (const auto& plugin : plugins) {
    if (!plugin["loaded"].get<bool>()) {
      std::cout << "  " << plugin["refused"].get<std::string>() << "\n";
    }
  }
  return 0;
}

}  // namespace plimsoll::cli
