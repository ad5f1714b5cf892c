/* Plimsoll plugin ABI, part 2: the calls between the scheduler ("host") and a plugin. Plain C11.
 * docs/abi.md has the compatibility policy.
 * One header, however long: the order of its tables is frozen, and a plugin in C includes nothing
 * else.
 *
 * A plugin is a shared object. It exports one symbol, plimsoll_plugin_create_v1, and carries one
 * ELF note, which the host reads before it runs any code of the object. Host and plugin give each
 * other tables of functions. A table begins with `size` and grows only at the end. A NULL slot in
 * the plugin's table means that the plugin does not implement this extension point.
 *
 * Threads: everything runs on the scheduler loop, one call at a time, except
 *   - filter and score: const; may run on several threads at once, for different nodes;
 *   - pre_bind, bind, post_bind: run on binder threads and may block; they may use only the cycle's
 *     state and the pod.
 *
 * Return values are codes (PLIMSOLL_SUCCESS ...). A plugin that returns PLIMSOLL_ERROR calls
 * host->set_error with the text first. A plugin that rejects gets its reason from host->reason. No
 * exception may leave a plugin.
 */
#ifndef PLIMSOLL_PLUGIN_ABI_H_
#define PLIMSOLL_PLUGIN_ABI_H_

#include "claims.h"
#include "objects.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_ABI_MAJOR 1
#define PLIMSOLL_ABI_MINOR 4
/* The SDK and the program have the version PLIMSOLL_ABI_MAJOR.PLIMSOLL_ABI_MINOR.PLIMSOLL_PATCH.
 * The build reads it from this file. */
#define PLIMSOLL_PATCH 0

/* Status codes: fwk.Code of the Kubernetes scheduling framework, with the same numbers. */
enum {
  PLIMSOLL_SUCCESS = 0,
  PLIMSOLL_ERROR = 1,
  PLIMSOLL_UNSCHEDULABLE = 2,
  PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE = 3,
  PLIMSOLL_WAIT = 4,
  PLIMSOLL_SKIP = 5,
  PLIMSOLL_PENDING = 6
};

/* What can change about a node. The change log records these aspects, and a plugin declares the
 * aspects that its verdict depends on. */
enum {
  PLIMSOLL_ASPECT_ALLOCATABLE = 1 << 0,
  PLIMSOLL_ASPECT_REQUESTED = 1 << 1, /* sums of resources in use, number of pods */
  PLIMSOLL_ASPECT_LABELS = 1 << 2,
  PLIMSOLL_ASPECT_TAINTS = 1 << 3, /* includes spec.unschedulable */
  PLIMSOLL_ASPECT_PORTS = 1 << 4,
  PLIMSOLL_ASPECT_IMAGES = 1 << 5,
  PLIMSOLL_ASPECT_VOLUMES = 1 << 6,
  PLIMSOLL_ASPECT_CONDITIONS = 1 << 7,
  PLIMSOLL_ASPECT_ANNOTATIONS = 1 << 8,
  PLIMSOLL_ASPECT_FEATURES = 1 << 9,
  PLIMSOLL_ASPECT_PODS =
      1 << 10, /* which pods are on the node, their labels, whether they are terminating */
  PLIMSOLL_ASPECT_NOMINATED = 1 << 11, /* pods nominated to the node */
  PLIMSOLL_ASPECT_PLUGIN = 1 << 12, /* state that a plugin keeps about the node: host->touch_node */
  PLIMSOLL_ASPECT_CLUSTER = 1 << 30 /* depends on more than this node: never reused */
};

