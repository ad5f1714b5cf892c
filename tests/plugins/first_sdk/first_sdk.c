/* A plugin as it was written for plugin ABI 1.0: every slot of that version, plain C. It keeps a
 * log of its calls and publishes it as the service "first-sdk/log", for the test to read.
 *
 * What it does: refuses nodes whose name begins with "bad", scores nodes by their number of pods,
 * waits on Permit, annotates the Binding. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin_abi.h"

#if PLIMSOLL_ABI_MAJOR != 1 || PLIMSOLL_ABI_MINOR != 0
#error "these are not the headers of ABI 1.0"
#endif

struct log_table {
  uint32_t count;
  char lines[128][64];
};

struct first {
  const plimsoll_host* host;
  plimsoll_symbol key;
  uint32_t bad;
  struct log_table log;
  plimsoll_event_interest interest;
};

static void say(struct first* self, const char* what, plimsoll_str detail) {
  if (self->log.count == 128) return;
  snprintf(self->log.lines[self->log.count++], 64, "%s%s%.*s", what, detail.len ? " " : "",
           (int)detail.len, detail.data ? detail.data : "");
}
static plimsoll_str text(const char* data) {
  const plimsoll_str result = {data, (uint32_t)strlen(data), 0};
  return result;
}
static const plimsoll_str kNothing = {NULL, 0, 0};

static int32_t start(void* self) {
  struct first* me = self;
  say(me, "start", kNothing);
  return me->host->watch(me->host->ctx, text("example.com"), text("v1"), text("seats"));
}
static int32_t pre_enqueue(void* self, const plimsoll_pod* pod, uint32_t* reason) {
  (void)reason;
  say(self, "pre_enqueue", pod->meta.name);
  return PLIMSOLL_SUCCESS;
}
static plimsoll_list events(void* self) {
  struct first* me = self;
  me->interest.resource = text("Node");
  me->interest.actions = PLIMSOLL_ACTION_ADD;
  const plimsoll_list list = {&me->interest, 1, sizeof me->interest};
  return list;
}
static int32_t hint(void* self, const plimsoll_pod* pod, const plimsoll_event* event) {
  (void)pod;
  say(self, "hint", event->new_node->meta.name);
  return PLIMSOLL_HINT_QUEUE;
}
static void* clone_count(const void* value) {
  int* copy = malloc(sizeof *copy);
  *copy = *(const int*)value;
  return copy;
}
static int32_t pre_filter(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                          uint32_t* reason, plimsoll_list* names, uint32_t* narrowed) {
  struct first* me = self;
  (void)reason, (void)names, (void)narrowed;
  say(me, "pre_filter", pod->meta.name);
  int* simulated = malloc(sizeof *simulated);
  *simulated = 0;
  me->host->set_state(me->host->ctx, cycle, me->key, simulated, clone_count, free);
  return PLIMSOLL_SUCCESS;
}
static int32_t simulate(void* self, plimsoll_cycle* cycle, int by) {
  struct first* me = self;
  *(int*)me->host->get_state(me->host->ctx, cycle, me->key) += by;
  return PLIMSOLL_SUCCESS;
}
static int32_t add_pod(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_pod* added, const plimsoll_node_info* node) {
  (void)pod, (void)node;
  say(self, "add_pod", added->meta.name);
  return simulate(self, cycle, 1);
}
static int32_t remove_pod(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                          const plimsoll_pod* removed, const plimsoll_node_info* node) {
  (void)pod, (void)node;
  say(self, "remove_pod", removed->meta.name);
  return simulate(self, cycle, -1);
}
static int32_t filter(const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) {
  const struct first* me = self;
  (void)pod;
  const int* simulated = me->host->get_state(me->host->ctx, cycle, me->key);
  for (uint32_t i = 0; i < nodes->count; ++i) {
    const plimsoll_str name = nodes->rows[i]->node->meta.name;
    const int bad = name.len >= 3 && memcmp(name.data, "bad", 3) == 0;
    if (codes[i] != PLIMSOLL_SUCCESS || (!bad && *simulated <= 0)) continue;
    codes[i] = PLIMSOLL_UNSCHEDULABLE;
    reasons[i] = me->bad;
  }
  return PLIMSOLL_SUCCESS;
}
static int32_t post_filter(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                           const plimsoll_nodes* nodes, const uint8_t* codes,
                           plimsoll_str* nominated, uint32_t* reason) {
  struct first* me = self;
  (void)cycle, (void)nodes, (void)codes, (void)nominated;
  say(me, "post_filter", pod->meta.name);
  *reason = me->bad;
  return PLIMSOLL_UNSCHEDULABLE;
}
static int32_t pre_score(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                         const plimsoll_nodes* nodes) {
  (void)cycle, (void)nodes;
  say(self, "pre_score", pod->meta.name);
  return PLIMSOLL_SUCCESS;
}
static int32_t score(const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_nodes* nodes, int64_t* scores) {
  (void)self, (void)cycle, (void)pod;
  for (uint32_t i = 0; i < nodes->count; ++i) scores[i] = nodes->rows[i]->pod_count;
  return PLIMSOLL_SUCCESS;
}
static int32_t normalize(const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                         const plimsoll_nodes* nodes, int64_t* scores) {
  (void)self, (void)cycle, (void)pod;
  for (uint32_t i = 0; i < nodes->count; ++i) scores[i] = scores[i] > 10 ? 0 : 100 - 10 * scores[i];
  return PLIMSOLL_SUCCESS;
}
static int32_t reserve(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_node_info* node, uint32_t* reason) {
  struct first* me = self;
  (void)pod, (void)reason;
  say(me, "reserve", node->node->meta.name);
  me->host->annotate(me->host->ctx, cycle, text("example.com/seat"), text("12"));
  return PLIMSOLL_SUCCESS;
}
static void unreserve(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      plimsoll_str node_name) {
  (void)cycle, (void)pod;
  say(self, "unreserve", node_name);
}
static int32_t permit(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      const plimsoll_node_info* node, int64_t* timeout_ms, uint32_t* reason) {
  (void)cycle, (void)pod, (void)reason;
  say(self, "permit", node->node->meta.name);
  *timeout_ms = 1500;
  return PLIMSOLL_WAIT;
}
static int32_t pre_flight(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                          plimsoll_str node_name, uint32_t* allow_parallel) {
  (void)cycle, (void)pod, (void)allow_parallel;
  say(self, "pre_flight", node_name);
  return PLIMSOLL_SUCCESS;
}
static int32_t pre_bind(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        plimsoll_str node_name, plimsoll_token* token) {
  struct first* me = self;
  (void)cycle, (void)pod;
  say(me, "pre_bind", node_name);
  me->host->complete(me->host->ctx, token, PLIMSOLL_SUCCESS, kNothing);
  return PLIMSOLL_WAIT;
}
static int32_t bind(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    plimsoll_str node_name, plimsoll_token* token) {
  struct first* me = self;
  say(me, "bind", node_name);
  return me->host->post_binding(me->host->ctx, cycle, pod, node_name, token);
}
static void post_bind(void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      plimsoll_str node_name) {
  (void)cycle, (void)pod;
  say(self, "post_bind", node_name);
}
static int32_t sign(void* self, const plimsoll_pod* pod, void (*put)(void*, const void*, size_t),
                    void* sink) {
  (void)self;
  put(sink, pod->meta.ns.data, pod->meta.ns.len);
  return PLIMSOLL_SUCCESS;
}
static void node_event(void* self, uint32_t type, const plimsoll_node_info* node,
                       uint32_t aspects) {
  (void)type, (void)aspects;
  say(self, "node_event", node->node->meta.name);
}
static void pod_event(void* self, uint32_t type, const plimsoll_pod* pod, plimsoll_str node_name) {
  (void)type, (void)node_name;
  say(self, "pod_event", pod->meta.name);
}
static void object_event(void* self, uint32_t type, plimsoll_str resource, plimsoll_str name,
                         plimsoll_str ns, plimsoll_str json) {
  (void)type, (void)resource, (void)ns, (void)json;
  say(self, "object_event", name);
}
static void explain(const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_node_info* node, void (*put)(void*, const void*, size_t),
                    void* sink) {
  (void)self, (void)cycle, (void)pod, (void)node;
  put(sink, "it is bad", 9);
}
static void destroy(void* self) {
  free(self);
}

__attribute__((visibility("default"))) int32_t plimsoll_plugin_create_v1(const plimsoll_host* host,
                                                                         plimsoll_str args_json,
                                                                         plimsoll_plugin* out) {
  (void)args_json;
  /* A host of 1.0 has at least this; a later one more. */
  if (host->abi_major != 1 || host->size < sizeof *host || out->size < sizeof *out) {
    host->set_error(host->ctx, text("this host is older than ABI 1.0"));
    return PLIMSOLL_ERROR;
  }
  struct first* me = calloc(1, sizeof *me);
  me->host = host;
  me->key = host->intern(host->ctx, text("first-sdk/simulated")).symbol;
  const plimsoll_str bad = text("node(s) had a bad name");
  me->bad = host->reason(host->ctx, &bad, 1);
  host->publish(host->ctx, text("first-sdk/log"), 1, &me->log);
  plimsoll_plugin table = {0};
  table.size = sizeof table;
  table.filter_aspects = PLIMSOLL_ASPECT_LABELS;
  table.score_aspects = PLIMSOLL_ASPECT_PODS;
  table.self = me;
  table.destroy = destroy;
  table.start = start;
  table.pre_enqueue = pre_enqueue;
  table.events = events;
  table.hint = hint;
  table.pre_filter = pre_filter;
  table.add_pod = add_pod;
  table.remove_pod = remove_pod;
  table.filter = filter;
  table.post_filter = post_filter;
  table.pre_score = pre_score;
  table.score = score;
  table.normalize = normalize;
  table.reserve = reserve;
  table.unreserve = unreserve;
  table.permit = permit;
  table.pre_bind_pre_flight = pre_flight;
  table.pre_bind = pre_bind;
  table.bind = bind;
  table.post_bind = post_bind;
  table.sign = sign;
  table.node_event = node_event;
  table.pod_event = pod_event;
  table.object_event = object_event;
  table.explain = explain;
  *out = table;
  return PLIMSOLL_SUCCESS;
}

/* The note, as the first SDK wrote it. */
__attribute__((section(".note.plimsoll"), used, aligned(8))) static const struct {
  uint32_t name_size;
  uint32_t descriptor_size;
  uint32_t type;
  char name[12];
  plimsoll_note descriptor;
} kNote = {sizeof PLIMSOLL_NOTE_NAME,
           sizeof(plimsoll_note),
           PLIMSOLL_NOTE_TYPE,
           PLIMSOLL_NOTE_NAME,
           {sizeof(plimsoll_note), 1, 0, sizeof(plimsoll_plugin),
#if defined(__SANITIZE_ADDRESS__)
            PLIMSOLL_BUILD_ASAN,
#elif defined(__SANITIZE_THREAD__)
            PLIMSOLL_BUILD_TSAN,
#else
            0,
#endif
            0, "FirstSdk", "1.0.0", "1.0.0", "Apache-2.0"}};
