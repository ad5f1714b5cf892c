#pragma once
// NodeDevice's part in NUMA zones: which policy holds for a pod on a node, on what terms its
// devices are chosen there, and whom that wakes. The decisions are in numa_agreement.hpp.
//
// Thread: the scheduler loop; judge() and explain() also those that filter.

#include <functional>
#include <memory>
#include <plimsoll/plugin.hpp>
#include <string>

#include "plugins/nodedevice/store/device_store.hpp"
#include "plugins/nodedevice/zones/zone_forecast.hpp"

namespace plimsoll::devices {

// Of one attempt.
struct NumaAttempt {
  bool is_member = false;  // the pod's group is decided on
  LedgerChanges changes;
};

class NumaPart {
 public:
  // `disabled`: disableDeviceNUMATopologyAlignment; zones do not matter at all then.
  NumaPart(sdk::Host host, const DeviceStore& store, const Allocator& allocator, bool disabled);

  // What the pod says; fails with the text that refuses it.
  [[nodiscard]] Result<NumaSpec> spec_of(sdk::Pod pod) const;
  // An attempt begins.
  void begin() { forecast_.look(); }
  // A what-if, of any pod. `devices`: of a member of the group that is decided on, those that are
  // chosen for it.
  [[nodiscard]] std::shared_ptr<const LedgerPod> coming(const NumaAttempt& attempt, sdk::Pod added,
                                                        uint32_t slot, bool is_member,
                                                        const Allocation& devices) const;
  void add_pod(NumaAttempt& attempt, const PodDemand& demand, sdk::Pod added, sdk::Node node,
               bool is_member,
               const std::function<std::shared_ptr<const LedgerPod>()>& comes) const;
  void remove_pod(NumaAttempt& attempt, const PodDemand& demand, sdk::Pod removed,
                  sdk::Node node) const;

  // Whether zones can make the node refuse the pod; false: Allocator::check says all.
  [[nodiscard]] bool may_refuse(const PodDemand& demand, uint32_t slot) const;
  // The same, without a look at what the pod asks for: false is sure.
  [[nodiscard]] bool may_matter(sdk::Pod pod, uint32_t slot) const;
  // The pod and the node want different policies: 0, or the reason.
  [[nodiscard]] uint32_t mismatch(const PodDemand& demand, uint32_t slot) const;

  // What a question is about, besides the pod.
  struct Question {
    const LedgerPod* asked = nullptr;      // null: the ledger is asked anew
    const NumaAttempt* attempt = nullptr;  // null: no what-if
  };
  // `node` is the node in this slot, as it is or in the what-if.
  [[nodiscard]] Verdict allocate(const NodeState& node, uint32_t slot, sdk::Pod pod,
                                 const PodDemand& demand, const Question& question,
                                 Allocation& allocation,
                                 SharedDeviceChoice* choice = nullptr) const;
  [[nodiscard]] LedgerPod ask(sdk::Pod pod) const { return forecast_.ask(pod); }

  [[nodiscard]] std::string explain(const NodeState& node, uint32_t slot, sdk::Pod pod,
                                    const PodDemand& demand, const Question& question) const;

  // Whether zones, which objects of this kind report, have a say about pods with devices.
  [[nodiscard]] bool rests_on(std::string_view resource) const {
    return !disabled_ && forecast_.knows_zones() && DeviceStore::is_report_kind(resource);
  }

  // What Filter reads beyond the devices, for signatures.
  void sign(sdk::Pod pod, sdk::Sink& sink) const;

 private:
  [[nodiscard]] NumaTerms terms(const NodeState& node, uint32_t slot, sdk::Pod pod,
                                const PodDemand& demand, const Question& question) const;
  [[nodiscard]] bool has_devices(uint32_t slot) const;  // for which zones count
  [[nodiscard]] bool matters(const NumaAttempt& attempt, const PodDemand& demand,
                             uint32_t slot) const;

  sdk::Host host_;
  const DeviceStore& store_;
  const Allocator& allocator_;
  bool disabled_;
  uint32_t mismatch_;
  ZoneForecast forecast_;
};

}  // namespace plimsoll::devices
