#pragma once
// One scheduling attempt of one pod: Kubernetes' CycleState. The C++ side of `plimsoll_cycle`.
//
// The cycle creates it with Framework::new_cycle(), uses it on the loop, then passes it to the
// binding. Before begin_binding(), reads may be concurrent but writes may not. After that, several
// binder threads may use it at once. What-ifs use a clone().

#include <plimsoll/plugin_abi.h>

#include <atomic>
#include <bitset>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {

class Framework;

// A set of plugins of one Framework, by PluginIndex.
inline constexpr size_t kMaxPlugins = 128;
using PluginMask = std::bitset<kMaxPlugins>;

}  // namespace plimsoll

struct plimsoll_cycle {
 public:
  using Annotations = std::vector<std::pair<std::string, std::string>>;

  explicit plimsoll_cycle(const plimsoll::Framework* owner) : framework(owner) {}
  plimsoll_cycle(const plimsoll_cycle&) = delete;
  plimsoll_cycle& operator=(const plimsoll_cycle&) = delete;

  // A copy for a what-if. Values are cloned; values without a clone function are shared.
  // Annotations and skip sets are copied.
  [[nodiscard]] std::unique_ptr<plimsoll_cycle> clone() const;

  void set_state(plimsoll_symbol key, void* value, void* (*clone)(const void*),
                 void (*drop)(void*));
  [[nodiscard]] void* get_state(plimsoll_symbol key) const;  // null: none

  // An annotation of the Binding; a later value for the same key replaces the earlier one.
  void annotate(std::string_view key, std::string_view value);
  [[nodiscard]] Annotations annotations() const;

  // After this call, several threads may use the object.
  void begin_binding() { binding_.store(true, std::memory_order_release); }

  const plimsoll::Framework* framework;
  plimsoll::PluginMask skip_filter;  // PreFilter returned Skip: no Filter, AddPod, RemovePod
  plimsoll::PluginMask skip_score;   // PreScore returned Skip
  plimsoll::PluginMask skip_pre_bind;
  plimsoll::PluginMask parallel_pre_bind;
  // The newest known version of the pod when its binding begins; empty: the version of the attempt.
  std::string pod_version;
  bool time_plugins = false;  // recordPluginMetrics: this cycle is sampled
  // Plugins that answered Pending in what-ifs of this cycle: what they wait for may make room too.
  mutable plimsoll::PluginMask pending_in_what_ifs;

 private:
  struct Entry {
    plimsoll_symbol key;
    std::shared_ptr<void> value;
    void* (*clone)(const void*);
    void (*drop)(void*);
  };

  [[nodiscard]] std::unique_lock<std::mutex> guard() const;

  std::vector<Entry> entries_;
  Annotations annotations_;
  std::atomic<bool> binding_{false};
  mutable std::mutex mutex_;
};

namespace plimsoll {
using CycleContext = plimsoll_cycle;
}  // namespace plimsoll
