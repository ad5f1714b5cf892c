// The memory manager's static policy: Allocate.

#include <algorithm>

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

bool refuse(Run& run, Fault fault) {
  return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kMemory, fault);
}

bool asks_for_memory(std::span<const RowNeed> needs) {
  return std::any_of(needs.begin(), needs.end(),
                     [](const RowNeed& need) { return need.resource == kMemoryResource; });
}

// Whether memory_hints would list this one zone, which it then prefers: no set is smaller.
bool has_own_hint(const Run& run, std::span<const RowNeed> needs, uint32_t column) {
  const NodeModel& model = run.model;
  if (run.state->knows_groups() && !is_single(run.state->group(model, column))) {
    return false;
  }
  return std::all_of(needs.begin(), needs.end(), [&](const RowNeed& need) {
    if (need.row == kNoResourceRow) return need.amount <= 0;
    const int64_t free = run.state->memory(model, need.row)[column];
    return model.memory[need.row].allocatable[column] >= need.amount &&
           free + run.work.reusable.memory_in(column_bit(column), need.resource) >= need.amount;
  });
}

// findBestHint among those that include `within`: preferred before others, then the narrowest,
// then the lowest. False: there is none.
bool best_own_hint(Run& run, std::span<const RowNeed> needs, ZoneMask within, Hint& best) {
  if (!asks_for_memory(needs)) return false;
  // Usually it is the lowest zone that has enough.
  for (uint32_t column = 0; column < run.model.zones(); ++column) {
    if ((within & ~column_bit(column)) != 0 || !has_own_hint(run, needs, column)) continue;
    best = {column_bit(column), false, true};
    return true;
  }
  HintList& list = run.work.memory_list;
  list.hints.clear();
  if (!memory_hints(run, needs, list)) return false;
  bool found = false;
  for (const Hint& hint : list.hints) {
    if ((within & ~hint.mask) != 0) continue;
    const bool better = !found || (hint.preferred != best.preferred
                                       ? hint.preferred
                                       : is_fitter(run.model, hint.mask, best.mask, false));
    if (better) best = hint;
    found = true;
  }
  return found;
}

// Reuse does not count here.
bool satisfies(const Run& run, std::span<const RowNeed> needs, ZoneMask zones) {
  return std::all_of(needs.begin(), needs.end(), [&](const RowNeed& need) {
    const int64_t free =
        need.row == kNoResourceRow ? 0 : sum_over(run.state->memory(run.model, need.row), zones);
    return free >= need.amount;
  });
}

// All zones together seem to have too little, but NodeResourcesFit checked that the node as a whole
// has enough. So blocks over several zones are charged more than once, and the free memory is
// unknown.
bool is_unknown(const Run& run, std::span<const RowNeed> needs) {
  if (run.state->memory_is_exact()) return false;
  return std::any_of(needs.begin(), needs.end(), [&](const RowNeed& need) {
    int64_t there = 0;
    if (need.row != kNoResourceRow) {
      there = sum_over(run.state->memory(run.model, need.row), run.model.all);
    }
    for (const Reusable::Memory& each : run.work.reusable.memory) {
      if (each.resource == need.resource) there += each.bytes;
    }
    return there < need.amount;
  });
}

// Whether the node's totals reach this amount, as a hint of all its zones requires.
bool can_have(const Run& run, std::span<const RowNeed> needs) {
  return asks_for_memory(needs) &&
         std::all_of(needs.begin(), needs.end(), [&](const RowNeed& need) {
           return need.row == kNoResourceRow ? need.amount <= 0
                                             : sum_over(run.model.memory[need.row].allocatable,
                                                        run.model.all) >= need.amount;
         });
}

// The zones that the block will lie on.
bool pick_zones(Run& run, std::span<const RowNeed> needs, const Hint& affinity, ZoneMask& zones) {
  Hint hint = affinity;
  if (hint.any) {
    Hint own;
    if (!best_own_hint(run, needs, 0, own)) return refuse(run, Fault::kNoDefaultAffinity);
    if (!own.preferred && hint.preferred) return refuse(run, Fault::kDefaultNotPreferred);
    hint = own;
  }
  if (!satisfies(run, needs, hint.mask)) {
    Hint wider;
    if (!best_own_hint(run, needs, hint.mask, wider)) return refuse(run, Fault::kNoExtension);
    if (!wider.preferred && hint.preferred) return refuse(run, Fault::kExtensionNotPreferred);
    hint = wider;
  }
  // A block on one zone is never checked: it may take a zone out of a group.
  if (std::popcount(hint.mask) > 1 && violates_groups(run, hint.mask)) {
    return refuse(run, Fault::kGroupViolation);
  }
  zones = hint.mask;
  return true;
}

// updateMachineState: low zones first.
void take(Run& run, ZoneMask zones, const RowNeed& need, int64_t bytes) {
  NodeState& state = run.changed();
  for_each_column(zones, [&](uint32_t column) {
    if (state.knows_groups()) {
      state.set_group(run.model, column, state.assignments(run.model, column) + 1, zones);
    }
    if (need.row == kNoResourceRow) return;
    int64_t& free = state.memory(run.model, need.row)[column];
    const int64_t part = std::clamp<int64_t>(bytes, 0, std::max<int64_t>(free, 0));
    free -= part;
    bytes -= part;
  });
}

