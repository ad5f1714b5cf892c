/* The NUMA ledger as a service: what topology plugins and others ask one another. Plain C11.
 *
 * One ledger per process, however many profiles and plugin instances there are. The first instance
 * of NodeResourceTopologyMatch or TopologyScore publishes this table under
 * PLIMSOLL_NUMA_LEDGER_SERVICE and feeds it with node, pod and NodeResourceTopology events; all
 * others find it. `ctx` is the first argument of every function. Nothing here blocks.
 *
 * Threads: `node`, `malformed`, `predict`, `pending_promises`, `fits_without`, `holds`, `inquire`,
 * `judge`, `judge_many`, `judge_changed`, `fits_soon`, `explain`, `use`, `land_many`, `where`,
 * `occupied`, `admits_many` and `alike` are const and may be called from filter and score on
 * several threads at once; everything else on the scheduler loop only. What `node` returns is valid
 * until the loop takes its next event.
 */
#ifndef PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_
#define PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_

#include <plimsoll/objects.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_NUMA_LEDGER_SERVICE "plimsoll.io/numa-ledger"
#define PLIMSOLL_NUMA_LEDGER_VERSION 10

enum {
  PLIMSOLL_NUMA_POLICY_NONE = 0,
  PLIMSOLL_NUMA_POLICY_BEST_EFFORT = 1,
  PLIMSOLL_NUMA_POLICY_RESTRICTED = 2,
  PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE = 3
};
enum { PLIMSOLL_NUMA_SCOPE_CONTAINER = 0, PLIMSOLL_NUMA_SCOPE_POD = 1 };

/* The zones of one node: the last report less what was promised since. Rows are resources, columns
 * are zones in ascending order of their ids (which may have gaps); cell = row * zone_count +
 * column. Amounts in the base units of objects.h. */
typedef struct plimsoll_numa_node {
  uint32_t size;
  uint32_t zone_count;          /* 0 ... 64 */
  uint32_t resource_count;      /* rows */
  uint32_t promises;            /* promises that no report covers yet */
  uint8_t policy;               /* PLIMSOLL_NUMA_POLICY_* */
  uint8_t scope;                /* PLIMSOLL_NUMA_SCOPE_* */
  uint16_t max_numa_nodes;      /* topologyManagerMaxNUMANodes, 8 unless said otherwise */
  uint32_t leaving;             /* pods that are gone, but count as in use until a report says so */
  const uint32_t* zone_ids;     /* by column */
  const uint32_t* report_order; /* columns in the order in which the report lists the zones */
  const uint32_t* resources;    /* by row: plimsoll_resource.index */
  const uint64_t* listed;       /* by row: bit c: zone c lists the resource */
  const int64_t* free;          /* by cell: available - promises; below 0: overdrawn */
  const int64_t* allocatable;   /* by cell */
  const int64_t* capacity;      /* by cell */
  const int32_t* distances;     /* column * zone_count + column; 255: not reported */
  int64_t reported_ms;          /* when the report was written, or else when it arrived */
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
  uint32_t promised; /* 1: the policy keeps to zones: it is not `none` */
  uint32_t width;    /* zones of the widest container (scope pod: of the pod); 0: none is tied */
  /* Of the container that is spread furthest beyond what the sizes of the zones call for: */
  uint32_t used;
  uint32_t needed;
  uint32_t reserved;
  uint64_t widest;       /* the zones of the widest container, as columns */
  uint64_t zones;        /* of all containers together */
  const uint64_t* taken; /* by row: columns that something is taken from */
  const int64_t* free;   /* by cell: what is free once the pod is there */
} plimsoll_numa_use;

/* What a pod takes from the one zone that it lands in. Amounts above 0, in base units. */
typedef struct plimsoll_numa_taking {
  uint32_t size;
  uint32_t count;
  const uint32_t* resources; /* plimsoll_resource.index */
  const int64_t* amounts;
} plimsoll_numa_taking;

