#pragma once
// The zones of alike nodes, in columns. The free amounts of one resource in one zone lie side by
// side for all these nodes. One loop over them (zone_loops.hpp) finds for thousands of nodes which
// zone a plain pod (QuickPlan::is_plain) gets there, and scores it.
//
// Nodes are alike if their kubelets have the same settings and their reports have the same zones
// and resources; totals may differ. A node is in the columns only while its zones' free amounts
// decide everything about a plain pod: the node has one possible state, the state's counts are
// those of the report's view, no memory group spans zones, and doubles divide the amounts exactly.
// For all other nodes the ledger is asked one by one.
//
// Call put() and remove() on the scheduler loop while nobody reads. The first thread that asks gets
// each() and landings(); other threads get nothing, and ask node by node.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "plugins/topology/abi/ledger_types.hpp"
#include "plugins/topology/base/first_thread.hpp"
#include "plugins/topology/columns/zone_loops.hpp"
#include "plugins/topology/kubelet/quick.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

class ZoneColumns {
 public:
  ZoneColumns() = default;
  ZoneColumns(const ZoneColumns&) = delete;
  ZoneColumns& operator=(const ZoneColumns&) = delete;

  // Sets the node in this slot: the counts of its only state, and the ledger's view of it. A node
  // that does not belong into columns is left out.
  void put(uint32_t slot, const std::shared_ptr<const kubelet::NodeModel>& model,
           const kubelet::Brief& brief, const int64_t* counts, const plimsoll_numa_node& view);
  void remove(uint32_t slot);

  [[nodiscard]] size_t size() const { return members_; }
  // The node in this slot is in columns.
  [[nodiscard]] bool has(uint32_t slot) const {
    return slot < places_.size() && places_[slot].group != kNoGroup;
  }
  // Whether a query about this many nodes is faster if it is answered for all nodes.
  [[nodiscard]] bool pays(size_t asked) const {
    return asked >= kFewNodes && asked >= members_ / kFewParts;
  }

  // By slot: the column of the zone from which the pod surely gets everything, so that it is
  // admitted; or kNoColumn, which implies nothing. Empty if another thread uses it. Valid until the
  // next query.
  [[nodiscard]] std::span<const uint8_t> landings(Inquiry& pod) const;
  // Puts the groups, as LedgerAnswers::alike says.
  using PutAlike = std::function<void(const plimsoll_numa_alike& nodes)>;
  void each(Inquiry* pod, const PutAlike& put) const;

 private:
  static constexpr uint32_t kNoGroup = UINT32_MAX;
  static constexpr uint8_t kStale = 0;  // no count of columns
  static constexpr size_t kFewNodes = 128;
  static constexpr size_t kFewParts = 8;  // a query about a smaller part is answered one by one
  // A loop covers whole blocks: for fewer nodes, one by one is faster.
  static constexpr size_t kFewAlike = 4;

  struct Place {
    uint32_t group = kNoGroup;
    uint32_t position = 0;
    uint64_t model = 0;  // the model's number when the group was found
  };
  struct Group {
    std::vector<uint64_t> key;
    uint64_t hash = 0;
    // The model of a present or former node of the group: for plans.
    std::shared_ptr<const kubelet::NodeModel> model;
    kubelet::Brief brief;
    uint32_t zones = 0;
    uint8_t policy = 0;
    uint8_t scope = 0;
    std::vector<uint32_t> resources;  // by row
    std::vector<uint32_t> slots;      // by position
    std::vector<double> free;
    std::vector<double> one_size;   // allocatable, by cell, while all nodes have the same
    std::vector<double> own_size;   // else: as `free`
    std::vector<uint8_t> distinct;  // by block, as ZoneCells; kStale: not counted yet
    [[nodiscard]] uint32_t cells() const { return zones * static_cast<uint32_t>(resources.size()); }
    [[nodiscard]] size_t blocks() const { return (slots.size() + kBlock - 1) / kBlock; }
    // The index of the node's first cell.
    [[nodiscard]] size_t at(size_t position) const {
      return position / kBlock * cells() * kBlock + position % kBlock;
    }
    [[nodiscard]] ZoneCells table() const {
      return {blocks(), zones, cells(), free.data(), distinct.data()};
    }
    // Call this before anything reads `distinct`: nodes change far more often than they are asked
    // about all at once.
    void count_distinct() {
      for (size_t block = 0; block < distinct.size(); ++block) {
        if (distinct[block] != kStale) continue;
        distinct[block] = distinct_columns(free.data() + block * cells() * kBlock, zones, cells());
      }
    }
  };
  // The results for the last pod, kept for the next query about it.
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
  static void find(Group& group, Inquiry& pod, Desk::Run& run, uint8_t* columns);

  std::vector<Place> places_;                   // by slot
  std::vector<std::unique_ptr<Group>> groups_;  // null: free
  std::unordered_multimap<uint64_t, uint32_t> by_key_;
  size_t members_ = 0;
  uint64_t version_ = 1;  // changes, counted
  mutable Desk desk_;
};

}  // namespace plimsoll::topology
