/* Plimsoll plugin ABI, part 2: how the scheduler ("host") and a plugin talk. Plain C11; policy in
 * docs/abi.md.
 *
 * A plugin is a shared object that exports one symbol, plimsoll_plugin_create_v1, and carries one
 * ELF note, which the host reads before a line of the object runs. Host and plugin hand each other
 * tables of functions; tables begin with `size`, grow only at the end, and a NULL slot is an
 * extension point that the plugin does not implement.
 *
 * Threads: everything runs on the scheduler loop, one call at a time, except
 *   - filter and score: const, may run on several threads for different nodes at once;
 *   - pre_bind, bind, post_bind: on binder threads, may block; they see only the cycle's state and
 * the pod. Return values are codes (PLIMSOLL_SUCCESS ...). With PLIMSOLL_ERROR the text comes from
 * host->set_error, called before returning. With a rejection the reasons come from host->reason. No
 * exception may leave a plugin.
 */
#ifndef PLIMSOLL_PLUGIN_ABI_H_
#define PLIMSOLL_PLUGIN_ABI_H_

#include "objects.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_ABI_MAJOR 1
#define PLIMSOLL_ABI_MINOR 4
/* The version of the SDK and of the program is
 * PLIMSOLL_ABI_MAJOR.PLIMSOLL_ABI_MINOR.PLIMSOLL_PATCH. The build reads it here. */
#define PLIMSOLL_PATCH 0

/* Status codes: fwk.Code of the Kubernetes scheduling framework, same numbers. */
enum {
  PLIMSOLL_SUCCESS = 0,
  PLIMSOLL_ERROR = 1,
  PLIMSOLL_UNSCHEDULABLE = 2,
  PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE = 3,
  PLIMSOLL_WAIT = 4,
  PLIMSOLL_SKIP = 5,
  PLIMSOLL_PENDING = 6
};

/* What can change about a node. The change log speaks in these, and a plugin declares on which its
 * verdict rests. */
enum {
  PLIMSOLL_ASPECT_ALLOCATABLE = 1 << 0,
  PLIMSOLL_ASPECT_REQUESTED = 1 << 1, /* sums of resources in use, number of pods */
  PLIMSOLL_ASPECT_LABELS = 1 << 2,
  PLIMSOLL_ASPECT_TAINTS = 1 << 3, /* spec.unschedulable too */
  PLIMSOLL_ASPECT_PORTS = 1 << 4,
  PLIMSOLL_ASPECT_IMAGES = 1 << 5,
  PLIMSOLL_ASPECT_VOLUMES = 1 << 6,
  PLIMSOLL_ASPECT_CONDITIONS = 1 << 7,
  PLIMSOLL_ASPECT_ANNOTATIONS = 1 << 8,
  PLIMSOLL_ASPECT_FEATURES = 1 << 9,
  PLIMSOLL_ASPECT_PODS =
      1 << 10, /* which pods are on the node, their labels, whether they terminate */
  PLIMSOLL_ASPECT_NOMINATED = 1 << 11, /* pods nominated to the node */
  PLIMSOLL_ASPECT_PLUGIN = 1 << 12, /* state that a plugin keeps about the node: host->touch_node */
  PLIMSOLL_ASPECT_CLUSTER = 1 << 30 /* rests on more than this node: never reused, run afresh */
};

/* Cluster events, for requeueing: ActionType of k8s.io/kube-scheduler/framework, same bits. */
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
  plimsoll_str resource; /* "AssignedPod" and "UnschedulablePod" are told apart here */
  const plimsoll_pod* old_pod;
  const plimsoll_pod* new_pod;
  const plimsoll_node* old_node;
  const plimsoll_node* new_node;
  plimsoll_str name;     /* other kinds: the object's name and JSON text */
  plimsoll_str old_json; /* empty in 1.0: old texts are not kept */
  plimsoll_str new_json;
} plimsoll_event;

enum { PLIMSOLL_HINT_SKIP = 0, PLIMSOLL_HINT_QUEUE = 1 };

typedef struct plimsoll_cycle plimsoll_cycle;     /* one scheduling attempt of one pod */
typedef struct plimsoll_token plimsoll_token;     /* a pre_bind or bind that finishes later */
typedef struct plimsoll_what_if plimsoll_what_if; /* 1.1: one node, as it might be */
typedef struct plimsoll_metric plimsoll_metric;   /* 1.1 */
typedef struct plimsoll_host_ctx plimsoll_host_ctx;

typedef struct plimsoll_columns plimsoll_columns;

