#pragma once
// The NUMA ledger as a service, for topology plugins and others of one release.
//
// There is one ledger per scheduler, for all profiles and plugin instances. The first instance of
// NodeResourceTopologyMatch or TopologyScore publishes it under LedgerService::kName and passes
// node, pod and NodeResourceTopology events to it. All other instances look it up. No function
// blocks. `slot`: that of a node; nodes that are not known have no zones.

#include <functional>
#include <memory>
#include <optional>
#include <plimsoll/host.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"

namespace plimsoll::topology {

// A pod to ask about, worked out once for all nodes (verdict/judgement.hpp). One per thread.
struct Inquiry;

// What is known, and what would be. Nothing here changes it: filters and scores may ask from
// several threads at once. Answers follow the kubelet's algorithm on a node as it may be.
class LedgerAnswers {
 public:
  // Pods of a what-if. Null: one that no kubelet ties to zones.
  using Pods = std::span<const std::shared_ptr<Inquiry>>;
  using Uids = std::span<const plimsoll_str>;
  using Slots = std::span<const uint32_t>;

  // ---- what is known
  // The zones of a node; null if it reported none. Valid until the loop handles its next event.
  [[nodiscard]] virtual const plimsoll_numa_node* node(uint32_t slot) const = 0;
  // The node has a report, but no version of it could ever be read.
  [[nodiscard]] virtual bool malformed(uint32_t slot) const = 0;
  // Changes whenever the node changes; verdicts hold as long as it stays the same. 0: no such node.
  [[nodiscard]] virtual uint64_t change_of(uint32_t slot) const = 0;
  [[nodiscard]] virtual Doubt doubt(uint32_t slot) const = 0;
  // The pod is recorded on the node, promised or bound.
  [[nodiscard]] virtual bool holds(uint32_t slot, std::string_view pod_uid) const = 0;
  // What is recorded for a pod, promised or covered by a report; null if it is on no node.
  [[nodiscard]] virtual const std::vector<Charge>* charges_of(std::string_view pod_uid) const = 0;
  // Zones that are held by pods other than these.
  [[nodiscard]] virtual OccupiedZones occupied(uint32_t slot, Uids without) const = 0;

  // ---- may a pod go there
  // Whether the kubelet admits the pod, and every pod that is on its way there.
  [[nodiscard]] virtual Judgement judge(uint32_t slot, Inquiry& pod) const = 0;
  // judge() for many nodes, faster than one by one. `judgements` has the size of `slots`.
  virtual void judge_many(Slots slots, Inquiry& pod, std::span<Judgement> judgements) const = 0;
  // Sets 1 for nodes where a simple test shows that the pod fits, 0 for all others: much faster
  // than judge_many(), which is for the others. `admitted` has the size of `slots`.
  virtual void admits_many(Slots slots, Inquiry& pod, uint8_t* admitted) const = 0;
  // judge() after these pods are gone and those of `with` were admitted, in this order. The first
  // so many of them are bound together with the pod: the kubelet may see them in another order.
  [[nodiscard]] virtual Judgement judge_changed(uint32_t slot, Inquiry& pod, Uids without,
                                                Pods with, size_t together) const = 0;
  // The pod is refused now, but will fit, or may, after a report has shown what is already known.
  [[nodiscard]] virtual bool fits_soon(uint32_t slot, Inquiry& pod) const = 0;
  // Whether `fits` holds for the node after these pods are gone and a report has shown it, whatever
  // zones they hold. Pods that are already gone count as reported gone. False: not for sure, or no
  // report. `fits` is first asked about the least that the node will have for sure; if that is not
  // enough, about each possible outcome. Its argument is valid during the call.
  using Fits = std::function<bool(const plimsoll_numa_node& node)>;
  [[nodiscard]] virtual bool fits_without(uint32_t slot, Uids uids, const Fits& fits) const = 0;

