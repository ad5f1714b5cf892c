#pragma once
// Writes to the API server over HTTP: bindings, pod conditions, events, and whatever else is
// written later.
//
// Each class of writes has its own queue, its own limit of requests under way and its own place in
// line, so that binds never wait behind events or condition patches; give binds an HttpClient of
// their own and they do not share a connection either. Retries go by the kind of error: see
// WriteOptions.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "framework/cycle/api_writer.hpp"
#include "informer/http_client.hpp"
#include "informer/write_fence.hpp"

namespace plimsoll::informer {

enum class WriteClass { kBind, kStatus, kEvent, kOther };
inline constexpr std::size_t kWriteClasses = 4;

struct WriteOptions {
  // Requests under way, by WriteClass: binds, pod status, events, others.
  std::array<std::size_t, kWriteClasses> in_flight{64, 16, 32, 16};
  // Events waiting; one more is dropped and counted. Enough for a burst of pods far above what an
  // API server takes per second, so that each of them gets its event in the end.
  std::size_t event_queue = 50'000;
  // A server error (500, 502, 503, 504), an unreachable server or a lost answer: so many tries in
  // all. A bind is tried for ever: see ServerWriter::bind. After so many tries it only gives up its
  // place among the requests under way for as long as it waits.
  int tries = 5;
  // 429: waits as long as the server asks (at most max_retry_after), so many times. Not for binds.
  int throttled_tries = 10;
  std::chrono::milliseconds first_delay{100};  // doubling, with jitter
  std::chrono::milliseconds max_delay{5'000};
  std::chrono::milliseconds max_retry_after{30'000};
  std::chrono::milliseconds timeout{15'000};  // of one try
  std::string reporting_instance;  // "<name>-<host>"; empty: "<scheduler name>-<host name>"
  // Set where several replicas elect a leader: nothing is sent while it is closed (kCancelled), and
  // no try lasts longer than it allows. It must outlive the writer.
  const WriteFence* fence = nullptr;
};

// Counters; any thread may read them.
struct WriteStats {
  std::array<std::atomic<std::uint64_t>, kWriteClasses> done{};     // succeeded
  std::array<std::atomic<std::uint64_t>, kWriteClasses> failed{};   // gave up
  std::array<std::atomic<std::uint64_t>, kWriteClasses> retried{};  // further tries
  std::atomic<std::uint64_t> events_dropped{0};
  std::atomic<std::uint64_t> binds_recovered{
      0};  // the answer was lost, but the pod was bound as asked
};

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

  // POST pods/NAME/binding with metadata.uid as the precondition. kConflict: another UID, or bound
  // to another node, or bound with other annotations. kNotFound: the pod is gone.
  //
  // The caller keeps the pod's place until `done` hears how it ended, so that must be true: whoever
  // gave the place away while the bind may still have been carried out would book it twice. Hence a
  // bind is tried (at last every max_delay) until the API server accepts or refuses it (4xx other
  // than 408 and 429) or stop() is called. When it is refused by 409, or in any way after an answer
  // was lost, the pod is read, for as long as that takes: if it is on this node with this UID and
  // these annotations, the bind has succeeded.
  void bind(BindRequest request, Done done) override;

  // POST events.k8s.io/v1. Best effort.
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

  // Waits until no event and no condition patch is waiting or under way: before stop(), so that the
  // last ones are written. False if some are left after `timeout`. Not from an I/O thread.
  bool drain(std::chrono::milliseconds timeout);

  // Whether every bind that was asked for has been answered.
  [[nodiscard]] bool binds_ended() const;

  // Gives up everything that waits (kCancelled). Requests under way end by themselves, or by
  // stopping the clients, and call their `done` then: the clients' stop() is what ends all
  // callbacks.
  void stop();

  [[nodiscard]] const WriteStats& stats() const;

 private:
  struct Lane;
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

// The bodies that are sent. Kubernetes' own texts and limits: notes are cut to 1024 bytes, ending
// in " ...".
[[nodiscard]] std::string binding_body(const BindRequest& request);
[[nodiscard]] std::string condition_body(const ConditionPatch& patch,
                                         std::chrono::system_clock::time_point now);
[[nodiscard]] std::string event_body(const EventRecord& event,
                                     const std::string& reporting_instance,
                                     std::chrono::system_clock::time_point now);

}  // namespace plimsoll::informer
