#pragma once
// Writes to the API server over HTTP: bindings, pod conditions, events, and whatever else is
// written later.
//
// Each class of writes has its own queue, its own window of requests under way and its own place in
// line, so that binds never wait behind events or condition patches; give binds an HttpClient of
// their own and they do not share a connection either. Retries go by the kind of error: see
// WriteOptions.

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

// The framework's writer over HTTP, and the same machinery for any other write. All functions may
// be called from any thread and return at once; callbacks run on the I/O thread of the client used
// and must not block.
class ServerWriter final : public ApiWriter {
 public:
  // `binds` carries binds only, `others` everything else; they may be the same. Both must outlive
  // the writer.
  ServerWriter(HttpClient& binds, HttpClient& others, WriteOptions options = {});
  ~ServerWriter() override;  // stop()
  ServerWriter(const ServerWriter&) = delete;
  ServerWriter& operator=(const ServerWriter&) = delete;

  // POST pods/NAME/binding with metadata.uid and metadata.resourceVersion as the preconditions.
  // kConflict: another UID, or bound to another node, or bound with other annotations, or it keeps
  // changing. kNotFound: the pod is gone.
  //
  // The caller keeps the pod's place until `done` hears how it ended, so that must be true: whoever
  // gave the place away while the bind may still have been carried out would book it twice. Hence a
  // bind is tried (at last every max_delay) until the API server accepts or refuses it (4xx other
  // than 408 and 429) or stop() is called. When it is refused by 409, or in any way after an answer
  // was lost, the pod is read, for as long as that takes: if it is on this node with this UID and
  // these annotations, the bind has succeeded. If it has only changed, the bind is sent once more
  // for its new version: see BindWrite.
  void bind(BindRequest request, Done done) override;

  // POST events.k8s.io/v1, or a further one of a series: see EventRecorder. Best effort.
  void record_event(EventRecord event) override;

  // Strategic-merge PATCH of pods/NAME/status, with the pod's UID and resource version as
  // preconditions. On 409 the pod is read: if it is gone, another one, or bound by now, the patch
  // is dropped, else it is tried with the version that was read (a few times; then kConflict). A
  // patch still waiting for the same pod is replaced by the newer one, and dropped by a bind() of
  // the pod. Whatever is dropped or replaced hears success: what it said is no longer true.
  // kNotFound: the pod is gone.
  void patch_condition(ConditionPatch patch, Done done) override;

  // With the same retries; for plugins.
  void request(ApiRequest request, Answered done) override;

  // Any other request (leases, deletes with preconditions, ...), with the same retries. A DELETE
  // that was retried may answer 404 for its own success; a POST 409.
  using Answer = std::function<void(Result<HttpResponse>)>;
  void send(WriteClass write_class, HttpRequest request, Answer done);

  // DELETE of a pod with a UID precondition: kConflict if the name belongs to another pod by now. A
  // pod that is already gone is a success.
  void delete_pod(std::string ns, std::string name, std::string uid, Done done);

  // Makes void what another process may still have under way to bind these pods: each is touched,
  // so that none of them has the version any more that is named here. `note` stands in the pods and
  // must be of this process only. `done` (on an I/O thread) is called when that is certain of every
  // pod, however long it takes, and not at all after stop().
  void void_bindings(std::vector<PodVersion> pods, std::string note, std::function<void()> done);

  // Waits until nothing but binds is waiting or under way: before stop(), so that the last events,
  // condition patches and deletions are written. False if some are left after `timeout`. Not from
  // an I/O thread.
  bool drain(std::chrono::milliseconds timeout);

  // Whether every write that was asked for has ended, so that none can reach the API server any
  // more.
  [[nodiscard]] bool all_ended() const;

  // Gives up everything that waits (kCancelled). Requests under way end by themselves, or by
  // stopping the clients, and call their `done` then: the clients' stop() is what ends all
  // callbacks.
  void stop();

  [[nodiscard]] const WriteStats& stats() const;
  [[nodiscard]] WriteLoad load(WriteClass write_class) const;

 private:
  HttpClient& others_;
  const std::shared_ptr<WriteQueue> queue_;
  const std::shared_ptr<ConditionWriter> conditions_;
  const std::shared_ptr<EventRecorder> events_;
};

}  // namespace plimsoll::informer
