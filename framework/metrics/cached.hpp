#pragma once
// A handle that is looked up when it is first used: labels that never come up do not appear in
// /metrics, and those that do cost one load afterwards. Any thread.

#include <atomic>
#include <utility>

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

template <typename Handle>
class Cached {
 public:
  // `look_up` returns the handle, always the same one; it may run more than once.
  template <typename LookUp>
  [[nodiscard]] Handle get(LookUp&& look_up) {
    Handle handle;
    handle.cell_ = cell_.load(std::memory_order_acquire);
    if (handle.cell_ != nullptr) return handle;
    handle = std::forward<LookUp>(look_up)();
    cell_.store(handle.cell_, std::memory_order_release);
    return handle;
  }

 private:
  std::atomic<void*> cell_{nullptr};
};

}  // namespace plimsoll::metrics
