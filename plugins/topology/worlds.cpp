#include "plugins/topology/worlds.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::topology {
namespace {

using kubelet::Admission;
using kubelet::Allocation;
using kubelet::NodeModel;
using kubelet::NodeState;
using kubelet::PodDemand;

// One order, as far as it has been replayed.
struct Branch {
  World world;
  uint64_t done = 0;
};

class Player {
 public:
  Player(const NodeModel& model, std::span<const Subject> subjects, std::span<const Step> steps,
         kubelet::Scratch& scratch)
      : model_(model), subjects_(subjects), steps_(steps), scratch_(scratch) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].optional) mandatory_ |= uint64_t{1} << i;
    }
  }

  [[nodiscard]] Branch first(const NodeState& base) const {
    Branch branch;
    branch.world.state = base;
    branch.world.given.resize(subjects_.size());
    branch.world.held.reserve(subjects_.size());
    for (const Subject& subject : subjects_) branch.world.held.push_back(subject.held);
    return branch;
  }

  // Calls found(world) for every state after all steps that must have happened, and refused(step)
  // for every pod that is refused. Returns false if a callback stopped it or there is too much to
  // replay.
  template <typename Found, typename Refused>
  bool play(Branch& branch, size_t budget, const Found& found, const Refused& refused) {
    if ((branch.done & mandatory_) == mandatory_ && !found(branch.world)) return false;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if ((branch.done & bit) != 0 || (steps_[i].after & ~branch.done) != 0) continue;
      if (++plays_ > budget) return false;
      Branch next = branch;
      next.done |= bit;
      if (!apply(i, next.world) && !refused(i)) return false;
      if (seen_before(next)) continue;
      if (!play(next, budget, found, refused)) return false;
    }
    return true;
  }

  void tell_orders_apart() { each_order_ = true; }

 private:
  // False: the pod is refused, nothing changes.
  bool apply(size_t index, World& world) {
    const Step& step = steps_[index];
    std::shared_ptr<const Allocation>& held = world.held[step.subject];
    if (step.kind == Step::Kind::kAdmit) {
      Admission given =
          admit_and_start(model_, world.state, *subjects_[step.subject].demand, scratch_);
      if (!given.admitted()) return false;
      auto shared = std::make_shared<const Admission>(std::move(given));
      held = std::shared_ptr<const Allocation>(shared, &shared->allocation);
      world.given[step.subject] = std::move(shared);
      return true;
    }
    if (held == nullptr) return true;  // it was refused
    if (step.kind == Step::Kind::kRelease) {
      kubelet::release(model_, world.state, *held);
      held = nullptr;
    } else {
      auto changed = std::make_shared<Allocation>(*held);
      kubelet::started(model_, world.state, *changed);
      held = std::move(changed);
    }
    return true;
  }

  // Another order led to the same state, and its continuation has been replayed.
  bool seen_before(const Branch& branch) {
    const auto same = [&](const Branch& known) {
      if (known.done != branch.done || !(known.world.state == branch.world.state)) return false;
      for (size_t i = 0; i < steps_.size(); ++i) {
        const uint32_t subject = steps_[i].subject;
        const bool to_come = (branch.done >> i & 1) == 0 && steps_[i].kind != Step::Kind::kAdmit;
        if ((to_come || each_order_) && known.world.held[subject] != branch.world.held[subject]) {
          return false;
        }
      }
      return true;
    };
    if (std::any_of(seen_.begin(), seen_.end(), same)) return true;
    seen_.push_back(branch);
    return false;
  }

  const NodeModel& model_;
  std::span<const Subject> subjects_;
  std::span<const Step> steps_;
  kubelet::Scratch& scratch_;
  uint64_t mandatory_ = 0;
  size_t plays_ = 0;
  bool each_order_ = false;
  std::vector<Branch> seen_;
};

uint64_t bit(size_t step) {
  return uint64_t{1} << step;
}

int64_t most_of(const kubelet::Needs& needs, uint32_t resource) {
  for (const kubelet::Need& need : needs) {
    if (need.resource == resource) return need.amount;
  }
  return 0;
}

// What the pod takes at most: the static policy reuses what a plain init container had only as far
// as it takes the very same CPUs, and it prefers half cores that are free, of the reserved CPUs'
// siblings for one.
int64_t cpus_of(const PodDemand& pod) {
  int64_t cpus = 0;
  for (const kubelet::ContainerDemand& container : pod.containers) cpus += container.whole_cpus();
  return std::max({cpus, pod.totals.cpus, pod.pod_totals.cpus});
}

// What the pod takes at most, whatever the scope: its totals; but in scope container memory types
// that only an init container asks for count too.
int64_t memory_of(const PodDemand& pod, uint32_t resource) {
  int64_t largest_init = 0;
  for (const kubelet::ContainerDemand& container : pod.containers) {
    if (container.kind == kubelet::ContainerKind::kApp) continue;
    largest_init += most_of(container.memory, resource);
  }
  return std::max({most_of(pod.totals.memory, resource), most_of(pod.pod_totals.memory, resource),
                   largest_init});
}

