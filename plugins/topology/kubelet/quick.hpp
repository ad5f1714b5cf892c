#pragma once
// A fast verdict on a pod that looks at zones one by one.
//
// Usually a container finds everything it requests in one zone, or clearly no zone has room. Then a
// verdict needs only the node's counts, which lie close together, and the pod's requests in terms
// of a machine type (QuickPlan), which are computed once for all nodes of that type. In other cases
// (blocks and devices over several zones, CPU manager options that depend on ids, a best-effort
// node without a zone for the container) the answer is kUnsure, and `verdict` decides (admit.hpp).
// Any other answer equals that of `verdict`.
//
// Pure; nothing blocks, throws or allocates, except memory for a plan; any thread.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology::kubelet {

// The parts of a state that its counts do not show, computed when it changes.
struct Brief {
  ZoneMask used = 0;       // zones with memory assignments
  int64_t whole_cpus = 0;  // free CPUs on cores without a reserved CPU, for full-pcpus-only
  bool groups = false;     // memory groups are known
  bool plain = false;      // all counts are from 0 to the total; otherwise kUnsure
  bool alone = false;      // no zone is in a group of several
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

// Where a pod lands if each of its containers gets everything from one zone.
struct QuickPlace {
  static constexpr uint32_t kMaxCells = 40 * 8;
  ZoneMask zones = 0;         // of all containers
  ZoneMask first = 0;         // of the first container that gets something
  int64_t counts[kMaxCells];  // of the node, after the pod has landed
};

// One pod on nodes of one model. Keeps no pointer to either.
class QuickPlan {
 public:
  QuickPlan() = default;
  QuickPlan(const NodeModel& model, const PodDemand& pod);

  // `cells`: NodeState::counts() of a state of the model that the plan was made for.
  [[nodiscard]] QuickVerdict verdict(const int64_t* cells, const Brief& brief) const;

  // Also sets where the pod lands: kAdmitted only if each container is in one zone.
  [[nodiscard]] QuickVerdict place(const int64_t* cells, const Brief& brief,
                                   QuickPlace& place) const;

  // The pod has one container that requests something, and the rules make no difference to it if it
  // gets everything from one zone.
  [[nodiscard]] bool is_plain() const { return plain_; }
  // For a plain pod on a node for which `says_nothing` is false: the zone from which it surely gets
  // everything, so it is admitted; or kNoZone, which implies nothing. Under policy none the pod is
  // admitted too, but may get another zone.
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
  // Subtracts from the counts what a plain pod gets from this zone.
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

  // The first resource that is short in every eligible set of zones, whatever the other resources
  // have left. Under single-numa-node a set is one zone; otherwise it has as many zones as the
  // resource needs at least. In scope container earlier containers may have taken the resource, so
  // the largest container is checked. kNoResourceRow if each resource alone is sufficient.
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
    bool never = false;        // no zone is large enough, and the policy is single-numa-node
    bool large_block = false;  // no zone has so much allocatable memory
    int64_t cpus = 0;
    uint32_t device_rows = 0;
    uint32_t memory_rows = 0;
    std::array<Row, kMaxRows> devices;
    std::array<Row, kMaxRows> memory;
    ZoneMask zones = 0;   // whose totals cover everything except memory
    ZoneMask enough = 0;  // that have so much allocatable memory
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
  bool cores_ = false;      // full-pcpus-only applies
  bool bad_cores_ = false;  // full-pcpus-only applies, and the request is not for whole cores
  bool cpu_acts_ = false;
  bool memory_acts_ = false;
  bool any_init_ = false;  // a plain init container leaves resources to others
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
  // Frees the plans' memory: a waiting pod needs none.
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
