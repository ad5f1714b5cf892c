#pragma once
// The gate between PreBind and Bind of one pod. Until the gate is passed, a preemptor may still
// cancel the binding; after that the pod will be bound. Kubernetes: CancelPod and MarkPrebound in
// pkg/scheduler/framework/runtime/pods_in_prebind_map.go.

#include <mutex>
#include <string>
#include <string_view>

namespace plimsoll {

// Any thread.
class PreBindGate {
 public:
  // False if it is too late. Only the first message is kept.
  bool cancel(std::string_view message) {
    const std::lock_guard lock(mutex_);
    if (passed_) return false;
    if (!cancelled_) message_ = message;
    cancelled_ = true;
    return true;
  }
  // False if the binding was cancelled.
  bool pass() {
    const std::lock_guard lock(mutex_);
    passed_ = !cancelled_;
    return passed_;
  }
  [[nodiscard]] bool cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // Why it was cancelled; only if cancelled() is true.
  [[nodiscard]] std::string message() const {
    const std::lock_guard lock(mutex_);
    return message_;
  }

 private:
  mutable std::mutex mutex_;
  bool passed_ = false;  // guarded by mutex_, like cancelled_ and message_
  bool cancelled_ = false;
  std::string message_;
};

}  // namespace plimsoll