// Both belong to the same pod or to none, and are in the same zones.
bool same_zones(const std::shared_ptr<const Admission>& a,
                const std::shared_ptr<const Admission>& b) {
  if (a == nullptr || b == nullptr) return a == b;
  const auto same_block = [](const Allocation::Block& x, const Allocation::Block& y) {
    return x.block.zones == y.block.zones && x.block.bytes == y.block.bytes;
  };
  const auto same_grant = [](const kubelet::DeviceGrant& x, const kubelet::DeviceGrant& y) {
    return x.row == y.row && x.by_zone == y.by_zone;
  };
  const Allocation& x = a->allocation;
  const Allocation& y = b->allocation;
  return x.cpus == y.cpus &&
         std::equal(x.blocks.begin(), x.blocks.end(), y.blocks.begin(), y.blocks.end(),
                    same_block) &&
         std::equal(x.devices.begin(), x.devices.end(), y.devices.begin(), y.devices.end(),
                    same_grant);
}

// Takes up to so many from each of the zones; with `once`, the rest of `count` is left for later
// zones.
void take_devices(const NodeModel& model, NodeState& state, uint32_t row, int64_t count,
                  std::span<const uint32_t> zones, bool once) {
  if (!model.devices[row].listed()) {
    for (uint32_t zone : zones) {
      int64_t& free = state.devices(model, row)[zone];
      const int64_t part = std::clamp<int64_t>(free, 0, count);
      free -= part;
      if (once) count -= part;
    }
    return;
  }
  const std::span<const uint64_t> ids = state.device_ids(model, row);
  std::vector<uint64_t> left(ids.begin(), ids.end());
  const std::vector<kubelet::Device>& devices = model.devices[row].devices;
  const auto take_from = [&](const auto& here) {
    int64_t take = count;
    for (size_t i = 0; i < devices.size() && take > 0; ++i) {
      if (!here(devices[i].zones) || (ids[i / 64] >> (i % 64) & 1) == 0) continue;
      left[i / 64] &= ~(uint64_t{1} << (i % 64));
      --take;
    }
    if (once) count = take;
  };
  for (uint32_t zone : zones) {
    take_from([zone](kubelet::ZoneMask touched) { return (touched >> zone & 1) != 0; });
  }
  take_from([](kubelet::ZoneMask touched) { return touched == 0; });
  state.set_device_ids(model, row, left);
}

kubelet::DeviceGrant take_started(const NodeModel& model, NodeState& state, uint32_t row,
                                  int64_t count, std::span<const uint32_t> zones) {
  const auto now = state.devices(model, row);
  const std::vector<int64_t> counts(now.begin(), now.end());
  const auto free = state.device_ids(model, row);
  const std::vector<uint64_t> ids(free.begin(), free.end());
  take_devices(model, state, row, count, zones, true);
  kubelet::DeviceGrant grant;
  grant.resource = model.devices[row].resource;
  grant.row = row;
  grant.count = count;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    grant.by_zone.push_back(counts[column] - state.devices(model, row)[column]);
    if (grant.by_zone.back() > 0) grant.zones |= kubelet::ZoneMask{1} << column;
  }
  const auto left = state.device_ids(model, row);
  for (size_t i = 0; i < ids.size(); ++i) grant.ids.push_back(ids[i] & ~left[i]);
  return grant;
}

}  // namespace

Admission admit_and_start(const NodeModel& model, NodeState& state, const PodDemand& pod,
                          kubelet::Scratch& scratch) {
  Admission given = kubelet::admit(model, state, pod, scratch);
  const kubelet::Managers& managers = model.managers;
  const bool later = pod.pod_level && managers.pod_level_resource_managers &&
                     managers.scope == Scope::kPod && managers.policy != Policy::kNone;
  if (!later || !given.admitted() || given.containers.empty()) return given;
  const kubelet::Hint& hint = given.containers.front().hint;
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  std::stable_partition(zones.begin(), zones.end(),
                        [&](uint32_t zone) { return hint.any || (hint.mask >> zone & 1) != 0; });
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count <= 0) continue;
    given.allocation.devices.push_back(take_started(model, state, row, count, zones));
  }
  return given;
}

Outlook explore(const NodeModel& model, const NodeState& base, std::span<const Subject> subjects,
                std::span<const Step> steps, kubelet::Scratch& scratch, bool each_order) {
  Outlook outlook;
  if (steps.size() > kMaxSteps) {
    outlook.complete = false;
    return outlook;
  }
  Player player(model, subjects, steps, scratch);
  if (each_order) player.tell_orders_apart();
  Branch branch = player.first(base);
  const auto found = [&](const World& world) {
    const auto same = [&](const World& known) {
      return known.state == world.state && (!each_order || known.held == world.held);
    };
    if (std::any_of(outlook.worlds.begin(), outlook.worlds.end(), same)) return true;
    if (outlook.worlds.size() == kMaxWorlds) return false;
    outlook.worlds.push_back(world);
    return true;
  };
  const auto refused = [&](size_t step) {
    outlook.refused |= bit(step);
    return true;
  };
  outlook.complete = player.play(branch, kMaxPlays, found, refused) && !outlook.worlds.empty();
  return outlook;
}

