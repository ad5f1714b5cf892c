/* The services "plimsoll.io/pre-queueing-hint/NAME", version 1: which events cannot help a pod that
 * does not name the object (Kubernetes: PreQueueingHintFn). The plugin NAME publishes it. The
 * scheduler then calls its hint for the few pods that do, not for all that it rejected. Plain C.
 */
#ifndef PLIMSOLL_SERVICES_PRE_QUEUEING_HINT_H_
#define PLIMSOLL_SERVICES_PRE_QUEUEING_HINT_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_PRE_QUEUEING_HINT_SERVICE_PREFIX "plimsoll.io/pre-queueing-hint/"
#define PLIMSOLL_PRE_QUEUEING_HINT_VERSION 1

typedef struct plimsoll_pre_queueing_hint {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of the function */

  /* 1: hint says PLIMSOLL_HINT_SKIP to each pod that does not name the object of the event: a
   * ResourceClaim in spec.resourceClaims (of a template, in the status), a PersistentVolumeClaim in
   * spec.volumes (of an ephemeral volume by the name that it gets). 0: all pods are asked about, as
   * they are after events of other kinds. Once per event; on the loop. */
  int32_t (*named_only)(void* self, const plimsoll_event* event);
} plimsoll_pre_queueing_hint;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_SERVICES_PRE_QUEUEING_HINT_H_ */
