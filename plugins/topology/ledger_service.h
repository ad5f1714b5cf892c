/* The NUMA ledger as a service, for topology plugins and others. Plain C11.
 *
 * There is one ledger per process, for all profiles and plugin instances. The first instance of
 * NodeResourceTopologyMatch or TopologyScore publishes this table under
 * PLIMSOLL_NUMA_LEDGER_SERVICE and passes node, pod and NodeResourceTopology events to it. All
 * other instances look it up. `ctx` is the first argument of every function. No function blocks.
 *
 * Threads: `node`, `malformed`, `predict`, `pending_promises`, `fits_without`, `holds`, `inquire`,
 * `judge`, `judge_many`, `judge_changed`, `fits_soon`, `explain`, `use`, `land_many`, `where`,
 * `occupied`, `admits_many` and `alike` are const; filters and scores may call them from several
 * threads at once. Call everything else on the scheduler loop only. The result of `node` is valid
 * until the loop handles its next event. */
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

/* The results of `where`. */
enum {
  PLIMSOLL_NUMA_PLACE_UNKNOWN = 0, /* no report, refused, or it depends on unknown facts */
  /* No container (scope pod: not the pod) is on more zones than it needs by their sizes. */
  PLIMSOLL_NUMA_PLACE_NARROW = 1,
  PLIMSOLL_NUMA_PLACE_SPREAD = 2 /* one is on more */
};

/* Why a kubelet would refuse a pod. */
enum {
  PLIMSOLL_NUMA_FITS = 0,
  PLIMSOLL_NUMA_CANNOT_ALIGN_POD = 1, /* TopologyAffinityError, for the object in the name */
  PLIMSOLL_NUMA_CANNOT_ALIGN_CONTAINER = 2,
  PLIMSOLL_NUMA_CANNOT_ALIGN_INIT_CONTAINER = 3,
  PLIMSOLL_NUMA_CANNOT_ALIGN_SIDECAR_CONTAINER = 4,
  PLIMSOLL_NUMA_INVALID_TOPOLOGY = 5, /* the node's object cannot be read */
  PLIMSOLL_NUMA_NOT_WHOLE_CORES = 6,  /* SMTAlignmentError */
  PLIMSOLL_NUMA_TOO_FEW_CPUS = 7,     /* UnexpectedAdmissionError; the name says what is short */
  PLIMSOLL_NUMA_TOO_FEW_DEVICES = 8,
  PLIMSOLL_NUMA_MEMORY_UNAVAILABLE = 9,
  PLIMSOLL_NUMA_NO_SHARED_POOL = 10, /* EmptyPodSharedPoolError */
  PLIMSOLL_NUMA_UNCERTAIN = 11 /* only the next report can show whether the kubelet admits it */
};
#define PLIMSOLL_NUMA_NO_RESOURCE UINT32_MAX

/* A pod to ask about, prepared once for all nodes. It belongs to one thread. */
typedef struct plimsoll_numa_inquiry plimsoll_numa_inquiry;

typedef void (*plimsoll_numa_put_text)(void* sink, const char* text, size_t length);

typedef void (*plimsoll_numa_put)(void* sink, const plimsoll_numa_charge* charge);

typedef void (*plimsoll_numa_put_place)(void* sink, const plimsoll_numa_place* place);

typedef void (*plimsoll_numa_put_alike)(void* sink, const plimsoll_numa_alike* nodes);

typedef int32_t (*plimsoll_numa_fits)(void* sink, const plimsoll_numa_node* node);

/* A subscriber to ledger events. Its address must not change until `unsubscribe` or `closed`. */
typedef struct plimsoll_numa_listener {
  uint32_t size;
  uint32_t reserved;
  void* ctx;
  /* Pods that were rejected because no zones had room may fit on the node in this slot now. Called
   * only if no cluster event shows the change: plugins get report and pod events themselves, see
   * `eased`. */
  void (*freed)(void* ctx, uint32_t slot);
  /* The ledger is destroyed: do not call its table from here on. */
  void (*closed)(void* ctx);
} plimsoll_numa_listener;