/* Events for requeueing: ActionType of k8s.io/kube-scheduler/framework, with the same bits. */
enum {
  PLIMSOLL_ACTION_ADD = 1 << 0,
  PLIMSOLL_ACTION_DELETE = 1 << 1,
  PLIMSOLL_ACTION_UPDATE_NODE_ALLOCATABLE = 1 << 2,
  PLIMSOLL_ACTION_UPDATE_NODE_LABEL = 1 << 3,
  PLIMSOLL_ACTION_UPDATE_NODE_TAINT = 1 << 4,
  PLIMSOLL_ACTION_UPDATE_NODE_CONDITION = 1 << 5,
  PLIMSOLL_ACTION_UPDATE_NODE_ANNOTATION = 1 << 6,
  PLIMSOLL_ACTION_UPDATE_NODE_DECLARED_FEATURE = 1 << 7,
  PLIMSOLL_ACTION_UPDATE_POD_LABEL = 1 << 8,
  PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN = 1 << 9,
  PLIMSOLL_ACTION_UPDATE_POD_TOLERATION = 1 << 10,
  PLIMSOLL_ACTION_UPDATE_POD_GATES_ELIMINATED = 1 << 11,
  PLIMSOLL_ACTION_UPDATE_POD_GENERATED_CLAIM = 1 << 12,
  PLIMSOLL_ACTION_UPDATE = ((1 << 13) - 1) & ~3,
  PLIMSOLL_ACTION_ALL = (1 << 13) - 1
};

typedef struct plimsoll_event_interest {
  plimsoll_str resource; /* "Pod", "Node", "<plural>.<version>.<group>", or "*" */
  uint32_t actions;
  uint32_t reserved;
} plimsoll_event_interest;

typedef struct plimsoll_event {
  uint32_t size;
  uint32_t actions;
  plimsoll_str resource; /* distinguishes "AssignedPod" from "UnschedulablePod" */
  const plimsoll_pod* old_pod;
  const plimsoll_pod* new_pod;
  const plimsoll_node* old_node;
  const plimsoll_node* new_node;
  plimsoll_str name;     /* other kinds: the object's name; new_json is its JSON text */
  plimsoll_str old_json; /* empty in 1.0: the host does not keep old texts */
  plimsoll_str new_json;
  /* since 1.4: of the kinds in kinds.h; NULL where there is none */
  const plimsoll_object* old_object;
  const plimsoll_object* new_object;
} plimsoll_event;

enum { PLIMSOLL_HINT_SKIP = 0, PLIMSOLL_HINT_QUEUE = 1 };

typedef struct plimsoll_cycle plimsoll_cycle;     /* one scheduling attempt of one pod */
typedef struct plimsoll_token plimsoll_token;     /* a pre_bind or bind that finishes later */
typedef struct plimsoll_what_if plimsoll_what_if; /* 1.1: a simulated copy of one node */
typedef struct plimsoll_metric plimsoll_metric;   /* 1.1 */
typedef struct plimsoll_host_ctx plimsoll_host_ctx;

typedef struct plimsoll_columns plimsoll_columns;

/* 1.2: the values of one label key on all nodes. A selector needs to be evaluated only once for
 * each value, on any node that has the value. */
typedef struct plimsoll_label_column {
  uint32_t size;
  uint32_t value_count;   /* every id is less than this */
  const uint32_t* values; /* by slot; equal texts have the same id; 0: the node lacks the label */
} plimsoll_label_column;

/* 1.2: the data of plimsoll_node_info for all nodes of the cluster, as arrays indexed by slot. They
 * let a loop read memory in order. The arrays also have entries for slots without a node; ignore
 * these. Valid for the call that passed them. */
struct plimsoll_columns {
  uint32_t size;
  uint32_t slot_count;      /* length of each array by slot */
  uint32_t resource_count;  /* resources with an array; for others, read the rows */
  uint32_t taint_set_count; /* every id is less than this; 1: no node has a taint */
  uint32_t unschedulable_count;
  uint32_t reserved;
  const int64_t* const* allocatable; /* by plimsoll_resource.index, then by slot */
  const int64_t* const* requested;
  const int64_t* nonzero_cpu;
  const int64_t* nonzero_memory;
  const uint32_t* pod_count;
  const int32_t* lowest_priority; /* of the node's pods; INT32_MAX: the node has no pods */
  const uint8_t* unschedulable;
  const uint32_t* taint_set;       /* equal taints in the same order have the same id; 0: none */
  const plimsoll_list* taint_sets; /* by id: plimsoll_taint; empty for unused ids */
  /* Returns PLIMSOLL_SUCCESS, or PLIMSOLL_ERROR if there is no such column: then read the rows. Any
   * thread. */
  int32_t (*label_column)(const plimsoll_columns*, plimsoll_str key, plimsoll_label_column* out);
};

