#pragma once
// The data that the parts of one admission share. Internal to the library.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {

struct RowNeed {
  uint32_t row = kNoResourceRow;  // of the model; none for memory types the node lacks
  uint32_t resource = 0;
  int64_t amount = 0;
};

// What a container (or the pod as a whole) requests from this node's managers.
struct Request {
  int64_t cpus = 0;                // exclusive ones
  std::vector<RowNeed> memory;     // every requested type, also with amount 0
  std::vector<RowNeed> devices;    // types that the node has, also with limit 0
  bool memory_acts = false;        // the memory manager allocates, whatever the request is
  bool cpu_impossible = false;     // pod-level resources: nothing would be left to share
  bool memory_impossible = false;  // the same
  bool memory_unreadable =
      false;  // the memory manager fails: it gives no hint and allocates nothing
  [[nodiscard]] bool acts() const { return cpus > 0 || memory_acts || !devices.empty(); }
};

// What containers may reuse of the resources that earlier plain init containers held.
struct Reusable {
  struct Memory {
    ZoneMask zones = 0;
    uint32_t resource = 0;
    int64_t bytes = 0;
  };
  CpuSet cpu_ids;
  std::array<int64_t, 64> cpus{};  // by column
  int64_t cpu_count = 0;
  std::vector<Memory> memory;         // by exactly these zones
  bool any_devices = false;           // if false, the device members are not valid
  std::vector<int64_t> devices;       // rows x zones: touching the zone
  std::vector<int64_t> device_count;  // by row
  std::vector<uint64_t> device_ids;   // all listed rows, as in NodeState

  void clear() {
    if (any_cpus_) {
      cpu_ids = {};
      cpus.fill(0);
      any_cpus_ = false;
    }
    cpu_count = 0;
    memory.clear();
    any_devices = false;
    has_rooms_ = false;
  }
  void holds_cpus() { any_cpus_ = true; }
  // Call before the first device is taken: makes room for the devices of this model.
  void make_room(const NodeModel& model);
  [[nodiscard]] int64_t memory_in(ZoneMask zones, uint32_t resource) const;

 private:
  bool any_cpus_ = false;
  bool has_rooms_ = false;
};

struct Scratch::Work {
  MergeScratch merge;
  std::vector<HintList> lists;  // only the first `used` count
  uint32_t used = 0;
  HintList memory_list;
  NodeState trial;
  Request request;
  Request whole;
  Reusable reusable;
  std::vector<int64_t> counts;
  std::vector<int64_t> taken;
  std::vector<uint64_t> words;
  bool full_lists = false;

  HintList& next_list() {
    if (used == lists.size()) lists.emplace_back();
    HintList& list = lists[used++];
    list.no_preference = false;
    list.hints.clear();
    return list;
  }
};

struct Run {
  Run(const NodeModel& node, const NodeState& from, const PodDemand& demand, Scratch::Work& memory,
      Admission* result);

  const NodeModel& model;
  const NodeState* state;  // as it is now
  const PodDemand& pod;
  Scratch::Work& work;
  Admission* out;             // null: only the verdict is wanted
  bool looks_at_pod = false;  // CPU and memory manager handle the pod (no pod-level resources, or
                              // those are supported)
  bool pod_level = false;     // they manage the pod's own resources
  bool cpu_acts = false;
  bool memory_acts = false;
  std::vector<HintRecord>* records = nullptr;

  Reason reason = Reason::kAdmitted;
  Stage stage = Stage::kNone;
  Fault fault = Fault::kNone;
  uint32_t resource = 0;
  int64_t need = 0;
  int64_t have = 0;

  // Always returns false, so that callers can return it.
  bool refuse(Reason why, Stage who, Fault what, int64_t wanted = 0, int64_t there = 0);

  // The state for writing: the first call copies the caller's state.
  NodeState& changed() {
    if (state != &work.trial) {
      work.trial = *state;
      state = &work.trial;
    }
    return work.trial;
  }
  // Nothing reads the state after this step, so it need not be updated.
  [[nodiscard]] bool only_checks(bool last) const { return last && out == nullptr; }

  // Whether Allocate for a last container depends on the affinity's zones, or only on the existence
  // of an affinity. Devices and CPUs are taken from any zone if necessary. So is memory, unless
  // groups or reuse tie it to certain zones.
  [[nodiscard]] bool zones_matter(bool last) const {
    if (!only_checks(last)) return true;
    if (memory_acts && (state->knows_groups() || !work.reusable.memory.empty())) return true;
    return cpu_acts && state->knows_cpus() && !model.layout->even();
  }

  void request_of(const ContainerDemand& container, Request& request) const;
  void request_of_pod(Request& request) const;
};

// ---- hints (GetTopologyHints, GetPodTopologyHints); `reuse`: what init containers held counts
void cpu_hints(const Run& run, int64_t cpus, bool reuse, HintList& list);
// Returns false if no zones have enough, which the memory manager treats as no preference.
bool memory_hints(const Run& run, std::span<const RowNeed> needs, HintList& list);
void device_hints(const Run& run, const RowNeed& need, bool reuse, HintList& list);

// Whether the groups of the zones let a block lie on `zones`.
[[nodiscard]] bool violates_groups(const Run& run, ZoneMask zones);

// ---- all hints merged; without `mask_matters`, under best-effort only `admit` is valid
[[nodiscard]] Affinity affinity(Run& run, const Request& request, bool reuse, bool mask_matters,
                                uint32_t container);

// ---- Allocate. False: refused. `last`: no later container requests anything
[[nodiscard]] bool allocate_devices(Run& run, uint32_t container, const Request& request,
                                    const Hint& hint, bool last);
[[nodiscard]] bool allocate_cpus(Run& run, uint32_t container, int64_t cpus, const Hint& hint,
                                 bool last);
[[nodiscard]] bool allocate_memory(Run& run, uint32_t container, const Request& request,
                                   const Hint& hint, bool last);

// A set of CPUs, by id if the node's CPU ids are known, and by column.
struct Cpus {
  CpuSet ids;
  std::vector<int64_t> counts;
};
// full-pcpus-only.
[[nodiscard]] bool check_whole_cores(Run& run, int64_t cpus);
// Takes from free and reusable CPUs; the state loses those that were free.
[[nodiscard]] bool take_from_node(Run& run, int64_t cpus, const Hint& hint, Cpus& got);
// Pod-level resources: takes from the pod's own CPUs.
[[nodiscard]] bool take_from_pod(const Run& run, const Cpus& available, int64_t cpus, Cpus& got);

// AllocatePod of both managers (pod-level resources, scope pod).
[[nodiscard]] bool allocate_pod_cpus(Run& run, const Request& whole, const Hint& hint);
[[nodiscard]] bool allocate_pod_memory(Run& run, const Request& whole, const Hint& hint);
// Whether containers that share would be left with nothing.
[[nodiscard]] bool empties_shared_pool(const Run& run, std::span<const RowNeed> totals, bool cpu);

}  // namespace plimsoll::topology::kubelet
