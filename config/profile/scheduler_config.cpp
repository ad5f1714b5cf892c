#include "config/profile/scheduler_config.hpp"

#include <algorithm>

namespace plimsoll::config {
namespace {

constexpr std::array<std::string_view, kExtensionPoints> kFieldNames = {
    "preEnqueue", "queueSort", "preFilter", "filter",  "postFilter", "preScore",
    "score",      "reserve",   "permit",    "preBind", "bind",       "postBind"};

// No weight is a weight of 0.
bool same_plugins(const std::vector<PluginRef>& a, const std::vector<PluginRef>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const PluginRef& one, const PluginRef& other) {
        return one.name == other.name && one.weight.value_or(0) == other.weight.value_or(0);
      });
}

}  // namespace

std::string_view field_name(ExtensionPoint point) {
  return kFieldNames[static_cast<std::size_t>(point)];
}

std::array<ExtensionPoint, kExtensionPoints> all_extension_points() {
  std::array<ExtensionPoint, kExtensionPoints> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<ExtensionPoint>(i);
  return out;
}

bool PluginSet::operator==(const PluginSet& other) const {
  return same_plugins(enabled, other.enabled) && same_plugins(disabled, other.disabled);
}

Problem PluginArgs::problem(std::string_view path_in_args, std::string message) const {
  std::string full = path.empty() ? "args of plugin " + name : path;
  if (!path_in_args.empty() && path_in_args[0] == '[') {
    full += path_in_args;
  } else if (!path_in_args.empty()) {
    full = child_path(full, path_in_args);
  }
  const Position at = path.empty() ? named_at : locate(source, path_in_args);
  return {std::move(full), at, std::move(message)};
}

}  // namespace plimsoll::config
