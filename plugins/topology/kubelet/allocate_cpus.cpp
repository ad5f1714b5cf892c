// The CPU manager's static policy: Allocate.

#include <algorithm>

#include "plugins/topology/kubelet/cpu_take.hpp"
#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// align-by-socket: CPUs count as aligned in every zone of a socket that the affinity touches.
ZoneMask aligned_zones(const NodeModel& model, ZoneMask mask) {
  if (!model.managers.cpu_options.align_by_socket || !model.layout) return mask;
  uint64_t sockets = 0;
  for_each_column(mask & model.cpu.zones,
                  [&](uint32_t column) { sockets |= model.layout->sockets_of(column); });
  ZoneMask aligned = 0;
  for_each_column(model.cpu.zones, [&](uint32_t column) {
    if ((model.layout->sockets_of(column) & sockets) != 0) aligned |= column_bit(column);
  });
  return aligned;
}

// A zone may span sockets, so align-by-socket checks each CPU itself.
CpuSet aligned_cpus(const NodeModel& model, const CpuSet& available, ZoneMask mask) {
  const CpuLayout& layout = *model.layout;
  const bool by_socket = model.managers.cpu_options.align_by_socket;
  uint64_t sockets = 0;
  if (by_socket) {
    for_each_column(mask & model.cpu.zones,
                    [&](uint32_t column) { sockets |= layout.sockets_of(column); });
  }
  CpuSet aligned;
  available.for_each([&](uint32_t cpu) {
    const CpuLayout::Rank& rank = layout.at(cpu);
    const bool in = by_socket ? (sockets >> std::min<uint32_t>(rank.socket, 63) & 1) != 0
                              : (mask >> rank.zone & 1) != 0;
    if (in) aligned.add(cpu);
  });
  return aligned;
}

void count_columns(const NodeModel& model, Cpus& cpus) {
  cpus.counts.assign(model.zones(), 0);
  cpus.ids.for_each([&](uint32_t cpu) { ++cpus.counts[model.layout->at(cpu).zone]; });
}

bool too_few(Run& run, int64_t need, int64_t have) {
  return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kCpu, Fault::kTooFewCpus, need, have);
}

bool take_ids(Run& run, int64_t cpus, const Hint& hint, Cpus& got) {
  const NodeModel& model = run.model;
  const CpuSet free = run.state->cpu_ids(model);
  CpuSet available = free | run.work.reusable.cpu_ids;
  got.ids = {};
  if (!hint.any) {
    const CpuSet aligned = aligned_cpus(model, available, hint.mask);
    const int64_t part = std::min<int64_t>(cpus, aligned.size());
    if (!take_cpus(*model.layout, model.managers, aligned, part, got.ids)) {
      return too_few(run, part, aligned.size());
    }
    available -= got.ids;
    cpus -= got.ids.size();
  }
  CpuSet rest;
  if (!take_cpus(*model.layout, model.managers, available, cpus, rest)) {
    return too_few(run, cpus, available.size());
  }
  got.ids |= rest;
  count_columns(model, got);
  run.changed().set_cpu_ids(model, free - got.ids);
  return true;
}

bool take_columns(Run& run, int64_t cpus, const Hint& hint, Cpus& got) {
  const NodeModel& model = run.model;
  const uint32_t zones = model.zones();
  const auto free = run.state->cpu(model);
  const auto& held = run.work.reusable.cpus;
  std::vector<int64_t>& available = run.work.counts;
  got.counts.assign(zones, 0);
  if (!hint.any) {
    const ZoneMask aligned = aligned_zones(model, hint.mask);
    available.assign(zones, 0);
    int64_t sum = 0;
    for_each_column(aligned & model.all, [&](uint32_t column) {
      available[column] = std::max<int64_t>(free[column], 0) + held[column];
      sum += available[column];
    });
    const int64_t part = std::min(cpus, sum);
    if (!take_counts(model, available, part, got.counts)) return too_few(run, part, sum);
    cpus -= part;
  }
  available.assign(zones, 0);
  int64_t left = 0;
  for (uint32_t column = 0; column < zones; ++column) {
    available[column] = std::max<int64_t>(free[column], 0) + held[column] - got.counts[column];
    left += available[column];
  }
  if (!take_counts(model, available, cpus, got.counts)) return too_few(run, cpus, left);
  const auto changed = run.changed().cpu(model);
  for (uint32_t column = 0; column < zones; ++column) {
    changed[column] -= got.counts[column] - std::min(got.counts[column], held[column]);
  }
  return true;
}

