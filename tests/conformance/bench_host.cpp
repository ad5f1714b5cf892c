#include "tests/conformance/bench_host.hpp"

#include <algorithm>

#include "framework/api/objects.hpp"

namespace plimsoll::conformance {

BenchCycle::~BenchCycle() {
  for (Entry& entry : entries) entry.drop(entry.value);
}

namespace {

using Context = plimsoll_host_ctx;
using Cycle = plimsoll_cycle;

BenchContext& of(Context* context) {
  return *reinterpret_cast<BenchContext*>(context);
}
BenchCycle& of(Cycle* cycle) {
  return *reinterpret_cast<BenchCycle*>(cycle);
}
const BenchCycle& of(const Cycle* cycle) {
  return *reinterpret_cast<const BenchCycle*>(cycle);
}

uint32_t reason(Context* context, const plimsoll_str* texts, uint32_t count) {
  std::vector<std::string> list;
  for (uint32_t i = 0; i < count; ++i) list.emplace_back(view(texts[i]));
  auto& reasons = of(context).reasons;
  auto at = std::find(reasons.begin() + 1, reasons.end(), list);
  if (at == reasons.end()) at = reasons.insert(at, std::move(list));
  return static_cast<uint32_t>(at - reasons.begin());
}

void set_state(Context*, Cycle* cycle, plimsoll_symbol key, void* value,
               void* (*clone)(const void*), void (*drop)(void*)) {
  for (BenchCycle::Entry& entry : of(cycle).entries) {
    if (entry.key != key) continue;
    entry.drop(entry.value);
    entry = {key, value, clone, drop};
    return;
  }
  of(cycle).entries.push_back({key, value, clone, drop});
}

void* get_state(Context*, const Cycle* cycle, plimsoll_symbol key) {
  for (const BenchCycle::Entry& entry : of(cycle).entries) {
    if (entry.key == key) return entry.value;
  }
  return nullptr;
}

const plimsoll_node_info* node_by_name(Context* context, plimsoll_str name) {
  for (const plimsoll_node_info* info : of(context).nodes) {
    if (view(info->node->meta.name) == view(name)) return info;
  }
  return nullptr;
}

}  // namespace

plimsoll_host bench_host(BenchContext& context) {
  plimsoll_host host{};
  host.size = sizeof(plimsoll_host);
  host.abi_major = PLIMSOLL_ABI_MAJOR;
  host.abi_minor = PLIMSOLL_ABI_MINOR;
  host.ctx = reinterpret_cast<plimsoll_host_ctx*>(&context);
  host.log = [](Context* c, uint32_t level, plimsoll_str text) {
    if (level == PLIMSOLL_LOG_WARN) of(c).warnings.emplace_back(view(text));
  };
  host.set_error = [](Context* c, plimsoll_str text) { of(c).error = view(text); };
  host.intern = [](Context* c, plimsoll_str text) { return of(c).symbols.intern(view(text)); };
  host.resource_index = [](Context* c, plimsoll_str name) {
    return of(c).symbols.resource_index(view(name));
  };
  host.reason = reason;
  host.now_ms = [](Context*) { return int64_t{0}; };
  host.object = [](Context* c, plimsoll_str resource, plimsoll_str ns, plimsoll_str name) {
    return of(c).objects.find(view(resource), view(ns), view(name));
  };
  host.set_state = set_state;
  host.get_state = get_state;
  host.annotate = [](Context*, Cycle*, plimsoll_str, plimsoll_str) {};
  host.node_by_name = node_by_name;
  host.node_by_slot = [](Context* c, uint32_t slot) -> const plimsoll_node_info* {
    return slot < of(c).nodes.size() ? of(c).nodes[slot] : nullptr;
  };
  host.slot_count = [](Context* c) { return static_cast<uint32_t>(of(c).nodes.size()); };
  host.touch_node = [](Context*, uint32_t, uint32_t) {};
  host.watch = [](Context*, plimsoll_str, plimsoll_str, plimsoll_str) -> int32_t { return 0; };
  host.publish = [](Context*, plimsoll_str, uint32_t, const void*) -> int32_t {
    return PLIMSOLL_ERROR;
  };
  host.find_service = [](Context*, plimsoll_str, uint32_t) -> const void* { return nullptr; };
  host.requeue_rejected = [](Context*) {};
  host.run_on_loop = [](Context*, int64_t, void (*fn)(void*, uint32_t), void* user) {
    fn(user, 1);
  };
  host.emit_event = [](Context*, const plimsoll_pod*, uint32_t, plimsoll_str, plimsoll_str,
                       plimsoll_str) {};
  host.allow_waiting = [](Context*, plimsoll_str) {};
  host.reject_waiting = [](Context*, plimsoll_str, plimsoll_str) {};
  host.complete = [](Context*, plimsoll_token*, int32_t, plimsoll_str) {};
  host.post_binding = [](Context*, Cycle*, const plimsoll_pod*, plimsoll_str,
                         plimsoll_token*) -> int32_t { return PLIMSOLL_ERROR; };
  return host;
}

}  // namespace plimsoll::conformance