/* The candidate nodes of a batch call. Entry i of codes, reasons and scores belongs to rows[i]. */
typedef struct plimsoll_nodes {
  uint32_t size;
  uint32_t count;
  const plimsoll_node_info* const* rows;
  /* Since 1.2. Both are NULL unless every row is a node of the cluster in its real state: a what-if
   * has neither. */
  const uint32_t* slots; /* slots[i] is rows[i]->slot */
  const plimsoll_columns* columns;
} plimsoll_nodes;

enum {
  PLIMSOLL_LOG_DEBUG = 1,
  PLIMSOLL_LOG_INFO = 2,
  PLIMSOLL_LOG_WARN = 3,
  PLIMSOLL_LOG_ERROR = 4
};
enum { PLIMSOLL_OBJECT_UPSERT = 1, PLIMSOLL_OBJECT_DELETE = 2, PLIMSOLL_OBJECT_SYNCED = 3 };
enum {
  PLIMSOLL_NODE_ADDED = 1,
  PLIMSOLL_NODE_CHANGED = 2, /* the Node object changed */
  PLIMSOLL_NODE_REMOVED = 3
};
enum {
  PLIMSOLL_POD_ASSIGNED = 1, /* a pod with a node was added, or changed */
  PLIMSOLL_POD_REMOVED = 2   /* the pod is deleted, finished, or no longer on that node */
};

/* 1.1: a pod that waits on Permit. */
typedef struct plimsoll_waiting_pod {
  uint32_t size;
  uint32_t reserved;
  const plimsoll_pod* pod;
  plimsoll_str node_name;
  plimsoll_list pending_plugins; /* plimsoll_str: plugins that have not allowed the pod yet */
} plimsoll_waiting_pod;

/* 1.1: a request to the API server, sent with the scheduler's own credential. */
typedef struct plimsoll_api_request {
  uint32_t size;
  uint32_t reserved;
  plimsoll_str method;       /* "GET", "POST", "PUT", "PATCH", "DELETE" */
  plimsoll_str path;         /* "/api/v1/namespaces/a/pods/b?...", percent-encoded */
  plimsoll_str content_type; /* of the body; "application/strategic-merge-patch+json", ... */
  plimsoll_str body;         /* JSON; empty: none */
} plimsoll_api_request;

enum { PLIMSOLL_METRIC_COUNTER = 1, PLIMSOLL_METRIC_GAUGE = 2, PLIMSOLL_METRIC_HISTOGRAM = 3 };

/* 1.1: a metric of a plugin. The host prefixes the name with "plimsoll_plugin_" unless it already
 * begins with that. */
typedef struct plimsoll_metric_spec {
  uint32_t size;
  uint32_t type;
  plimsoll_str name;
  plimsoll_str help;
  plimsoll_list label_names; /* plimsoll_str */
  plimsoll_list buckets;     /* double, ascending: upper bounds of a histogram */
} plimsoll_metric_spec;

/* The functions of the host. Valid until the plugin's destroy has returned: threads that use them
 * end there. `ctx` is the first argument of every function. */
