#pragma once
// What others ask of the NUMA ledger, and what they get (ledger_service.hpp). Values only.

#include <plimsoll/objects.h>

#include <cstdint>
#include <vector>

enum {
  PLIMSOLL_NUMA_POLICY_NONE = 0,
  PLIMSOLL_NUMA_POLICY_BEST_EFFORT = 1,
  PLIMSOLL_NUMA_POLICY_RESTRICTED = 2,
  PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE = 3
};
enum { PLIMSOLL_NUMA_SCOPE_CONTAINER = 0, PLIMSOLL_NUMA_SCOPE_POD = 1 };

/* The zones of one node: the last report minus later promises. Rows are resources. Columns are
 * zones in ascending order of their ids, which may have gaps. Cell = row * zone_count + column.
 * Amounts are in the base units of objects.h. */
typedef struct plimsoll_numa_node {
  uint32_t size;
  uint32_t zone_count;          /* 0 ... 64 */
  uint32_t resource_count;      /* rows */
  uint32_t promises;            /* promises that no report covers yet */
  uint8_t policy;               /* PLIMSOLL_NUMA_POLICY_* */
  uint8_t scope;                /* PLIMSOLL_NUMA_SCOPE_* */
  uint16_t max_numa_nodes;      /* topologyManagerMaxNUMANodes, 8 unless said otherwise */
  uint32_t leaving;             /* removed pods, in use until a report shows otherwise */
  const uint32_t* zone_ids;     /* by column */
  const uint32_t* report_order; /* columns in the order in which the report lists the zones */
  const uint32_t* resources;    /* by row: plimsoll_resource.index */
  const uint64_t* listed;       /* by row; bit c: the zone in column c lists the resource */
  const int64_t* free;          /* by cell: available - promises; below 0: overdrawn */
  const int64_t* allocatable;   /* by cell */
  const int64_t* capacity;      /* by cell */
  const int32_t* distances;     /* column * zone_count + column; 255: not reported */
  int64_t reported_ms;          /* when the report was written; if unknown, when it arrived */
} plimsoll_numa_node;

/* An amount of one resource that a container of a pod takes from one zone. */
typedef struct plimsoll_numa_charge {
  uint32_t container; /* init containers first, then the others, in spec order */
  uint32_t zone_id;
  uint32_t resource; /* plimsoll_resource.index */
  uint32_t reserved;
  int64_t amount;
} plimsoll_numa_charge;

/* Where a pod would land on a node. Rows, columns and cells are those of plimsoll_numa_node. */
typedef struct plimsoll_numa_use {
  uint32_t size;
  uint32_t promised; /* 1: the policy aligns pods, that is, it is not `none` */
  uint32_t width; /* zones of the widest container (scope pod: of the pod); 0: nothing is aligned */
  /* For the container that most exceeds the number of zones that it needs by their sizes: */
  uint32_t used;
  uint32_t needed;
  uint32_t reserved;
  uint64_t widest;       /* the zones of the widest container, as columns */
  uint64_t zones;        /* of all containers together */
  const uint64_t* taken; /* by row: the columns from which the pod takes */
  const int64_t* free;   /* by cell: what is free after the pod has landed */
} plimsoll_numa_use;

/* What a pod takes from its single zone. Amounts are above 0, in base units. */
typedef struct plimsoll_numa_taking {
  uint32_t size;
  uint32_t count;
  const uint32_t* resources; /* plimsoll_resource.index */
  const int64_t* amounts;
} plimsoll_numa_taking;

/* Where a pod lands on one node of a batch. */
typedef struct plimsoll_numa_landing {
  const plimsoll_numa_node* node;     /* NULL: it reported no zones */
  const plimsoll_numa_taking* taking; /* NULL: not a simple case, call `use` */
  uint32_t column;                    /* with `taking`: the zone's column; the policy enforces it */
  uint32_t reserved;
} plimsoll_numa_landing;

/* Nodes that are alike, in columns. Free amounts are whole numbers from 0 to 2^46 in base units,
 * equal to `free` of plimsoll_numa_node. They are stored in blocks of PLIMSOLL_NUMA_BLOCK nodes:
 * [position / BLOCK][row * zone_count + column][position % BLOCK]. */
