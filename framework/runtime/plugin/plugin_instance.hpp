#pragma once
// One plugin of one profile: its table of functions, and the host table passed to it. Internal to
// the runtime.

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"
#include "framework/runtime/plugin/running_call.hpp"

// Identifies the plugin that calls the host.
struct plimsoll_host_ctx {
  plimsoll::Environment* env;
  std::string plugin;
  std::string scheduler_name;
  std::set<std::string, std::less<>> watched;  // "<plural>.<version>.<group>", or a core plural
  bool builtin = false;
  std::string version = {};
  std::string file = {};                                    // empty: built in
  plimsoll::ReasonQuota reasons = {4096, size_t{1} << 20};  // what is left of it

  [[nodiscard]] plimsoll::RunningCall::Plugin running() const {
    return {plugin.c_str(), version.c_str(), file.c_str()};
  }
};

namespace plimsoll {

// Fills in the functions that the host offers.
[[nodiscard]] plimsoll_host make_host_table(plimsoll_host_ctx* ctx);

// Returns and clears the text that plugins set with set_error on this thread since
// forget_plugin_error().
[[nodiscard]] std::string take_plugin_error();
void forget_plugin_error();

// While one lives, the warnings of plugins that this thread makes about their args, "args.PATH:
// text", are kept for whoever knows the file that the args are from, and not logged. One at a time.
class ArgsWarnings {
 public:
  ArgsWarnings();
  ~ArgsWarnings();
  ArgsWarnings(const ArgsWarnings&) = delete;
  ArgsWarnings& operator=(const ArgsWarnings&) = delete;

  // "PATH: text" each, or the text alone.
  std::vector<std::string> texts;
};

class PluginInstance {
 public:
  // Calls the plugin's create function. The error is the plugin's own text.
  static Result<std::unique_ptr<PluginInstance>> create(const ModuleRecord& module,
                                                        std::string_view args_json,
                                                        std::string_view scheduler_name,
                                                        Environment& env);
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  // Slots that the plugin did not fill are null, whatever the size of its table.
  [[nodiscard]] const plimsoll_plugin& slots() const { return slots_; }
  [[nodiscard]] void* self() const { return slots_.self; }
  [[nodiscard]] const std::string& name() const { return ctx_.plugin; }
  // What a RunningCall says of it.
  [[nodiscard]] const RunningCall::Plugin& running() const { return running_; }
  [[nodiscard]] bool implements(ExtensionPoint point) const;
  // Whether it is told that it starts, or of nodes, pods or objects.
  [[nodiscard]] bool is_told() const {
    return slots_.start != nullptr || slots_.node_event != nullptr || slots_.pod_event != nullptr ||
           slots_.object_event != nullptr;
  }
  [[nodiscard]] bool watches(std::string_view resource) const {
    return ctx_.watched.contains(resource);
  }
  // The result of events() when the plugin was created; empty without that function.
  [[nodiscard]] const std::vector<plimsoll_event_interest>& interests() const { return interests_; }

 private:
  PluginInstance(const ModuleRecord& module, std::string_view scheduler_name, Environment& env);

  plimsoll_host_ctx ctx_;
  RunningCall::Plugin running_ = ctx_.running();
  plimsoll_host host_{};
  plimsoll_plugin slots_{};
  std::vector<plimsoll_event_interest> interests_;
};

}  // namespace plimsoll
