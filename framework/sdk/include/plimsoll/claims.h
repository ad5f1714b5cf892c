/* Plimsoll plugin ABI, part 4: resource claims and the devices that drivers publish for them
 * (resource.k8s.io/v1); since 1.4. Plain C11. The rules of kinds.h hold.
 * Kubernetes: staging/src/k8s.io/api/resource/v1/types.go. A quantity is as written and can be
 * parsed; empty: it is not set. Nothing is checked beyond what the API server's schema says. */
#ifndef PLIMSOLL_CLAIMS_H_
#define PLIMSOLL_CLAIMS_H_

#include "kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---- */

enum {
  PLIMSOLL_DEVICE_UNKNOWN = 0, /* no type that this version knows */
  PLIMSOLL_DEVICE_INT = 1,
  PLIMSOLL_DEVICE_BOOL = 2,
  PLIMSOLL_DEVICE_STRING = 3,
  PLIMSOLL_DEVICE_VERSION = 4 /* semantic versioning 2.0.0, as written */
};

typedef struct plimsoll_device_value {
  int64_t number;    /* int; bool: 0 or 1 */
  plimsoll_str text; /* string, version */
} plimsoll_device_value;

typedef struct plimsoll_device_attribute {
  plimsoll_str name; /* as written: "model", or with a domain "example.com/model" */
  uint32_t type;     /* PLIMSOLL_DEVICE_* */
  uint32_t is_list;
  plimsoll_list values; /* plimsoll_device_value; one if it is no list */
} plimsoll_device_attribute;

typedef struct plimsoll_named_quantity {
  plimsoll_str name;
  plimsoll_str value;
} plimsoll_named_quantity;

typedef struct plimsoll_device_capacity {
  plimsoll_str name;
  plimsoll_str value;
  uint32_t has_policy;        /* requestPolicy is set; all below is of it */
  uint32_t has_range;         /* requestPolicy.validRange is set */
  plimsoll_str fallback;      /* default */
  plimsoll_list valid_values; /* plimsoll_str */
  plimsoll_str min;
  plimsoll_str max;
  plimsoll_str step;
} plimsoll_device_capacity;

typedef struct plimsoll_device_taint {
  plimsoll_str key;
  plimsoll_str value;
  plimsoll_str effect;
} plimsoll_device_taint;

typedef struct plimsoll_device_toleration {
  plimsoll_str key;
  plimsoll_str op; /* "Equal" if it is not set */
  plimsoll_str value;
  plimsoll_str effect;
  int64_t seconds; /* tolerationSeconds; below 0: not set */
} plimsoll_device_toleration;

typedef struct plimsoll_counter_set { /* what there is, or what a device consumes of it */
  plimsoll_str name;
  plimsoll_list counters;            /* plimsoll_named_quantity */
  uint32_t has_compatibility_groups; /* what a device consumes: compatibilityGroups are set */
  uint32_t reserved;
} plimsoll_counter_set;

/* Of which nodes: of exactly one kind, or of one that this version does not know. */
typedef struct plimsoll_device_place {
  plimsoll_str node_name;
  uint32_t all_nodes;
  uint32_t has_selector;       /* nodeSelector is set */
  plimsoll_list node_selector; /* plimsoll_node_selector_term, ORed */
} plimsoll_device_place;

/* CPUs, memory and the like of its node that using a device takes (KEP-5517). */
typedef struct plimsoll_device_allocatable {
  plimsoll_str name;                /* of the resource */
  plimsoll_str capacity_key;        /* mapping.capacityKey */
  plimsoll_str capacity_multiplier; /* quantity */
  plimsoll_str device_multiplier;   /* quantity */
  plimsoll_str per_pod;             /* quantity: overhead */
  plimsoll_str per_container;       /* quantity */
} plimsoll_device_allocatable;

typedef struct plimsoll_device {
  uint32_t size;
  uint8_t allow_multiple_allocations;
  uint8_t binds_to_node;
  uint8_t reserved[2];
  plimsoll_str name;
  plimsoll_list attributes;                 /* plimsoll_device_attribute, sorted by name */
  plimsoll_list capacity;                   /* plimsoll_device_capacity, sorted by name */
  plimsoll_list taints;                     /* plimsoll_device_taint */
  plimsoll_list consumes;                   /* plimsoll_counter_set: consumesCounters */
  plimsoll_device_place place;              /* with per_device_node_selection */
  plimsoll_list binding_conditions;         /* plimsoll_str */
  plimsoll_list binding_failure_conditions; /* plimsoll_str */
  plimsoll_list
      allocatable; /* plimsoll_device_allocatable, sorted by name: nodeAllocatableResources */
} plimsoll_device;

