/* The services "plimsoll.io/state/NAME", version 1: the state of the plugin NAME, for
 * `plimsoll debug dump`. A plugin that has something to show publishes its service with
 * host->publish and need do nothing else. Plain C, so that any module can publish one.
 */
#ifndef PLIMSOLL_STATE_SOURCE_H_
#define PLIMSOLL_STATE_SOURCE_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_STATE_SERVICE_PREFIX "plimsoll.io/state/"
#define PLIMSOLL_STATE_SERVICE_VERSION 1

typedef struct plimsoll_state_source {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of the function */

  /* Writes one JSON value to the sink, in any number of pieces. Called only on request, and on the
   * loop, which waits until it returns. */
  void (*describe)(void* self, void (*put)(void* sink, const void* bytes, size_t len), void* sink);

  /* The next three are there together, or null. For whoever watches nodes all the time: the loop
   * copies what there is to say, and another thread makes text of it. Whoever has them calls
   * touch_node whenever what it says of a node changes.
   *
   * On the loop: a copy of what describe would say of the nodes in these slots. Never null. */
  void* (*keep_nodes)(void* self, const uint32_t* slots, size_t count);
  /* On any thread, also after `self` has gone: writes the copy, an object with "nodes", by name. */
  void (*describe_kept)(const void* kept, void (*put)(void* sink, const void* bytes, size_t len),
                        void* sink);
  /* On any thread, once. */
  void (*drop_kept)(void* kept);
} plimsoll_state_source;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_STATE_SOURCE_H_ */
