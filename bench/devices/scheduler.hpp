#pragma once
// The framework's runtime with the builtin plugins and NodeDevice from its .so, on a cluster in
// memory: what a scheduling cycle calls, one thread, nothing bound.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll::bench {

// What plugins ask of the scheduler. Only what is asked for in a scheduling cycle has an answer.
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

// What one pod came to; times in microseconds of this thread on a CPU.
struct Decision {
  std::string node;       // empty: none has room
  double device_us = 0;   // Filter of every node and Score of those that fit, by NodeDevice
  double whole_us = 0;    // all plugins: PreFilter, Filter, PreScore, Score
  double reserve_us = 0;  // the choice of minors, by NodeDevice and whoever else reserves
  size_t passed = 0;      // nodes that NodeDevice let pass
  std::string allocated;  // the annotation device-allocated
};

class BenchScheduler {
 public:
  // Throws std::runtime_error if the plugin cannot be loaded. `device_args`: JSON.
  BenchScheduler(const std::string& plugin_file, const std::string& device_args);
  ~BenchScheduler();

  void add_node(const NodeRef& node, std::string_view name, const std::string& device);
  // Decides about the pod, and gives it its node and devices.
  Decision schedule(const PodRef& pod);

  [[nodiscard]] SymbolTable& symbols();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::bench
