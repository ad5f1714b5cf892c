#include "plugins/topology/possible/room.hpp"

#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/arrival.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::ContainerDemand;
using kubelet::ContainerKind;
using kubelet::NodeModel;
using kubelet::PodDemand;

// What of a pod the managers of one node look at.
class Asking {
 public:
  Asking(const NodeModel& model, const PodDemand& pod) : model_(model), pod_(pod) {
    const bool managed = pod.guaranteed && (!pod.pod_level || pod_managers());
    cpu_ = managed && model.cpu_static;
    memory_ = managed && model.memory_static;
  }

  // Pod-level resources with managers that know them: pools of the pod, not of containers.
  [[nodiscard]] bool pod_managers() const {
    return pod_.pod_level && model_.managers.pod_level_resource_managers;
  }
  [[nodiscard]] bool cpus(const ContainerDemand& c) const { return cpu_ && c.whole_cpus() > 0; }
  // Requests of 0 make a block too.
  [[nodiscard]] bool memory(const ContainerDemand& c) const { return memory_ && !c.memory.empty(); }
  [[nodiscard]] bool device(const ContainerDemand& c, uint32_t resource) const {
    return std::any_of(c.devices.begin(), c.devices.end(), [&](const kubelet::Need& need) {
      return need.resource == resource && need.amount > 0;
    });
  }
  [[nodiscard]] bool devices(const ContainerDemand& c) const {
    return std::any_of(model_.devices.begin(), model_.devices.end(),
                       [&](const auto& type) { return device(c, type.resource); });
  }
  [[nodiscard]] bool anything(const ContainerDemand& c) const {
    return cpus(c) || memory(c) || devices(c);
  }
  template <typename Of>
  [[nodiscard]] size_t count(const Of& of) const {
    return static_cast<size_t>(std::count_if(pod_.containers.begin(), pod_.containers.end(), of));
  }
  [[nodiscard]] bool any_memory() const {
    return count([&](const auto& c) { return memory(c); }) > 0;
  }

  // Two containers ask for the same, or both for memory of any kind, which is grouped as one. With
  // `init`: one of the two is a plain init container, of which the other reuses what it gets.
  [[nodiscard]] bool shares(bool init) const {
    const auto shared = [&](const auto& asks) {
      const auto plain = [&](const ContainerDemand& c) {
        return asks(c) && c.kind == ContainerKind::kInit;
      };
      return count(asks) > 1 && (!init || count(plain) > 0);
    };
    if (shared([&](const auto& c) { return cpus(c); })) return true;
    if (shared([&](const auto& c) { return memory(c); })) return true;
    return std::any_of(model_.devices.begin(), model_.devices.end(), [&](const auto& type) {
      return shared([&](const auto& c) { return device(c, type.resource); });
    });
  }

  // The affinity of the pod as a whole is that of CPUs or devices: memory that fits nowhere as a
  // whole is then not laid out container by container, each where it likes.
  [[nodiscard]] bool tied() const {
    if (cpu_ && pod_.totals.cpus > 0) return true;
    for (uint32_t row = 0; row < model_.devices.size(); ++row) {
      const uint32_t resource = model_.devices[row].resource;
      const bool has_zones = !model_.devices[row].listed() || model_.device_facts[row].any_topology;
      if (has_zones && count([&](const auto& c) { return device(c, resource); }) > 0) return true;
    }
    return false;
  }

  // A kind of memory that no app container asks for is left out of the pod's totals.
  [[nodiscard]] bool memory_outside_totals() const {
    return count([&](const ContainerDemand& c) {
             return std::any_of(c.memory.begin(), c.memory.end(), [&](const kubelet::Need& need) {
               return std::none_of(
                   pod_.totals.memory.begin(), pod_.totals.memory.end(),
                   [&](const kubelet::Need& total) { return total.resource == need.resource; });
             });
           }) > 0;
  }

 private:
  const NodeModel& model_;
  const PodDemand& pod_;
  bool cpu_ = false;
  bool memory_ = false;
};

// Some block of memory spans zones.
bool has_groups(const NodeModel& model, const kubelet::NodeState& state) {
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if (std::popcount(state.group(model, column)) > 1) return true;
  }
  return false;
}