#define PLIMSOLL_NUMA_BLOCK 32
#define PLIMSOLL_NUMA_NO_COLUMN 255
typedef struct plimsoll_numa_alike {
  uint32_t size;
  uint32_t count;        /* nodes */
  const uint32_t* slots; /* by position */
  const double* free;    /* below 0 at the unused positions of the last block */
  /* Allocatable, by row * zone_count + column, the same for all nodes; with own_sizes, per node and
   * laid out as `free`. */
  const double* sizes;
  const uint32_t* resources; /* by row */
  uint32_t zone_count;
  uint32_t resource_count; /* rows */
  uint8_t policy;
  uint8_t scope;
  uint8_t own_sizes;
  uint8_t reserved[5];
  /* As in plimsoll_numa_landing; NULL: no node is a simple case. */
  const plimsoll_numa_taking* taking;
  /* By position: the column of the zone where the pod lands; NO_COLUMN: call `use`. NULL if
   * `taking` is NULL. */
  const uint8_t* columns;
  /* By block, 1 to zone_count: on each node of the block, every column from this number on has the
   * same free amounts of all resources as the column before it. */
  const uint8_t* distinct;
} plimsoll_numa_alike;

/* The zones from which one container of a pod gets one resource. A memory block lies on all of its
 * zones. */
typedef struct plimsoll_numa_place {
  uint32_t container; /* init containers first, then the others, in spec order; UINT32_MAX: the pod
                         itself (devices with pod-level resources) */
  uint32_t kind;      /* PLIMSOLL_CONTAINER_* */
  uint32_t resource;  /* plimsoll_resource.index */
  uint32_t reserved;
  uint64_t zones; /* bit i: the zone with id i */
} plimsoll_numa_place;

namespace plimsoll::topology {

// Zones by id: those of pods in a single zone, and those of pods in several zones.
struct OccupiedZones {
  uint64_t by_single = 0;
  uint64_t by_spread = 0;
};

// The zones from which a pod's containers were allocated something, by resource. `spread`: some
// container (scope pod: the pod) is on more zones than it needs by their sizes.
struct Whereabouts {
  std::vector<plimsoll_numa_place> places;
  bool spread = false;
};

// What a pod takes from one zone, all containers together.
struct Charge {
  uint32_t zone_id = 0;
  uint32_t resource = 0;
  int64_t amount = 0;  // at most, over the pod's life
  int64_t held = 0;    // of that, what the pod keeps though reports do not count it
};

// Why a kubelet would refuse a pod.
enum class Verdict : uint8_t {
  kFits,
  kCannotAlignPod,  // TopologyAffinityError, for the object in the name
  kCannotAlignContainer,
  kCannotAlignInitContainer,
  kCannotAlignSidecarContainer,
  kInvalidTopology,  // the node's object cannot be read
  // Of admission model Kubelet only:
  kNotWholeCores,  // SMTAlignmentError
  kTooFewCpus,     // UnexpectedAdmissionError; the name says what is short
  kTooFewDevices,
  kMemoryUnavailable,
  kNoSharedPool,  // EmptyPodSharedPoolError
  kUncertain,     // only the next report can show whether the kubelet admits it
  // Of both:
  kNoReport  // nothing is known of its zones; the pod waits for a report
};
inline constexpr uint32_t kVerdicts = static_cast<uint32_t>(Verdict::kNoReport) + 1;

// The pod waits for what will be known of the node, and nobody is evicted for it.
[[nodiscard]] constexpr bool waits(Verdict verdict) {
  return verdict == Verdict::kUncertain || verdict == Verdict::kNoReport;
}

struct Judgement {
  Verdict verdict = Verdict::kFits;
  // What is short, if that is one resource alone; or kNoResource.
  static constexpr uint32_t kNoResource = UINT32_MAX;
  uint32_t resource = kNoResource;

  [[nodiscard]] bool fits() const { return verdict == Verdict::kFits; }
};

// Why more than one state of a node is possible.
enum class Doubt : uint8_t {
  kNone,
  kOrder,    // the order of pods, or their zones, are not known
  kUnknown,  // something may come free, nobody knows how much or where
  kRefused,  // its kubelet refused a pod since the last report
  kAway,     // its kubelet ended, and has not taken up its pods again
  kGone      // it had a report, which was deleted
};

// What a pod that a kubelet ties to zones does on a node without a report.
enum class WithoutReport : uint8_t { kPass, kWaitIfGone, kWait };
[[nodiscard]] constexpr bool waits(WithoutReport what, bool gone) {
  return what == WithoutReport::kWait || (gone && what == WithoutReport::kWaitIfGone);
}

}  // namespace plimsoll::topology
