#pragma once
// Gives a plugin instance access to the NUMA ledger of the scheduler. The instances of the first
// plugin file that asks own the ledger, publish it as a service and pass events to it; those of
// other files look the service up: NodeResourceTopologyMatch and TopologyScore work in any
// combination.
//
// This is a member of the plugin class, which forwards its events here. Loop only, except
// service(). A change that may help rejected pods reaches the plugin as a cluster event, for which
// it is asked for a hint, or through `on_freed`.

#include <algorithm>
#include <functional>
#include <memory>
#include <plimsoll/arguments.hpp>
#include <plimsoll/shared.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/abi/ledger_service.h"
#include "plugins/topology/pod/pod_memo.hpp"
#include "plugins/topology/pod/pod_request.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

inline constexpr std::string_view kNrtGroup = "topology.node.k8s.io";
inline constexpr std::string_view kNrtPlural = "noderesourcetopologies";
inline constexpr std::string_view kNrtResource =
    "noderesourcetopologies.v1alpha2.topology.node.k8s.io";
inline constexpr std::string_view kOldNrtResource =
    "noderesourcetopologies.v1alpha1.topology.node.k8s.io";

// Whether objects of this kind, as named in events, report zones.
[[nodiscard]] inline bool is_report(std::string_view resource) {
  return resource == kNrtResource || resource == kOldNrtResource;
}

// The slots of the rows from `begin` on: room.size() of them, or as many as there are. They come
// from the scheduler's list. Where it has none (what-ifs), they are read from the rows into `room`.
[[nodiscard]] inline std::span<const uint32_t> slots_of(sdk::Nodes nodes, size_t begin,
                                                        std::span<uint32_t> room) {
  const size_t count = std::min(room.size(), nodes.size() - begin);
  if (const auto listed = nodes.slots(); !listed.empty()) return listed.subspan(begin, count);
  for (size_t i = 0; i < count; ++i) room[i] = nodes[begin + i].slot();
  return room.first(count);
}

class LedgerOwner;

class LedgerAccess {
 public:
  // Create it in the plugin's constructor. Who makes the ledger watches NodeResourceTopology
  // v1alpha2, and v1alpha1 after it learns that v1alpha2 is not served. Throws if the host refuses.
  // A plugin that rejects pods passes `on_freed`: pods that it rejected may fit on the node in this
  // slot now, and no event shows it.
  using Freed = std::function<void(uint32_t slot)>;
  // `without_report`: what its pods do on nodes without a report.
  explicit LedgerAccess(sdk::Host host, Freed on_freed = nullptr,
                        WithoutReport without_report = WithoutReport::kPass);
  ~LedgerAccess();
  LedgerAccess(const LedgerAccess&) = delete;
  LedgerAccess& operator=(const LedgerAccess&) = delete;

  [[nodiscard]] const plimsoll_numa_ledger& service() const { return *service_; }
  [[nodiscard]] bool owner() const { return static_cast<bool>(owned_); }

  // The zones of a node; null: none reported. Any thread that filters or scores.
  [[nodiscard]] const plimsoll_numa_node* node(uint32_t slot) const {
    return service_->node(service_->ctx, slot);
  }
  // The node has a report, but none could ever be read. Any thread, as node().
  [[nodiscard]] bool malformed(uint32_t slot) const {
    return service_->malformed(service_->ctx, slot) != 0;
  }
  // No report tells the zones of this node, and pods that need any wait for one. Any thread.
  [[nodiscard]] bool awaits_report(uint32_t slot) const {
    return node(slot) == nullptr && waits(without_report_, doubt(slot) == PLIMSOLL_NUMA_DOUBT_GONE);
  }
  // Collects the charges that reserve puts.
  using Charges = std::vector<plimsoll_numa_charge>;
  [[nodiscard]] bool reserve(uint32_t slot, const plimsoll_pod& pod, bool insist,
                             Charges& where) const;

  // What-ifs, as the service of the same name. Any thread, as node().
  using Fits = std::function<bool(const plimsoll_numa_node& node)>;
  [[nodiscard]] bool fits_without(uint32_t slot, const std::vector<plimsoll_str>& pod_uids,
                                  const Fits& fits) const;
  [[nodiscard]] bool holds(uint32_t slot, std::string_view pod_uid) const;

