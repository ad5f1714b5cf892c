#pragma once
// Writes to the API server over HTTP: bindings, pod conditions, events, and any other write.
//
// Each class of writes has its own queue and its own window of requests under way, so binds never
// wait behind events or condition patches. If binds get an HttpClient of their own, they do not
// share a connection either. Retries depend on the kind of error: see WriteOptions.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/port/api_writer.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_bodies.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::informer {

class ConditionWriter;
class EventRecorder;

// Implements the framework's writer over HTTP, and offers the same retries for any other write. All
// functions may be called from any thread and return at once; callbacks run on the I/O thread of
// the client used and must not block.
class ServerWriter final : public ApiWriter {
 public:
  // `binds` carries binds only, `others` everything else; they may be the same. Both must outlive
  // the writer.
  ServerWriter(HttpClient& binds, HttpClient& others, WriteOptions options = {});
  ~ServerWriter() override;  // calls stop()
  ServerWriter(const ServerWriter&) = delete;
  ServerWriter& operator=(const ServerWriter&) = delete;

  // POST pods/NAME/binding with metadata.uid and metadata.resourceVersion as the preconditions.
  // kConflict: another UID, or bound to another node, or bound with other annotations, or it keeps
  // changing. kNotFound: the pod is gone.
  //
  // The caller keeps the pod's resources reserved until `done` reports the result, so that result
  // must be true: resources released while the bind may still be carried out would be booked twice.
  // Hence a bind is retried (in the end every max_delay) until the API server accepts or refuses it
  // (4xx other than 408 and 429) or stop() is called. When it is refused by 409, or in any way
  // after an answer was lost, the writer reads the pod, for as long as that takes. If the pod is on
  // this node with this UID and these annotations, the bind has succeeded. If the pod has only
  // changed, the bind is sent once more for its new version: see BindWrite.
  void bind(BindRequest request, Done done) override;

  // POST to events.k8s.io/v1, or an update of a series: see EventRecorder. Best effort.
  void record_event(EventRecord event) override;

  // Strategic-merge PATCH of pods/NAME/status, with the pod's UID and resource version as
  // preconditions. On 409 the pod is read. If it is gone, replaced by another pod, or bound by now,
  // the patch is dropped; otherwise it is retried with the version that was read (a few times; then
  // kConflict). A waiting patch is replaced by a newer one for the same pod, and dropped by a
  // bind() of the pod. A dropped or replaced patch reports success, because its content is
  // outdated. kNotFound: the pod is gone.
  void patch_condition(ConditionPatch patch, Done done) override;

  // A request of a plugin, with the same retries.
  void request(ApiRequest request, Answered done) override;

  // Any other request (leases, deletes with preconditions, ...), with the same retries. A retried
  // DELETE may answer 404 because an earlier try succeeded; a retried POST 409.
  using Answer = std::function<void(Result<HttpResponse>)>;
  void send(WriteClass write_class, HttpRequest request, Answer done);

  // Makes void all Bindings for these pods that another process may still have under way. It
  // touches each pod, so that none has the version named here any more. `note` is written into the
  // pods and must be unique to this process. `done` is called (on an I/O thread) once this is
  // certain for every pod, however long it takes. It is not called after stop().
  void void_bindings(std::vector<PodVersion> pods, std::string note, std::function<void()> done);

  // Waits until no writes except binds are waiting or under way. Call it before stop(), so that the
  // last events, condition patches and deletions are written. Returns false if some are left after
  // `timeout`. Must not be called on an I/O thread.
  bool drain(std::chrono::milliseconds timeout);

  // Whether every requested write has ended, so that none can reach the API server any more.
  [[nodiscard]] bool all_ended() const;

  // Cancels all waiting writes (kCancelled). Requests under way end by themselves or when their
  // clients stop, and call their `done` then. Only the clients' stop() ends all callbacks.
  void stop();

  [[nodiscard]] const WriteStats& stats() const;
  // Why the API server refuses all that is written; nothing: it does not.
  [[nodiscard]] std::optional<std::string> refusal() const { return queue_->refused().problem(); }
  [[nodiscard]] WriteLoad load(WriteClass write_class) const;

 private:
  HttpClient& others_;
  const std::shared_ptr<WriteQueue> queue_;
  const std::shared_ptr<ConditionWriter> conditions_;
  const std::shared_ptr<EventRecorder> events_;
};

}  // namespace plimsoll::informer
