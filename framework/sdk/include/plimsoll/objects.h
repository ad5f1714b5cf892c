/* Plimsoll plugin ABI, part 1: the Kubernetes objects that plugins see. Plain C11. One header,
 * however long: plugin_abi.h includes all of it, and its structs are frozen.
 *
 * Rules for the whole file:
 *  - Objects are immutable. A pointer is valid for the call that passed it. A plugin copies what it
 *    keeps.
 *  - Every struct that may grow begins with `size`, the number of bytes that its writer filled. New
 *    fields are only appended. Read a field added after 1.0 only if PLIMSOLL_HAS(ptr, field).
 *  - Step through a list with its own stride: an element may be larger than the struct that the
 *    reader was compiled with.
 *  - Strings are not NUL-terminated. `symbol` is the interned id of the text, or 0. Two strings
 * with non-zero symbols are equal if and only if the symbols are equal. Otherwise compare the
 * texts.
 *  - Quantities are int64 in base units: milli-units for "cpu", whole units (bytes, devices) for
 *    everything else. They are rounded up as Quantity.MilliValue and Quantity.Value do, and they
 *    saturate instead of wrapping.
 *  - Times are milliseconds since the epoch; 0 means "not set".
 */
#ifndef PLIMSOLL_OBJECTS_H_
#define PLIMSOLL_OBJECTS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_HAS(ptr, field) \
  ((ptr)->size >= offsetof(__typeof__(*(ptr)), field) + sizeof((ptr)->field))

typedef uint32_t plimsoll_symbol;

typedef struct plimsoll_str {
  const char* data;
  uint32_t len;
  plimsoll_symbol symbol;
} plimsoll_str;

typedef struct plimsoll_list {
  const void* data;
  uint32_t count;
  uint32_t stride; /* bytes from one element to the next */
} plimsoll_list;

/* Symbols that are the same in every process. */
enum {
  PLIMSOLL_SYMBOL_NONE = 0,
  PLIMSOLL_SYMBOL_CPU = 1,
  PLIMSOLL_SYMBOL_MEMORY = 2,
  PLIMSOLL_SYMBOL_EPHEMERAL_STORAGE = 3,
  PLIMSOLL_SYMBOL_PODS = 4
};

/* Indices into a resource vector. Further resources follow in the order in which the cluster names
 * them. OF_NO_NODE (named since 1.3) is the index of every resource that neither a node nor a
 * plugin knows; pods may name thousands of these. It is larger than every node's resource_count.
 * Several resources of a pod may have this index: distinguish them by name. When a node is added
 * that knows the name, the pods that name the resource change. */
enum {
  PLIMSOLL_RESOURCE_CPU = 0,
  PLIMSOLL_RESOURCE_MEMORY = 1,
  PLIMSOLL_RESOURCE_EPHEMERAL_STORAGE = 2,
  PLIMSOLL_RESOURCE_PODS = 3,
  PLIMSOLL_RESOURCE_OF_NO_NODE = 1023
};

typedef struct plimsoll_label { /* a label or an annotation */
  plimsoll_str key;
  plimsoll_str value;
} plimsoll_label;

/* Flags of plimsoll_resource (since 1.4). NOT_INT64: other than CPU, and not a whole number that a
 * kubelet can hold (resource.Quantity.AsInt64 fails on what the API server sends): "1.1Gi". The
 * value is rounded up. */
enum { PLIMSOLL_RESOURCE_NOT_INT64 = 1 };

typedef struct plimsoll_resource {
  plimsoll_str name;
  int64_t value;  /* base units */
  uint32_t index; /* position in resource vectors; lists are sorted by it */
  uint32_t flags; /* PLIMSOLL_RESOURCE_NOT_INT64 or 0 */
} plimsoll_resource;

typedef struct plimsoll_owner {
  plimsoll_str api_version;
  plimsoll_str kind;
  plimsoll_str name;
  plimsoll_str uid;
  uint32_t controller; /* 1: the managing controller */
  uint32_t reserved;
} plimsoll_owner;

typedef struct plimsoll_meta {
  uint32_t size;
  uint32_t reserved;
  plimsoll_str name;
  plimsoll_str ns; /* namespace; empty for cluster-scoped kinds */
  plimsoll_str uid;
  plimsoll_str resource_version;
  plimsoll_list labels; /* plimsoll_label, sorted by key text */
  plimsoll_list
      annotations;      /* plimsoll_label, sorted by key text, without kubectl's last-applied */
  plimsoll_list owners; /* plimsoll_owner */
  int64_t creation_ms;
  int64_t deletion_ms; /* deletionTimestamp: the object is terminating */
  int64_t generation;
} plimsoll_meta;

