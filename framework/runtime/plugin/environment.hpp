#pragma once
// What all plugins of a process share across profiles: names, reasons, services and the tokens of
// unfinished bind steps. There is one per process. main creates it, and it outlives every
// Framework.

#include <plimsoll/plugin_abi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>

#include "framework/objects/object_store.hpp"
#include "framework/runtime/plugin/host_backend.hpp"
#include "framework/runtime/plugin/plugin_metrics.hpp"
#include "framework/runtime/plugin/status.hpp"

namespace plimsoll {

class SymbolTable;
namespace metrics {
struct SchedulerMetrics;
}

// Named, versioned tables that plugins publish for each other. Loop only.
class ServiceTable {
 public:
  ServiceTable();
  ~ServiceTable();
  // False if the name is taken.
  bool publish(std::string_view name, uint32_t version, const void* table);
  // Null unless published in `min_version` or later.
  [[nodiscard]] const void* find(std::string_view name, uint32_t min_version) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Bind steps that finish later. A token is a number that is never reused. If a plugin completes one
// twice or too late, this is logged and ignored. Any thread, but for close().
class TokenTable {
 public:
  using Then = std::function<void(int32_t code, std::string_view message)>;
  TokenTable();
  ~TokenTable();

  [[nodiscard]] plimsoll_token* issue(std::string_view plugin, Then then);
  // Runs `then` on the calling thread; false if the token is unknown or was used before.
  bool complete(plimsoll_token* token, int32_t code, std::string_view message);
  // Nobody waits for the steps any more: forgets all tokens, and returns when no step is being
  // ended on another thread.
  void close();
  // Withdraws a token whose step finished at once. False if the token was completed meanwhile.
  bool withdraw(plimsoll_token* token);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct Environment {
  Environment(SymbolTable& symbol_table, HostBackend& host_backend)
      : symbols(symbol_table), backend_(&host_backend) {}
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  SymbolTable& symbols;
  ReasonTable reasons;
  ServiceTable services;
  TokenTable tokens;
  ObjectStore objects;  // whoever runs the plugins keeps it; loop only
  PluginMetrics plugin_metrics;
  metrics::SchedulerMetrics* metrics = nullptr;  // null: nothing is measured

  // Answers the calls of plugins. It is replaced only before the plugins run; any thread may read
  // it.
  [[nodiscard]] HostBackend& backend() const { return *backend_.load(std::memory_order_acquire); }
  void set_backend(HostBackend& host_backend) { backend_.store(&host_backend); }

  // The scheduler is to end. Any thread.
  void ask_to_stop() { stop_asked_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool stop_asked() const { return stop_asked_.load(std::memory_order_relaxed); }
  // For whoever is about to go on with what takes long: true if it has to give up instead. The
  // attempt that is under way then counts as given up: nothing is made of it.
  [[nodiscard]] bool gives_up() {
    if (!stop_asked()) return false;
    gave_up_.store(true, std::memory_order_relaxed);
    return true;
  }
  [[nodiscard]] bool gave_up() const { return gave_up_.load(std::memory_order_relaxed); }

 private:
  std::atomic<HostBackend*> backend_;
  std::atomic<bool> stop_asked_{false};
  std::atomic<bool> gave_up_{false};
};

}  // namespace plimsoll
