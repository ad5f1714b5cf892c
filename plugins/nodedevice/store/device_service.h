/* The service "plimsoll.io/device-accounts", version 2: what other plugins can ask about devices.
 * Plain C, so that it can be used from any module. Loop only. Found with host->find_service.
 */
#ifndef PLIMSOLL_DEVICE_SERVICE_H_
#define PLIMSOLL_DEVICE_SERVICE_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_DEVICE_ACCOUNTS_SERVICE "plimsoll.io/device-accounts"
#define PLIMSOLL_DEVICE_ACCOUNTS_VERSION 2

typedef struct plimsoll_device_accounts {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */

  /* How many devices of a type ("gpu") on a node are not used at all, healthy and not set aside;
   * -1: nothing is known of that node's devices. */
  int64_t (*unused_devices)(void* self, uint32_t slot, plimsoll_str type);

  /* The NUMA zones of the devices that a pod was given on its node, as a mask (bit i: zone i; 0: it
   * has none, or they belong to no zone). */
  uint64_t (*zones_of_pod)(void* self, plimsoll_str pod_uid);
} plimsoll_device_accounts;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_DEVICE_SERVICE_H_ */