typedef struct plimsoll_resource_slice {
  plimsoll_object object;
  plimsoll_str driver;
  plimsoll_str pool;
  int64_t generation;  /* pool.generation */
  int64_t slice_count; /* pool.resourceSliceCount */
  plimsoll_device_place place;
  uint32_t per_device_node_selection;
  uint32_t skip_node_operations;
  plimsoll_list devices;         /* plimsoll_device */
  plimsoll_list shared_counters; /* plimsoll_counter_set */
} plimsoll_resource_slice;

/* What is passed on to a driver. */
typedef struct plimsoll_device_config {
  plimsoll_str source;    /* of an allocation: "FromClass" or "FromClaim" */
  plimsoll_list requests; /* plimsoll_str; none: all */
  plimsoll_str opaque;    /* JSON: the object `opaque`, as written; empty: not set */
} plimsoll_device_config;

typedef struct plimsoll_device_class {
  plimsoll_object object;
  plimsoll_list selectors; /* plimsoll_str: CEL expressions; empty: a kind not known */
  plimsoll_list config;    /* plimsoll_device_config */
  plimsoll_str extended_resource_name;
} plimsoll_device_class;

typedef struct plimsoll_device_taint_rule {
  plimsoll_object object;
  uint32_t has_selector; /* 0: no device; set and empty: all of them */
  uint32_t reserved;
  plimsoll_str driver; /* empty: any; so pool and device */
  plimsoll_str pool;
  plimsoll_str device;
  plimsoll_device_taint taint;
} plimsoll_device_taint_rule;

/* ---- claims ---- */

typedef struct plimsoll_device_ask { /* `exactly`, or one of `firstAvailable` */
  uint32_t size;
  uint8_t admin_access;
  uint8_t has_derived_attributes;
  uint8_t reserved[2];
  plimsoll_str name; /* of one of firstAvailable */
  plimsoll_str device_class;
  plimsoll_list selectors;   /* plimsoll_str, as in plimsoll_device_class */
  plimsoll_str mode;         /* allocationMode; "ExactCount" if it is not set */
  int64_t count;             /* 1 if it is not set */
  plimsoll_list tolerations; /* plimsoll_device_toleration */
  plimsoll_list capacity;    /* plimsoll_named_quantity: capacity.requests, sorted by name */
} plimsoll_device_ask;

typedef struct plimsoll_device_request {
  plimsoll_str name;
  uint32_t first_available; /* 1: the first of `asks` that can be had; 0: one ask, `exactly` */
  uint32_t reserved;
  plimsoll_list asks; /* plimsoll_device_ask; none: a kind not known */
} plimsoll_device_request;

typedef struct plimsoll_device_constraint {
  plimsoll_list requests; /* plimsoll_str; none: all */
  plimsoll_str match_attribute;
  plimsoll_str distinct_attribute;
} plimsoll_device_constraint;

typedef struct plimsoll_device_result { /* status.allocation.devices.results[] */
  uint32_t size;
  uint32_t admin_access;
  plimsoll_str request;
  plimsoll_str driver;
  plimsoll_str pool;
  plimsoll_str device;
  plimsoll_str share_id;
  plimsoll_list consumed_capacity;          /* plimsoll_named_quantity, sorted by name */
  plimsoll_list tolerations;                /* plimsoll_device_toleration */
  plimsoll_list binding_conditions;         /* plimsoll_str */
  plimsoll_list binding_failure_conditions; /* plimsoll_str */
} plimsoll_device_result;

typedef struct plimsoll_claim_user { /* status.reservedFor[] */
  plimsoll_str api_group;
  plimsoll_str resource;
  plimsoll_str name;
  plimsoll_str uid;
} plimsoll_claim_user;

typedef struct plimsoll_device_status { /* status.devices[], by the driver */
  plimsoll_str driver;
  plimsoll_str pool;
  plimsoll_str device;
  plimsoll_str share_id;
  plimsoll_list conditions; /* plimsoll_condition */
} plimsoll_device_status;

typedef struct plimsoll_resource_claim {
  plimsoll_object object;
  plimsoll_list finalizers;  /* plimsoll_str: metadata.finalizers */
  plimsoll_list requests;    /* plimsoll_device_request: spec.devices */
  plimsoll_list constraints; /* plimsoll_device_constraint */
  plimsoll_list config;      /* plimsoll_device_config */
  /* status */
  plimsoll_list reserved_for;      /* plimsoll_claim_user */
  plimsoll_list devices;           /* plimsoll_device_status */
  uint32_t allocated;              /* status.allocation is set; what follows is of it */
  uint32_t has_selector;           /* nodeSelector is set; otherwise usable anywhere */
  plimsoll_list node_selector;     /* plimsoll_node_selector_term, ORed */
  plimsoll_list results;           /* plimsoll_device_result */
  plimsoll_list allocation_config; /* plimsoll_device_config */
  int64_t allocation_ms;           /* allocationTimestamp; 0: not set */
} plimsoll_resource_claim;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_CLAIMS_H_ */