typedef struct plimsoll_host {
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  plimsoll_host_ctx* ctx;

  /* Any thread. */
  void (*log)(plimsoll_host_ctx*, uint32_t level, plimsoll_str message);
  /* Sets the error text of the call that runs on this thread. */
  void (*set_error)(plimsoll_host_ctx*, plimsoll_str text);
  /* The text is never freed: intern bounded sets of names only. */
  plimsoll_str (*intern)(plimsoll_host_ctx*, plimsoll_str text);
  /* The position of the resource in resource vectors. It is never freed either: bounded sets of
   * names only. Returns PLIMSOLL_RESOURCE_OF_NO_NODE once there are too many resources. */
  uint32_t (*resource_index)(plimsoll_host_ctx*, plimsoll_str name);
  /* An id for a list of reasons, never 0. The same list always gets the same id. Take the texts
   * from a bounded set. */
  uint32_t (*reason)(plimsoll_host_ctx*, const plimsoll_str* texts, uint32_t count);
  int64_t (*now_ms)(plimsoll_host_ctx*);

  /* Cycle state: one pointer per (cycle, key). The host frees it with `drop`, and copies it with
   * `clone` for what-ifs. */
  void (*set_state)(plimsoll_host_ctx*, plimsoll_cycle*, plimsoll_symbol key, void* value,
                    void* (*clone)(const void*), void (*drop)(void*));
  void* (*get_state)(plimsoll_host_ctx*, const plimsoll_cycle*, plimsoll_symbol key);
  /* Adds an annotation to the Binding. Allowed from reserve to pre_bind. */
  void (*annotate)(plimsoll_host_ctx*, plimsoll_cycle*, plimsoll_str key, plimsoll_str value);

  /* Loop only. */
  const plimsoll_node_info* (*node_by_name)(plimsoll_host_ctx*, plimsoll_str name);
  const plimsoll_node_info* (*node_by_slot)(plimsoll_host_ctx*, uint32_t slot);
  uint32_t (*slot_count)(plimsoll_host_ctx*); /* every slot is less than this */
  /* Reports a change of the state that the plugin keeps about the node. */
  void (*touch_node)(plimsoll_host_ctx*, uint32_t slot, uint32_t aspects);
  /* Watches a kind: the host calls object_event for each of its objects. Kinds that are watched in
   * create or start are listed before the first pod is scheduled. Returns 0 or PLIMSOLL_ERROR. */
  int32_t (*watch)(plimsoll_host_ctx*, plimsoll_str group, plimsoll_str version,
                   plimsoll_str plural);
  /* Services: named, versioned tables that plugins publish for each other. publish returns 0, or
   * PLIMSOLL_ERROR if the name is taken. */
  int32_t (*publish)(plimsoll_host_ctx*, plimsoll_str name, uint32_t version, const void* table);
  const void* (*find_service)(plimsoll_host_ctx*, plimsoll_str name, uint32_t min_version);
  /* Requeues the pods that this plugin rejected, as if an event that it registered had happened. */
  void (*requeue_rejected)(plimsoll_host_ctx*);
  void (*emit_event)(plimsoll_host_ctx*, const plimsoll_pod*, uint32_t warning, plimsoll_str reason,
                     plimsoll_str action, plimsoll_str note);

  /* Any thread. allow_waiting and reject_waiting end a wait on Permit. complete finishes a pre_bind
   * or bind that returned PLIMSOLL_WAIT; `token` is the one that was passed to it. */
  void (*allow_waiting)(plimsoll_host_ctx*, plimsoll_str pod_uid);
  void (*reject_waiting)(plimsoll_host_ctx*, plimsoll_str pod_uid, plimsoll_str message);
  void (*complete)(plimsoll_host_ctx*, plimsoll_token*, int32_t code, plimsoll_str message);
  /* For bind plugins. Posts the Binding, with the UID as precondition and the annotations of the
   * cycle, and completes the token itself. */
  int32_t (*post_binding)(plimsoll_host_ctx*, plimsoll_cycle*, const plimsoll_pod*,
                          plimsoll_str node_name, plimsoll_token*);

  /* ---- since 1.1 ----
   * What-ifs; loop only, within one call of the plugin. A what-if is a copy of a node and a clone
   * of the cycle's state, to which pods are added and from which pods are removed. Plugins update
   * their cycle state in add_pod and remove_pod. Returns NULL if there is no such node. */
  plimsoll_what_if* (*what_if_begin)(plimsoll_host_ctx*, const plimsoll_cycle*, const plimsoll_pod*,
                                     uint32_t slot);
  /* Return PLIMSOLL_SUCCESS, or PLIMSOLL_ERROR; the host then sets the text with set_error. */
  int32_t (*what_if_add_pod)(plimsoll_host_ctx*, plimsoll_what_if*, const plimsoll_pod*);
  int32_t (*what_if_remove_pod)(plimsoll_host_ctx*, plimsoll_what_if*, const plimsoll_pod*);
  /* Runs all filters on the node in its simulated state, once with the nominated pods of at least
   * the pod's priority and once without them. Both runs must pass. Returns the code of the verdict;
   * sets *reason if that is a rejection. */
  int32_t (*what_if_filter)(plimsoll_host_ctx*, plimsoll_what_if*, uint32_t* reason);
  const plimsoll_node_info* (*what_if_node)(plimsoll_host_ctx*, const plimsoll_what_if*);
  void (*what_if_end)(plimsoll_host_ctx*, plimsoll_what_if*);

  /* Nominated pods; loop only. An empty node name removes the nomination. This changes memory only;
   * to change status.nominatedNodeName in the API server, set `nominated` in post_filter. */
  void (*nominate)(plimsoll_host_ctx*, const plimsoll_pod*, plimsoll_str node_name);
  /* A list of `const plimsoll_pod*`; valid until the next call into the host. */
  plimsoll_list (*nominated_pods)(plimsoll_host_ctx*, plimsoll_str node_name);

  /* Loop only. NULL if the pod is neither queued nor on a node. Valid until the plugin returns. */
  const plimsoll_pod* (*pod_by_uid)(plimsoll_host_ctx*, plimsoll_str uid);
  /* A list of plimsoll_waiting_pod; valid until the next call into the host. */
  plimsoll_list (*waiting_pods)(plimsoll_host_ctx*);
  /* Cancels a binding that has not reached Bind yet: the pod waits on Permit, or is in PreBind. The
   * attempt ends with an error that has this text, and the pod is tried again after a backoff. A
   * PreBind step that is running finishes first; no further step starts. Returns 1 if this attempt
   * will not bind the pod, and 0 if it is too late or the pod is not being bound. */
  uint32_t (*cancel_binding)(plimsoll_host_ctx*, plimsoll_str pod_uid, plimsoll_str message);

  /* Any thread. Moves a waiting pod to the active queue and ignores its backoff. If it is called in
   * a scheduling cycle (PreFilter to Permit), the move happens after the cycle has succeeded, and
   * not at all if the cycle fails: otherwise two pods that activate each other could keep the
   * scheduler busy. */
  void (*activate)(plimsoll_host_ctx*, plimsoll_str pod_uid);
  /* Calls `fn` on the loop exactly once, after at least `delay_ms`. If the scheduler stops earlier,
   * `cancelled` is 1, and `fn` must only free what `user` owns. */
  void (*run_on_loop)(plimsoll_host_ctx*, int64_t delay_ms,
                      void (*fn)(void* user, uint32_t cancelled), void* user);
  /* Sends a request. It is retried according to the class of error, and never sent ahead of binds.
   * `done` is called exactly once, on any thread, with the HTTP status and the body, or with status
   * 0 and the reason why there was no answer. */
  void (*api_request)(plimsoll_host_ctx*, const plimsoll_api_request*,
                      void (*done)(void* user, int32_t status, plimsoll_str body), void* user);
  /* The texts of a reason id: a list of plimsoll_str, empty for an unknown id. The list is valid
   * until the next call on this thread, the texts for 64 calls or, of usual reasons, for ever. */
  plimsoll_list (*reason_texts)(plimsoll_host_ctx*, uint32_t reason);

  /* Metrics; any thread. metric returns NULL and sets an error text if the spec is wrong or clashes
   * with another. The same spec gives the same metric again. `values` are the label values, in the
   * order of label_names. metric_observe adds `value` to a counter, sets a gauge to it, and records
   * it as an observation of a histogram. */
  plimsoll_metric* (*metric)(plimsoll_host_ctx*, const plimsoll_metric_spec*);
  void (*metric_observe)(plimsoll_host_ctx*, plimsoll_metric*, const plimsoll_str* values,
                         uint32_t count, double value);

  /* ---- since 1.4 ----
   * Loop only. 1 if the binding of this pod is cancelled (by cancel_binding, or because the pod is
   * deleted): a PreBind step that waits should end. */
  uint32_t (*binding_cancelled)(plimsoll_host_ctx*, plimsoll_str pod_uid);
  /* Loop only. An object of a kind in kinds.h that some plugin watches, as it is now; a pointer to
   * the struct of its kind. NULL: there is none. In object_event it is what the event brought, and
   * what was there before is valid until the call returns. */
  const plimsoll_object* (*object)(plimsoll_host_ctx*, plimsoll_str resource, plimsoll_str ns,
                                   plimsoll_str name);
  /* All of them, of one namespace or, if that is empty, of all: a list of `const plimsoll_object*`,
   * by namespace and name. The list is valid until the next call into the host. */
  plimsoll_list (*objects)(plimsoll_host_ctx*, plimsoll_str resource, plimsoll_str ns);
  /* In reserve only, of the pod that it is called for. The pod occupies these amounts too
   * (plimsoll_claim_amount, instead of the pod's own), until the API server shows it with its node
   * or its place is given back; pod_event tells of it as of a pod that changed. Whatever the plugin
   * adds it writes into the pod's status before Bind. 0: the pod is not assumed. */
  uint32_t (*add_amounts)(plimsoll_host_ctx*, plimsoll_str pod_uid, plimsoll_list amounts);
} plimsoll_host;

