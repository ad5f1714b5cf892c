#pragma once
// The strategy FragmentationGradient as the plugin uses it: the mix of pods, given or learned, and
// the ranks of nodes for the pod that is being scheduled.
//
// All but score() and normalize() on the scheduler loop.

#include <memory>
#include <plimsoll/arguments.hpp>
#include <span>
#include <string>
#include <vector>

#include "plugins/nodedevice/allocation/what_if.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation_args.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation_memo.hpp"
#include "plugins/nodedevice/fragmentation/pod_census.hpp"
#include "plugins/nodedevice/store/device_store.hpp"

namespace plimsoll::devices {

class FragmentationStrategy final : public SharedDeviceChoice {
 public:
  // All of it outlives the strategy.
  FragmentationStrategy(sdk::Host host, DeviceStore& store, const Allocator& allocator,
                        const FragmentationArgs& args);

  // ---- learning; `request` null: the pod asks for no device
  void waits(sdk::Pod pod, const DeviceRequest* request);
  void assigned(sdk::Pod pod);
  void gone(std::string_view uid) { census_.gone(uid); }

  // ---- one pod
  // What it asks for, and how a what-if changes nodes (either may be null).
  struct Asked {
    const DeviceRequest* request = nullptr;
    const DeviceChanges* changes = nullptr;
  };
  // Ranks the nodes, for score() to find in the cycle's state.
  void rank(plimsoll_cycle& cycle, sdk::Pod pod, const Asked& asked, sdk::Nodes nodes);
  // Ranks, higher is better; those that rank() has left in the cycle, or else worked out.
  void score(const plimsoll_cycle& cycle, sdk::Pod pod, const Asked& asked, sdk::Nodes nodes,
             std::span<int64_t> scores) const;
  // 100 for the one node of the highest rank whose name is first, 0 to 99 for the others in
  // proportion: other plugins' scores can be weighed against it, and it leaves no tie to anybody.
  static void normalize(sdk::Nodes nodes, std::span<int64_t> scores);

  // Says on which node the next choice of devices is; null once it has been made.
  void reserve_on(sdk::Node node) { reserved_ = node; }
  // Of `found`, the devices of that node whose use leaves it least fragmented.
  [[nodiscard]] Positions best(const NodeState& node, const Want& want,
                               const Positions& found) override;

 private:
  // Of the nodes of one rank() call, by position.
  struct Ranks {
    std::vector<uint32_t> slots;
    std::vector<int64_t> ranks;
  };

  void take_mix();
  [[nodiscard]] FragmentationMemo::Node view(sdk::Node node, const NodeState* devices) const;
  [[nodiscard]] int64_t rank_changed(sdk::Node node, const DeviceChanges::Changes& changes,
                                     const FragmentationMemo::Request& request) const;
  [[nodiscard]] const NodeState* devices_of(sdk::Node node) const {
    return store_.accounts().at_slot(node.slot());
  }
  [[nodiscard]] FragmentationMemo::Request request_of(sdk::Pod pod, const Asked& asked) const;

  sdk::Host host_;
  DeviceStore& store_;
  const DeviceTypes& types_;
  const Allocator& allocator_;
  int gpu_;
  FragmentationMeasure measure_;
  bool learns_;
  PodCensus census_;
  FragmentationMemo memo_;
  sdk::Node reserved_;
};

}  // namespace plimsoll::devices
