#pragma once
// The API server's side of the inbox: one reflector per kind, typed decoding, messages in order.
//
// Pods (all but the finished ones), nodes, and every further kind that plugins ask for. Objects are
// decoded on the I/O thread into immutable values, so that the scheduler loop never sees JSON of
// pods and nodes.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/port/inbox.hpp"
#include "informer/watch/reflector.hpp"

namespace plimsoll::informer {

struct InformerOptions {
  // Kinds besides pods and nodes; watch() adds more later.
  std::vector<ResourceType> kinds;
  // Pods and nodes in protobuf, if the server has it: half the server's CPU and of the time until
  // all are there (docs/performance.md).
  bool protobuf = true;
  // Timing and list mode of every reflector; its resource and field selector are filled in here,
  // and that the first list of pods is consistent.
  ReflectorOptions reflector;
};

// How one kind is doing; for readiness, logs and metrics.
struct KindStatus {
  std::string resource;  // "pods", "nodes", "<plural>.<version>.<group>"
  ReflectorState state = ReflectorState::kStopped;
  std::string text;       // why, with the server's message
  bool synced = false;    // the first list is delivered, or the kind is not served
  bool followed = false;  // nothing is missing: synced, and the watch is open (but for a moment)
  std::uint64_t objects = 0;
  std::uint64_t malformed = 0;   // objects that could not be read, or only in part
  std::uint64_t unreadable = 0;  // pods that are there now and were read only in part
  double decode_seconds = 0;     // spent on reading objects, all and the longest one
  double decode_longest = 0;
  std::uint64_t lists = 0;
  std::uint64_t delivered = 0;
  std::uint64_t watches = 0;   // begun
  std::uint64_t failures = 0;  // tries that ended in a wait
};

// Posts into the inbox, for each kind in the order of its events:
//  - PodUpserted, NodeUpserted, ObjectUpserted for what is new or changed;
//  - PodDeleted, NodeDeleted, ObjectDeleted for what is gone, also if that was only noticed later;
//    with the last state that was posted (of an ObjectDeleted: without its JSON text, which is not
//    kept). An object of which nothing was posted is not deleted either;
//  - KindSynced once a kind's first list has been posted, or when it turns out not to be served;
//    when it is served later on (CRD installed), KindSynced follows again, and when it is not
//    served any more;
//  - KindFollowed when a kind is followed no more, or again;
//  - ObjectMalformed for what cannot be decoded. Of a pod, what can be read of it follows: what is
//    not known of it must count against its node. Others are skipped, their previous state stays.
class ApiServerInformer {
 public:
  // `client`, `inbox` and `symbols` must live until stop() has returned.
  ApiServerInformer(HttpClient& client, Inbox& inbox, SymbolTable& symbols,
                    InformerOptions options = {});
  ~ApiServerInformer();  // stop()
  ApiServerInformer(const ApiServerInformer&) = delete;
  ApiServerInformer& operator=(const ApiServerInformer&) = delete;

  // Begins to list and watch. Any thread; returns at once.
  void start();

  // Adds a kind; KindSynced follows for it. Does nothing if it is watched already. Before or after
  // start(); any thread; returns at once.
  void watch(const ResourceType& kind);

  // Reads every kind afresh, as it is in the store after this call, and posts what differs from
  // what was posted before; until then it is not followed. Once pods and nodes are read, `done` is
  // called on the I/O thread, with the pods that might be bound: they have no node, no scheduling
  // gate, and are not being deleted. What was watched so far may lag behind: whoever takes over
  // from another scheduler must know of its last binding, and of all that a decision rests on,
  // before deciding anything. After start(); any thread; returns at once. `done` is dropped by
  // stop().
  using Relisted = std::function<void(std::vector<PodRef> unbound)>;
  void relist(Relisted done);
  void relist_pods(Relisted done);  // pods alone

  // Ends all reflectors. When it returns, nothing more is posted. Any thread.
  void stop();

  // Any thread.
  [[nodiscard]] std::vector<KindStatus> status() const;
  [[nodiscard]] bool synced() const;  // every kind

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