  // ---- where would it land
  // In the likeliest possible state of the node. Null: the kubelet would refuse it, or there is no
  // report. Valid until the next call with the same pod, and no longer than the result of node().
  [[nodiscard]] virtual const plimsoll_numa_use* use(uint32_t slot, Inquiry& pod) const = 0;
  // use() for many nodes, much faster, of pods with one container that fits into one zone.
  // `landings` has the size of `slots`. Their `node` is valid as long as the result of node(),
  // their `taking` as long as `pod`. `pod` may be null: then only `node` is set.
  virtual void land_many(Slots slots, Inquiry* pod,
                         std::span<plimsoll_numa_landing> landings) const = 0;
  // Puts all nodes that are alike, group by group; each group is valid during its call. A node is
  // in at most one group. Nodes in no group (too few are alike, or much is under way there) are
  // left to land_many(). `asked`: the number of nodes that the caller needs; if it is small,
  // nothing is put. If `pod` is null, so is `taking`.
  using PutAlike = std::function<void(const plimsoll_numa_alike& nodes)>;
  virtual void alike(size_t asked, Inquiry* pod, const PutAlike& put) const = 0;
  // The zones promised to the pod with this UID on this node; or else those where it would land
  // after the pods of `without` are gone and those of `with` were admitted, in this order: so the
  // answer before and after reserve() is the same. Containers that no manager aligns are left out.
  // Nothing: no report, refused, or it depends on unknown facts.
  [[nodiscard]] virtual std::optional<Whereabouts> where(uint32_t slot, Inquiry& pod,
                                                         std::string_view uid, Uids without,
                                                         Pods with) const = 0;

 protected:
  ~LedgerAnswers() = default;
};

// Loop only, except ask(), inquire() and explain().
class LedgerService {
 public:
  static constexpr const char* kName = "plimsoll.io/numa-ledger";
  // One more with every change of this header, or of one that it includes.
  static constexpr uint32_t kVersion = 15;

  // Null: none is published. It is not to be used after ledger_gone().
  [[nodiscard]] static LedgerService* find(const sdk::Host& host) {
    return const_cast<LedgerService*>(host.find_service<LedgerService>(kName, kVersion));
  }

  // Only the plugin that rejected a pod can requeue it, so every instance that rejects pods
  // listens.
  class Listener {
   public:
    // Pods that were rejected because no zones had room may fit on this node now. Called only if no
    // cluster event shows the change: plugins get report and pod events themselves, see eased().
    virtual void zones_freed(uint32_t slot) = 0;
    virtual void ledger_gone() = 0;

   protected:
    ~Listener() = default;
  };
  virtual void subscribe(Listener* listener) = 0;
  virtual void unsubscribe(Listener* listener) = 0;

  [[nodiscard]] virtual const LedgerAnswers& ask() const = 0;
  // Null: no kubelet aligns the pod, it fits everywhere. The pod need not outlive the call.
  // `without_report`: what judge() and the like say of nodes without a report.
  [[nodiscard]] virtual std::shared_ptr<Inquiry> inquire(const plimsoll_pod& pod,
                                                         WithoutReport without_report) const = 0;
  // Explains a verdict to people: which resource is short, which zone has most of it, how old the
  // report is, and what is under way.
  [[nodiscard]] virtual std::string explain(uint32_t slot, const Inquiry& pod,
                                            const plimsoll_pod& object, Verdict verdict) const = 0;
  // False: no pod that did not fit on this node before the ledger's last event fits there after it.
  [[nodiscard]] virtual bool eased(uint32_t slot) const = 0;
  // Promises the pod its predicted zones, and says which. False: the kubelet may refuse the pod,
  // and nothing changed. `insist`: promise them even then. Another call for the same pod replaces
  // its promise.
  virtual bool reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
                       std::vector<plimsoll_numa_charge>& where) = 0;
  // Removes the promise unless the pod is known to be bound.
  virtual void unreserve(const plimsoll_pod& pod) = 0;

 protected:
  ~LedgerService() = default;
};

}  // namespace plimsoll::topology
