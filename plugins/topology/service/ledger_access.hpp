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

#include "plugins/topology/abi/ledger_service.hpp"
#include "plugins/topology/pod/pod_memo.hpp"
#include "plugins/topology/pod/pod_request.hpp"

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

class LedgerAccess final : LedgerService::Listener {
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

  // What the ledger answers. Any thread that filters or scores.
  const LedgerAnswers* operator->() const { return &service_->ask(); }
  [[nodiscard]] LedgerService& service() const { return *service_; }
  [[nodiscard]] bool owner() const { return static_cast<bool>(owned_); }

  // No report tells the zones of this node, and pods that need any wait for one. Any thread.
  [[nodiscard]] bool awaits_report(uint32_t slot) const {
    const LedgerAnswers& known = service_->ask();
    return known.node(slot) == nullptr && waits(without_report_, known.doubt(slot) == Doubt::kGone);
  }

  using Asked = std::shared_ptr<Inquiry>;  // null: the pod fits everywhere
  // A pod as the rules read it; nothing in it points into the pod. Like pods share one Reading, and
  // so all that the ledger computes for them. Any thread.
  struct Reading {
    PodRequest request;
    Asked inquiry;
    std::string names;  // `request` points into it
  };
  [[nodiscard]] std::shared_ptr<const Reading> read(const plimsoll_pod& pod) const;
  // Whether a kubelet may align the pod to zones.
  [[nodiscard]] bool ties(const plimsoll_pod& pod) const {
    const auto reading = read(pod);
    return reading->request.has_pinned || reading->inquiry != nullptr;
  }

  // ---- events; ignored if this instance is not the owner that feeds the ledger
  void node_event(sdk::NodeEvent type, sdk::Node node);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  void object_event(const sdk::ObjectEvent& event);

 private:
  void zones_freed(uint32_t slot) override {
    if (on_freed_) on_freed_(slot);
  }
  void ledger_gone() override { service_ = nullptr; }
  [[nodiscard]] bool feeds() const { return owned_ && owned_.feeds(); }

  sdk::Host host_;
  Freed on_freed_;
  WithoutReport without_report_;
  sdk::Shared<LedgerOwner> owned_;    // none: another plugin file owns the ledger
  LedgerService* service_ = nullptr;  // null: the owner is gone, the process ends
  mutable PodMemo<const Reading> readings_;
};

}  // namespace plimsoll::topology