void keep_reusable(Reusable& reusable, ZoneMask zones, const RowNeed& need, bool init) {
  for (Reusable::Memory& each : reusable.memory) {
    if (each.zones != zones || each.resource != need.resource) continue;
    each.bytes =
        init ? std::max(each.bytes, need.amount) : std::max<int64_t>(each.bytes - need.amount, 0);
    return;
  }
  if (init && need.amount > 0) reusable.memory.push_back({zones, need.resource, need.amount});
}

// updateInitContainersMemoryBlocks: subtracts what `need` reuses from the blocks of earlier plain
// init containers.
void shrink_init_blocks(Admission& out, uint32_t container, ZoneMask zones, const RowNeed& need) {
  int64_t left = need.amount;
  for (Allocation::Block& each : out.allocation.blocks) {
    if (each.container >= container || !each.init || each.block.zones != zones ||
        each.block.resource != need.resource) {
      continue;
    }
    const int64_t part = std::min(left, each.block.bytes);
    each.block.bytes -= part;
    left -= part;
    for (MemoryBlock& block : out.containers[each.container].memory) {
      if (block.resource == need.resource) block.bytes = each.block.bytes;
    }
  }
}

// Pod-level resources: containers with requests of their own get those, plain init containers get
// all that earlier sidecars leave, the others share the rest.
void share_pod_memory(Run& run, std::span<const RowNeed> pod, ZoneMask zones) {
  std::vector<RowNeed> pool(pod.begin(), pod.end());
  Request& own = run.work.request;
  const auto give = [&](size_t i, std::span<const RowNeed> needs) {
    for (const RowNeed& need : needs) {
      if (need.amount <= 0) continue;
      run.out->containers[i].memory.push_back({need.resource, need.row, zones, need.amount});
    }
  };
  for (size_t i = 0; i < run.pod.containers.size(); ++i) {
    const ContainerDemand& container = run.pod.containers[i];
    run.request_of(container, own);
    const bool init = container.kind == ContainerKind::kInit;
    if (own.memory.empty()) {
      if (init) give(i, pool);
      continue;
    }
    give(i, own.memory);
    if (init) continue;
    for (RowNeed& left : pool) {
      for (const RowNeed& need : own.memory) {
        if (need.resource == left.resource) left.amount -= need.amount;
      }
    }
  }
  for (size_t i = 0; i < run.pod.containers.size(); ++i) {
    const ContainerDemand& container = run.pod.containers[i];
    run.request_of(container, own);
    if (own.memory.empty() && container.kind != ContainerKind::kInit) give(i, pool);
  }
}

}  // namespace

bool allocate_memory(Run& run, uint32_t container, const Request& request, const Hint& hint,
                     bool last) {
  if (request.memory_unreadable) return refuse(run, Fault::kNotInt64);
  const std::span<const RowNeed> needs = request.memory;
  if (is_unknown(run, needs)) return true;
  if (!hint.preferred && !run.zones_matter(last)) {
    // Without groups and reuse there are zones exactly if all of them together have enough.
    if (satisfies(run, needs, run.model.all) && (!hint.any || can_have(run, needs))) return true;
    return refuse(run, hint.any ? Fault::kNoDefaultAffinity : Fault::kNoExtension);
  }
  ZoneMask zones = 0;
  if (!pick_zones(run, needs, hint, zones)) return false;
  if (run.only_checks(last)) return true;
  const bool init = run.pod.containers[container].kind == ContainerKind::kInit;
  Reusable& reusable = run.work.reusable;
  for (const RowNeed& need : needs) {
    take(run, zones, need, need.amount - reusable.memory_in(zones, need.resource));
  }
  for (const RowNeed& need : needs) keep_reusable(reusable, zones, need, init);
  if (run.out == nullptr) return true;
  for (const RowNeed& need : needs) {
    shrink_init_blocks(*run.out, container, zones, need);
    const MemoryBlock block{need.resource, need.row, zones, need.amount};
    run.out->allocation.blocks.push_back({container, init, block});
    run.out->containers[container].memory.push_back(block);
  }
  return true;
}

bool allocate_pod_memory(Run& run, const Request& whole, const Hint& hint) {
  // AllocatePod only logs that it cannot read the pod's own request.
  if (!run.memory_acts || whole.memory_unreadable) return true;
  if (whole.memory_impossible) {
    return run.refuse(Reason::kEmptyPodSharedPoolError, Stage::kMemory, Fault::kEmptySharedPool);
  }
  ZoneMask zones = 0;
  if (!pick_zones(run, whole.memory, hint, zones)) return false;
  if (run.only_checks(true)) return true;
  for (const RowNeed& need : whole.memory) {
    take(run, zones, need, need.amount);
    if (run.out == nullptr) continue;
    const MemoryBlock block{need.resource, need.row, zones, need.amount};
    run.out->allocation.blocks.push_back({kWholePod, false, block});
  }
  if (run.out != nullptr) share_pod_memory(run, whole.memory, zones);
  return true;
}

}  // namespace plimsoll::topology::kubelet
