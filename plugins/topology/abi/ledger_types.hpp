/* What the functions of the NUMA ledger's service (ledger_service.h) take and give. Plain C11. */
#ifndef PLIMSOLL_TOPOLOGY_LEDGER_TYPES_H_
#define PLIMSOLL_TOPOLOGY_LEDGER_TYPES_H_

#include <plimsoll/objects.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  PLIMSOLL_NUMA_UNCERTAIN = 11, /* only the next report can show whether the kubelet admits it */
  PLIMSOLL_NUMA_NO_REPORT = 12  /* the pod waits for a report, PLIMSOLL_NUMA_WITHOUT_REPORT_* */
};
#define PLIMSOLL_NUMA_NO_RESOURCE UINT32_MAX

/* Why more than one state of a node is possible. */
enum {
  PLIMSOLL_NUMA_DOUBT_NONE = 0,
  PLIMSOLL_NUMA_DOUBT_ORDER = 1,   /* the order of pods, or their zones, are not known */
  PLIMSOLL_NUMA_DOUBT_UNKNOWN = 2, /* something may come free, nobody knows how much or where */
  PLIMSOLL_NUMA_DOUBT_REFUSED = 3, /* its kubelet refused a pod since the last report */
  PLIMSOLL_NUMA_DOUBT_AWAY = 4,    /* its kubelet ended, and has not taken up its pods again */
  PLIMSOLL_NUMA_DOUBT_GONE = 5     /* it had a report, which was deleted */
};

/* What a pod does on a node without a report. */
enum {
  PLIMSOLL_NUMA_WITHOUT_REPORT_PASS = 0,
  PLIMSOLL_NUMA_WITHOUT_REPORT_WAIT_IF_GONE = 1, /* it waits if there was a report */
  PLIMSOLL_NUMA_WITHOUT_REPORT_WAIT = 2
};

/* A pod to ask about, prepared once for all nodes. It belongs to one thread. */
typedef struct plimsoll_numa_inquiry plimsoll_numa_inquiry;

typedef void (*plimsoll_numa_put_text)(void* sink, const char* text, size_t length);

typedef void (*plimsoll_numa_put)(void* sink, const plimsoll_numa_charge* charge);

typedef void (*plimsoll_numa_put_place)(void* sink, const plimsoll_numa_place* place);

typedef void (*plimsoll_numa_put_alike)(void* sink, const plimsoll_numa_alike* nodes);

typedef int32_t (*plimsoll_numa_fits)(void* sink, const plimsoll_numa_node* node);

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_TOPOLOGY_LEDGER_TYPES_H_ */
