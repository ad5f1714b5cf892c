// Pod-level resources with the feature gate PodLevelResourceManagers, scope pod. The pod gets one
// set of CPUs and one set of zones for memory. Containers whose requests equal their limits get
// their own CPUs from that set, the others share the rest. The device manager allocates nothing
// until containers start.

#include <algorithm>

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

void subtract(Cpus& from, const Cpus& what) {
  from.ids -= what.ids;
  for (size_t column = 0; column < from.counts.size(); ++column) {
    from.counts[column] -= what.counts[column];
  }
}

int64_t exclusive_cpus(const ContainerDemand& container) {
  return container.equal_requests_and_limits() ? container.whole_cpus() : 0;
}

// What a container takes exclusively of `resource`; asks tells whether of any type.
int64_t exclusive_amount(const ContainerDemand& container, uint32_t resource, bool cpu,
                         bool& asks) {
  if (!container.equal_requests_and_limits()) return 0;
  if (cpu) {
    asks = container.whole_cpus() > 0;
    return container.whole_cpus() * 1000;
  }
  asks = !container.memory.empty();
  for (const Need& need : container.memory) {
    if (need.resource == resource) return need.amount;
  }
  return 0;
}

}  // namespace

bool empties_shared_pool(const Run& run, std::span<const RowNeed> totals, bool cpu) {
  // Type by type: what long-running exclusive containers take, and whether anything shares.
  return std::any_of(totals.begin(), totals.end(), [&](const RowNeed& total) {
    int64_t taken = 0;
    bool shared = false;
    for (const ContainerDemand& container : run.pod.containers) {
      bool asks = false;
      const int64_t amount = exclusive_amount(container, total.resource, cpu, asks);
      if (container.kind == ContainerKind::kInit) {
        if (!asks && taken >= total.amount) return true;
      } else if (!asks) {
        shared = true;
      } else {
        taken += amount;
      }
    }
    return shared && taken >= total.amount;
  });
}

bool allocate_pod_cpus(Run& run, const Request& whole, const Hint& hint) {
  if (whole.cpus <= 0) return true;
  if (whole.cpu_impossible) {
    return run.refuse(Reason::kEmptyPodSharedPoolError, Stage::kCpu, Fault::kEmptySharedPool);
  }
  if (!check_whole_cores(run, whole.cpus)) return false;
  Cpus pool;
  if (!take_from_node(run, whole.cpus, hint, pool)) return false;
  if (run.out != nullptr) {
    Allocation& all = run.out->allocation;
    all.cpus = pool.counts;
    all.cpu_ids = pool.ids;
    all.known_cpu_ids = run.state->knows_cpus();
  }
  // Init containers run before the others: only sidecars keep theirs.
  std::vector<bool> given(run.pod.containers.size());
  const auto give = [&](size_t i, const Cpus& cpus) {
    given[i] = true;
    if (run.out == nullptr) return;
    run.out->containers[i].cpus = cpus.counts;
    run.out->containers[i].cpu_ids = cpus.ids;
  };
  for (const bool apps : {false, true}) {
    for (size_t i = 0; i < run.pod.containers.size(); ++i) {
      const ContainerDemand& container = run.pod.containers[i];
      if ((container.kind == ContainerKind::kApp) != apps) continue;
      const int64_t cpus = exclusive_cpus(container);
      if (cpus > 0) {
        Cpus got;
        if (!take_from_pod(run, pool, cpus, got)) {
          return run.refuse(Reason::kUnexpectedAdmissionError, Stage::kCpu, Fault::kTooFewCpus,
                            cpus);
        }
        give(i, got);
        if (container.kind != ContainerKind::kInit) subtract(pool, got);
      } else if (container.kind == ContainerKind::kInit) {
        give(i, pool);
      }
    }
  }
  for (size_t i = 0; i < run.pod.containers.size(); ++i) {
    if (!given[i]) give(i, pool);
  }
  return true;
}

}  // namespace plimsoll::topology::kubelet
