/* Plimsoll plugin ABI, part 3: kinds besides pods and nodes that the scheduler reads for all
 * plugins; since 1.4. Plain C11. The rules of objects.h hold, except for one: a pointer to one of
 * these objects is valid until object_event has told of its next change, so a plugin that watches
 * the kind may keep it that long. */
#ifndef PLIMSOLL_KINDS_H_
#define PLIMSOLL_KINDS_H_

#include "objects.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What each of these structs begins with. A Namespace has nothing else. */
typedef struct plimsoll_object {
  uint32_t size; /* of the whole struct */
  uint32_t reserved;
  plimsoll_meta meta;      /* annotations: of PersistentVolumes, claims and CSINodes only */
  plimsoll_str unreadable; /* if not empty, names the field that cannot be read; all fields but the
                              namespace and the name are then as if absent */
} plimsoll_object;

/* A Service, ReplicationController, ReplicaSet or StatefulSet. */
typedef struct plimsoll_pod_selector {
  plimsoll_object object;
  plimsoll_label_selector selector; /* spec.selector; of the first two a map: match_labels */
} plimsoll_pod_selector;

typedef struct plimsoll_disruption_budget { /* policy/v1 PodDisruptionBudget */
  plimsoll_object object;
  plimsoll_label_selector selector; /* spec.selector */
  int64_t disruptions_allowed;      /* status.disruptionsAllowed */
  plimsoll_list disrupted_pods;     /* plimsoll_str, sorted: the names in status.disruptedPods */
} plimsoll_disruption_budget;

/* ---- storage. A quantity is as written and can be parsed; empty: it is not set. ---- */

typedef struct plimsoll_claim_reference { /* spec.claimRef of a PersistentVolume */
  uint32_t size;
  uint32_t reserved;
  plimsoll_str ns;
  plimsoll_str name;
  plimsoll_str uid;
  plimsoll_str resource_version;
} plimsoll_claim_reference;

typedef struct plimsoll_persistent_volume {
  plimsoll_object object;
  plimsoll_str capacity;                 /* quantity: spec.capacity.storage */
  plimsoll_list access_modes;            /* plimsoll_str */
  plimsoll_str storage_class;            /* spec.storageClassName */
  plimsoll_str volume_mode;              /* "Filesystem" if it is not set */
  plimsoll_str attributes_class;         /* spec.volumeAttributesClassName */
  plimsoll_str phase;                    /* status.phase */
  const plimsoll_claim_reference* claim; /* NULL: it is not set */
  uint32_t has_node_affinity; /* spec.nodeAffinity.required is set; it may have no terms */
  uint32_t reserved;
  plimsoll_list node_affinity; /* plimsoll_node_selector_term, ORed */
  plimsoll_str csi_driver;     /* spec.csi; empty: the source is another */
  plimsoll_str csi_handle;
  const plimsoll_volume* source; /* of an in-tree plugin that a CSI driver may stand in for, as of a
                                    pod's volume, without a name; NULL: of none */
} plimsoll_persistent_volume;

typedef struct plimsoll_persistent_volume_claim {
  plimsoll_object object;
  plimsoll_str volume_name;   /* spec.volumeName */
  plimsoll_str request;       /* quantity: spec.resources.requests.storage */
  plimsoll_list access_modes; /* plimsoll_str */
  plimsoll_str storage_class; /* spec.storageClassName */
  uint32_t has_storage_class; /* it is set, if only to "" */
  uint32_t reserved;
  plimsoll_str volume_mode;      /* "Filesystem" if it is not set */
  plimsoll_str attributes_class; /* spec.volumeAttributesClassName */
  plimsoll_str phase;            /* status.phase */
  plimsoll_label_selector selector;
} plimsoll_persistent_volume_claim;

typedef struct plimsoll_storage_class {
  plimsoll_object object;
  plimsoll_str provisioner;
  plimsoll_str binding_mode;        /* volumeBindingMode */
  plimsoll_list allowed_topologies; /* plimsoll_node_selector_term, ORed; none: every node */
} plimsoll_storage_class;

typedef struct plimsoll_csi_node_driver {
  plimsoll_str name;
  uint32_t has_count; /* allocatable.count is set */
  uint32_t reserved;
  int64_t count;
} plimsoll_csi_node_driver;

typedef struct plimsoll_csi_node {
  plimsoll_object object;
  plimsoll_list drivers; /* plimsoll_csi_node_driver */
} plimsoll_csi_node;

typedef struct plimsoll_csi_driver {
  plimsoll_object object;
  uint32_t storage_capacity;
  uint32_t prevents_scheduling_if_missing; /* preventPodSchedulingIfMissing */
} plimsoll_csi_driver;

typedef struct plimsoll_csi_storage_capacity {
  plimsoll_object object;
  plimsoll_str storage_class;
  plimsoll_str capacity;                 /* quantity */
  plimsoll_str maximum_volume_size;      /* quantity */
  plimsoll_label_selector node_topology; /* not present: no node */
} plimsoll_csi_storage_capacity;

typedef struct plimsoll_volume_attachment {
  plimsoll_object object;
  plimsoll_str attacher;
  plimsoll_str node_name;
  plimsoll_str volume_name; /* source.persistentVolumeName */
} plimsoll_volume_attachment;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_KINDS_H_ */
