/* The service "plimsoll.io/pod-groups", version 1: who belongs together. The plugin that lets pods
 * wait for the rest of their group publishes it. DefaultPreemption asks it, so that nobody is
 * evicted for a member unless the whole group then has room. Plain C. Loop only.
 */
#ifndef PLIMSOLL_POD_GROUPS_H_
#define PLIMSOLL_POD_GROUPS_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_POD_GROUPS_SERVICE "plimsoll.io/pod-groups"
#define PLIMSOLL_POD_GROUPS_VERSION 1

typedef struct plimsoll_pod_groups {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */
  /* The name of the plugin. It need not sign pods of groups: see `kind`. */
  plimsoll_str plugin;

  /* How many further members the pod's group needs before it runs; 0: the pod has no group, or this
   * has enough. From 2 on, `add` is called for every member that has no place, the pod among them,
   * those first that are harder to place. Members of the same `kind` are alike to this plugin. */
  uint32_t (*missing)(void* self, const plimsoll_pod* pod, void* ctx,
                      void (*add)(void* ctx, const plimsoll_pod* member, uint64_t kind));

  /* Ends what `missing` began, if that was 2 or more. `has_room` 0: there is no room for the group
   * of this pod, whose attempt is under way, not even without all whom it may evict: its other
   * members need not find that out again for a while. */
  void (*decided)(void* self, const plimsoll_pod* pod, uint32_t has_room);
} plimsoll_pod_groups;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_POD_GROUPS_H_ */
