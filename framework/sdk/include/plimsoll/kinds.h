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
  plimsoll_meta meta;
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

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_KINDS_H_ */
