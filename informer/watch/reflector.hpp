#pragma once
// Keeps one kind of object mirrored: list, watch, and again, without losing or repeating anything.
//
// The semantics are those of the Kubernetes reflector: a first list at resourceVersion=0 (or a
// consistent one, or a streamed one), then a watch with bookmarks; a clean end resumes from the
// last resource version; 410 Gone lists afresh, and what vanished meanwhile is delivered as a
// deletion. The reflector remembers namespace, name, UID and resource version of every object, not
// the objects: those belong to the sink.
//
// A kind is *followed* while its list is complete and its watch open. A watch that ends and is open
// again within a moment was followed all the time; one whose next try fails too, or takes longer,
// or that the server cannot resume, was not. It is then listed afresh, from the store: nothing
// would say when a watch that resumes has told all that was missed.
//
// 404 means that the kind is not served only once the API server calls itself ready (/readyz): one
// that was just started answers so for CRDs that it does not know of yet. A kind that was served
// before has to be missing for a while besides (gone_after); what was known of it is then deleted.
//
// Everything happens on the HttpClient's I/O thread. The sink is called there and must not block.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/api/decode.hpp"
#include "informer/http/http_client.hpp"
#include "informer/watch/backoff.hpp"
#include "informer/watch/reflector_peers.hpp"
#include "informer/wire/wire.hpp"

namespace plimsoll::informer {

// The field selector of pods that still hold something on their node.
inline constexpr std::string_view kUnfinishedPods = "status.phase!=Succeeded,status.phase!=Failed";

// A kind as the API server addresses it. The core group is "".
struct ResourceType {
  std::string group;
  std::string version;
  std::string plural;

  [[nodiscard]] std::string path()
      const;  // "/api/v1/pods", "/apis/topology.node.k8s.io/v1alpha2/..."
  [[nodiscard]] std::string text()
      const;  // "pods", "noderesourcetopologies.v1alpha2.topology.node.k8s.io"

  // The inverse of text(), for kinds outside of the core group: "<plural>.<version>.<group>".
  [[nodiscard]] static Result<ResourceType> parse(std::string_view text);
};

enum class ReflectorState {
  kListing,      // the first list, or one after 410 Gone
  kWatching,     // up to date
  kNotServed,    // the API server does not know the kind (CRD not installed); asked again now and
                 // then. Never a kind of the core group, which every API server serves.
  kRefused,      // 401 or 403, or no credential: tried again with backoff
  kUnreachable,  // not reachable, throttled or failing: tried again with backoff
  kStopped,
};
[[nodiscard]] std::string_view to_string(ReflectorState state);

// One object as it came: its JSON text, padded (kJsonPadding), where items of a list lack
// apiVersion and kind; or its protobuf message.
struct WireObject {
  std::string_view bytes;
  Encoding encoding = Encoding::kJson;
};

// Receives one kind of object. Called on the I/O thread only, in the order in which things
// happened.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;

  // The object is new or has changed. `initial`: part of the first list. An object of the same name
  // with another UID is deleted first.
  virtual void on_upsert(const WireObject& object, const ObjectKey& key, bool initial) = 0;

  // The object is gone. `last_known` is its last state if the server sent it, empty if the deletion
  // was only noticed by a list or by a namesake.
  virtual void on_delete(const ObjectKey& key, const WireObject& last_known) = 0;

  // The first list is delivered completely: of all, or since the kind was not served. The kind
  // counts as followed from here on.
  virtual void on_synced() = 0;

  // The kind is followed no more, or again. `why`: what went wrong.
  virtual void on_followed(bool followed, std::string_view why) = 0;

  // An object that cannot even be told apart from others was skipped.
  virtual void on_malformed(std::string_view error) = 0;

  // A state was entered, or its reason changed. `text` says what happened, with the server's own
  // message.
  virtual void on_state(ReflectorState state, std::string_view text) = 0;
};

struct ReflectorOptions {
  ResourceType resource;
  std::string field_selector;
  // Ask for protobuf, which only kinds that are built into the API server have; it may answer JSON
  // nevertheless.
  bool protobuf = false;
  // Ask for the first list as a stream (sendInitialEvents). Falls back to a list if the server
  // refuses.
  bool streaming_list = true;
  // Take the first list from the store, in pages, and not from the API server's watch cache
  // (resourceVersion=0), which may lag behind what this process itself wrote before it was
  // restarted.
  bool consistent_first_list = false;
  std::size_t page_size = 500;  // of lists at the newest resource version
  // Its maximum is for what another try is not likely to mend: we are refused, or what comes cannot
  // be read.
  BackoffPolicy backoff;
  // The same for a server that cannot be reached, fails or throttles: it may work at any moment.
  std::chrono::milliseconds unavailable_maximum{1'000};
  // Retry-After is honoured up to so much; while other kinds are answered, it is a server that was
  // just started and has not come to this kind yet.
  std::chrono::milliseconds retry_after_maximum{10'000};
  std::chrono::milliseconds retry_after_beside{250};
  // A wait for a server that turns out to work, by another kind's answer, is cut to at most this.
  std::chrono::milliseconds hurry{100};
  // A watch that is not open for longer than this is lost.
  std::chrono::milliseconds moment{1'000};
  // A watch that is not answered for so long is tried again.
  std::chrono::milliseconds open_timeout{10'000};
  // A kind that was served is taken for gone after so long a time of nothing but 404.
  std::chrono::milliseconds gone_after{10'000};
  std::chrono::seconds watch_timeout_min{300};
  std::chrono::seconds watch_timeout_max{600};
  std::chrono::milliseconds list_idle_timeout{60'000};
  // Without even a bookmark, of which kube-apiserver sends about one a minute, on a connection that
  // cannot be asked whether it lives.
  std::chrono::milliseconds watch_beat{150'000};
  std::chrono::milliseconds very_short_watch{1'000};
  std::chrono::milliseconds not_served_retry_min{10'000};
  std::chrono::milliseconds not_served_retry_max{30'000};
  // All reflectors of one client; null: this one has none.
  std::shared_ptr<ReflectorPeers> peers = nullptr;
};

// Counters; any thread may read them.
struct ReflectorStats {
  std::atomic<std::uint64_t> lists{0};      // begun
  std::atomic<std::uint64_t> watches{0};    // begun
  std::atomic<std::uint64_t> delivered{0};  // upserts and deletions
  std::atomic<std::uint64_t> unchanged{0};  // seen again with the same UID and resource version
  std::atomic<std::uint64_t> malformed{0};  // skipped
  std::atomic<std::uint64_t> failures{0};   // tries that ended in a wait
};

class Reflector {
 public:
  // `client` and `sink` must live until stop() has returned.
  Reflector(HttpClient& client, ReflectorSink& sink, ReflectorOptions options);
  ~Reflector();  // stop()
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Begins. Any thread, once; returns at once.
  void start();

  // Lists afresh, from the store itself and begun after this call, and then calls `done` on the I/O
  // thread, after the sink has heard of all that differed, or of the kind not being served. Until
  // then the kind is not followed. Any thread, after start(); returns at once. A further call
  // before the end begins once more; both are told. Dropped by stop().
  void relist(std::function<void()> done);

  // Ends. Any thread; when it returns, the sink is not called again (from the I/O thread: at once).
  void stop();

  [[nodiscard]] const ReflectorStats& stats() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
