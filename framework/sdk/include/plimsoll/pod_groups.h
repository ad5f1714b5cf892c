/* The service "plimsoll.io/pod-groups", version 2: who belongs together. The scheduler publishes
 * it, for plugins that place the pods of a group with regard to one another. Plain C. Loop only.
 */
#ifndef PLIMSOLL_POD_GROUPS_H_
#define PLIMSOLL_POD_GROUPS_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_POD_GROUPS_SERVICE "plimsoll.io/pod-groups"
#define PLIMSOLL_POD_GROUPS_VERSION 2

typedef struct plimsoll_pod_groups {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */

  /* While the pod's group is decided on: a number that is this decision's and no other's. 0: it is
   * not. `add`, unless it is null, is called for each of the group's pods that this decision is to
   * find a place for, and for each that had a node before (node_name). */
  uint64_t (*decision)(void* self, const plimsoll_pod* pod, void* ctx,
                       void (*add)(void* ctx, const plimsoll_pod* member));
} plimsoll_pod_groups;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_POD_GROUPS_H_ */