/* Where a pod lands on one node of a batch. */
typedef struct plimsoll_numa_landing {
  const plimsoll_numa_node* node;     /* NULL: it reported no zones */
  const plimsoll_numa_taking* taking; /* NULL: it is not that simple, ask `use` */
  uint32_t column;                    /* with `taking`: of the zone; the policy keeps to it */
  uint32_t reserved;
} plimsoll_numa_landing;

/* Nodes that are alike, in columns. What is free in them is a whole number from 0 to 2^46 in base
 * units, `free` of plimsoll_numa_node, in blocks of PLIMSOLL_NUMA_BLOCK nodes:
 * [position / BLOCK][row * zone_count + column][position % BLOCK]. */
#define PLIMSOLL_NUMA_BLOCK 32
#define PLIMSOLL_NUMA_NO_COLUMN 255
typedef struct plimsoll_numa_alike {
  uint32_t size;
  uint32_t count;        /* nodes */
  const uint32_t* slots; /* by position */
  const double* free;    /* of the last block, positions that no node has: below 0 */
  /* Allocatable, by row * zone_count + column, of all nodes; or, if own_sizes, laid out as `free`.
   */
  const double* sizes;
  const uint32_t* resources; /* by row */
  uint32_t zone_count;
  uint32_t resource_count; /* rows */
  uint8_t policy;
  uint8_t scope;
  uint8_t own_sizes;
  uint8_t reserved[5];
  /* As of plimsoll_numa_landing; NULL: of none it is that simple. */
  const plimsoll_numa_taking* taking;
  /* By position: the column of the zone it lands in; NO_COLUMN: ask `use`. NULL without `taking`.
   */
  const uint8_t* columns;
  /* By block: of its nodes, all columns from the one with this number on have of every resource
   * free what the column before has. 1 to zone_count. */
  const uint8_t* distinct;
} plimsoll_numa_alike;

/* The zones of one resource that one container of a pod gets. A block of memory is on all of its
 * zones. */
typedef struct plimsoll_numa_place {
  uint32_t container; /* init containers first, then the others, in spec order; UINT32_MAX: it is
                       * the pod's, not a container's (devices with pod-level resources) */
  uint32_t kind;      /* PLIMSOLL_CONTAINER_* */
  uint32_t resource;  /* plimsoll_resource.index */
  uint32_t reserved;
  uint64_t zones; /* bit i: the zone with id i */
} plimsoll_numa_place;

/* What `where` knows. */
enum {
  PLIMSOLL_NUMA_PLACE_UNKNOWN = 0, /* no report, refused, or it depends on what nobody knows */
  PLIMSOLL_NUMA_PLACE_NARROW = 1,  /* no container (scope pod: not the pod) is spread over more */
  PLIMSOLL_NUMA_PLACE_SPREAD = 2   /* zones than the sizes of the zones call for; or one is */
};

/* Why a kubelet would refuse a pod. */
enum {
  PLIMSOLL_NUMA_FITS = 0,
  PLIMSOLL_NUMA_CANNOT_ALIGN_POD = 1, /* TopologyAffinityError, by what has no place */
  PLIMSOLL_NUMA_CANNOT_ALIGN_CONTAINER = 2,
  PLIMSOLL_NUMA_CANNOT_ALIGN_INIT_CONTAINER = 3,
  PLIMSOLL_NUMA_CANNOT_ALIGN_SIDECAR_CONTAINER = 4,
  PLIMSOLL_NUMA_INVALID_TOPOLOGY = 5, /* the node's object cannot be read */
  PLIMSOLL_NUMA_NOT_WHOLE_CORES = 6,  /* SMTAlignmentError */
  PLIMSOLL_NUMA_TOO_FEW_CPUS = 7,     /* UnexpectedAdmissionError, by who says so */
  PLIMSOLL_NUMA_TOO_FEW_DEVICES = 8,
  PLIMSOLL_NUMA_MEMORY_UNAVAILABLE = 9,
  PLIMSOLL_NUMA_NO_SHARED_POOL = 10, /* EmptyPodSharedPoolError */
  PLIMSOLL_NUMA_UNCERTAIN = 11 /* admitted or not: it depends on what only the next report tells */
};
#define PLIMSOLL_NUMA_NO_RESOURCE UINT32_MAX

