/* The NUMA ledger as a service, for topology plugins and others. Plain C11.
 *
 * There is one ledger per scheduler, for all profiles and plugin instances. The first instance of
 * NodeResourceTopologyMatch or TopologyScore publishes this table under
 * PLIMSOLL_NUMA_LEDGER_SERVICE and passes node, pod and NodeResourceTopology events to it. All
 * other instances look it up. `ctx` is the first argument of every function. No function blocks.
 *
 * Threads: `node`, `malformed`, `fits_without`, `holds`, `inquire`,
 * `judge`, `judge_many`, `judge_changed`, `fits_soon`, `explain`, `use`, `land_many`, `where`,
 * `occupied`, `admits_many` and `alike` are const; filters and scores may call them from several
 * threads at once. Call everything else on the scheduler loop only. The result of `node` is valid
 * until the loop handles its next event. */
#ifndef PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_
#define PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_

#include "plugins/topology/abi/ledger_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_NUMA_LEDGER_SERVICE "plimsoll.io/numa-ledger"
#define PLIMSOLL_NUMA_LEDGER_VERSION 13

/* A subscriber to ledger events. Its address must not change until `unsubscribe` or `closed`. */
typedef struct plimsoll_numa_listener {
  uint32_t size;
  uint32_t reserved;
  void* ctx;
  /* Pods that were rejected because no zones had room may fit on the node in this slot now. Called
   * only if no cluster event shows the change: plugins get report and pod events themselves, see
   * `eased`. */
  void (*freed)(void* ctx, uint32_t slot);
  /* The ledger is destroyed: do not call its table from here on. */
  void (*closed)(void* ctx);
} plimsoll_numa_listener;