/* 1.2: the label of one key on all nodes. Evaluate a selector once for each value, on any node that
 * has it. */
typedef struct plimsoll_label_column {
  uint32_t size;
  uint32_t value_count;   /* ids are below */
  const uint32_t* values; /* by slot: equal texts have the same id; 0: no such label */
} plimsoll_label_column;

/* 1.2: what plimsoll_node_info says, of all nodes of the cluster as arrays by slot: for loops that
 * go through memory in order. Slots without a node are there too, and mean nothing. Valid for the
 * call that passed them. */
struct plimsoll_columns {
  uint32_t size;
  uint32_t slot_count;      /* length of each array by slot */
  uint32_t resource_count;  /* resources that have arrays; of others ask the rows */
  uint32_t taint_set_count; /* ids are below; 1: no node has a taint */
  uint32_t unschedulable_count;
  uint32_t reserved;
  const int64_t* const* allocatable; /* by plimsoll_resource.index, then by slot */
  const int64_t* const* requested;
  const int64_t* nonzero_cpu;
  const int64_t* nonzero_memory;
  const uint32_t* pod_count;
  const int32_t* lowest_priority; /* of the node's pods; INT32_MAX: it has none */
  const uint8_t* unschedulable;
  const uint32_t* taint_set;       /* equal taints in the same order have the same id; 0: none */
  const plimsoll_list* taint_sets; /* by id: plimsoll_taint; empty for ids that are not in use */
  /* PLIMSOLL_SUCCESS; PLIMSOLL_ERROR: there is no such column, ask the rows. Any thread. */
  int32_t (*label_column)(const plimsoll_columns*, plimsoll_str key, plimsoll_label_column* out);
};

/* The candidate nodes of a batch call. codes[i] and the like belong to rows[i]. */
typedef struct plimsoll_nodes {
  uint32_t size;
  uint32_t count;
  const plimsoll_node_info* const* rows;
  /* since 1.2; both NULL if the rows are not all nodes of the cluster as they are (what-ifs) */
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
  PLIMSOLL_POD_ASSIGNED = 1, /* a pod with a node became known, or changed */
  PLIMSOLL_POD_REMOVED = 2   /* it is gone, finished, or no longer on that node */
};