typedef struct plimsoll_numa_ledger {
  uint32_t size;
  uint32_t reserved;
  void* ctx;

  /* The zones of the node in this slot; NULL if it reported none. */
  const plimsoll_numa_node* (*node)(void* ctx, uint32_t slot);
  /* Puts where the pod's containers would land on the node now. 1: all containers have a place. 0:
   * the kubelet would refuse one; the containers placed before it are still put. */
  int32_t (*predict)(void* ctx, uint32_t slot, const plimsoll_pod* pod, plimsoll_numa_put put,
                     void* sink);
  /* Promises the pod its predicted zones. 1: done, and each charge was put. 0: the kubelet may
   * refuse the pod, and nothing changed. `insist` 1: promise them even if the kubelet may refuse.
   * Another call for the same pod replaces its promise. */
  int32_t (*reserve)(void* ctx, uint32_t slot, const plimsoll_pod* pod, uint32_t insist,
                     plimsoll_numa_put put, void* sink);
  /* Removes the promise unless the pod is known to be bound. 1: zone capacity was freed. */
  int32_t (*unreserve)(void* ctx, const plimsoll_pod* pod);
  /* Puts the charges recorded for a pod, promised or covered by a report. 0: none are known. */
  int32_t (*promised)(void* ctx, plimsoll_str pod_uid, plimsoll_numa_put put, void* sink);
  /* The version of the report behind `node`; empty if there is none. For requeue hints. */
  plimsoll_str (*report_version)(void* ctx, plimsoll_str node_name);
  /* Promises in flight on all nodes. */
  uint64_t (*pending_promises)(void* ctx);
  /* Only the plugin that rejected a pod can requeue it, so every instance that rejects pods
   * subscribes. */
  void (*subscribe)(void* ctx, const plimsoll_numa_listener* listener);
  void (*unsubscribe)(void* ctx, const plimsoll_numa_listener* listener);
  /* 1: the NodeResourceTopology of the node in this slot cannot be read, and no readable one came
   * before it. Then `node` returns NULL although the node has zones. Const, like `node`. */
  int32_t (*malformed)(void* ctx, uint32_t slot);
  /* What-if: 1 if `fits` holds for the node in this slot after these pods are gone and a report has
   * shown it, whatever zones they hold. 0: not for sure, or no report. `fits` returns 1 or 0. It is
   * first called with the least that the node will have for sure; if that is not enough, with each
   * possible outcome. Its argument is valid during the call. Changes nothing. Const, like `node`.
   */
  int32_t (*fits_without)(void* ctx, uint32_t slot, const plimsoll_str* pod_uids, uint32_t count,
                          plimsoll_numa_fits fits, void* sink);
  /* 1: the pod is recorded on the node in this slot, promised or bound. Const, like `node`. */
  int32_t (*holds)(void* ctx, uint32_t slot, plimsoll_str pod_uid);

  /* ---- the kubelet's own algorithm, on each possible state of a node */
  /* NULL: no kubelet aligns the pod, it fits everywhere. The pod need not outlive the call. */
  plimsoll_numa_inquiry* (*inquire)(void* ctx, const plimsoll_pod* pod);
  void (*inquiry_free)(plimsoll_numa_inquiry* pod);
  /* Returns PLIMSOLL_NUMA_*. Sets `resource` to the resource that is short, if it is only one. */
  uint32_t (*judge)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, uint32_t* resource);
  /* `judge` after the pods with these UIDs are gone and those of `with` were admitted, in this
   * order. */
  uint32_t (*judge_changed)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                            const plimsoll_str* without, uint32_t without_count,
                            const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                            uint32_t* resource);
  /* 1: the pod is refused now, but will fit after a report has shown what is already known. */
  int32_t (*fits_soon)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* Puts a text that explains a verdict to people: which resource is short, which zone has most of
   * it, how old the report is, and what is under way. */
  void (*explain)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, const plimsoll_pod* object,
                  uint32_t verdict, plimsoll_numa_put_text put, void* sink);

  /* ---- for requeue hints */
  /* 0: no pod that did not fit on the node in this slot before the ledger's last event fits there
   * after it. */
  int32_t (*eased)(void* ctx, uint32_t slot);
  /* Changes whenever the node in this slot changes; as long as it stays the same, `judge` gives the
   * same result. 0: no such node. Const, like `node`. */
  uint64_t (*change_of)(void* ctx, uint32_t slot);
  /* `judge` for `count` nodes, faster than one by one. `verdicts` and `resources` have `count`
   * elements. */
  void (*judge_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                     uint32_t* verdicts, uint32_t* resources);

  /* ---- for scores */
  /* Where the pod would land in the likeliest possible state of the node. NULL: the kubelet would
   * refuse it, or the node reported no zones. Valid until the next call with the same `pod`, and no
   * longer than the result of `node`. */
  const plimsoll_numa_use* (*use)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* `use` for `count` nodes, much faster. It covers pods with one container that fits into one
   * zone. `landings` has `count` elements. Their `node` is valid as long as the result of the
   * function `node`, their `taking` as long as `pod`. `pod` may be NULL: then only `node` is set.
   */
  void (*land_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                    plimsoll_numa_landing* landings);

  /* ---- for plugins that allocate devices which the kubelet does not know */
  /* Returns PLIMSOLL_NUMA_PLACE_* and puts the zones of each container. If the pod is promised
   * zones on the node in this slot, those are put. Otherwise it is where the pod would land in the
   * likeliest possible state of the node after the pods of `without` are gone and those of `with`
   * were admitted, in this order. So the result before and after `reserve` is the same. Containers
   * that no manager aligns are left out. */
  uint32_t (*where)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, plimsoll_str pod_uid,
                    const plimsoll_str* without, uint32_t without_count,
                    const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                    plimsoll_numa_put_place put, void* sink);
  /* Zones (bit i: the zone with id i) that hold a pod which is in one zone only, and zones of pods
   * that are in several. Pods with these UIDs do not count. */
  void (*occupied)(void* ctx, uint32_t slot, const plimsoll_str* without, uint32_t without_count,
                   uint64_t* by_single, uint64_t* by_spread);

  /* ---- for filters and scores over all nodes: results for most nodes, in columns */
  /* Sets 1 for those of `count` nodes where a simple test shows that `judge` returns
   * PLIMSOLL_NUMA_FITS, 0 for all others. Much faster than `judge_many`; use that for the others.
   */
  void (*admits_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                      uint8_t* admitted);
  /* Puts all nodes that are alike, group by group; each group is valid during its call. A node is
   * in at most one group. Nodes in no group (too few are alike, or much is under way there) are
   * left to `land_many`. `asked` is the number of nodes that the caller needs; if it is small,
   * nothing is put. If `pod` is NULL, so is `taking`. */
  void (*alike)(void* ctx, uint32_t asked, plimsoll_numa_inquiry* pod, plimsoll_numa_put_alike put,
                void* sink);
} plimsoll_numa_ledger;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_ */