/* A pod that is asked about, worked out once for all nodes. Of one thread. */
typedef struct plimsoll_numa_inquiry plimsoll_numa_inquiry;

typedef void (*plimsoll_numa_put_text)(void* sink, const char* text, size_t length);

typedef void (*plimsoll_numa_put)(void* sink, const plimsoll_numa_charge* charge);

typedef void (*plimsoll_numa_put_place)(void* sink, const plimsoll_numa_place* place);

typedef void (*plimsoll_numa_put_alike)(void* sink, const plimsoll_numa_alike* nodes);

typedef int32_t (*plimsoll_numa_fits)(void* sink, const plimsoll_numa_node* node);

/* Who wants to hear of the ledger. Stays where it is until `unsubscribe` or `closed`. */
typedef struct plimsoll_numa_listener {
  uint32_t size;
  uint32_t reserved;
  void* ctx;
  /* Pods that were rejected for want of zones may fit on the node in this slot now. Only of what no
   * event of the cluster tells: of reports and pods every plugin hears by itself, see `eased`. */
  void (*freed)(void* ctx, uint32_t slot);
  /* The ledger ends: its table must not be called from here on. */
  void (*closed)(void* ctx);
} plimsoll_numa_listener;

typedef struct plimsoll_numa_ledger {
  uint32_t size;
  uint32_t reserved;
  void* ctx;

  /* The zones of the node in this slot; NULL: it reported none. */
  const plimsoll_numa_node* (*node)(void* ctx, uint32_t slot);
  /* Where the pod's containers would land on the node now. 1: all of them have a place; 0: the
   * kubelet would refuse one (what was placed before it is still put). */
  int32_t (*predict)(void* ctx, uint32_t slot, const plimsoll_pod* pod, plimsoll_numa_put put,
                     void* sink);
  /* Promises the pod its predicted zones. 1: done, and each charge put; 0: its kubelet may refuse
   * it, nothing has changed. `insist` 1: it is promised them whatever the kubelet may say. Calling
   * it again for the same pod replaces its promise. */
  int32_t (*reserve)(void* ctx, uint32_t slot, const plimsoll_pod* pod, uint32_t insist,
                     plimsoll_numa_put put, void* sink);
  /* Takes the promise back unless the pod is known to be bound. 1: zone capacity came free. */
  int32_t (*unreserve)(void* ctx, const plimsoll_pod* pod);
  /* What is recorded for a pod, promised or covered by a report. 0: nothing known. */
  int32_t (*promised)(void* ctx, plimsoll_str pod_uid, plimsoll_numa_put put, void* sink);
  /* The version of the report that `node` rests on; empty: none. For requeue hints. */
  plimsoll_str (*report_version)(void* ctx, plimsoll_str node_name);
  /* Promises in flight on all nodes. */
  uint64_t (*pending_promises)(void* ctx);
  /* Only the plugin that rejected a pod can wake it: every instance that rejects subscribes. */
  void (*subscribe)(void* ctx, const plimsoll_numa_listener* listener);
  void (*unsubscribe)(void* ctx, const plimsoll_numa_listener* listener);
  /* 1: the node in this slot has a NodeResourceTopology that cannot be read, and no good one came
   * before it: `node` is NULL although the node has zones. Const, like `node`. */
  int32_t (*malformed)(void* ctx, uint32_t slot);
  /* What-if: 1 if `fits` holds of the node in this slot once these pods are gone and a report has
   * shown it, whatever zones they really hold. `fits` (1 or 0) is called with the node as it will
   * surely be at least, and if that does not do, with each way it may be; what it is given is valid
   * during the call. 0: not for sure, or no report. Changes nothing. Const, like `node`. */
  int32_t (*fits_without)(void* ctx, uint32_t slot, const plimsoll_str* pod_uids, uint32_t count,
                          plimsoll_numa_fits fits, void* sink);
  /* 1: the pod is recorded on the node in this slot, promised or bound. Const, like `node`. */
  int32_t (*holds)(void* ctx, uint32_t slot, plimsoll_str pod_uid);

  /* ---- the kubelet's own algorithm, on a node in every state in which it may be now */
  /* NULL: no kubelet looks at the pod's zones, it fits everywhere. The pod may go afterwards. */
  plimsoll_numa_inquiry* (*inquire)(void* ctx, const plimsoll_pod* pod);
  void (*inquiry_free)(plimsoll_numa_inquiry* pod);
  /* PLIMSOLL_NUMA_*. `resource`: what is short, if that is one resource alone. */
  uint32_t (*judge)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, uint32_t* resource);
  /* The same once the pods of these UIDs are gone and those of `with` have come, in this order. */
  uint32_t (*judge_changed)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                            const plimsoll_str* without, uint32_t without_count,
                            const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                            uint32_t* resource);
  /* 1: refused now, it will fit once a report has shown what is known already. */
  int32_t (*fits_soon)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* What a verdict on the pod rests on, for people: what is short, where most of it is, how old the
   * report is, what is under way. */
  void (*explain)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, const plimsoll_pod* object,
                  uint32_t verdict, plimsoll_numa_put_text put, void* sink);

  /* ---- for requeue hints */
  /* 0: whatever did not fit on the node in this slot before the event that the ledger heard of last
   * does not fit there after it. */
  int32_t (*eased)(void* ctx, uint32_t slot);
  /* Another number whenever the node in this slot has changed: `judge` says the same as long as it
   * stays. 0: no such node. Const, like `node`. */
  uint64_t (*change_of)(void* ctx, uint32_t slot);
  /* `judge` of `count` nodes, faster than one by one. `verdicts` and `resources` have as many. */
  void (*judge_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                     uint32_t* verdicts, uint32_t* resources);

  /* ---- for scores */
  /* Where the pod would land, in the likeliest of the states in which the node may be. NULL: the
   * kubelet would refuse it there, or the node reported no zones. Valid until the next question
   * with the same `pod`, and as long as what `node` returns. */
  const plimsoll_numa_use* (*use)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* The same of `count` nodes, for those on which the pod is one container that finds one zone with
   * all of it; much faster than `use`. `landings` has as many; `node` as long as what the function
   * `node` returns, `taking` as long as `pod`, which may be NULL: then only the nodes are told. */
  void (*land_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                    plimsoll_numa_landing* landings);

  /* ---- for those who give out what no kubelet knows of (devices) next to what it gives */
  /* PLIMSOLL_NUMA_PLACE_*, and the zones of each container put: where the pod is promised to be on
   * the node in this slot if it is, else where it would land in the likeliest of the states in
   * which the node may be once the pods of `without` are gone and those of `with` have come, in
   * this order. So the answer before and after `reserve` is the same. Nothing is put of containers
   * that no manager ties to zones. */
  uint32_t (*where)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, plimsoll_str pod_uid,
                    const plimsoll_str* without, uint32_t without_count,
                    const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                    plimsoll_numa_put_place put, void* sink);
  /* Zones (bit i: the zone with id i) in which there is a pod that is in one zone only, and zones
   * of pods that are in several. Pods of these UIDs do not count. */
  void (*occupied)(void* ctx, uint32_t slot, const plimsoll_str* without, uint32_t without_count,
                   uint64_t* by_single, uint64_t* by_spread);

  /* ---- for filters and scores of all nodes: what most of them say, in columns */
  /* Of `count` nodes, those of which it is plain that `judge` says PLIMSOLL_NUMA_FITS: 1; others 0.
   * Much faster than `judge_many`, which is for the others. */
  void (*admits_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                      uint8_t* admitted);
  /* Puts all nodes that are alike, group by group; what is put is valid during the call. A node is
   * in one group at most: those that are in none, because they are few or much is under way there,
   * are left to `land_many`. `asked`: of so many nodes the caller wants to know; nothing is put if
   * that is few. `pod` may be NULL: then `taking` is. */
  void (*alike)(void* ctx, uint32_t asked, plimsoll_numa_inquiry* pod, plimsoll_numa_put_alike put,
                void* sink);
} plimsoll_numa_ledger;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_ */