/* ---- selectors ---- */

enum {
  PLIMSOLL_OP_IN = 1,
  PLIMSOLL_OP_NOT_IN = 2,
  PLIMSOLL_OP_EXISTS = 3,
  PLIMSOLL_OP_DOES_NOT_EXIST = 4,
  PLIMSOLL_OP_GT = 5,
  PLIMSOLL_OP_LT = 6,
  PLIMSOLL_OP_INVALID = 7 /* an operator that Kubernetes does not know: the term matches nothing */
};

typedef struct plimsoll_requirement {
  plimsoll_str key;
  plimsoll_list values; /* plimsoll_str */
  uint32_t op;
  uint32_t reserved;
} plimsoll_requirement;

typedef struct plimsoll_label_selector { /* metav1.LabelSelector */
  uint32_t size;
  uint32_t present;           /* 0: null, matches nothing; 1 and empty: matches everything */
  plimsoll_list match_labels; /* plimsoll_label */
  plimsoll_list expressions;  /* plimsoll_requirement */
} plimsoll_label_selector;

typedef struct plimsoll_node_selector_term {
  uint32_t size;
  int32_t weight;            /* preferred terms only */
  plimsoll_list expressions; /* plimsoll_requirement on labels */
  plimsoll_list fields;      /* plimsoll_requirement on metadata.name */
} plimsoll_node_selector_term;

typedef struct plimsoll_node_affinity {
  uint32_t size;
  uint32_t has_required;   /* requiredDuringSchedulingIgnoredDuringExecution is set; it may have no
                              terms */
  plimsoll_list required;  /* plimsoll_node_selector_term, ORed */
  plimsoll_list preferred; /* plimsoll_node_selector_term with weight */
} plimsoll_node_affinity;

typedef struct plimsoll_pod_affinity_term {
  uint32_t size;
  int32_t weight; /* preferred terms only */
  plimsoll_label_selector selector;
  plimsoll_label_selector namespace_selector;
  plimsoll_list namespaces; /* plimsoll_str */
  plimsoll_str topology_key;
} plimsoll_pod_affinity_term;

typedef struct plimsoll_pod_affinity { /* podAffinity or podAntiAffinity */
  uint32_t size;
  uint32_t reserved;
  plimsoll_list required;  /* plimsoll_pod_affinity_term */
  plimsoll_list preferred; /* plimsoll_pod_affinity_term with weight */
} plimsoll_pod_affinity;

enum {
  PLIMSOLL_EFFECT_ANY = 0, /* tolerations only */
  PLIMSOLL_EFFECT_NO_SCHEDULE = 1,
  PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE = 2,
  PLIMSOLL_EFFECT_NO_EXECUTE = 3,
  PLIMSOLL_EFFECT_OTHER =
      4 /* a text that Kubernetes does not know: matches none of the three effects */
};

typedef struct plimsoll_taint {
  plimsoll_str key;
  plimsoll_str value;
  uint32_t effect;
  uint32_t reserved;
} plimsoll_taint;

enum {
  PLIMSOLL_TOLERATION_EQUAL = 1,
  PLIMSOLL_TOLERATION_EXISTS = 2,
  PLIMSOLL_TOLERATION_OTHER = 3
};

typedef struct plimsoll_toleration {
  plimsoll_str key;
  plimsoll_str value;
  uint32_t op;
  uint32_t effect;
} plimsoll_toleration;

typedef struct plimsoll_spread_constraint { /* topologySpreadConstraints[] */
  uint32_t size;
  int32_t max_skew;
  plimsoll_str topology_key;
  plimsoll_label_selector selector;
  plimsoll_list match_label_keys; /* plimsoll_str */
  int32_t min_domains;            /* 0: not set */
  uint8_t do_not_schedule;        /* whenUnsatisfiable: 1 DoNotSchedule, 0 ScheduleAnyway */
  uint8_t node_affinity_ignore;   /* nodeAffinityPolicy: 0 Honor (default), 1 Ignore */
  uint8_t node_taints_honor;      /* nodeTaintsPolicy: 0 Ignore (default), 1 Honor */
  uint8_t reserved;
} plimsoll_spread_constraint;

/* ---- pods ---- */

