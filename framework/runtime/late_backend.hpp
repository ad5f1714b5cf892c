#pragma once
// The backend of plugins that are created before their scheduler. Requests are kept and passed on
// to the scheduler once there is one. Queries find nothing.

#include <functional>
#include <mutex>
#include <vector>

#include "framework/runtime/host_backend.hpp"

namespace plimsoll {

// pass_on() is for the main thread, all other functions for any thread.
class LateBackend final : public HostBackend {
 public:
  ~LateBackend() override;

  // Passes all calls to the scheduler, which outlives them.
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

  std::mutex mutex_;  // guards backend_ and later_
  HostBackend* backend_ = nullptr;
  std::vector<Call> later_;
};

}  // namespace plimsoll
