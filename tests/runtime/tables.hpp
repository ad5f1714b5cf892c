#pragma once
// For the tables of kube-scheduler's own tests of its framework runtime
// (pkg/scheduler/framework/runtime/framework_test.go): rows say which code each plugin of a profile
// answers with. Plugins are "A", "B", ... in the order of the row.

#include <string>
#include <vector>

#include "tests/runtime/support.hpp"

namespace plimsoll::testing {

using Codes = std::vector<int32_t>;

inline constexpr int32_t kSuccess = PLIMSOLL_SUCCESS;
inline constexpr int32_t kError = PLIMSOLL_ERROR;
inline constexpr int32_t kUnschedulable = PLIMSOLL_UNSCHEDULABLE;
inline constexpr int32_t kUnresolvable = PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE;
inline constexpr int32_t kWait = PLIMSOLL_WAIT;
inline constexpr int32_t kSkip = PLIMSOLL_SKIP;
inline constexpr int32_t kPending = PLIMSOLL_PENDING;

inline std::string plugin_letter(size_t i) {
  return std::string(1, static_cast<char>('A' + i));
}

// A function of a plugin that answers with the code; errors and rejections say "injected".
inline auto injected(int32_t code) {
  return [code](const sdk::Host& host, auto&&...) -> sdk::Status {
    if (code == PLIMSOLL_ERROR) return host.error("injected");
    const bool rejects = code == kUnschedulable || code == kUnresolvable || code == kPending;
    return {code, rejects ? host.reason("injected") : 0};
  };
}

// As many plugins as there are codes, at that point; nothing else but QueueSort and Bind.
inline ProfileSpec profile_at(ExtensionPoint point, size_t plugins) {
  ProfileSpec spec = minimal_profile();
  if (plugins != 0) spec.at(point).clear();
  for (size_t i = 0; i < plugins; ++i) spec.at(point).push_back({plugin_letter(i)});
  return spec;
}

// The letters of the plugins in the mask.
inline std::string letters(const Framework& framework, const PluginMask& mask) {
  std::string text;
  for (PluginIndex i = 0; i < framework.plugin_count(); ++i) {
    if (mask.test(i)) text += framework.plugin_name(i);
  }
  return text;
}

// The mask of plugins with these letters.
inline PluginMask mask_of(const Framework& framework, std::string_view wanted) {
  PluginMask mask;
  for (PluginIndex i = 0; i < framework.plugin_count(); ++i) {
    const std::string_view name = framework.plugin_name(i);
    if (name.size() == 1 && wanted.find(name) != std::string_view::npos) mask.set(i);
  }
  return mask;
}

// A status as one line: "Unschedulable by A: injected", "Error: ...", "Success", "Skip".
inline std::string text_of(const World& world, const Status& status) {
  std::string text = code_name(static_cast<int32_t>(status.code));
  if (status.rejected() && !status.plugin.empty()) text += " by " + std::string(status.plugin);
  const std::string message = world.message(status);
  return message.empty() ? text : text + ": " + message;
}

}  // namespace plimsoll::testing
