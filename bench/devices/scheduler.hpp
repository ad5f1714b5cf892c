#pragma once
// The framework's runtime with the builtin plugins and NodeDevice from its .so, on a cluster in
// memory. It makes the calls of a scheduling cycle on one thread and binds nothing.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll::bench {

// The host of the plugins. It implements only what a scheduling cycle needs.
class Backend final : public HostBackend {
 public:
  explicit Backend(ClusterState& cluster) : cluster_(cluster) {}

  const plimsoll_node_info* node_by_name(std::string_view node_name) override;
  const plimsoll_node_info* node_by_slot(uint32_t slot) override;
  uint32_t slot_count() override { return cluster_.slot_count(); }
  void touch_node(uint32_t slot, uint32_t aspects) override { cluster_.touch(slot, aspects); }
  Result<void> watch(std::string_view, std::string_view, std::string_view) override { return {}; }
  void requeue_rejected(std::string_view) override {}
  void emit_event(std::string_view, const plimsoll_pod&, bool, std::string_view, std::string_view,
                  std::string_view) override {}
  const plimsoll_pod* pod_by_uid(std::string_view) override { return nullptr; }
  std::vector<WaitingPod> waiting_pods() override { return {}; }
  std::unique_ptr<WhatIf> what_if(const CycleContext&, const plimsoll_pod&, uint32_t) override {
    return nullptr;
  }
  void nominate(const plimsoll_pod&, std::string_view) override {}
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view) override { return {}; }
  bool cancel_binding(std::string_view, std::string_view) override { return false; }
  void allow_waiting(std::string_view, std::string_view) override {}
  void reject_waiting(std::string_view, std::string_view, std::string_view) override {}
  void post_binding(BindingPost, std::function<void(Result<void>)> done) override { done({}); }
  int64_t now_ms() override { return 0; }
  void activate(std::string_view) override {}
  void run_on_loop(int64_t, std::function<void()>) override {}
  void api_request(PluginRequest, ApiAnswer done) override { done(0, "there is no API server"); }

 private:
  ClusterState& cluster_;
};

// The decision on one pod. Times are CPU time of this thread in microseconds.
struct Decision {
  std::string node;       // empty: no node has room
  double device_us = 0;   // NodeDevice's Filter for every node and Score for nodes that fit
  double whole_us = 0;    // all plugins: PreFilter, Filter, PreScore, Score
  double reserve_us = 0;  // the choice of minors: Reserve of NodeDevice and of all other plugins
  size_t passed = 0;      // nodes that NodeDevice let pass
  std::string allocated;  // the annotation device-allocated
};

class BenchScheduler {
 public:
  // Throws std::runtime_error if the plugin cannot be loaded. `device_args`: JSON.
  BenchScheduler(const std::string& plugin_file, const std::string& device_args);
  ~BenchScheduler();

  void add_node(const NodeRef& node, std::string_view name, const std::string& device);
  // Schedules the pod and assigns its node and devices.
  Decision schedule(const PodRef& pod);

  [[nodiscard]] SymbolTable& symbols();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::bench