/* 1.1: a pod that waits on Permit. */
typedef struct plimsoll_waiting_pod {
  uint32_t size;
  uint32_t reserved;
  const plimsoll_pod* pod;
  plimsoll_str node_name;
  plimsoll_list pending_plugins; /* plimsoll_str: those that have not allowed it yet */
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

/* 1.1: a metric of a plugin. Names are put behind "plimsoll_plugin_" unless they begin with it. */
typedef struct plimsoll_metric_spec {
  uint32_t size;
  uint32_t type;
  plimsoll_str name;
  plimsoll_str help;
  plimsoll_list label_names; /* plimsoll_str */
  plimsoll_list buckets;     /* double, rising: upper bounds of a histogram */
} plimsoll_metric_spec;

/* What the host offers. Valid for the life of the process; `ctx` is the first argument of every
 * function. */
typedef struct plimsoll_host {
  uint32_t size;
  uint16_t abi_major;
  uint16_t abi_minor;
  plimsoll_host_ctx* ctx;

  /* Any thread. */
  void (*log)(plimsoll_host_ctx*, uint32_t level, plimsoll_str message);
  void (*set_error)(plimsoll_host_ctx*, plimsoll_str text); /* of the call running on this thread */
  plimsoll_str (*intern)(plimsoll_host_ctx*,
                         plimsoll_str text); /* lives for ever: bounded sets of names only */
  /* The position in resource vectors, for ever; so for bounded sets of names, too.
   * PLIMSOLL_RESOURCE_OF_NO_NODE once there are too many. */
  uint32_t (*resource_index)(plimsoll_host_ctx*, plimsoll_str name);
  /* An id for a list of reasons, the same for the same list. Reasons come from a bounded set of
   * texts. Never 0. */
  uint32_t (*reason)(plimsoll_host_ctx*, const plimsoll_str* texts, uint32_t count);
  int64_t (*now_ms)(plimsoll_host_ctx*);

  /* Cycle state: a pointer per (cycle, key); freed by the host with `drop`, cloned with `clone` for
   * what-ifs. */
  void (*set_state)(plimsoll_host_ctx*, plimsoll_cycle*, plimsoll_symbol key, void* value,
                    void* (*clone)(const void*), void (*drop)(void*));
  void* (*get_state)(plimsoll_host_ctx*, const plimsoll_cycle*, plimsoll_symbol key);
  /* An annotation that the Binding will carry. From reserve to pre_bind. */
  void (*annotate)(plimsoll_host_ctx*, plimsoll_cycle*, plimsoll_str key, plimsoll_str value);

  /* Loop only. */
  const plimsoll_node_info* (*node_by_name)(plimsoll_host_ctx*, plimsoll_str name);
  const plimsoll_node_info* (*node_by_slot)(plimsoll_host_ctx*, uint32_t slot);
  uint32_t (*slot_count)(plimsoll_host_ctx*); /* slots are below this */
  void (*touch_node)(plimsoll_host_ctx*, uint32_t slot,
                     uint32_t aspects); /* plugin-owned state changed */
  /* Asks for a kind: object_event is called for each of its objects. Those asked for in create and
   * start are listed before the first pod is scheduled. 0 or PLIMSOLL_ERROR. */
  int32_t (*watch)(plimsoll_host_ctx*, plimsoll_str group, plimsoll_str version,
                   plimsoll_str plural);
  /* Services: named, versioned tables that plugins publish for one another. 0, or PLIMSOLL_ERROR if
   * the name is taken. */
  int32_t (*publish)(plimsoll_host_ctx*, plimsoll_str name, uint32_t version, const void* table);
  const void* (*find_service)(plimsoll_host_ctx*, plimsoll_str name, uint32_t min_version);
  /* Wakes pods that this plugin rejected, as if an event that it registered had happened. */
  void (*requeue_rejected)(plimsoll_host_ctx*);
  void (*emit_event)(plimsoll_host_ctx*, const plimsoll_pod*, uint32_t warning, plimsoll_str reason,
                     plimsoll_str action, plimsoll_str note);

  /* Any thread: ends a wait of Permit; finishes a pre_bind or bind that returned PLIMSOLL_WAIT with
   * its token. */
  void (*allow_waiting)(plimsoll_host_ctx*, plimsoll_str pod_uid);
  void (*reject_waiting)(plimsoll_host_ctx*, plimsoll_str pod_uid, plimsoll_str message);
  void (*complete)(plimsoll_host_ctx*, plimsoll_token*, int32_t code, plimsoll_str message);
  /* Posts the Binding (UID precondition, annotations of the cycle); completes the token itself. For
   * bind plugins. */
  int32_t (*post_binding)(plimsoll_host_ctx*, plimsoll_cycle*, const plimsoll_pod*,
                          plimsoll_str node_name, plimsoll_token*);

  /* ---- since 1.1 ----
   * What-ifs; loop only, within one call of the plugin. A copy of a node and a clone of the cycle's
   * state, on which pods are added and taken away; plugins take part through add_pod and
   * remove_pod. NULL: there is no such node. */
  plimsoll_what_if* (*what_if_begin)(plimsoll_host_ctx*, const plimsoll_cycle*, const plimsoll_pod*,
                                     uint32_t slot);
  /* PLIMSOLL_SUCCESS, or PLIMSOLL_ERROR with a text (set_error is called by the host). */
  int32_t (*what_if_add_pod)(plimsoll_host_ctx*, plimsoll_what_if*, const plimsoll_pod*);
  int32_t (*what_if_remove_pod)(plimsoll_host_ctx*, plimsoll_what_if*, const plimsoll_pod*);
  /* All filters on the node as it is now; with nominated pods of at least the pod's priority, and
   * without them: both must pass. The code of the verdict; *reason of a rejection. */
  int32_t (*what_if_filter)(plimsoll_host_ctx*, plimsoll_what_if*, uint32_t* reason);
  const plimsoll_node_info* (*what_if_node)(plimsoll_host_ctx*, const plimsoll_what_if*);
  void (*what_if_end)(plimsoll_host_ctx*, plimsoll_what_if*);

  /* Nominated pods; loop only. An empty node name takes the nomination away. In memory only: what
   * the API server shall know is set by post_filter's `nominated`. */
  void (*nominate)(plimsoll_host_ctx*, const plimsoll_pod*, plimsoll_str node_name);
  /* A list of `const plimsoll_pod*`; valid until the next call into the host. */
  plimsoll_list (*nominated_pods)(plimsoll_host_ctx*, plimsoll_str node_name);

  /* Pods; loop only. NULL: neither queued nor on a node. Valid until the plugin returns. */
  const plimsoll_pod* (*pod_by_uid)(plimsoll_host_ctx*, plimsoll_str uid);
  /* A list of plimsoll_waiting_pod; valid until the next call into the host. */
  plimsoll_list (*waiting_pods)(plimsoll_host_ctx*);
  /* Calls off a binding that has not reached Bind yet (the pod waits on Permit, or is in PreBind):
   * it ends as an error with this text, and the pod is tried again after a backoff. A PreBind step
   * that runs is waited for, further ones are not begun. 1: it will not be bound by this attempt;
   * 0: too late, or not on its way. */
  uint32_t (*cancel_binding)(plimsoll_host_ctx*, plimsoll_str pod_uid, plimsoll_str message);

  /* Any thread. Moves a pod that waits in the queue to the active queue, whatever its backoff. From
   * within a scheduling cycle (PreFilter to Permit) it is done once that has succeeded, and not at
   * all if it fails: two pods that activate one another must not keep the scheduler busy. */
  void (*activate)(plimsoll_host_ctx*, plimsoll_str pod_uid);
  /* Runs `fn` on the loop, `delay_ms` from now or later. `fn` is called exactly once; `cancelled`
   * is 1 if the scheduler stops before its time: then it only frees what `user` owns. */
  void (*run_on_loop)(plimsoll_host_ctx*, int64_t delay_ms,
                      void (*fn)(void* user, uint32_t cancelled), void* user);
  /* Sends a request, retried by class of error; never before binds. `done` is called exactly once,
   * on any thread: the HTTP status and body, or 0 and why there was no answer. */
  void (*api_request)(plimsoll_host_ctx*, const plimsoll_api_request*,
                      void (*done)(void* user, int32_t status, plimsoll_str body), void* user);
  /* The texts of a reason id: a list of plimsoll_str, valid until the next call on this thread (the
   * texts for ever); empty for an unknown id. */
  plimsoll_list (*reason_texts)(plimsoll_host_ctx*, uint32_t reason);

  /* Metrics; any thread. NULL, with an error text: the spec is wrong or clashes. The same spec
   * twice is the same metric. `values` of the labels, in the order of label_names. A counter grows
   * by `value`, a gauge is set to it, a histogram observes it. */
  plimsoll_metric* (*metric)(plimsoll_host_ctx*, const plimsoll_metric_spec*);
  void (*metric_observe)(plimsoll_host_ctx*, plimsoll_metric*, const plimsoll_str* values,
                         uint32_t count, double value);
} plimsoll_host;

/* Of plimsoll_plugin.flags; since 1.1.
 * NORMALIZES_BY_EXTREMES: what `normalize` makes of a score rests on nothing but that score and the
 * lowest and highest of the scores it is given. The host may then have it normalise single ones:
 * those that changed, beside the two extremes. */
enum { PLIMSOLL_FLAG_NORMALIZES_BY_EXTREMES = 1 };

/* What a plugin offers. Filled in by plimsoll_plugin_create_v1 into memory of the host, whose
 * `size` says how much there is. */
typedef struct plimsoll_plugin {
  uint32_t size;           /* in: bytes there; out: bytes filled */
  uint32_t filter_aspects; /* on what filter rests; 0: unknown, never reused */
  uint32_t score_aspects;
  uint32_t flags; /* PLIMSOLL_FLAG_*; 0 in 1.0 */
  void* self;     /* first argument of every slot */
  void (*destroy)(void* self);

  /* Called once, after every plugin of every profile was created and before the first event. */
  int32_t (*start)(void* self);

  /* Queue. sort_key fills 24 bytes, compared with memcmp, lowest first; queued_ms: when it entered
   * the queue. */
  int32_t (*pre_enqueue)(void* self, const plimsoll_pod*, uint32_t* reason);
  int32_t (*sort_key)(void* self, const plimsoll_pod*, int64_t queued_ms, uint8_t key[24]);
  /* Which events may make a pod schedulable that this plugin rejected. Unset: all. Set and empty:
   * none. */
  plimsoll_list (*events)(void* self); /* plimsoll_event_interest; lives as long as the plugin */
  int32_t (*hint)(void* self, const plimsoll_pod*, const plimsoll_event*); /* unset: always QUEUE */

  /* One call an attempt. May narrow the nodes: *names = list of plimsoll_str valid until the next
   * call. */
  int32_t (*pre_filter)(void* self, plimsoll_cycle*, const plimsoll_pod*, uint32_t* reason,
                        plimsoll_list* names, uint32_t* narrowed);
  /* What-if: the node will have this pod too / no longer. Exact inverses, on the cycle's (cloned)
   * state only. */
  int32_t (*add_pod)(void* self, plimsoll_cycle*, const plimsoll_pod* pod,
                     const plimsoll_pod* added, const plimsoll_node_info*);
  int32_t (*remove_pod)(void* self, plimsoll_cycle*, const plimsoll_pod* pod,
                        const plimsoll_pod* removed, const plimsoll_node_info*);
  /* For every row with codes[i] == 0: write its code, and a reason for a rejection. */
  int32_t (*filter)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                    const plimsoll_nodes*, uint8_t* codes, uint32_t* reasons);
  /* No node fits. May change the pod's nomination: *nominated with data != NULL (empty text: clear
   * it). It comes with data == NULL, and stays so if the nomination is not to change; the text is
   * valid until the next call. After a PreFilter rejection the nodes are all nodes, each with that
   * code. Since 1.1 a rejection with *reason == 0 has the text of set_error as its reason, which
   * may name anything. */
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
  /* PLIMSOLL_WAIT: finishes later through host->complete(token). The text of any failure, a
   * rejection included, comes from host->set_error or from the message of complete. */
  int32_t (*pre_bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name,
                      plimsoll_token*);
  int32_t (*bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name,
                  plimsoll_token*);
  void (*post_bind)(void* self, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str node_name);

  /* The bytes that decide what filter and score say about a pod: call put() for each fragment.
   * SKIP: not signable. */
  int32_t (*sign)(void* self, const plimsoll_pod*,
                  void (*put)(void* sink, const void* bytes, size_t len), void* sink);

  /* State that plugins keep. Events of what existed before start are delivered first: nodes, kinds,
   * then pods. */
  void (*node_event)(void* self, uint32_t type, const plimsoll_node_info*, uint32_t aspects);
  void (*pod_event)(void* self, uint32_t type, const plimsoll_pod*, plimsoll_str node_name);
  /* PLIMSOLL_OBJECT_SYNCED: the first list is complete; its json is {"served":false} if the cluster
   * lacks the kind. */
  void (*object_event)(void* self, uint32_t type, plimsoll_str resource, plimsoll_str name,
                       plimsoll_str ns, plimsoll_str json);
  /* More about why filter refused a node, for people: written to `put` as text. Only when somebody
   * asks. */
  void (*explain)(const void* self, const plimsoll_cycle*, const plimsoll_pod*,
                  const plimsoll_node_info*, void (*put)(void* sink, const void* bytes, size_t len),
                  void* sink);

  /* Since 1.3. Whether what this plugin says of the pod, or gives it, rests on objects of this
   * kind: its own or, through a service, another plugin's. 1: while the kind is not followed (the
   * connection is lost, the list is not complete) the pod waits; 0: it goes on. Loop only; must be
   * quick. Unset: every pod rests on every kind that the plugin watches. */
  int32_t (*rests_on)(void* self, const plimsoll_pod*, plimsoll_str resource);
} plimsoll_plugin;

