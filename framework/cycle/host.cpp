// What plugins ask of the scheduler (HostBackend).

#include <algorithm>
#include <chrono>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/host.hpp"
#include "framework/placement/what_if.hpp"

namespace plimsoll {
namespace {

constexpr int64_t kLongestDelayMs = int64_t{10} * 365 * 24 * 3600 * 1000;  // "never"

}  // namespace

// ---- HostBackend; loop only

Result<void> Host::watch(const WantedKind& kind) {
  if (auto checked = kind.check(); !checked) return checked;
  for (const WantedKind& known : state_.wanted_kinds) {
    if (known.resource() == kind.resource()) return {};
  }
  // One that is asked for late, because another kind is not served, say, stops only pods that rest
  // on it.
  if (!state_.synced) {
    state_.unsynced_kinds.insert(kind.resource());
  } else {
    state_.lost_kinds.lost(kind.resource(), "it is being listed for the first time", false,
                           state_.now_ms());
  }
  if (state_.started && state_.kind_wanted) state_.kind_wanted(kind);
  state_.wanted_kinds.push_back(kind);
  return {};
}

void Host::requeue_rejected(std::string_view plugin) {
  ClusterEvent event;
  event.resource = kResourceRequeue;
  event.actions = PLIMSOLL_ACTION_ALL;
  event.label = plugin;
  if (state_.requeues_held != nullptr) {
    state_.requeues_held->push_back(std::move(event));
    return;
  }
  // Not from within the plugin's own call: the queue may ask it for a hint.
  state_.inbox.post(
      Task{[this, event = std::move(event)] { state_.queue.move_all(event, state_.now_ms()); }});
}

const plimsoll_pod* Host::pod_by_uid(std::string_view uid) {
  const plimsoll_pod* placed = ClusterBackend::pod_by_uid(uid);
  return placed != nullptr ? placed : state_.queue.find(uid).get();
}

std::unique_ptr<WhatIf> Host::what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                      uint32_t slot) {
  const NodeInfo* node = state_.cluster.node_at(slot);
  if (node == nullptr || state_.environment.gives_up()) return nullptr;
  for (const auto& framework : state_.frameworks) {
    if (framework.get() == cycle.framework) {
      return make_what_if(*framework, cycle, pod, *node, state_.nominator);
    }
  }
  return nullptr;
}

void Host::nominate(const plimsoll_pod& pod, std::string_view node_name) {
  const PodRef pending = state_.queue.find(view(pod.meta.uid));
  if (!pending || given_up()) return;
  const std::string_view uid = view(pod.meta.uid);
  const bool untold = state_.nominator.node_of(uid) != view(pending->nominated_node_name);
  state_.nominate(pending, Nominating::to(std::string(node_name)));
  // What was written before, and may be under way still, must not come back.
  if (untold) state_.write_nomination(*pending, node_name);
}

// ---- HostBackend; any thread

void Host::allow_waiting(std::string_view plugin, std::string_view pod_uid) {
  state_.inbox.post(Task{[this, plugin = std::string(plugin), uid = std::string(pod_uid)] {
                           bindings_.allow(uid, plugin);
                         },
                         true});
}

void Host::reject_waiting(std::string_view plugin, std::string_view pod_uid,
                          std::string_view message) {
  state_.inbox.post(
      Task{[this, plugin = std::string(plugin), uid = std::string(pod_uid),
            message = std::string(message)] { bindings_.reject(uid, plugin, message); },
           true});
}

void Host::post_binding(BindingPost request, std::function<void(Result<void>)> done) {
  state_.writer.bind({std::move(request.ns), std::move(request.name), std::move(request.uid),
                      std::move(request.node), std::move(request.annotations),
                      std::move(request.resource_version)},
                     std::move(done));
}

void Host::activate(std::string_view pod_uid) {
  // PodsToActivate: what is asked for within a scheduling cycle is done when that has succeeded.
  if (state_.in_attempt()) {
    state_.current->to_activate.emplace_back(pod_uid);
    return;
  }
  state_.inbox.post(Task{
      [this, uid = std::string(pod_uid)] { state_.queue.activate(uid, state_.now_ms()); }, true});
}

void Host::run_on_loop(int64_t delay_ms, std::function<void()> task) {
  if (delay_ms <= 0) return state_.inbox.post(Task{std::move(task), true});
  delay_ms = std::min(delay_ms, kLongestDelayMs);
  state_.inbox.post(
      Task{[this, due = state_.now_ms() + delay_ms, task = std::move(task)]() mutable {
             state_.timers.emplace(due, std::move(task));
           },
           true});
}

void Host::api_request(PluginRequest request, ApiAnswer done) {
  if (given_up()) return done(0, "the scheduler stops");
  state_.writer.request({std::move(request.method), std::move(request.path),
                         std::move(request.content_type), std::move(request.body)},
                        std::move(done));
}

}  // namespace plimsoll
