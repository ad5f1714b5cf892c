#pragma once
// The backend of plugins that are created before their scheduler. What they ask for is kept and
// passed on to the scheduler once there is one. Queries find nothing.

#include <functional>
#include <mutex>
#include <vector>

#include "framework/runtime/plugin/host_backend.hpp"

namespace plimsoll {

// pass_on() and drop() are for the main thread, all other functions for any thread.
class LateBackend final : public HostBackend {
 public:
  // Passes all calls to the scheduler, which outlives them.
  void pass_on(HostBackend& backend);
  // There will be no scheduler, unless there is one already: answers what was kept. To be called
  // while the plugins are still there.
  void drop();

  Result<void> watch(const WantedKind& kind) override;
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override;
  void api_request(PluginRequest request, ApiAnswer done) override;

 private:
  using Call = std::function<void(HostBackend*)>;  // null: there will be no scheduler
  void call(Call function);

  std::mutex mutex_;  // guards all of it
  HostBackend* backend_ = nullptr;
  bool dropped_ = false;
  std::vector<Call> later_;
};

}  // namespace plimsoll
