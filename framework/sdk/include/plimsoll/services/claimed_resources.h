/* The service "plimsoll.io/claimed-resources", version 1: who gives pods devices for an extended
 * resource of which their node has none (KEP-5004: a DeviceClass stands behind the name). The
 * plugin that does so publishes it. NodeResourcesFit asks it, and leaves such a resource alone on
 * nodes whose allocatable amount of it is 0; scores count devices there. The scheduler asks it to
 * give back what a group of pods cannot use. Plain C. On the loop, and in filters.
 */
#ifndef PLIMSOLL_SERVICES_CLAIMED_RESOURCES_H_
#define PLIMSOLL_SERVICES_CLAIMED_RESOURCES_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_CLAIMED_RESOURCES_SERVICE "plimsoll.io/claimed-resources"
#define PLIMSOLL_CLAIMED_RESOURCES_VERSION 1

typedef struct plimsoll_claimed_resources {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */

  /* 1: where the node has none of this resource, the plugin decides whether the pod fits. */
  int32_t (*decides)(void* self, const plimsoll_pod* pod, plimsoll_str resource);
  /* The devices that the class behind the resource selects on the node, and how many of them are
   * given away: the node's load where it has none of the resource. 0 and 0: nobody can say. In
   * filters and scores, on one thread at a time. */
  void (*devices)(void* self, const plimsoll_node_info* node, plimsoll_str resource, int64_t* all,
                  int64_t* taken);
  /* These pods, which are placed together or not at all, have no room: takes the devices of their
   * claims back that nobody else has, and that bind their pods to nodes. Returns how many claims.
   * On the loop. */
  int32_t (*give_back)(void* self, const plimsoll_pod* const* pods, size_t count);
} plimsoll_claimed_resources;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_SERVICES_CLAIMED_RESOURCES_H_ */