typedef struct plimsoll_host_port {
  plimsoll_str ip;       /* "0.0.0.0" if the pod names none */
  plimsoll_str protocol; /* "TCP" if the pod names none */
  int32_t port;          /* never 0 */
  uint32_t reserved;
} plimsoll_host_port;

enum { PLIMSOLL_CONTAINER_APP = 0, PLIMSOLL_CONTAINER_INIT = 1, PLIMSOLL_CONTAINER_SIDECAR = 2 };

typedef struct plimsoll_container {
  uint32_t size;
  uint32_t kind;
  plimsoll_str name;
  plimsoll_str image;
  plimsoll_list requests; /* plimsoll_resource, with the API server's defaults: a missing request
                             equals the limit */
  plimsoll_list limits;   /* plimsoll_resource */
  plimsoll_list ports;    /* plimsoll_host_port, only those with a host port */
} plimsoll_container;

typedef struct plimsoll_volume {
  uint32_t size;
  uint32_t reserved;
  plimsoll_str name;
  plimsoll_str kind;   /* the volume source's field name: "configMap", "persistentVolumeClaim",
                          "ephemeral", ... */
  plimsoll_str target; /* claimName, or the identity over which two pods may conflict; since 1.4 of
                          image its reference, of azureDisk diskURI, of cinder and portworxVolume
                          volumeID, of vsphereVolume volumePath, of csi the driver; else empty */
  uint32_t read_only;
  uint32_t reserved2;
  /* since 1.4 */
  plimsoll_list details; /* plimsoll_str; of rbd: pool, image, then the monitors; of azureDisk: its
                            kind, if set; else empty */
} plimsoll_volume;

enum { PLIMSOLL_QOS_BEST_EFFORT = 0, PLIMSOLL_QOS_BURSTABLE = 1, PLIMSOLL_QOS_GUARANTEED = 2 };
enum {
  PLIMSOLL_PHASE_PENDING = 0,
  PLIMSOLL_PHASE_RUNNING = 1,
  PLIMSOLL_PHASE_SUCCEEDED = 2,
  PLIMSOLL_PHASE_FAILED = 3,
  PLIMSOLL_PHASE_UNKNOWN = 4
};
enum { PLIMSOLL_PREEMPT_LOWER_PRIORITY = 0, PLIMSOLL_PREEMPT_NEVER = 1 };

/* Bits of plimsoll_pod.uses; since 1.4. What only some kubelets can do, for few pods. */
enum {
  PLIMSOLL_USES_USER_NAMESPACE = 1 << 0,         /* spec.hostUsers is false */
  PLIMSOLL_USES_RESTART_ALL_CONTAINERS = 1 << 1, /* a restart rule of a container or init container
                                                    has the action RestartAllContainers */
  PLIMSOLL_USES_BIND_MOUNT_OPTIONS = 1 << 2,     /* a volume mount of one has bindMountOptions */
  PLIMSOLL_USES_SCHEDULING_GROUP = 1 << 3        /* spec.schedulingGroup names a PodGroup */
};

typedef struct plimsoll_pod_claim { /* spec.resourceClaims[] */
  plimsoll_str name;
  plimsoll_str claim; /* of the ResourceClaim; of a template as the status says, and empty until it
                         was created */
  plimsoll_str template_name; /* resourceClaimTemplateName */
  uint32_t needless;          /* 1: its status says that no claim is needed */
  uint32_t reserved;
  plimsoll_list containers; /* plimsoll_str: the names of those that have it in resources.claims;
                               init containers first, in spec order */
} plimsoll_pod_claim;

/* What the devices of a claim are of a node's CPUs, memory and the like, or take of it. One
 * resource of one entry of status.nodeAllocatableResourceClaimStatuses (KEP-5517), in base units.
 */
typedef struct plimsoll_claim_amount {
  plimsoll_str claim; /* of the ResourceClaim */
  plimsoll_str resource;
  int64_t mapped;   /* the devices are this much of it */
  int64_t overhead; /* using them takes this much: per pod, and per container for each of them */
} plimsoll_claim_amount;