bool as_whole(const NodeModel& model) {
  return model.managers.policy != Policy::kNone && model.managers.scope == Scope::kPod;
}

}  // namespace

bool may_free_memory_at_start(const kubelet::PodDemand& pod) {
  return pod.guaranteed &&
         std::any_of(pod.containers.begin(), pod.containers.end(), [](const auto& container) {
           return container.kind == kubelet::ContainerKind::kInit && !container.memory.empty();
         });
}

bool may_hold(const NodeModel& model, const PodDemand& pod) {
  const Asking asking(model, pod);
  return asking.pod_managers() ||
         asking.count([&](const ContainerDemand& c) { return asking.anything(c); }) > 0;
}

bool fits_with_more(const NodeModel& model, const PodDemand& pod) {
  const Asking asking(model, pod);
  if (asking.pod_managers()) return false;
  const auto cpus = [&](const ContainerDemand& c) { return asking.cpus(c); };
  const auto anything = [&](const ContainerDemand& c) { return asking.anything(c); };
  // Cores of different sizes: the kubelet takes some for whole that are not.
  if (model.layout && !model.layout->even() && asking.count(cpus) > 0) return false;
  const bool memory = asking.any_memory();
  const Policy policy = model.managers.policy;
  if (policy == Policy::kNone || policy == Policy::kBestEffort) {
    // CPUs and devices are taken from anywhere: their number decides.
    if (!memory) return true;
    if (asking.count([&](const auto& c) { return asking.memory(c); }) > 1) return false;
    // What CPUs and devices prefer may be zones that memory cannot be extended from.
    const auto others = [&](const auto& c) { return asking.cpus(c) || asking.devices(c); };
    return policy == Policy::kNone || model.zones() <= 1 || asking.count(others) == 0;
  }
  if (asking.count(anything) <= 1) return true;
  if (!as_whole(model)) return !asking.shares(false);
  return !memory || (asking.tied() && !asking.memory_outside_totals());
}

namespace {

// Of one resource in one zone.
struct Supply {
  int64_t sure = 0;
  int64_t total = 0;
};

// False: a kubelet that gives whole cores only refuses it.
bool asks_for_whole_cores(const NodeModel& model, const Asking& asking) {
  if (!model.managers.cpu_options.full_pcpus_only || !model.layout) return true;
  return asking.count([&](const ContainerDemand& container) {
    return asking.cpus(container) && container.whole_cpus() % model.layout->per_core() != 0;
  }) == 0;
}

// False: the memory manager refuses it.
bool asks_for_whole_bytes(const Asking& asking) {
  return asking.count([&](const ContainerDemand& container) {
    return asking.memory(container) && container.memory_unreadable;
  }) == 0;
}

// False: what is free in zones does not decide, or nobody knows what it will be.
bool zones_decide(const NodeModel& model, const kubelet::NodeState& sure, const Asking& asking) {
  const Policy policy = model.managers.policy;
  const bool aligns = policy == Policy::kSingleNumaNode || policy == Policy::kRestricted;
  if (!aligns || asking.pod_managers()) return false;
  const bool cpus = asking.count([&](const auto& c) { return asking.cpus(c); }) > 0;
  if (cpus && model.layout && !model.layout->even()) return false;
  if (!asks_for_whole_cores(model, asking) || !asks_for_whole_bytes(asking)) return false;
  if (asking.any_memory() && sure.knows_groups() && has_groups(model, sure)) return false;
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const uint32_t resource = model.devices[row].resource;
    const bool asked = asking.count([&](const auto& c) { return asking.device(c, resource); }) > 0;
    if (asked && !model.device_facts[row].single_zone) return false;
  }
  return true;
}

}  // namespace

