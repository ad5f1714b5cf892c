#pragma once
// A handle that is looked up on first use. Label values that are never used do not appear in
// /metrics; for the others, each later use costs one load. Any thread.

#include <atomic>
#include <utility>

#include "framework/metrics/registry.hpp"

namespace plimsoll::metrics {

template <typename Handle>
class Cached {
 public:
  // `look_up` must always return the same handle; it may run more than once.
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
