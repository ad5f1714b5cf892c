#pragma once
// What a plugin is doing on this thread, for whoever has to say why the process ended. The last
// words of a process are said in a signal handler, so a RunningCall is plain memory.

#include <plimsoll/plugin_abi.h>

#include <chrono>
#include <functional>

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

// When to say that something hangs: once when it is known, and then each time that it has lasted
// twice as long.
class HangReminder {
 public:
  // `busy`: how long it has been busy with one thing. It hangs after `after`.
  [[nodiscard]] bool due(std::chrono::nanoseconds busy, std::chrono::nanoseconds after) {
    if (busy < after) next_ = {};
    if (busy < after || busy < next_) return false;
    next_ = 2 * busy;
    return true;
  }

 private:
  std::chrono::nanoseconds next_{0};
};

// A call that the loop does not wait for: on a thread of the binders or of the API client, or where
// plugins are made. If it does not return, nobody else notices.
class LooseCall : public RunningCall {
 public:
  explicit LooseCall(const Plugin& plugin, const char* call, const plimsoll_pod* pod = nullptr);
  ~LooseCall();
  LooseCall(const LooseCall&) = delete;
  LooseCall& operator=(const LooseCall&) = delete;

  // Calls `say` of each that has not returned for `after`, as its HangReminder says. None of them
  // ends meanwhile. Any thread.
  static void each_that_hangs(
      std::chrono::nanoseconds after,
      const std::function<void(const RunningCall&, std::chrono::nanoseconds busy)>& say);

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  HangReminder reminder_;
};

}  // namespace plimsoll