typedef struct plimsoll_pod {
  uint32_t size;
  int32_t priority;
  plimsoll_meta meta;
  plimsoll_str node_name;           /* spec.nodeName */
  plimsoll_str nominated_node_name; /* status.nominatedNodeName */
  plimsoll_str scheduler_name;
  plimsoll_str priority_class_name;
  plimsoll_str runtime_class_name;
  uint8_t phase;
  uint8_t qos; /* status.qosClass if set, otherwise computed */
  uint8_t preemption_policy;
  uint8_t host_network;
  uint32_t reserved;
  plimsoll_list init_containers; /* plimsoll_container, including sidecars, in spec order */
  plimsoll_list containers;      /* plimsoll_container */
  plimsoll_list overhead;        /* plimsoll_resource */
  plimsoll_list pod_requests; /* plimsoll_resource: spec.resources.requests (pod-level resources) */
  plimsoll_list pod_limits;   /* plimsoll_resource: spec.resources.limits */
  plimsoll_list
      requests; /* plimsoll_resource: what the pod requests of a node (resource.PodRequests) */
  plimsoll_list
      used; /* plimsoll_resource: what the pod occupies on its node, including a resize's status */
  int64_t nonzero_cpu;    /* CPU for scores: a container without a request counts as 100m */
  int64_t nonzero_memory; /* memory for scores: a container without a request counts as 200 MB */
  plimsoll_list node_selector;                    /* plimsoll_label */
  const plimsoll_node_affinity* node_affinity;    /* NULL: not set */
  const plimsoll_pod_affinity* pod_affinity;      /* NULL: not set */
  const plimsoll_pod_affinity* pod_anti_affinity; /* NULL: not set */
  plimsoll_list tolerations;                      /* plimsoll_toleration */
  plimsoll_list spread_constraints;               /* plimsoll_spread_constraint */
  plimsoll_list scheduling_gates;                 /* plimsoll_str */
  plimsoll_list volumes;                          /* plimsoll_volume */
  plimsoll_list resource_claims;                  /* plimsoll_str: names in spec.resourceClaims */
  plimsoll_str scheduled_status;                  /* condition PodScheduled: status */
  plimsoll_str scheduled_reason;                  /* condition PodScheduled: reason */
  plimsoll_str scheduled_message;                 /* condition PodScheduled: message */
  int64_t start_ms;                               /* status.startTime */
  /* since 1.1 */
  plimsoll_str disruption_reason; /* reason of the condition DisruptionTarget, if that is True */
  plimsoll_str status_reason;     /* status.reason: why the pod failed, according to its kubelet */
  /* since 1.3 */
  plimsoll_str unreadable; /* if not empty, names the part of the pod that cannot be read; the rest
                              is here, and no other pod is placed on its node */
  /* since 1.4 */
  uint32_t uses; /* PLIMSOLL_USES_* */
  uint32_t reserved2;
  plimsoll_list claims;        /* plimsoll_pod_claim, as in spec.resourceClaims */
  plimsoll_str extended_claim; /* status.extendedResourceClaimStatus.resourceClaimName */
  plimsoll_list claim_amounts; /* plimsoll_claim_amount; part of `requests` and `used` */
  plimsoll_str group;          /* spec.schedulingGroup.podGroupName */
} plimsoll_pod;

/* ---- nodes ---- */

typedef struct plimsoll_image {
  plimsoll_list names; /* plimsoll_str */
  int64_t bytes;
} plimsoll_image;

typedef struct plimsoll_condition {
  plimsoll_str type;
  plimsoll_str status;
} plimsoll_condition;

typedef struct plimsoll_node {
  uint32_t size;
  uint32_t unschedulable; /* spec.unschedulable */
  plimsoll_meta meta;
  plimsoll_list taints;            /* plimsoll_taint */
  plimsoll_list capacity;          /* plimsoll_resource */
  plimsoll_list allocatable;       /* plimsoll_resource */
  plimsoll_list images;            /* plimsoll_image */
  plimsoll_list conditions;        /* plimsoll_condition */
  plimsoll_list declared_features; /* plimsoll_str */
} plimsoll_node;

/* A node and its pods: assigned pods, pods that are assumed but not yet confirmed, and in a what-if
 * the simulated pods. */
typedef struct plimsoll_node_info {
  uint32_t size;
  uint32_t slot; /* dense and small: an index for per-node state; reused after the node is gone */
  uint64_t generation; /* increases with every change of this struct */
  const plimsoll_node* node;
  const plimsoll_pod* const* pods;
  uint32_t pod_count;
  uint32_t
      resource_count; /* length of allocatable and requested; the node has 0 of other resources */
  const int64_t* allocatable; /* by plimsoll_resource.index */
  const int64_t* requested;   /* by plimsoll_resource.index: the sum of the pods' `used` */
  int64_t nonzero_cpu;
  int64_t nonzero_memory;
  plimsoll_list host_ports; /* plimsoll_host_port in use */
} plimsoll_node_info;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_OBJECTS_H_ */