typedef int32_t (*plimsoll_plugin_create_fn)(const plimsoll_host*, plimsoll_str args_json,
                                             plimsoll_plugin* out);
#define PLIMSOLL_CREATE_SYMBOL "plimsoll_plugin_create_v1"

/* ---- the ELF note: name "Plimsoll", type 1, this as its descriptor
 * --------------------------------------------- */

enum { PLIMSOLL_BUILD_ASAN = 1, PLIMSOLL_BUILD_TSAN = 2, PLIMSOLL_BUILD_GLIBCXX_DEBUG = 4 };

#define PLIMSOLL_NOTE_NAME "Plimsoll"
#define PLIMSOLL_NOTE_TYPE 1

/* Of plimsoll_note.capabilities; since 1.4. STATED: the note says at which extension points the
 * plugin takes part, so nobody needs to make the plugin to know. Without it the other bits mean
 * nothing. */
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
  uint16_t abi_minor;   /* the least that the plugin needs; an older scheduler refuses it */
  uint32_t plugin_size; /* sizeof(plimsoll_plugin) when the plugin was compiled */
  uint32_t build_flags;
  uint64_t capabilities; /* PLIMSOLL_CAPABILITY_*; 0 before 1.4 */
  char name[64];         /* the plugin's name in a profile; NUL-terminated, as the rest */
  char version[32];
  char sdk_version[32];
  char license[32];
} plimsoll_note;

#ifdef __cplusplus
}
#endif
#endif /* PLIMSOLL_PLUGIN_ABI_H_ */