/* Bits of plimsoll_plugin.flags; since 1.1.
 * NORMALIZES_BY_EXTREMES: the result of `normalize` for a score depends only on that score and on
 * the lowest and the highest of the scores passed. The host may then pass only the scores that
 * changed, together with the two extremes.
 * COUNTS_ASSUMED_PODS, since 1.4: pod_event also tells of assumed pods, of all profiles: ASSIGNED
 * when a pod is assumed, REMOVED when its place is given back. What the plugin counts then equals
 * the pods in plimsoll_node_info.
 * WAKES_WHOM_IT_GATES, since 1.4: the plugin calls activate for each pod that its pre_enqueue holds
 * back, when it would let the pod in. No event then wakes such a pod. */
enum {
  PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES = 1,
  PLIMSOLL_FLAG_COUNTS_ASSUMED_PODS = 2,
  PLIMSOLL_FLAG_WAKES_WHOM_IT_GATES = 4
};

/* The functions of a plugin. plimsoll_plugin_create_v1 fills them into memory of the host; `size`
 * says how large that memory is. */
typedef struct plimsoll_plugin {
  uint32_t size;           /* in: bytes available; out: bytes filled */
  uint32_t filter_aspects; /* what filter depends on; 0: unknown, verdicts are never reused */
  uint32_t score_aspects;
  uint32_t flags; /* PLIMSOLL_FLAG_*; 0 in 1.0 */
  void* self;     /* first argument of every slot */
  void (*destroy)(void* self);

  /* Called once, after all plugins of all profiles are created and before the first event. */
  int32_t (*start)(void* self);

  /* Queue. sort_key fills 24 bytes; the host compares them with memcmp, and the lowest comes first.
   * queued_ms is the time at which the pod entered the queue. */
  int32_t (*pre_enqueue)(void* self, const plimsoll_pod*, uint32_t* reason);
  int32_t (*sort_key)(void* self, const plimsoll_pod*, int64_t queued_ms, uint8_t key[24]);
  /* The events that may make a pod schedulable that this plugin rejected: plimsoll_event_interest,
   * valid as long as the plugin. NULL slot: all events. Empty list: none. */
  plimsoll_list (*events)(void* self);
  int32_t (*hint)(void* self, const plimsoll_pod*, const plimsoll_event*); /* NULL: always QUEUE */

  /* One call per attempt. It may narrow the nodes: it sets *narrowed, and *names to a list of
   * plimsoll_str that is valid until the next call. Since 1.4: a rejection with *reason == 0 has
   * the text of set_error as its reason; that text may contain any name. */
  int32_t (*pre_filter)(void* self, plimsoll_cycle*, const plimsoll_pod*, uint32_t* reason,
                        plimsoll_list* names, uint32_t* narrowed);
  /* What-if: `added` is put on the node, or `removed` is taken off it. The two functions are exact
   * inverses and change only the cycle's (cloned) state. */
  int32_t (*add_pod)(void* self, plimsoll_cycle*, const plimsoll_pod* pod,
                     const plimsoll_pod* added, const plimsoll_node_info*);
  int32_t (*remove_pod)(void* self, plimsoll_cycle*, const plimsoll_pod* pod,
                        const plimsoll_pod* removed, const plimsoll_node_info*);
  /* For every row with codes[i] == 0: writes its code and, if it rejects, its reason. */
  int32_t (*filter)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                    const plimsoll_nodes*, uint8_t* codes, uint32_t* reasons);
  /* Called when no node fits. To change the pod's nomination, set *nominated to a text with
   * data != NULL; an empty text clears the nomination. *nominated is passed with data == NULL;
   * leave it so to keep the nomination. The text is valid until the next call. After a PreFilter
   * rejection the nodes are all nodes, each with the code of that rejection. Since 1.1: a rejection
   * with *reason == 0 has the text of set_error as its reason; that text may contain any name. */
  int32_t (*post_filter)(void* self, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_nodes*,
                         const uint8_t* codes, plimsoll_str* nominated, uint32_t* reason);
  int32_t (*pre_score)(void* self, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_nodes*);
  int32_t (*score)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                   const plimsoll_nodes*, int64_t* scores);
  int32_t (*normalize)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                       const plimsoll_nodes*, int64_t* scores); /* to 0..100 */
  int32_t (*reserve)(void* self, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_node_info*,
                     uint32_t* reason);
  void (*unreserve)(void* self, plimsoll_cycle*, const plimsoll_pod*,
                    plimsoll_str node_name); /* idempotent */
  int32_t (*permit)(void* self, plimsoll_cycle*, const plimsoll_pod*, const plimsoll_node_info*,
                    int64_t* timeout_ms, uint32_t* reason);
  int32_t (*pre_bind_pre_flight)(void* self, plimsoll_cycle*, const plimsoll_pod*,
                                 plimsoll_str node_name, uint32_t* allow_parallel);
  /* PLIMSOLL_WAIT: the call finishes later through host->complete(token). The text of every
   * failure and rejection is set with host->set_error or passed to complete as the message. */
  int32_t (*pre_bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name,
                      plimsoll_token*);
  int32_t (*bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name,
                  plimsoll_token*);
  void (*post_bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name);

  /* Writes the bytes of the pod that the results of filter and score depend on. Calls put() for
   * each fragment. SKIP: the pod cannot be signed. */
  int32_t (*sign)(void* self, const plimsoll_pod*,
                  void (*put)(void* sink, const void* bytes, size_t len), void* sink);

  /* For state that the plugin keeps. The objects that existed before start are delivered first:
   * nodes, then watched kinds, then pods. */
  void (*node_event)(void* self, uint32_t type, const plimsoll_node_info*, uint32_t aspects);
  void (*pod_event)(void* self, uint32_t type, const plimsoll_pod*, plimsoll_str node_name);
  /* PLIMSOLL_OBJECT_SYNCED: the first list is complete. Its json is {"served":false} if the API
   * server does not serve the kind. */
  void (*object_event)(void* self, uint32_t type, plimsoll_str resource, plimsoll_str name,
                       plimsoll_str ns, plimsoll_str json);
  /* Passes a text to `put` that explains to a person why filter rejected a node. Called only on
   * request. */
  void (*explain)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                  const plimsoll_node_info*, void (*put)(void* sink, const void* bytes, size_t len),
                  void* sink);

  /* Since 1.3. Whether this plugin's verdict on the pod, or what the plugin gives the pod, depends
   * on objects of this kind. The plugin watches the kind itself, or another plugin does and serves
   * it. 1: the pod waits while the kind is not followed (the connection is lost or the list is not
   * complete); 0: the pod does not wait. Loop only; must be quick. NULL slot: every pod depends on
   * every kind that the plugin watches. */
  int32_t (*rests_on)(void* self, const plimsoll_pod*, plimsoll_str resource);
} plimsoll_plugin;

