#pragma once
// What the ledger keeps of one pod of a node. Internal to the ledger.

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/pod/pod_key.hpp"
#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/possible/placement.hpp"

namespace plimsoll::topology {

// When a pod's events happened, as orders and not as times.
struct Moment {
  uint64_t reserved = 0;  // order in which the ledger learned of the pod
  uint64_t bound = 0;     // order in which it learned of the binding; 0: not yet
  uint64_t gone = 0;
  uint64_t version = 0;  // resourceVersion with which the binding was seen
  bool fresh = false;    // nothing else was seen before: `version` is the binding's own

  // The pod is bound, but nobody saw when its kubelet heard of it: it was found after a restart, or
  // while nobody watched; it is a static pod, of which the API server hears later; or its kubelet
  // was away and takes what waits for it by age. Pods that came and left before may be unknown too.
  // So the pod's zones cannot be determined.
  [[nodiscard]] bool found_late() const { return bound != 0 && !fresh; }
};

inline constexpr uint32_t kNoLine = UINT32_MAX;

struct PodRecord {
  PodKey key;
  uint64_t hash = 0;  // the pod's part of the fingerprint
  Moment moment;
  int64_t since_ms = 0;  // reserved, or seen bound
  int64_t start_ms = 0;  // status.startTime: the kubelet accepted the pod; 0: not known
  int64_t created_ms = 0;
  int64_t order_ms = 0;        // reserved, or else started or seen: the order of admission
  int64_t alias_until_ms = 0;  // until then a pod of the same name may replace it in fingerprints
  bool covered = false;        // the last report counts it
  bool weak = false;           // covered by age only: an explained fingerprint may say otherwise
  bool denied = false;         // old enough for the report, which shows too little in use for it
  bool trusted = false;        // the charges come from a promise, an annotation or a report
  bool annotated = false;      // promised before a restart: placed as its annotation says
  bool noted = false;          // its annotation names zones
  bool leaving = false;        // being deleted: its kubelet may release its resources at any time
  bool was_resized = false;    // it may hold less than it asks for
  bool adds_claims = false;    // its status says that what its claims have comes on top
  uint32_t line = kNoLine;     // of the report's holdings
  std::vector<Charge> charges;
  // As promised here, whatever has become of the charges since; empty once a report has shown what
  // the pod holds.
  std::vector<Charge> foretold;
  // Where reports of counts showed it (places.hpp); empty: not known. `floats`: it was looked for.
  std::vector<Charge> shown;
  bool floats = false;
  std::vector<plimsoll_numa_charge> named;    // by its annotation, until the first report
  std::shared_ptr<const PodRequest> request;  // if it pins anything: for what-ifs
  // For the kubelet's algorithm; set if a kubelet has to align the pod.
  std::shared_ptr<const kubelet::PodDemand> demand;
  // What it asks for with what its claims have; null: that is `demand`, which is the rest else.
  std::shared_ptr<const kubelet::PodDemand> whole;
  // What it asks for since it was resized in place: the next report shows what came of it. Kubelets
  // that pin CPUs or memory mostly refuse that, and the pod keeps what it had.
  std::shared_ptr<const kubelet::PodDemand> resized;
  // What a promised pod most likely gets; null: it is refused, or that is not known.
  std::shared_ptr<const kubelet::Admission> given;

  [[nodiscard]] const std::shared_ptr<const kubelet::PodDemand>& asks() const {
    return whole ? whole : demand;
  }
  [[nodiscard]] bool bound() const { return moment.bound != 0; }  // the API server says so
  // What the report counts of it is known to be free or not.
  [[nodiscard]] bool located() const { return line != kNoLine; }
  // Its kubelet has not taken it yet, as far as is known.
  [[nodiscard]] bool waits() const { return bound() && !covered && start_ms == 0 && demand; }
  [[nodiscard]] bool promised() const { return !covered && !charges.empty(); }
  // Exporters count it under with-exclusive-resources.
  [[nodiscard]] bool exclusive() const { return request != nullptr; }
};

// A removed pod. The last report may still count it (`pod.covered`).
struct GonePod {
  PodRecord pod;
  int64_t gone_ms = 0;
  bool counted = false;  // some report did
  bool refused = false;  // the kubelet refused it: it never held anything
};

}  // namespace plimsoll::topology
