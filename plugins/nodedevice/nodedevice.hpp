#pragma once
// NodeDevice: gives pods devices of a node (GPUs, shares of GPUs, RDMA NICs, FPGAs), by minor.
// The decisions are in the pure files beside this one; here they meet the scheduler.

#include <array>
#include <cstdint>
#include <memory>
#include <plimsoll/plugin.hpp>
#include <span>
#include <string>
#include <string_view>

#include "plugins/nodedevice/args/device_args.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation_strategy.hpp"
#include "plugins/nodedevice/node_judge.hpp"
#include "plugins/nodedevice/placing/group_placer.hpp"
#include "plugins/nodedevice/rules/demand_reader.hpp"
#include "plugins/nodedevice/store/device_store.hpp"

namespace plimsoll::devices {

class NodeDevice {
 public:
  using Hint = sdk::Hint;
  using Host = sdk::Host;
  using Node = sdk::Node;
  using Nodes = sdk::Nodes;
  using Pod = sdk::Pod;
  using Sink = sdk::Sink;
  using Status = sdk::Status;

  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PLUGIN | PLIMSOLL_ASPECT_LABELS;
  // FragmentationGradient ranks all nodes together.
  const uint32_t score_aspects;
  const bool normalizes_by_extremes;

  NodeDevice(Host host, std::string_view args_json) : NodeDevice(host, args_of(host, args_json)) {}
  NodeDevice(Host host, DeviceArgs args);
  NodeDevice(const NodeDevice&) = delete;
  NodeDevice& operator=(const NodeDevice&) = delete;

  void start() {
    numa_.begin();
    placer_.start();
  }

  // Its devices, the zones that they have to agree with, and what says how large its group is.
  bool rests_on(Pod pod, std::string_view resource) const;

  // PodGroups are watched from the first pod on that needs one: a cluster without the kind, or
  // without groups, is not bothered. The scheduler's queue holds back groups, and wakes them.
  Status pre_enqueue(Pod pod);
  static constexpr bool wakes_whom_it_gates = true;

  Status pre_filter(plimsoll_cycle& cycle, Pod pod);

  // Pods that ask for no device hold none, whatever their annotations say.
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node);

  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node);

  Status filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes, sdk::Verdicts verdicts) const;

  Status pre_score(plimsoll_cycle& cycle, Pod pod, Nodes nodes);

  Status score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes, std::span<int64_t> scores) const;

  Status normalize(const plimsoll_cycle&, Pod, Nodes nodes, std::span<int64_t> scores) const;

  Status reserve(plimsoll_cycle& cycle, Pod pod, Node node);

  // No requeue here: the scheduler reports a forgotten pod as deleted, and hint() decides which
  // pods that helps.
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view);

  Status sign(Pod pod, Sink& sink);

  [[nodiscard]] std::span<const plimsoll_event_interest> events() const;

  // A change of the waiting pod itself always counts: it may have been refused for what it asks.
  Hint hint(Pod pod, const plimsoll_event& event);

  void node_event(sdk::NodeEvent event, Node node, uint32_t);

  void pod_event(sdk::PodEvent event, Pod pod, std::string_view node_name);

  void object_event(const sdk::ObjectEvent& event);

  void explain(const plimsoll_cycle& cycle, Pod pod, Node node, Sink& sink) const;

 private:
  [[nodiscard]] FragmentationStrategy::Asked asked_in(const plimsoll_cycle& cycle) const;

  // What a what-if adds. For a member of the group that is decided on devices are chosen as Reserve
  // would.
  struct Coming {
    std::shared_ptr<const ComingPod> devices;  // null: it asks for none
    std::shared_ptr<const LedgerPod> zones;
  };
  [[nodiscard]] Coming make_coming(const PodAttempt& attempt, Pod added, Node node, bool is_member);
  [[nodiscard]] Coming coming(const PodAttempt& attempt, Pod added, Node node);
  // The pod's devices on the node, into the accounts and the Binding.
  Status take_devices(plimsoll_cycle& cycle, const PodAttempt& attempt, Pod pod, Node node);

  static DeviceArgs args_of(const Host& host, std::string_view json);

  [[nodiscard]] Scorer make_scorer() const;
  [[nodiscard]] Status refused(std::string_view why) const;

  // Without what only Filter and Score need. No demand: the pod asks for no device, or (then
  // `invalid` says so) for something that is not valid.
  [[nodiscard]] PodAttempt attempt_of(Pod pod, std::string& invalid) const;

  [[nodiscard]] static uint32_t slot_of(Nodes nodes, size_t i);

  Host host_;
  DeviceArgs args_;
  DeviceStore::Shared shared_store_;
  DeviceStore& store_;
  const DeviceTypes& types_;
  SharingRules sharing_;
  Scorer scorer_;
  Allocator allocator_;
  std::unique_ptr<FragmentationStrategy> fragmentation_;  // null: another strategy
  NumaPart numa_;
  DemandReader demands_;
  GroupPlacer placer_;
  NodeJudge judge_;
  // All kinds of members are told of each member that a dry run puts on a node.
  std::pair<std::string, Coming> last_coming_;
  std::array<bool, 2> watched_{};  // PodGroups, by whose they are
};

}  // namespace plimsoll::devices
