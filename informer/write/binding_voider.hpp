#pragma once
// Makes void the Bindings that a dead process may have sent and the API server has not carried out
// yet.
//
// A Binding names the version of the pod that it was decided for (BindRequest::resource_version).
// The API server, or a proxy in front of it, may delay a Binding for longer than its sender lives.
// It is then carried out after the next scheduler has read the pods and has given the resources
// away. Therefore the next scheduler touches the pods that it reads without a node: the write
// changes only a condition of our own, and thereby the version. The versions known to the previous
// scheduler are older than the one that was read, so its Bindings are refused from then on.
// Bindings carried out earlier are seen by reading the pods once more.
//
// No pod is decided on before the last one is handled: a Binding that is still under way for any
// pod may take room on any node, so the room of each pod is certain when all are, and not before.

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

// PATCH pods/NAME/status with that version as the precondition, retried until there is an answer.
// On success the pod no longer has that version (by this write or another one), or is gone. Errors:
// the write is refused (kUnauthorized, kInvalid), or cancelled by a stop (kCancelled).
void touch_pod(const std::shared_ptr<WriteQueue>& queue, const PodVersion& pod,
               const std::string& note, std::function<void(Result<void>)> done);

// Touches many pods, a limited number at a time. Kept alive by its jobs in the queue. A forbidden
// write is retried until it is allowed, because without that permission nothing would be certain. A
// pod whose status cannot be written (no longer valid, too large) is skipped with a warning: it
// must not block all others.
class BindingVoider : public std::enable_shared_from_this<BindingVoider> {
 public:
  // `client`: for pauses; must outlive the callbacks.
  BindingVoider(std::shared_ptr<WriteQueue> queue, HttpClient& client, std::vector<PodVersion> pods,
                std::string note, std::function<void()> done);

  // Call it once. `done` is called when every pod is handled; not if the queue is stopped before.
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
  std::size_t begun_ = 0;  // begun_, ended_ and said_forbidden_ are guarded by mutex_
  std::size_t ended_ = 0;
  bool said_forbidden_ = false;
};

}  // namespace plimsoll::informer
