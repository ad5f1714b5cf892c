#pragma once
// Mirrors one kind of object: list, watch, and again, without losing or repeating anything.
//
// The semantics are those of the Kubernetes reflector. A first list at resourceVersion=0 (or a
// consistent one, or a streamed one) is followed by a watch with bookmarks. After a clean end the
// watch resumes from the last resource version. After 410 Gone the reflector lists again and
// delivers objects that vanished meanwhile as deletions. It remembers namespace, name, UID and
// resource version of every object; the objects themselves belong to the sink.
//
// A kind is *followed* while its list is complete and its watch is open. A watch that ends and is
// open again within a moment does not interrupt this. The kind is no longer followed if the next
// try fails too, takes longer, or the server cannot resume the watch. It is then listed again from
// the store, because a resumed watch does not say when it has delivered everything that was missed.
//
// 404 means that the kind is not served, but only once the API server reports that it is ready
// (/readyz): a server that was just started answers 404 for CRDs that it has not loaded yet. A kind
// that was served before must also be missing for a while (gone_after); its objects are then
// deleted.
//
// Everything happens on the HttpClient's I/O thread. The sink is called there and must not block.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/api/decode/decode.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/backoff.hpp"
#include "informer/watch/reflector_peers.hpp"
#include "informer/watch/resource_type.hpp"
#include "informer/wire/wire.hpp"

namespace plimsoll::informer {

// The field selector of pods that still use resources of their node.
inline constexpr std::string_view kUnfinishedPods = "status.phase!=Succeeded,status.phase!=Failed";

enum class ReflectorState {
  kListing,      // the first list, or one after 410 Gone
  kWatching,     // up to date
  kNotServed,    // the API server does not know the kind (CRD not installed); it is asked again now
                 // and then. Never a kind of the core group, which every API server serves.
  kRefused,      // 401 or 403, or no credential: retried with backoff
  kUnreachable,  // not reachable, throttled or failing: retried with backoff
  kStopped,
};
[[nodiscard]] std::string_view to_string(ReflectorState state);

// One object as received: its padded JSON text (kJsonPadding; items of a list lack apiVersion and
// kind), or its protobuf message.
struct WireObject {
  std::string_view bytes;
  Encoding encoding = Encoding::kJson;
};

// Receives the objects of one kind. Called only on the I/O thread, in the order of the events.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // The object is new or has changed. `initial`: it is part of the first list. An object with the
  // same name and another UID is deleted first.
  virtual void on_upsert(const WireObject& object, const ObjectKey& key, bool initial) = 0;

  // The object is gone. `last_known` is its last state if the server sent it. It is empty if the
  // deletion was noticed only by a list, or by a new object of the same name.
  virtual void on_delete(const ObjectKey& key, const WireObject& last_known) = 0;

  // The first list is delivered completely: the very first, or the first since the kind was not
  // served. The kind counts as followed from here on.
  virtual void on_synced() = 0;

  // The kind is no longer followed, or is followed again. `why`: the cause. `wanted`: it is only
  // listed afresh, by relist(). If that fails, the cause follows.
  virtual void on_followed(bool followed, std::string_view why, bool wanted) = 0;

  // An object that cannot be identified was skipped.
  virtual void on_malformed(std::string_view error) = 0;

  // The reflector entered a state, or the reason for its state changed, or a try failed again.
  // `text` says what happened, with the server's own message.
  virtual void on_state(ReflectorState state, std::string_view text) = 0;
};

struct ReflectorOptions {
  ResourceType resource;
  std::string field_selector;
  // Request protobuf, which only kinds built into the API server support. The server may still
  // answer in JSON.
  bool protobuf = false;
  // Request the first list as a stream (sendInitialEvents). Falls back to a list if the server
  // refuses.
  bool streaming_list = true;
  // Take the first list from the store, in pages. The API server's watch cache (resourceVersion=0)
  // may lag behind what this process itself wrote before it was restarted.
  bool consistent_first_list = false;
  std::size_t page_size = 500;  // of lists at the newest resource version
  // For errors that a retry is unlikely to fix: the server refuses us, or its answers cannot be
  // read.
  BackoffPolicy backoff;
  // The maximum delay for a server that cannot be reached, fails or throttles: it may recover at
  // any moment.
  std::chrono::milliseconds unavailable_maximum{1'000};
  // Retry-After is honoured up to `retry_after_maximum`. The limit is `retry_after_beside` while
  // other kinds are answered: then the server was just started and does not serve this kind yet.
  std::chrono::milliseconds retry_after_maximum{10'000};
  std::chrono::milliseconds retry_after_beside{250};
  // When another kind's answer shows that the server works, remaining waits are cut to this.
  std::chrono::milliseconds hurry{100};
  // A watch that is closed for longer than this is lost.
  std::chrono::milliseconds moment{1'000};
  // A watch request that is not answered for this long is retried.
  std::chrono::milliseconds open_timeout{10'000};
  // A kind that was served counts as gone after only 404 answers for this long.
  std::chrono::milliseconds gone_after{10'000};
  std::chrono::seconds watch_timeout_min{300};
  std::chrono::seconds watch_timeout_max{600};
  std::chrono::milliseconds list_idle_timeout{60'000};
  // The idle limit of a watch on a connection without PINGs. kube-apiserver sends about one
  // bookmark a minute.
  std::chrono::milliseconds watch_beat{150'000};
  std::chrono::milliseconds very_short_watch{1'000};
  std::chrono::milliseconds not_served_retry_min{10'000};
  std::chrono::milliseconds not_served_retry_max{30'000};
  // The reflectors of one client share it; null: this reflector has no peers.
  std::shared_ptr<ReflectorPeers> peers = nullptr;
};

// Counters; any thread may read them.
struct ReflectorStats {
  std::atomic<std::uint64_t> lists{0};      // begun
  std::atomic<std::uint64_t> watches{0};    // begun
  std::atomic<std::uint64_t> delivered{0};  // upserts and deletions
  std::atomic<std::uint64_t> unchanged{0};  // received again with the same UID and resource version
  std::atomic<std::uint64_t> malformed{0};  // skipped
  std::atomic<std::uint64_t> failures{0};   // tries that ended with a wait
  // Everything up to this resource version has reached the sink, as a number (KEP-5504); 0:
  // unknown.
  std::atomic<std::uint64_t> position{0};
};

class Reflector {
 public:
  // `client` and `sink` must live until stop() has returned.
  Reflector(HttpClient& client, ReflectorSink& sink, ReflectorOptions options);
  ~Reflector();  // calls stop()
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Starts. Any thread, once; returns at once.
  void start();

  // Lists again from the store, begun after this call. Then calls `done` on the I/O thread, after
  // the sink has received all differences, or that the kind is not served. Until then the kind is
  // not followed. Any thread, after start(); returns at once. A further call before the end starts
  // the list again; both callbacks are called. stop() drops them.
  void relist(std::function<void()> done);

  // Stops. Any thread. After it has returned, the sink is not called again (if called on the I/O
  // thread: at once).
  void stop();

  [[nodiscard]] const ReflectorStats& stats() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
