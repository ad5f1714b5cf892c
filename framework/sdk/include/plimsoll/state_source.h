/* The services "plimsoll.io/state/NAME", version 1: what the plugin NAME keeps, for people who ask
 * a running scheduler (`plimsoll debug dump`). A plugin that has something to show publishes one
 * with host->publish; there is nothing else to do. Plain C, so that any module can.
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

  /* Puts one JSON value into the sink, in as many pieces as it likes. Called on the loop, which
   * waits for it; only when somebody asks. */
  void (*describe)(void* self, void (*put)(void* sink, const void* bytes, size_t len), void* sink);
} plimsoll_state_source;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_STATE_SOURCE_H_ */
