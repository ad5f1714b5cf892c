/* The service "plimsoll.io/zone-forecast", version 1: in which NUMA zones the kubelet is going to
 * put a pod's CPUs, memory and devices. NodeResourceTopologyMatch or TopologyScore publishes it.
 * Plain C.
 */
#ifndef PLIMSOLL_SERVICES_ZONE_FORECAST_H_
#define PLIMSOLL_SERVICES_ZONE_FORECAST_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_ZONE_FORECAST_SERVICE "plimsoll.io/zone-forecast"
#define PLIMSOLL_ZONE_FORECAST_VERSION 1

typedef struct plimsoll_zone_forecast {
  uint32_t size; /* bytes filled; grows only at the end */
  uint32_t reserved;
  void* self; /* first argument of every function */

  /* A pod to ask about, for one thread at a time; it need not outlive the call. NULL: no kubelet
   * ties it to zones. To be ended. Loop only, as is `end`. */
  void* (*ask)(void* self, const plimsoll_pod* pod);
  void (*end)(void* self, void* asked);
  /* Of the pod on the node in this slot: 1 and its zones as a mask (bit i: zone i), those that it
   * was promised there, or else those that it would get; 0: none, the kubelet does not tie it
   * there; -1: not known, or the kubelet would refuse it. Any thread that filters or scores. */
  int32_t (*zones)(void* self, void* asked, uint32_t slot, plimsoll_str pod_uid, uint64_t* mask);
} plimsoll_zone_forecast;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_SERVICES_ZONE_FORECAST_H_ */