bool each_zone_has_room_or_never_will(const NodeModel& model, const kubelet::NodeState& sure,
                                      const PodDemand& pod) {
  const Asking asking(model, pod);
  if (model.managers.policy != Policy::kSingleNumaNode || !zones_decide(model, sure, asking)) {
    return false;
  }
  bool any = false;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    bool roomy = true;
    std::vector<bool> possible(pod.containers.size(), true);
    const auto weigh = [&](const Supply& supply, const auto& need_of) {
      int64_t together = 0;
      for (size_t i = 0; i < possible.size(); ++i) {
        const int64_t need = need_of(pod.containers[i]);
        together = add_amounts(together, need);
        if (need > supply.total) possible[i] = false;
      }
      roomy = roomy && together <= std::max<int64_t>(supply.sure, 0);
    };
    weigh({sure.cpu(model)[column], model.cpu_totals[column]},
          [&](const ContainerDemand& c) { return asking.cpus(c) ? c.whole_cpus() : 0; });
    for (uint32_t row = 0; row < model.memory.size(); ++row) {
      const kubelet::MemoryType& type = model.memory[row];
      weigh({sure.memory(model, row)[column], type.allocatable[column]},
            [&](const ContainerDemand& c) {
              return asking.memory(c) ? kubelet::amount_of(c.memory, type.resource) : 0;
            });
    }
    for (uint32_t row = 0; row < model.devices.size(); ++row) {
      const kubelet::DeviceType& type = model.devices[row];
      weigh({sure.devices(model, row)[column], type.totals[column]},
            [&](const ContainerDemand& c) { return kubelet::amount_of(c.devices, type.resource); });
    }
    any = any || roomy;
    for (size_t i = 0; i < possible.size() && !roomy; ++i) {
      if (possible[i] && asking.anything(pod.containers[i])) return false;
    }
  }
  return any;
}

bool lands_alike(const NodeModel& model, const PodDemand& pod, kubelet::NodeState& least,
                 kubelet::NodeState& most, kubelet::Scratch& scratch) {
  const Asking asking(model, pod);
  const PodDemand* const alone[] = {&pod};
  for (kubelet::NodeState* state : {&least, &most}) {
    if (!zones_decide(model, *state, asking) || !counts_suffice(model, *state, alone)) return false;
  }
  if (!least.knows_cpus() || !most.knows_cpus() || !(least.cpu_ids(model) == most.cpu_ids(model))) {
    // Which CPUs it gets is not known, and so not how many of its init container's it reuses.
    if (asking.count([&](const ContainerDemand& container) {
          return container.kind == ContainerKind::kInit && asking.cpus(container);
        }) > 0) {
      return false;
    }
    least.forget_cpu_ids(model);
    most.forget_cpu_ids(model);
  }
  const kubelet::Admission one = admit_and_start(model, least, pod, scratch);
  const kubelet::Admission other = admit_and_start(model, most, pod, scratch);
  if (!one.admitted() || !other.admitted()) return false;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    const kubelet::Hint& hint = one.containers[i].hint;
    const bool in_one_zone = hint.preferred && !hint.any && std::popcount(hint.mask) == 1;
    if (asking.anything(pod.containers[i]) && !in_one_zone) return false;
    if (!(hint == other.containers[i].hint)) return false;
  }
  return true;
}

std::vector<PodDemand> parts_of(const NodeModel& model, const PodDemand& pod) {
  if (fits_with_more(model, pod)) return {pod};
  const Asking asking(model, pod);
  if (as_whole(model) || asking.pod_managers() || asking.shares(true)) return {};
  std::vector<PodDemand> parts;
  for (const ContainerDemand& container : pod.containers) {
    if (!asking.anything(container)) continue;
    PodDemand part;
    part.guaranteed = pod.guaranteed;
    part.pod_level = pod.pod_level;
    part.containers = {container};
    part.prepare();
    if (!fits_with_more(model, part)) return {};
    parts.push_back(std::move(part));
  }
  return parts;
}

