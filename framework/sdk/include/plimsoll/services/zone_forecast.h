/* The service "plimsoll.io/zone-forecast", version 1: in which NUMA zones the kubelet is going to
 * put a pod's CPUs, memory and devices, and what others than kubelets give away of the zones.
 * NodeResourceTopologyMatch or TopologyScore publishes it. Plain C.
 */
#ifndef PLIMSOLL_SERVICES_ZONE_FORECAST_H_
#define PLIMSOLL_SERVICES_ZONE_FORECAST_H_

#include <plimsoll/plugin_abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_ZONE_FORECAST_SERVICE "plimsoll.io/zone-forecast"
#define PLIMSOLL_ZONE_FORECAST_VERSION 1

/* An amount of a node's CPUs, memory or huge pages in one of its NUMA zones, in base units. */
typedef struct plimsoll_zone_amount {
  plimsoll_str resource;
  uint32_t zone;
  uint32_t reserved;
  int64_t amount;
} plimsoll_zone_amount;

/* What a holder (a resource claim), whatever its name, has of a node's zones though no kubelet
 * gives it away (KEP-5517). */
typedef struct plimsoll_zone_holding {
  plimsoll_str holder;
  plimsoll_str node;
  plimsoll_str pod_uid;  /* of the pod whose own requests name the amounts again, so that they count
                          * in these zones and not where the kubelet would put them; empty: none */
  plimsoll_list amounts; /* plimsoll_zone_amount; empty: nothing */
} plimsoll_zone_holding;

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
  /* What holders have; a list of plimsoll_zone_holding, each of which replaces what its holder had.
   * Tell of all at once: each node is looked at once per call. Loop only. */
  void (*hold)(void* self, plimsoll_list holdings);
} plimsoll_zone_forecast;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_SERVICES_ZONE_FORECAST_H_ */