typedef struct plimsoll_numa_ledger {
  uint32_t size;
  uint32_t reserved;
  void* ctx;

  /* The zones of the node in this slot; NULL if it reported none. */
  const plimsoll_numa_node* (*node)(void* ctx, uint32_t slot);
  /* Promises the pod its predicted zones. 1: done, and each charge was put. 0: the kubelet may
   * refuse the pod, and nothing changed. `insist` 1: promise them even if the kubelet may refuse.
   * Another call for the same pod replaces its promise. */
  int32_t (*reserve)(void* ctx, uint32_t slot, const plimsoll_pod* pod, uint32_t insist,
                     plimsoll_numa_put put, void* sink);
  /* Removes the promise unless the pod is known to be bound. 1: zone capacity was freed. */
  int32_t (*unreserve)(void* ctx, const plimsoll_pod* pod);
  /* Puts the charges recorded for a pod, promised or covered by a report. 0: none are known. */
  int32_t (*promised)(void* ctx, plimsoll_str pod_uid, plimsoll_numa_put put, void* sink);
  /* Only the plugin that rejected a pod can requeue it, so every instance that rejects pods
   * subscribes. */
  void (*subscribe)(void* ctx, const plimsoll_numa_listener* listener);
  void (*unsubscribe)(void* ctx, const plimsoll_numa_listener* listener);
  /* 1: the NodeResourceTopology of the node in this slot cannot be read, and no readable one came
   * before it. Then `node` returns NULL although the node has zones. Const, like `node`. */
  int32_t (*malformed)(void* ctx, uint32_t slot);
  /* What-if: 1 if `fits` holds for the node in this slot after these pods are gone and a report has
   * shown it, whatever zones they hold. 0: not for sure, or no report. `fits` returns 1 or 0. It is
   * first called with the least that the node will have for sure; if that is not enough, with each
   * possible outcome. Its argument is valid during the call. Changes nothing. Const, like `node`.
   */
  int32_t (*fits_without)(void* ctx, uint32_t slot, const plimsoll_str* pod_uids, uint32_t count,
                          plimsoll_numa_fits fits, void* sink);
  /* 1: the pod is recorded on the node in this slot, promised or bound. Const, like `node`. */
  int32_t (*holds)(void* ctx, uint32_t slot, plimsoll_str pod_uid);

  /* ---- the kubelet's own algorithm, on each possible state of a node */
  /* NULL: no kubelet aligns the pod, it fits everywhere. The pod need not outlive the call. */
  plimsoll_numa_inquiry* (*inquire)(void* ctx, const plimsoll_pod* pod);
  void (*inquiry_free)(plimsoll_numa_inquiry* pod);
  /* Returns PLIMSOLL_NUMA_*. Sets `resource` to the resource that is short, if it is only one. */
  uint32_t (*judge)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, uint32_t* resource);
  /* `judge` after the pods with these UIDs are gone and those of `with` were admitted, in this
   * order. */
  uint32_t (*judge_changed)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod,
                            const plimsoll_str* without, uint32_t without_count,
                            const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                            uint32_t* resource);
  /* 1: the pod is refused now, but will fit after a report has shown what is already known. */
  int32_t (*fits_soon)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* Puts a text that explains a verdict to people: which resource is short, which zone has most of
   * it, how old the report is, and what is under way. */
  void (*explain)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, const plimsoll_pod* object,
                  uint32_t verdict, plimsoll_numa_put_text put, void* sink);

  /* ---- for requeue hints */
  /* 0: no pod that did not fit on the node in this slot before the ledger's last event fits there
   * after it. */
  int32_t (*eased)(void* ctx, uint32_t slot);
  /* Changes whenever the node in this slot changes; as long as it stays the same, `judge` gives the
   * same result. 0: no such node. Const, like `node`. */
  uint64_t (*change_of)(void* ctx, uint32_t slot);
  /* `judge` for `count` nodes, faster than one by one. `verdicts` and `resources` have `count`
   * elements. */
  void (*judge_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                     uint32_t* verdicts, uint32_t* resources);

  /* ---- for scores */
  /* Where the pod would land in the likeliest possible state of the node. NULL: the kubelet would
   * refuse it, or the node reported no zones. Valid until the next call with the same `pod`, and no
   * longer than the result of `node`. */
  const plimsoll_numa_use* (*use)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod);
  /* `use` for `count` nodes, much faster. It covers pods with one container that fits into one
   * zone. `landings` has `count` elements. Their `node` is valid as long as the result of the
   * function `node`, their `taking` as long as `pod`. `pod` may be NULL: then only `node` is set.
   */
  void (*land_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                    plimsoll_numa_landing* landings);

  /* ---- for plugins that allocate devices which the kubelet does not know */
  /* Returns PLIMSOLL_NUMA_PLACE_* and puts the zones of each container. If the pod is promised
   * zones on the node in this slot, those are put. Otherwise it is where the pod would land in the
   * likeliest possible state of the node after the pods of `without` are gone and those of `with`
   * were admitted, in this order. So the result before and after `reserve` is the same. Containers
   * that no manager aligns are left out. */
  uint32_t (*where)(void* ctx, uint32_t slot, plimsoll_numa_inquiry* pod, plimsoll_str pod_uid,
                    const plimsoll_str* without, uint32_t without_count,
                    const plimsoll_numa_inquiry* const* with, uint32_t with_count,
                    plimsoll_numa_put_place put, void* sink);
  /* Zones (bit i: the zone with id i) that hold a pod which is in one zone only, and zones of pods
   * that are in several. Pods with these UIDs do not count. */
  void (*occupied)(void* ctx, uint32_t slot, const plimsoll_str* without, uint32_t without_count,
                   uint64_t* by_single, uint64_t* by_spread);

  /* ---- for filters and scores over all nodes: results for most nodes, in columns */
  /* Sets 1 for those of `count` nodes where a simple test shows that `judge` returns
   * PLIMSOLL_NUMA_FITS, 0 for all others. Much faster than `judge_many`; use that for the others.
   */
  void (*admits_many)(void* ctx, const uint32_t* slots, uint32_t count, plimsoll_numa_inquiry* pod,
                      uint8_t* admitted);
  /* Puts all nodes that are alike, group by group; each group is valid during its call. A node is
   * in at most one group. Nodes in no group (too few are alike, or much is under way there) are
   * left to `land_many`. `asked` is the number of nodes that the caller needs; if it is small,
   * nothing is put. If `pod` is NULL, so is `taking`. */
  void (*alike)(void* ctx, uint32_t asked, plimsoll_numa_inquiry* pod, plimsoll_numa_put_alike put,
                void* sink);

  /* PLIMSOLL_NUMA_DOUBT_* of the node in this slot. Const, like `node`. */
  uint32_t (*doubt)(void* ctx, uint32_t slot);
  /* From here on `judge` and the like answer for this pod with PLIMSOLL_NUMA_WITHOUT_REPORT_*. An
   * inquiry passes nodes without a report before. */
  void (*without_report)(plimsoll_numa_inquiry* pod, uint32_t what);
} plimsoll_numa_ledger;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_TOPOLOGY_LEDGER_SERVICE_H_ */
