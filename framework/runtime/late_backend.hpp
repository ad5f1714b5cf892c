#pragma once
// The host of plugins whose scheduler is not there yet. What they ask for meanwhile they get from
// it once it comes; what they ask about does not exist.

#include <functional>
#include <mutex>
#include <vector>

#include "framework/runtime/host_backend.hpp"

namespace plimsoll {

// pass_on() on the main thread, the rest on any.
class LateBackend final : public HostBackend {
 public:
  ~LateBackend() override;

  // The scheduler has come; it outlives all calls.
  void pass_on(HostBackend& backend);

  const plimsoll_node_info* node_by_name(std::string_view) override { return nullptr; }
  const plimsoll_node_info* node_by_slot(uint32_t) override { return nullptr; }
  uint32_t slot_count() override { return 0; }
  void touch_node(uint32_t, uint32_t) override {}
  Result<void> watch(std::string_view group, std::string_view version,
                     std::string_view plural) override;
  void requeue_rejected(std::string_view) override {}
  void emit_event(std::string_view, const plimsoll_pod&, bool, std::string_view, std::string_view,
                  std::string_view) override {}
  void allow_waiting(std::string_view, std::string_view) override {}
  void reject_waiting(std::string_view, std::string_view, std::string_view) override {}
  void post_binding(BindingPost, std::function<void(Result<void>)> done) override;
  int64_t now_ms() override;
  const plimsoll_pod* pod_by_uid(std::string_view) override { return nullptr; }
  std::vector<WaitingPod> waiting_pods() override { return {}; }
  std::unique_ptr<plimsoll_what_if> what_if(const plimsoll_cycle&, const plimsoll_pod&,
                                            uint32_t) override;
  void nominate(const plimsoll_pod&, std::string_view) override {}
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view) override { return {}; }
  bool cancel_binding(std::string_view, std::string_view) override { return false; }
  void activate(std::string_view) override {}
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override;
  void api_request(PluginRequest request, ApiAnswer done) override;

 private:
  using Call = std::function<void(HostBackend*)>;  // null: there will be no scheduler
  void call(Call function);

  std::mutex mutex_;  // guards both
  HostBackend* backend_ = nullptr;
  std::vector<Call> later_;
};

}  // namespace plimsoll