typedef int32_t (*plimsoll_plugin_create_fn)(const plimsoll_host*, plimsoll_str args_json,
                                             plimsoll_plugin* out);
#define PLIMSOLL_CREATE_SYMBOL "plimsoll_plugin_create_v1"

/* ---- the ELF note: name "Plimsoll", type 1, descriptor plimsoll_note ---- */

enum { PLIMSOLL_BUILD_ASAN = 1, PLIMSOLL_BUILD_TSAN = 2, PLIMSOLL_BUILD_GLIBCXX_DEBUG = 4 };

#define PLIMSOLL_NOTE_NAME "Plimsoll"
#define PLIMSOLL_NOTE_TYPE 1

/* Bits of plimsoll_note.capabilities; since 1.4. STATED: the other bits list the extension points
 * that the plugin implements, so that a reader need not create the plugin to know them. Without
 * STATED the other bits mean nothing. */
#define PLIMSOLL_CAPABILITY_PRE_ENQUEUE (UINT64_C(1) << 0)
#define PLIMSOLL_CAPABILITY_QUEUE_SORT (UINT64_C(1) << 1)
#define PLIMSOLL_CAPABILITY_PRE_FILTER (UINT64_C(1) << 2)
#define PLIMSOLL_CAPABILITY_FILTER (UINT64_C(1) << 3)
#define PLIMSOLL_CAPABILITY_POST_FILTER (UINT64_C(1) << 4)
#define PLIMSOLL_CAPABILITY_PRE_SCORE (UINT64_C(1) << 5)
#define PLIMSOLL_CAPABILITY_SCORE (UINT64_C(1) << 6)
#define PLIMSOLL_CAPABILITY_RESERVE (UINT64_C(1) << 7)
#define PLIMSOLL_CAPABILITY_PERMIT (UINT64_C(1) << 8)
#define PLIMSOLL_CAPABILITY_PRE_BIND (UINT64_C(1) << 9)
#define PLIMSOLL_CAPABILITY_BIND (UINT64_C(1) << 10)
#define PLIMSOLL_CAPABILITY_POST_BIND (UINT64_C(1) << 11)
#define PLIMSOLL_CAPABILITY_STATED (UINT64_C(1) << 63)

typedef struct plimsoll_note {
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;   /* the lowest that the plugin needs; an older scheduler refuses the file */
  uint32_t plugin_size; /* sizeof(plimsoll_plugin) when the plugin was compiled */
  uint32_t build_flags;
  uint64_t capabilities; /* PLIMSOLL_CAPABILITY_*; 0 before 1.4 */
  char name[64];         /* the plugin's name in a profile; all four texts are NUL-terminated */
  char version[32];
  char sdk_version[32];
  char license[32];
} plimsoll_note;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_PLUGIN_ABI_H_ */
