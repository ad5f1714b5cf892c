#pragma once
// The zones of nodes that are alike, in columns: what is free of a resource in a zone lies side by
// side for all of them, so that one loop over it (zone_loops.hpp) says of thousands of nodes what a
// plain pod (QuickPlan::is_plain) gets there and how good that is.
//
// Alike are nodes whose kubelets have the same settings, and whose reports have the same zones and
// resources; totals may differ. A node is in the columns only as long as all there is to say about
// a plain pod follows from what its zones have free: there is one state in which the node may be,
// its counts are those of the report's view, no memory group spans zones, and amounts are such that
// doubles divide exactly. Of all others the ledger is asked one by one.
//
// put() and remove() on the scheduler loop while nobody reads. each() and landings() by the thread
// that asks first; others get nothing, and ask one by one.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/topology/first_thread.hpp"
#include "plugins/topology/judgement.hpp"
#include "plugins/topology/kubelet/quick.hpp"
#include "plugins/topology/ledger_service.h"
#include "plugins/topology/zone_loops.hpp"

namespace plimsoll::topology {

class ZoneColumns {
 public:
  ZoneColumns() = default;
  ZoneColumns(const ZoneColumns&) = delete;
  ZoneColumns& operator=(const ZoneColumns&) = delete;

  // The node in this slot, as it is from now on: its only state's counts, and the view that the
  // ledger shows of it. It is left out if it does not belong into columns.
  void put(uint32_t slot, const std::shared_ptr<const kubelet::NodeModel>& model,
           const kubelet::Brief& brief, const int64_t* counts, const plimsoll_numa_node& view);
  void remove(uint32_t slot);

  [[nodiscard]] size_t size() const { return members_; }
  // The node in this slot is in columns.
  [[nodiscard]] bool has(uint32_t slot) const {
    return slot < places_.size() && places_[slot].group != kNoGroup;
  }
  // Whether a question about so many nodes is best answered for all of them.
  [[nodiscard]] bool pays(size_t asked) const {
    return asked >= kFewNodes && asked >= members_ / kFewParts;
  }

  // By slot: the column of the zone from which the pod gets everything, for sure, so that it is
  // admitted; or kNoColumn, of which nothing follows. Empty: another thread's. Valid until the next
  // question.
  [[nodiscard]] std::span<const uint8_t> landings(Inquiry& pod) const;
  // Puts the groups, as the service's `alike` says.
  void each(Inquiry* pod, plimsoll_numa_put_alike put, void* sink) const;

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  static constexpr size_t kFewNodes = 128;
  static constexpr size_t kFewParts = 8;  // asked about less than such a part: one by one
  // A loop goes over whole blocks: fewer nodes are faster asked one by one.
  static constexpr size_t kFewAlike = 4;

  struct Place {
    uint32_t group = kNoGroup;
    uint32_t position = 0;
    uint64_t model = 0;  // its number, when the group was found
  };
  struct Group {
    std::vector<uint64_t> key;
    uint64_t hash = 0;
    // Of one of the nodes, now or once: for plans.
    std::shared_ptr<const kubelet::NodeModel> model;
    kubelet::Brief brief;
    uint32_t zones = 0;
    uint8_t policy = 0;
    uint8_t scope = 0;
    std::vector<uint32_t> resources;  // by row
    std::vector<uint32_t> slots;      // by position
    std::vector<double> free;
    std::vector<double> one_size;   // allocatable of all, by cell; while it is the same
    std::vector<double> own_size;   // else: as `free`
    std::vector<uint8_t> distinct;  // by block, as ZoneCells
    [[nodiscard]] uint32_t cells() const { return zones * static_cast<uint32_t>(resources.size()); }
    [[nodiscard]] size_t blocks() const { return (slots.size() + kBlock - 1) / kBlock; }
    // Of the first cell of the node.
    [[nodiscard]] size_t at(size_t position) const {
      return position / kBlock * cells() * kBlock + position % kBlock;
    }
    [[nodiscard]] ZoneCells table() const {
      return {blocks(), zones, cells(), free.data(), distinct.data()};
    }
    // The block's cells are others.
    void changed(size_t block) {
      distinct[block] = distinct_columns(free.data() + block * cells() * kBlock, zones, cells());
    }
  };
  // What was worked out for the pod that was asked about last, for the next question about it.
  struct Desk {
    FirstThread owner;
    std::shared_ptr<const kubelet::PodDemand> demand;
    uint64_t version = 0;
    struct Run {
      bool plain = false;
      bool affinity = false;
      size_t begin = 0;  // in `columns`
      kubelet::QuickPlan::Taking what;
      plimsoll_numa_taking taking{};
    };
    std::vector<Run> runs;         // by group
    std::vector<uint8_t> columns;  // by group and position
    std::vector<uint8_t> by_slot;
  };

  [[nodiscard]] static bool belongs(const kubelet::NodeModel& model, const kubelet::Brief& brief,
                                    const int64_t* counts, const plimsoll_numa_node& view);
  [[nodiscard]] static std::vector<uint64_t> key_of(const kubelet::NodeModel& model,
                                                    const kubelet::Brief& brief,
                                                    const plimsoll_numa_node& view);
  [[nodiscard]] static bool same_rows(const Group& group, const plimsoll_numa_node& view,
                                      const kubelet::Brief& brief);
  uint32_t group_for(const std::shared_ptr<const kubelet::NodeModel>& model,
                     const kubelet::Brief& brief, const plimsoll_numa_node& view);
  void add(Place& place, uint32_t group, uint32_t slot);
  static void write(Group& group, uint32_t position, const plimsoll_numa_node& view);
  void land(Inquiry& pod) const;
  static void find(const Group& group, Inquiry& pod, Desk::Run& run, uint8_t* columns);

  std::vector<Place> places_;                   // by slot
  std::vector<std::unique_ptr<Group>> groups_;  // null: free
  std::unordered_multimap<uint64_t, uint32_t> by_key_;
  size_t members_ = 0;
  uint64_t version_ = 1;  // changes, counted
  mutable Desk desk_;
};

}  // namespace plimsoll::topology
