#pragma once
// What a plugin is doing on this thread, for whoever has to say why the process ended. The last
// words of a process are said in a signal handler, so everything here is plain memory.

#include <plimsoll/plugin_abi.h>

namespace plimsoll {

// One call of a plugin's function, as long as it lives. Calls nest: a plugin may cause the call of
// another one. The plugin and the texts outlive it.
class RunningCall {
 public:
  struct Plugin {
    const char* name;
    const char* version;
    const char* file;  // "": built in
  };

  RunningCall(const Plugin& plugin, const char* call, const plimsoll_pod* pod = nullptr)
      : plugin_(&plugin), call_(call), pod_(pod), outer_(innermost_) {
    innermost_ = this;
  }
  RunningCall(Plugin&&, const char*, const plimsoll_pod* = nullptr) = delete;
  ~RunningCall() { innermost_ = outer_; }
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

  // The innermost one of this thread; null: no plugin runs.
  [[nodiscard]] static const RunningCall* innermost() { return innermost_; }

  [[nodiscard]] const Plugin& plugin() const { return *plugin_; }
  [[nodiscard]] const char* call() const { return call_; }
  [[nodiscard]] const plimsoll_pod* pod() const { return pod_; }

 private:
  static inline thread_local constinit const RunningCall* innermost_ = nullptr;

  const Plugin* plugin_;
  const char* call_;
  const plimsoll_pod* pod_;
  const RunningCall* outer_;
};

}  // namespace plimsoll