bool order_is_all_the_same(const NodeModel& model, const NodeState& base,
                           std::span<const Subject> subjects, std::span<const Step> steps,
                           uint64_t lost, kubelet::Scratch& scratch) {
  if (steps.size() > kMaxSteps) return false;
  Player player(model, subjects, steps, scratch);
  player.tell_orders_apart();
  Branch branch = player.first(base);
  bool any = false;
  World first;
  const auto found = [&](const World& world) {
    if (!any) first = world;
    any = true;
    return std::equal(world.given.begin(), world.given.end(), first.given.begin(), same_zones);
  };
  const auto refused = [&](size_t step) { return (lost & bit(step)) != 0; };
  return player.play(branch, kMaxPlaysToAsk, found, refused) && any;
}

void take_everywhere(const NodeModel& model, NodeState& state, const PodDemand& pod) {
  state.forget_cpu_ids(model);
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  if (pod.guaranteed) {
    const int64_t cpus = cpus_of(pod);
    for (int64_t& free : state.cpu(model)) free = std::max<int64_t>(0, free - cpus);
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      const int64_t bytes = memory_of(pod, model.memory[row].resource);
      for (int64_t& free : state.memory(model, row)) free = std::max<int64_t>(0, free - bytes);
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count > 0) take_devices(model, state, row, count, zones, false);
  }
}

void take_roomiest(const NodeModel& model, NodeState& state, const PodDemand& pod) {
  state.forget_cpu_ids(model);
  std::vector<uint32_t> zones(model.zones());
  std::iota(zones.begin(), zones.end(), 0);
  const auto roomier = [&](uint32_t a, uint32_t b) {
    if (state.cpu(model)[a] != state.cpu(model)[b]) {
      return state.cpu(model)[a] > state.cpu(model)[b];
    }
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      if (most_of(pod.totals.devices, model.devices[row].resource) == 0) continue;
      return state.devices(model, row)[a] > state.devices(model, row)[b];
    }
    return false;
  };
  std::stable_sort(zones.begin(), zones.end(), roomier);
  if (model.managers.policy == Policy::kSingleNumaNode && !zones.empty()) zones.resize(1);
  const auto take = [&](std::span<int64_t> free, int64_t amount) {
    for (uint32_t zone : zones) {
      const int64_t part = std::clamp<int64_t>(free[zone], 0, amount);
      free[zone] -= part;
      amount -= part;
    }
  };
  if (pod.guaranteed) {
    take(state.cpu(model), std::max(pod.totals.cpus, pod.pod_totals.cpus));
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      take(state.memory(model, row), memory_of(pod, model.memory[row].resource));
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const int64_t count = most_of(pod.totals.devices, model.devices[row].resource);
    if (count > 0) take_devices(model, state, row, count, zones, true);
  }
}

void bring(const NodeModel& model, NodeState& state, std::span<const PodDemand* const> pods,
           kubelet::Scratch& scratch) {
  for (const PodDemand* pod : pods) {
    if (!admit_and_start(model, state, *pod, scratch).admitted()) {
      take_roomiest(model, state, *pod);
    }
  }
}

bool counts_suffice(const NodeModel& model, const NodeState& state) {
  if (model.cpu_static && state.knows_cpus() && model.managers.cpu_options.full_pcpus_only) {
    return false;
  }
  return !model.memory_static || !state.knows_groups() ||
         model.managers.policy == Policy::kSingleNumaNode;
}

bool fit_side_by_side(const NodeModel& model, const NodeState& least,
                      std::span<const PodDemand* const> pods, kubelet::Scratch& scratch) {
  for (size_t i = 0; i < pods.size(); ++i) {
    NodeState left = least;
    for (size_t k = 0; k < pods.size(); ++k) {
      if (k != i) take_everywhere(model, left, *pods[k]);
    }
    if (!kubelet::admits(model, left, *pods[i], scratch)) return false;
  }
  return true;
}

bool same_demand(const PodDemand& a, const PodDemand& b) {
  if (&a == &b) return true;
  if (a.guaranteed != b.guaranteed || a.pod_level != b.pod_level ||
      a.containers.size() != b.containers.size() || a.pod_cpu_milli != b.pod_cpu_milli ||
      a.pod_memory != b.pod_memory) {
    return false;
  }
  return std::equal(a.containers.begin(), a.containers.end(), b.containers.begin(),
                    [](const auto& x, const auto& y) {
                      return x.kind == y.kind && x.cpu_milli == y.cpu_milli &&
                             x.cpu_limit_milli == y.cpu_limit_milli && x.memory == y.memory &&
                             x.memory_limit == y.memory_limit && x.devices == y.devices;
                    });
}

}  // namespace plimsoll::topology
