#pragma once
// Feeds the inbox from the API server: one reflector per kind, typed decoding, messages in order.
//
// The kinds are pods (all but the finished ones), nodes, and every further kind that plugins ask
// for. Pods and nodes are decoded into immutable values on the I/O thread, so the scheduler loop
// never parses their JSON.

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
  // Request pods and nodes in protobuf, if the server has it: that halves the server's CPU time and
  // the time of the first list (docs/performance.md).
  bool protobuf = true;
  // Timing and list mode of every reflector. The informer sets the resource, the field selector,
  // and that the first list of pods is consistent.
  ReflectorOptions reflector;
};

// The state of one kind, for readiness, logs and metrics.
struct KindStatus {
  std::string resource;  // "pods", "nodes", "<plural>.<version>.<group>"
  ReflectorState state = ReflectorState::kStopped;
  std::string text;       // the reason, with the server's message
  bool synced = false;    // the first list is delivered, or the kind is not served
  bool followed = false;  // nothing is missing: synced, and the watch is open (short gaps aside)
  std::uint64_t objects = 0;
  std::uint64_t malformed = 0;   // objects that could not be read, or only partly
  std::uint64_t unreadable = 0;  // present objects that were read only partly, or not at all
  double decode_seconds = 0;     // time spent on decoding objects; in total and the longest
  double decode_longest = 0;
  std::uint64_t lists = 0;
  std::uint64_t delivered = 0;
  std::uint64_t watches = 0;   // started
  std::uint64_t failures = 0;  // tries that ended with a wait
  std::uint64_t position = 0;  // see ReflectorStats
};

// Posts into the inbox, for each kind in the order of its events:
//  - PodUpserted, NodeUpserted, ObjectUpserted for new and changed objects;
//  - PodDeleted, NodeDeleted, ObjectDeleted for objects that are gone, even if that was noticed
//    later. They carry the last state that was posted (ObjectDeleted: without its JSON text, which
//    is not kept). An object that was never posted is not deleted either;
//  - KindSynced once a kind's first list has been posted, or when it turns out that the kind is not
//    served. KindSynced follows again when the kind is served later (CRD installed), and when it is
//    no longer served;
//  - KindFollowed when a kind is no longer followed, or is followed again;
//  - ObjectMalformed for an object that cannot be decoded. The readable part of a malformed pod
//    follows, because the unknown part must count against its node. Other malformed objects are
//    skipped; their previous state stays.
class ApiServerInformer {
 public:
  // `client`, `inbox` and `symbols` must live until stop() has returned.
  ApiServerInformer(HttpClient& client, Inbox& inbox, SymbolTable& symbols,
                    InformerOptions options = {});
  ~ApiServerInformer();  // calls stop()
  ApiServerInformer(const ApiServerInformer&) = delete;
  ApiServerInformer& operator=(const ApiServerInformer&) = delete;

  // Starts to list and watch. Any thread; returns at once.
  void start();

  // Adds a kind; KindSynced follows for it. Does nothing if it is already watched. Before or after
  // start(); any thread; returns at once.
  void watch(const ResourceType& kind);

  // Lists every kind again from the store, begun after this call, and posts the differences from
  // what was posted before. Until then the kind is not followed. Once pods and nodes are read,
  // `done` is called on the I/O thread with the pods that might be bound: those that have no node
  // and no scheduling gate and are not being deleted. The watches may lag behind. A scheduler that
  // takes over from another one must therefore know that one's last binding, and everything that a
  // decision depends on, before it decides. After start(); any thread; returns at once. stop()
  // drops `done`.
  using Relisted = std::function<void(std::vector<PodRef> unbound)>;
  void relist(Relisted done);
  void relist_pods(Relisted done);  // only pods

  // Stops all reflectors. After it has returned, nothing more is posted. Any thread.
  void stop();

  // Any thread.
  [[nodiscard]] std::vector<KindStatus> status() const;
  [[nodiscard]] bool synced() const;  // all kinds

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
