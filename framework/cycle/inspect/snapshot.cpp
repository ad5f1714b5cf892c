#include "framework/cycle/inspect/snapshot.hpp"

#include <plimsoll/state_source.h>

#include <algorithm>
#include <chrono>

#include "framework/api/symbols.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/loop_state.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {
namespace {

// Empty: the plugin of that name shows nothing.
std::string state_of(const ServiceTable& services, std::string_view plugin) {
  const auto* source = static_cast<const plimsoll_state_source*>(services.find(
      PLIMSOLL_STATE_SERVICE_PREFIX + std::string(plugin), PLIMSOLL_STATE_SERVICE_VERSION));
  std::string text;
  if (source == nullptr || source->describe == nullptr) return text;
  source->describe(
      source->self,
      [](void* sink, const void* bytes, size_t len) {
        static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
      },
      &text);
  return text;
}

}  // namespace

StateSnapshot Scheduler::snapshot(bool with_plugins) {
  const auto begun = std::chrono::steady_clock::now();
  StateSnapshot result;
  result.synced = state_.synced;
  result.standby = state_.standby;
  for (const auto& framework : state_.frameworks) {
    result.scheduler_names.push_back(framework->scheduler_name());
  }
  const SymbolTable& symbols = state_.environment.symbols;
  for (uint32_t i = 0; i < symbols.resource_count(); ++i) {
    result.resource_names.emplace_back(symbols.resource_name(i));
  }
  result.nodes.reserve(state_.cluster.node_count());
  for (uint32_t slot = 0; slot < state_.cluster.slot_count(); ++slot) {
    const NodeInfo* info = state_.cluster.node_at(slot);
    if (info == nullptr) continue;
    const plimsoll_node_info& row = *info->abi();
    result.nodes.push_back({info->node(),
                            row.generation,
                            {row.allocatable, row.allocatable + row.resource_count},
                            {row.requested, row.requested + row.resource_count}});
  }
  result.placed.reserve(state_.cluster.pod_count());
  state_.cluster.for_each_pod([&result](const PodRef& pod, bool assumed) {
    result.placed.push_back({pod, assumed});
  });
  state_.queue.for_each([&](const QueuedPod& queued) {
    const Framework* framework = state_.framework_for(*queued.pod);
    if (framework == nullptr || state_.cluster.pod(view(queued.pod->meta.uid))) return;
    const ExplainedQueuePlace known = queue_place(queued);
    StateSnapshot::QueuedPod& entry = result.queued.emplace_back();
    entry.pod = queued.pod;
    entry.place = known.place;
    entry.attempts = known.attempts;
    entry.waiting_ms = known.waiting_ms;
    entry.queued_for_ms = known.queued_for_ms;
    entry.backoff_left_ms = known.backoff_left_ms;
    const QueuedPod& held = queued.group == nullptr ? queued : queued.group->entry;
    for (const auto* plugins : {&held.rejectors, &held.pending}) {
      for (const PluginIndex plugin : *plugins) {
        entry.rejected_by.emplace_back(framework->plugin_name(plugin));
      }
    }
  });
  for (const WantedKind& wanted : state_.wanted_kinds) {
    const std::string resource = wanted.resource();
    StateSnapshot::Kind& kind = result.kinds[resource];
    kind.group = wanted.group;
    kind.version = wanted.version;
    kind.plural = wanted.plural;
    kind.synced = !state_.unsynced_kinds.contains(resource);
    kind.names = state_.environment.objects.names(resource);
  }
  for (const auto& framework : state_.frameworks) {
    for (PluginIndex plugin = 0; with_plugins && plugin < framework->plugin_count(); ++plugin) {
      const std::string name(framework->plugin_name(plugin));
      if (result.plugins.contains(name)) continue;
      if (std::string state = state_of(state_.environment.services, name); !state.empty()) {
        result.plugins.emplace(name, std::move(state));
      }
    }
  }
  result.took_us = std::chrono::duration_cast<std::chrono::microseconds>(
                       std::chrono::steady_clock::now() - begun)
                       .count();
  return result;
}

}  // namespace plimsoll
