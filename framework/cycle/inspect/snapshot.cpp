#include "framework/cycle/inspect/snapshot.hpp"

#include <plimsoll/state_source.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "framework/api/symbols.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/loop_state.hpp"
#include "framework/cycle/scheduler.hpp"

namespace plimsoll {
namespace {

using Slots = std::vector<uint32_t>;

void take_bytes(void* sink, const void* bytes, size_t len) {
  static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
}

std::optional<PluginState> kept_state(const plimsoll_state_source& source, const Slots& slots) {
  const std::shared_ptr<void> kept(source.keep_nodes(source.self, slots.data(), slots.size()),
                                   source.drop_kept);
  if (kept == nullptr) return std::nullopt;
  return PluginState([kept, describe = source.describe_kept] {
    std::string text;
    describe(kept.get(), &take_bytes, &text);
    return text;
  });
}

// Nothing: the plugin of that name shows nothing. `slots`: of these nodes alone, if it can;
// `else_all`: if it cannot, all, which costs the loop text.
std::optional<PluginState> state_of(const ServiceTable& services, std::string_view plugin,
                                    const Slots* slots, bool else_all) {
  const auto* source = static_cast<const plimsoll_state_source*>(services.find(
      PLIMSOLL_STATE_SERVICE_PREFIX + std::string(plugin), PLIMSOLL_STATE_SERVICE_VERSION));
  if (source == nullptr) return std::nullopt;
  const bool by_node = source->size >= offsetof(plimsoll_state_source, drop_kept) + sizeof(void*) &&
                       source->keep_nodes != nullptr && source->describe_kept != nullptr &&
                       source->drop_kept != nullptr;
  if (slots != nullptr && by_node) return kept_state(*source, *slots);
  if (source->describe == nullptr || !else_all) return std::nullopt;
  std::string text;
  source->describe(source->self, &take_bytes, &text);
  return text.empty() ? std::nullopt : std::optional<PluginState>(std::move(text));
}

Slots changed_slots(const ClusterState& cluster, const StateMark& since) {
  std::vector<bool> changed(cluster.slot_count());
  Slots slots;
  const auto add = [&](uint32_t slot) {
    if (slot >= changed.size() || changed[slot] || cluster.node_at(slot) == nullptr) return;
    changed[slot] = true;
    slots.push_back(slot);
  };
  for (const uint32_t slot : since.untold) add(slot);
  for (uint64_t at = since.changes; at < cluster.log_end(); ++at) add(cluster.log_at(at).slot);
  return slots;
}

// Leaves the slots of which is told now: those that go first, but a quarter for others, so that
// these come in turn. Returns the rest.
Slots put_off(const ClusterState& cluster, const StateChoice& choice, Slots& slots) {
  if (slots.size() <= choice.most) return {};
  std::vector<bool> first(cluster.slot_count());
  for (const std::string& name : choice.first)
    if (const NodeInfo* info = cluster.node(name)) first[info->slot()] = true;
  const auto others =
      std::ranges::stable_partition(slots, [&](uint32_t slot) { return first[slot]; }).begin();
  const auto most = static_cast<ptrdiff_t>(choice.most);
  const auto for_others = std::min(slots.end() - others, most / 4);
  const auto of_first = std::min(others - slots.begin(), most - for_others);
  std::rotate(slots.begin() + of_first, others, others + (most - of_first));
  const auto end = slots.begin() + most;
  Slots rest(end, slots.end());
  slots.erase(end, slots.end());
  return rest;
}

// The slots of the nodes that are wanted; nothing: all. `untold`: of which nothing is told yet.
std::optional<Slots> wanted_slots(const ClusterState& cluster, const StateChoice& choice,
                                  Slots& untold) {
  if (!choice.node.empty()) {
    const NodeInfo* info = cluster.node(choice.node);
    return info == nullptr ? Slots{} : Slots{info->slot()};
  }
  if (!choice.since || choice.since->changes < cluster.log_begin() ||
      choice.since->changes > cluster.log_end())
    return std::nullopt;
  Slots slots = changed_slots(cluster, *choice.since);
  untold = put_off(cluster, choice, slots);
  return slots;
}

int64_t cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

void add_nodes(const ClusterState& cluster, const std::optional<Slots>& slots,
               StateSnapshot& result) {
  const auto add = [&](uint32_t slot) {
    const NodeInfo* info = cluster.node_at(slot);
    if (info == nullptr) return;
    const plimsoll_node_info& row = *info->abi();
    result.nodes.push_back({info->node(),
                            row.generation,
                            {row.allocatable, row.allocatable + row.resource_count},
                            {row.requested, row.requested + row.resource_count}});
    if (!slots) return;
    for (const PodRef& pod : info->pods())
      result.placed.push_back({pod, cluster.is_assumed(view(pod->meta.uid))});
  };
  if (slots) {
    for (const uint32_t slot : *slots) add(slot);
    return;
  }
  result.nodes.reserve(cluster.node_count());
  for (uint32_t slot = 0; slot < cluster.slot_count(); ++slot) add(slot);
  result.placed.reserve(cluster.pod_count());
  cluster.for_each_pod([&result](const PodRef& pod, bool assumed) {
    result.placed.push_back({pod, assumed});
  });
}

}  // namespace

StateSnapshot Scheduler::snapshot() {
  return snapshot(StateChoice());
}

StateSnapshot Scheduler::snapshot(const StateChoice& choice) {
  const int64_t begun = cpu_us();
  const ClusterState& cluster = state_.cluster;
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
  Slots untold;
  const std::optional<Slots> slots = wanted_slots(cluster, choice, untold);
  if (choice.nodes) {
    result.mark = {cluster.log_end(), cluster.node_set(), std::move(untold)};
    result.changes_only = slots && choice.node.empty();
    if (result.changes_only && choice.since->node_set != cluster.node_set()) {
      result.names.emplace();
      for (const plimsoll_node_info* row : cluster.rows())
        result.names->emplace_back(view(row->node->meta.name));
    }
    add_nodes(cluster, slots, result);
  }
  if (choice.queue) add_queue(result);
  if (choice.kinds) add_kinds(result);
  const bool by_slot = slots || !choice.strays;
  const Slots& kept = slots ? *slots : cluster.row_slots();
  for (const auto& framework : state_.frameworks) {
    for (PluginIndex plugin = 0; choice.plugins && plugin < framework->plugin_count(); ++plugin) {
      const std::string name(framework->plugin_name(plugin));
      if (result.plugins.contains(name)) continue;
      if (auto state =
              state_of(state_.environment.services, name, by_slot ? &kept : nullptr, choice.strays))
        result.plugins.emplace(name, std::move(*state));
    }
  }
  result.took_us = cpu_us() - begun;
  return result;
}

void Scheduler::add_queue(StateSnapshot& result) {
  state_.queue.for_each([&](const QueuedPod& queued) {
    const Framework* framework = state_.framework_for(*queued.pod);
    if (framework == nullptr || state_.cluster.pod(view(queued.pod->meta.uid))) return;
    const ExplainedQueuePlace known = queue_place(queued);
    StateSnapshot::QueuedPod& entry = result.queued.emplace_back();
    entry.pod = queued.pod;
    entry.group = state_.policy.group_of(*queued.pod).name;
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
}

void Scheduler::add_kinds(StateSnapshot& result) const {
  for (const WantedKind& wanted : state_.wanted_kinds) {
    const std::string resource = wanted.resource();
    StateSnapshot::Kind& kind = result.kinds[resource];
    kind.group = wanted.group;
    kind.version = wanted.version;
    kind.plural = wanted.plural;
    kind.synced = !state_.unsynced_kinds.contains(resource);
    kind.names = state_.environment.objects.names(resource);
  }
}

}  // namespace plimsoll