namespace {

// How many pods may be beside a new one, in unknown zones or on their way.
constexpr size_t kMaxBeside = 256;

// Whether each part of the pod has room wherever its other parts land and if more is freed.
bool parts_fit(const NodeModel& model, const kubelet::NodeState& left, const PodDemand& pod,
               kubelet::Scratch& scratch) {
  const std::vector<PodDemand> parts = parts_of(model, pod);
  for (const PodDemand& part : parts) {
    kubelet::NodeState beside = left;
    for (const PodDemand& other : parts) {
      if (&other != &part) take_everywhere(model, beside, other);
    }
    if (!kubelet::admits(model, beside, part, scratch)) return false;
  }
  return !parts.empty();
}

// What containers take together, by resource: CPUs, then rows of memory, then rows of devices.
using Amounts = boost::container::small_vector<int64_t, 12>;

void add(const NodeModel& model, const Asking& asking, const ContainerDemand& container,
         Amounts& amounts) {
  if (asking.cpus(container)) amounts[0] = add_amounts(amounts[0], container.whole_cpus());
  size_t at = 1;
  for (const kubelet::MemoryType& type : model.memory) {
    const bool managed = asking.memory(container);
    const int64_t bytes = managed ? kubelet::amount_of(container.memory, type.resource) : 0;
    amounts[at] = add_amounts(amounts[at], bytes);
    ++at;
  }
  for (const kubelet::DeviceType& type : model.devices) {
    const int64_t count = kubelet::amount_of(container.devices, type.resource);
    amounts[at] = add_amounts(amounts[at], count);
    ++at;
  }
}

Amounts amounts_of(const NodeModel& model, const PodDemand& pod) {
  const Asking asking(model, pod);
  Amounts amounts(1 + model.memory.size() + model.devices.size());
  for (const ContainerDemand& container : pod.containers) add(model, asking, container, amounts);
  return amounts;
}

// Calls visit(amounts) for each part of the pod that its kubelet puts into as few zones as it can.
template <typename Visit>
void each_unit(const NodeModel& model, const PodDemand& pod, const Visit& visit) {
  if (as_whole(model)) return visit(amounts_of(model, pod));
  const Asking asking(model, pod);
  for (const ContainerDemand& container : pod.containers) {
    Amounts amounts(1 + model.memory.size() + model.devices.size());
    add(model, asking, container, amounts);
    visit(amounts);
  }
}

int64_t free_in(const NodeModel& model, const kubelet::NodeState& state, size_t resource,
                uint32_t column) {
  if (resource == 0) return state.cpu(model)[column];
  const auto row = static_cast<uint32_t>(resource - 1);
  const auto memory = static_cast<uint32_t>(model.memory.size());
  return row < memory ? state.memory(model, row)[column]
                      : state.devices(model, row - memory)[column];
}

// The memory manager looks for zones that have all kinds of memory together.
bool has_all_memory_in_one_zone(const NodeModel& model, const Amounts& amounts) {
  for (uint32_t column = 0; column < model.zones(); ++column) {
    bool has = true;
    for (size_t row = 0; row < model.memory.size(); ++row) {
      has = has && amounts[1 + row] <= model.memory[row].allocatable[column];
    }
    if (has) return true;
  }
  return model.zones() == 0;
}

// Whether a kubelet aligns it to a single zone, which is the only way to admit it.
bool is_for_one_zone(const NodeModel& model, const Amounts& amounts) {
  if (model.managers.policy == Policy::kSingleNumaNode) return true;
  const auto one = [](int64_t need, const kubelet::Totals& totals) {
    return need <= 0 || totals.fewest(need, 0) == 1;
  };
  bool is = one(amounts[0], model.cpu);
  for (size_t row = 0; row < model.memory.size(); ++row) {
    is = is && one(amounts[1 + row], model.memory_by_type[row]);
  }
  is = is && has_all_memory_in_one_zone(model, amounts);
  for (size_t row = 0; row < model.devices.size(); ++row) {
    is = is && one(amounts[1 + model.memory.size() + row], model.device_facts[row].totals);
  }
  return is;
}

bool needs_one_zone_at_a_time(const NodeModel& model, const PodDemand& pod) {
  if (Asking(model, pod).pod_managers()) return false;
  bool one_zone = true;
  each_unit(model, pod, [&](const Amounts& amounts) {
    one_zone = one_zone && is_for_one_zone(model, amounts);
  });
  return one_zone;
}

}  // namespace

bool counts_suffice(const NodeModel& model, const kubelet::NodeState& state,
                    std::span<const PodDemand* const> pods) {
  if (model.cpu_static && state.knows_cpus() && model.managers.cpu_options.full_pcpus_only) {
    // Pods take whole cores, so what is free stays whole cores if it is now.
    const kubelet::CpuSet free = state.cpu_ids(model);
    if (!(model.layout->whole_cores(free) == free)) return false;
  }
  if (!model.memory_static || !state.knows_groups() ||
      model.managers.policy == Policy::kSingleNumaNode) {
    return true;
  }
  return model.managers.policy == Policy::kRestricted && !has_groups(model, state) &&
         std::all_of(pods.begin(), pods.end(),
                     [&](const PodDemand* pod) { return needs_one_zone_at_a_time(model, *pod); });
}

