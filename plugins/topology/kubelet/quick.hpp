#pragma once
// The verdict on a pod, by looking at zones one by one.
//
// Mostly a container finds all it asks for in one zone, or it is plain that no zone will do. Then a
// verdict needs no more than the counts of a node, which lie close together, and what a pod asks
// for in the terms of a machine type (QuickPlan), which is worked out once for all nodes of that
// type. Where it is not so plain (blocks and devices over several zones, options of the CPU
// manager that look at ids, a best-effort node without a zone for the container) nothing is said:
// kUnsure, and `verdict` decides (admit.hpp). What is said is always what `verdict` would say.
//
// Pure; nothing blocks, throws or allocates, but for memory of a plan; any thread.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology::kubelet {

// What of a state its counts do not say, worked out when it changes.
struct Brief {
  ZoneMask used = 0;       // zones with memory assignments
  int64_t whole_cpus = 0;  // free CPUs whose core has no reserved CPU, if full-pcpus-only asks
  bool groups = false;     // memory groups are known
  bool plain = false;      // no count is below 0 or above what there is: else nothing is said
  bool alone = false;      // nor if a zone is in a group of several
  bool exact_memory = true;
  bool cpu_ids = false;

  Brief() = default;
  Brief(const NodeModel& model, const NodeState& state);
};

struct QuickVerdict {
  enum Answer : uint8_t { kUnsure, kAdmitted, kRefused } answer = kUnsure;
  // If refused, as in Admission.
  Reason reason = Reason::kAdmitted;
  Stage stage = Stage::kNone;
  uint32_t container = kWholePod;
  uint32_t resource = 0;
};

// Where a pod lands that has all of each container in one zone.
struct QuickPlace {
  static constexpr uint32_t kMaxCells = 40 * 8;
  ZoneMask zones = 0;         // of all containers
  ZoneMask first = 0;         // of the first that is given something
  int64_t counts[kMaxCells];  // of the node, once the pod is there
};

// One pod on nodes of one model. Keeps no pointer to either.
class QuickPlan {
 public:
  QuickPlan() = default;
  QuickPlan(const NodeModel& model, const PodDemand& pod);

  // `cells`: NodeState::counts() of a state of the model that the plan was made for.
  [[nodiscard]] QuickVerdict verdict(const int64_t* cells, const Brief& brief) const;

  // The same, and where the pod lands: kAdmitted only if that is one zone for each container.
  [[nodiscard]] QuickVerdict place(const int64_t* cells, const Brief& brief,
                                   QuickPlace& place) const;

  // The pod is one container that asks for something, under rules that make no difference to it
  // once it has all in one zone.
  [[nodiscard]] bool is_plain() const { return plain_; }
  // Of a plain pod on a node of which `says_nothing` is false: the zone that it gets all from, for
  // sure; or kNoZone, of which nothing follows. So it is admitted, under policy none too, where it
  // need not be given that zone.
  static constexpr uint32_t kNoZone = UINT32_MAX;
  [[nodiscard]] uint32_t zone_of(const int64_t* cells) const {
    ZoneMask mask = plain_zones_;
    for (uint32_t i = 0; i < plain_rows_; ++i) {
      const int64_t* free = cells + plain_at_[i];
      const int64_t need = plain_need_[i];
      ZoneMask enough = 0;
      for (uint32_t column = 0; column < zones_; ++column) {
        enough |= ZoneMask{free[column] >= need} << column;
      }
      mask &= enough;
    }
    return mask == 0 ? kNoZone : static_cast<uint32_t>(std::countr_zero(mask));
  }
  [[nodiscard]] bool says_nothing(const Brief& brief) const {
    return !usable_ || !brief.plain || (memory_acts_ && !brief.alone) ||
           (cpu_acts_ && brief.cpu_ids && !even_);
  }
  [[nodiscard]] bool has_affinity() const { return !none_; }
  // Takes from the counts what a plain pod gets from this zone.
  void take(int64_t* cells, uint32_t zone) const {
    for (uint32_t i = 0; i < plain_rows_; ++i) cells[plain_at_[i] + zone] -= plain_need_[i];
  }
  // What a plain pod takes from its zone: resources, and amounts in the units of counts.
  struct Taking {
    uint32_t count = 0;
    std::array<uint32_t, 9> resource;
    std::array<int64_t, 9> amount;
  };
  [[nodiscard]] Taking taking() const;

