#pragma once
// What plugins ask of the scheduler. See HostBackend for threads and lifetimes.

#include "framework/cycle/bindings.hpp"
#include "framework/cycle/loop_state.hpp"
#include "framework/placement/cluster_backend.hpp"

namespace plimsoll {

class Host final : public ClusterBackend {
 public:
  Host(LoopState& state, Bindings& bindings)
      : ClusterBackend(state.cluster, state.nominator), state_(state), bindings_(bindings) {}

  Result<void> watch(const WantedKind& kind) override;
  void requeue_rejected(std::string_view plugin) override;
  void emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
                  std::string_view reason, std::string_view action,
                  std::string_view note) override {
    state_.emit_event(scheduler_name, pod, warning, reason, action, note);
  }
  void allow_waiting(std::string_view plugin, std::string_view pod_uid) override;
  void reject_waiting(std::string_view plugin, std::string_view pod_uid,
                      std::string_view message) override;
  void post_binding(BindingPost post, std::function<void(Result<void>)> done) override;
  int64_t now_ms() override { return state_.now_ms(); }
  const plimsoll_pod* pod_by_uid(std::string_view uid) override;
  std::vector<WaitingPod> waiting_pods() override { return bindings_.waiting_pods(); }
  std::unique_ptr<WhatIf> what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                  uint32_t slot) override;
  void nominate(const plimsoll_pod& pod, std::string_view node_name) override;
  bool cancel_binding(std::string_view pod_uid, std::string_view message) override {
    return !given_up() && bindings_.cancel(pod_uid, message);
  }
  bool binding_cancelled(std::string_view pod_uid) override {
    return bindings_.is_cancelled(pod_uid);
  }
  bool add_amounts(std::string_view pod_uid, plimsoll_list amounts) override {
    return state_.add_amounts(pod_uid, amounts);
  }
  void activate(std::string_view pod_uid) override;
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override;
  void api_request(PluginRequest request, ApiAnswer done) override;

 private:
  // Whether an attempt that was given up asks: what it found was only a part.
  [[nodiscard]] bool given_up() const {
    return state_.environment.gave_up() && state_.in_attempt();
  }

  LoopState& state_;
  Bindings& bindings_;
};

}  // namespace plimsoll