void record(Run& run, uint32_t container, const Cpus& got, std::span<const int64_t> new_counts) {
  if (run.out == nullptr) return;
  ContainerGrant& grant = run.out->containers[container];
  grant.cpus = got.counts;
  grant.cpu_ids = got.ids;
  Allocation& all = run.out->allocation;
  all.cpus.resize(run.model.zones());
  for (uint32_t column = 0; column < all.cpus.size(); ++column) {
    all.cpus[column] += new_counts[column];
  }
  all.known_cpu_ids = run.state->knows_cpus();
  all.cpu_ids |= got.ids;
}

}  // namespace

bool check_whole_cores(Run& run, int64_t cpus) {
  const NodeModel& model = run.model;
  if (!model.managers.cpu_options.full_pcpus_only || !model.layout) return true;
  const int64_t per_core = std::max<int64_t>(model.layout->per_core(), 1);
  if (cpus % per_core != 0) {
    return run.refuse(Reason::kSmtAlignmentError, Stage::kCpu, Fault::kNotWholeCores, cpus,
                      per_core);
  }
  // What init containers held is not counted.
  const int64_t free = run.state->knows_cpus()
                           ? (run.state->cpu_ids(model) - model.reserved_cores).size()
                           : sum_over(run.state->cpu(model), model.all);
  if (cpus <= free) return true;
  return run.refuse(Reason::kSmtAlignmentError, Stage::kCpu, Fault::kTooFewWholeCores, cpus, free);
}

bool take_from_node(Run& run, int64_t cpus, const Hint& hint, Cpus& got) {
  return run.state->knows_cpus() ? take_ids(run, cpus, hint, got)
                                 : take_columns(run, cpus, hint, got);
}

bool take_from_pod(const Run& run, const Cpus& available, int64_t cpus, Cpus& got) {
  got.ids = {};
  if (run.state->knows_cpus()) {
    if (!take_cpus(*run.model.layout, run.model.managers, available.ids, cpus, got.ids)) {
      return false;
    }
    count_columns(run.model, got);
    return true;
  }
  got.counts.assign(run.model.zones(), 0);
  return take_counts(run.model, available.counts, cpus, got.counts);
}

bool allocate_cpus(Run& run, uint32_t container, int64_t cpus, const Hint& hint, bool last) {
  if (cpus <= 0) return true;
  if (!check_whole_cores(run, cpus)) return false;
  const NodeModel& model = run.model;
  Reusable& reusable = run.work.reusable;
  if (run.only_checks(last)) {
    int64_t there = reusable.cpu_count;
    for (int64_t free : run.state->cpu(model)) there += std::max<int64_t>(free, 0);
    if (there >= cpus) return true;
    if (!run.state->knows_cpus() || model.layout->even()) return too_few(run, cpus, there);
  }
  Cpus got;
  std::vector<int64_t>& fresh = run.work.taken;  // taken that was not reusable
  if (!take_from_node(run, cpus, hint, got)) return false;
  fresh = got.counts;
  const bool init = run.pod.containers[container].kind == ContainerKind::kInit;
  if (run.state->knows_cpus()) {
    Cpus reused;
    reused.ids = got.ids & reusable.cpu_ids;
    count_columns(model, reused);
    for (uint32_t column = 0; column < fresh.size(); ++column) {
      fresh[column] -= reused.counts[column];
    }
    if (init) {
      reusable.cpu_ids |= got.ids;
    } else {
      reusable.cpu_ids -= got.ids;
    }
  } else {
    for (uint32_t column = 0; column < fresh.size(); ++column) {
      fresh[column] -= std::min(fresh[column], reusable.cpus[column]);
    }
  }
  // A plain init container's CPUs stay the pod's, for later containers to use.
  reusable.cpu_count = 0;
  reusable.holds_cpus();
  for (uint32_t column = 0; column < fresh.size(); ++column) {
    reusable.cpus[column] += init ? fresh[column] : fresh[column] - got.counts[column];
    reusable.cpu_count += reusable.cpus[column];
  }
  record(run, container, got, fresh);
  return true;
}

}  // namespace plimsoll::topology::kubelet