  // The first resource of which no zones that would do have enough left, however the others stand:
  // under single-numa-node no single zone, else no set of as many zones as the resource needs at
  // least. In scope container what comes first may have taken what is short: the largest container
  // is looked at. kNoResourceRow: each alone can be had.
  [[nodiscard]] uint32_t short_resource(const int64_t* cells) const;

 private:
  static constexpr uint32_t kMaxRows = 4;                       // of each kind, of one container
  static constexpr uint32_t kMaxContainers = 8;                 // that act
  static constexpr uint32_t kMaxCells = QuickPlace::kMaxCells;  // counts of a node
  static constexpr uint32_t kMaxDeviceRows = 16;                // of a node
  struct Row {
    uint32_t at = 0;   // of the first zone, in the counts
    uint32_t row = 0;  // of the model
    uint32_t resource = 0;
    int64_t need = 0;  // above 0
    bool listed = true;
    bool operator==(const Row&) const = default;
  };
  struct Item {
    ContainerKind kind = ContainerKind::kApp;
    bool wide = false;         // no zone is large enough
    bool never = false;        // and the policy is single-numa-node
    bool large_block = false;  // no zone may give away so much memory
    int64_t cpus = 0;
    uint32_t device_rows = 0;
    uint32_t memory_rows = 0;
    std::array<Row, kMaxRows> devices;
    std::array<Row, kMaxRows> memory;
    ZoneMask zones = 0;   // that have all of it in total, but for memory
    ZoneMask enough = 0;  // that may give away so much memory
    [[nodiscard]] bool asks() const { return cpus > 0 || device_rows > 0 || memory_rows > 0; }
    [[nodiscard]] bool alone() const { return cpus == 0 && device_rows == 0; }
    bool operator==(const Item&) const = default;
  };
  struct Short {
    uint32_t at = 0;
    uint32_t resource = 0;
    uint32_t zones = 1;  // that would do
    int64_t need = 0;
  };
  struct Walk;

  [[nodiscard]] bool add(const NodeModel& model, int64_t cpus, const Needs& memory,
                         const Needs& devices, ContainerKind kind, Item& item) const;
  [[nodiscard]] bool add_containers(const NodeModel& model, const PodDemand& pod);
  void add_shorts(const NodeModel& model, const PodDemand& pod);
  void find_plain();

  bool usable_ = false;
  bool plain_ = false;
  uint32_t plain_rows_ = 0;
  ZoneMask plain_zones_ = 0;  // that could do
  std::array<uint32_t, 2 * kMaxRows + 1> plain_at_{};
  std::array<int64_t, 2 * kMaxRows + 1> plain_need_{};
  bool none_ = false;   // policy
  bool whole_ = false;  // scope pod
  bool best_effort_ = false;
  bool even_ = true;        // or there is no layout
  bool cores_ = false;      // full-pcpus-only has a say
  bool bad_cores_ = false;  // and what is asked for is no whole cores
  bool cpu_acts_ = false;
  bool memory_acts_ = false;
  bool any_init_ = false;  // a plain init container leaves something to others
  uint32_t zones_ = 0;
  uint32_t counts_ = 0;  // cells that are counts
  ZoneMask all_ = 0;
  uint32_t items_ = 0;
  std::vector<Item> item_;
  Item pod_;  // scope pod
  std::vector<Short> shorts_;
};

// Plans of one pod, by model. One per thread.
class QuickPlans {
 public:
  // Valid until the next call.
  [[nodiscard]] const QuickPlan& of(const NodeModel& model, const PodDemand& pod) {
    uint32_t& place = places_[model.number % places_.size()];
    if (place != 0 && made_[place - 1].model == model.number) return made_[place - 1].plan;
    return make(model, pod, place);
  }
  // Gives their memory back: a pod that waits needs none.
  void drop() {
    places_.fill(0);
    std::vector<Made>().swap(made_);
  }

 private:
  struct Made {
    uint64_t model = 0;  // its number
    QuickPlan plan;
  };
  const QuickPlan& make(const NodeModel& model, const PodDemand& pod, uint32_t& place);

  std::array<uint32_t, 64> places_{};  // position in made_, from 1
  std::vector<Made> made_;
};

}  // namespace plimsoll::topology::kubelet