  // The kubelet's algorithm, as the service's functions of the same names. Any thread.
  using Inquiry = std::shared_ptr<plimsoll_numa_inquiry>;
  [[nodiscard]] Inquiry inquire(const plimsoll_pod& pod) const;  // null: it fits everywhere
  // A pod as the rules read it; nothing in it points into the pod. Like pods share one Reading, and
  // so all that the ledger computes for them. Any thread.
  struct Reading {
    PodRequest request;
    Inquiry inquiry;    // null: it fits everywhere
    std::string names;  // `request` points into it
  };
  [[nodiscard]] std::shared_ptr<const Reading> read(const plimsoll_pod& pod) const;
  // Whether a kubelet may align the pod to zones.
  [[nodiscard]] bool ties(const plimsoll_pod& pod) const {
    const auto reading = read(pod);
    return reading->request.has_pinned || reading->inquiry != nullptr;
  }
  [[nodiscard]] Judgement judge(uint32_t slot, const Inquiry& pod) const;
  struct Judgements {
    std::vector<uint32_t> verdicts;
    std::vector<uint32_t> resources;
    [[nodiscard]] Judgement at(size_t i) const {
      return {static_cast<Verdict>(verdicts[i]), resources[i]};
    }
  };
  void judge_many(std::span<const uint32_t> slots, const Inquiry& pod,
                  Judgements& judgements) const;
  [[nodiscard]] Judgement judge_changed(uint32_t slot, const Inquiry& pod,
                                        const std::vector<plimsoll_str>& without,
                                        const std::vector<Inquiry>& with) const;
  [[nodiscard]] bool fits_soon(uint32_t slot, const Inquiry& pod) const;
  [[nodiscard]] std::string explain(uint32_t slot, const Inquiry& pod, const plimsoll_pod& object,
                                    Verdict verdict) const;
  [[nodiscard]] const plimsoll_numa_use* use(uint32_t slot, const Inquiry& pod) const {
    return service_->use(service_->ctx, slot, pod.get());
  }

  void land_many(std::span<const uint32_t> slots, const Inquiry& pod,
                 std::span<plimsoll_numa_landing> landings) const {
    service_->land_many(service_->ctx, slots.data(), static_cast<uint32_t>(slots.size()), pod.get(),
                        landings.data());
  }

  // For many nodes at once, like the service's functions of the same names. Any thread.
  // `put(nodes)` is called for each group of alike nodes.
  void admits_many(std::span<const uint32_t> slots, const Inquiry& pod, uint8_t* admitted) const {
    service_->admits_many(service_->ctx, slots.data(), static_cast<uint32_t>(slots.size()),
                          pod.get(), admitted);
  }
  template <typename Put>
  void alike(size_t asked, const Inquiry& pod, const Put& put) const {
    service_->alike(
        service_->ctx, static_cast<uint32_t>(asked), pod.get(),
        [](void* sink, const plimsoll_numa_alike* nodes) {
          (*static_cast<const Put*>(sink))(*nodes);
        },
        const_cast<Put*>(&put));
  }

  // For requeue hints, as the service's functions of the same names; eased on the loop only.
  [[nodiscard]] bool eased(uint32_t slot) const {
    return service_->eased(service_->ctx, slot) != 0;
  }
  // PLIMSOLL_NUMA_DOUBT_*. Any thread.
  [[nodiscard]] uint32_t doubt(uint32_t slot) const { return service_->doubt(service_->ctx, slot); }
  [[nodiscard]] uint64_t change_of(uint32_t slot) const {
    return service_->change_of(service_->ctx, slot);
  }

  // ---- events; ignored if this instance is not the owner that feeds the ledger
  void node_event(sdk::NodeEvent type, sdk::Node node);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  void subscribe();
  [[nodiscard]] bool feeds() const { return owned_ && owned_.feeds(); }

  sdk::Host host_;
  Freed on_freed_;
  WithoutReport without_report_;
  sdk::Shared<LedgerOwner> owned_;                 // none: another plugin file owns the ledger
  const plimsoll_numa_ledger* service_ = nullptr;  // null: the owner is gone, the process ends
  plimsoll_numa_listener listener_{};
  mutable PodMemo<const Reading> readings_;
};

}  // namespace plimsoll::topology
