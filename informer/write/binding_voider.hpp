#pragma once
// Makes void what a process that is no more may have sent and the API server has not carried out
// yet.
//
// A Binding names the version of the pod that it was decided for (BindRequest::resource_version).
// One that the API server, or something in front of it, holds back for longer than its sender lives
// is carried out when the next scheduler has read the pods and has given the place away. So the
// next one touches the pods that it reads without a node: a write that changes nothing but a
// condition of our own, and the version. What the one before had seen is older than what was read,
// so its Bindings are refused from then on; whatever was carried out before is seen by reading the
// pods once more.

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_bodies.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::informer {

// PATCH pods/NAME/status with that version as the precondition, tried until there is an answer. A
// success: the pod has that version no more, by this write or by another one, or is gone. An error:
// the write is refused (kUnauthorized, kInvalid), or given up by a stop (kCancelled).
void touch_pod(const std::shared_ptr<WriteQueue>& queue, const PodVersion& pod,
               const std::string& note, std::function<void(Result<void>)> done);

// Touches many pods, a number of them at a time. Kept alive by its jobs in the queue. What is
// forbidden is tried until it is not: without that right nothing would be certain. A pod whose
// status cannot be written for what it is (no longer valid, too large) is left out, with a warning:
// it must not stop all others.
class BindingVoider : public std::enable_shared_from_this<BindingVoider> {
 public:
  // `client`: for pauses; must outlive the callbacks.
  BindingVoider(std::shared_ptr<WriteQueue> queue, HttpClient& client, std::vector<PodVersion> pods,
                std::string note, std::function<void()> done);

  // Once. `done` is called when every pod is dealt with; not if the queue is stopped before.
  void begin();

 private:
  void next();
  void touch(std::size_t index);
  void ended(std::size_t index, const Result<void>& result);

  const std::shared_ptr<WriteQueue> queue_;
  HttpClient& client_;
  const std::vector<PodVersion> pods_;
  const std::string note_;
  const std::function<void()> done_;
  std::mutex mutex_;
  std::size_t begun_ = 0;  // guarded by mutex_, as the next two
  std::size_t ended_ = 0;
  bool said_forbidden_ = false;
};

}  // namespace plimsoll::informer