namespace {

// Under policies that enforce alignment: whether some zone is left for the pod wherever the others
// land, if the pod and each of their parts needs one zone. A part that takes some of what a zone
// has to spare blocks that share of one zone, so together they block no more zones than their
// shares add up to.
bool finds_a_zone(const NodeModel& model, const kubelet::NodeState& sure,
                  std::span<const PodDemand* const> all, size_t at) {
  const PodDemand& pod = *all[at];
  const Asking asking(model, pod);
  if (!zones_decide(model, sure, asking) || !fits_with_more(model, pod)) return false;
  const Amounts need = amounts_of(model, pod);
  bool one_zone = is_for_one_zone(model, need);
  boost::container::small_vector<uint32_t, 16> zones;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    bool roomy = true;
    for (size_t i = 0; i < need.size() && roomy; ++i) {
      roomy = need[i] <= 0 || free_in(model, sure, i, column) >= need[i];
    }
    if (roomy) zones.push_back(column);
  }
  double blocked = 0;
  for (size_t k = 0; k < all.size() && one_zone; ++k) {
    if (k == at) continue;
    if (Asking(model, *all[k]).pod_managers()) return false;
    each_unit(model, *all[k], [&](const Amounts& taken) {
      one_zone = one_zone && is_for_one_zone(model, taken);
      double share = 0;
      for (size_t i = 0; i < need.size(); ++i) {
        if (need[i] <= 0 || taken[i] <= 0) continue;
        for (const uint32_t column : zones) {
          const int64_t spare = free_in(model, sure, i, column) - need[i] + 1;
          share = std::max(share, static_cast<double>(taken[i]) / static_cast<double>(spare));
        }
      }
      blocked += std::min(share, 1.0);
    });
  }
  constexpr double kRounding = 1e-6;
  return one_zone && blocked + kRounding < static_cast<double>(zones.size());
}

// Under policies that do not: CPUs are taken from anywhere, so their number decides.
bool finds_cpus(const NodeModel& model, const kubelet::NodeState& sure,
                std::span<const PodDemand* const> all, size_t at) {
  const Policy policy = model.managers.policy;
  const Asking asking(model, *all[at]);
  if (policy == Policy::kSingleNumaNode || policy == Policy::kRestricted || asking.any_memory() ||
      asking.count([&](const auto& c) { return asking.devices(c); }) > 0 ||
      !asks_for_whole_cores(model, asking) || !fits_with_more(model, *all[at])) {
    return false;
  }
  int64_t left = 0;
  for (const int64_t free : sure.cpu(model)) left = add_amounts(left, free);
  for (const PodDemand* pod : all) left = add_amounts(left, -amounts_of(model, *pod)[0]);
  return left >= 0;
}

}  // namespace

bool are_sure_of_room(const NodeModel& model, const kubelet::NodeState& sure,
                      std::span<const PodDemand* const> pods, size_t to_check,
                      kubelet::Scratch& scratch) {
  if (pods.size() > kMaxBeside) return false;
  const bool counts_decide = counts_suffice(model, sure, pods);
  if (pods.size() > 1 && !counts_decide) return false;
  for (size_t i = 0; i < to_check; ++i) {
    const auto known = pods.first(i);
    const auto same = [&](const PodDemand* other) { return same_demand(*other, *pods[i]); };
    if (std::any_of(known.begin(), known.end(), same)) continue;
    if (counts_decide && (finds_a_zone(model, sure, pods, i) || finds_cpus(model, sure, pods, i))) {
      continue;
    }
    kubelet::NodeState left = sure;
    for (size_t k = 0; k < pods.size(); ++k) {
      if (k != i) take_everywhere(model, left, *pods[k]);
    }
    const PodDemand& pod = *pods[i];
    const bool fits = kubelet::admits(model, left, pod, scratch) &&
                      (fits_with_more(model, pod) ||
                       (counts_decide && (each_zone_has_room_or_never_will(model, left, pod) ||
                                          parts_fit(model, left, pod, scratch))));
    if (!fits) return false;
  }
  return true;
}

}  // namespace plimsoll::topology
