#pragma once
// Asks the NUMA ledger (service plimsoll.io/numa-ledger) which zones the kubelet will give a pod.
//
// The ledger belongs to whichever topology plugin was made first, in any profile; there may be
// none, or it may come later than this plugin: it is looked for whenever an attempt begins. Without
// it, or if it knows nothing of a node, no zones are known.
//
// Thread: the scheduler loop, but zones() and others(), which any thread that filters or scores may
// call. Nothing blocks.

#include <functional>
#include <memory>
#include <plimsoll/host.hpp>
#include <string>
#include <vector>

#include "plugins/nodedevice/zones/numa_agreement.hpp"
#include "plugins/topology/abi/ledger_service.hpp"
#include "plugins/topology/pod/pod_changes.hpp"

namespace plimsoll::devices {

// A pod as the ledger is asked about it.
struct LedgerPod {
  std::shared_ptr<topology::Inquiry> inquiry;
  // Of a member of the group that is decided on, where a what-if puts it: the zones that its
  // kubelet gives it, and those together with the ones of its devices.
  ZoneSet zones = 0;
  ZoneSet of_devices = 0;
};
// Pods that a what-if adds and takes away: all of them, not only those with devices.
using LedgerChanges = topology::PodChanges<LedgerPod>;

class ZoneForecast final : topology::LedgerService::Listener {
 public:
  // `on_freed`: pods that were refused for want of zones may fit now, and no event tells.
  ZoneForecast(sdk::Host host, std::function<void()> on_freed);
  ~ZoneForecast();
  ZoneForecast(const ZoneForecast&) = delete;
  ZoneForecast& operator=(const ZoneForecast&) = delete;

  // Finds the ledger, if there is one by now.
  void look();
  [[nodiscard]] bool knows_zones() const { return ledger_ != nullptr; }

  // Null: no kubelet ties the pod to zones, or there is no ledger. Each for one thread.
  [[nodiscard]] LedgerPod ask(sdk::Pod pod) const;

  // The zones of the pod on the node in this slot: those promised to it, else those it would get.
  // `changes` may be null.
  [[nodiscard]] PodZones zones(uint32_t slot, sdk::Pod pod, const LedgerPod& asked,
                               const DeviceTypes& types,
                               const LedgerChanges::Changes* changes) const;

  // Of all pods on the node that the ledger knows, but this one and those that go.
  [[nodiscard]] OtherPods others(uint32_t slot, sdk::Pod pod,
                                 const LedgerChanges::Changes* changes) const;

  // The zones that a pod has by what the ledger has on record.
  [[nodiscard]] ZoneSet zones_on_record(std::string_view uid) const;

 private:
  void zones_freed(uint32_t) override { on_freed_(); }
  void ledger_gone() override { ledger_ = nullptr; }
  struct WhatIf {
    std::vector<plimsoll_str> without;
    std::vector<std::shared_ptr<topology::Inquiry>> with;
  };
  [[nodiscard]] WhatIf what_if(uint32_t slot, const LedgerChanges::Changes* changes) const;

  sdk::Host host_;
  std::function<void()> on_freed_;
  topology::LedgerService* ledger_ = nullptr;
};

}  // namespace plimsoll::devices
