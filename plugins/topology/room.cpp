#include "plugins/topology/room.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/amount.hpp"

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

bool more_memory_changes_nothing(const NodeModel& model, const kubelet::NodeState& state,
                                 const PodDemand& pod) {
  const Asking asking(model, pod);
  if (asking.pod_managers()) return false;
  if (!asking.any_memory()) return true;
  if (model.managers.policy != Policy::kSingleNumaNode || !state.knows_groups() ||
      !state.memory_is_exact()) {
    return false;
  }
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if (std::popcount(state.group(model, column)) > 1) return false;
  }
  std::vector<int64_t> together(model.memory.size());  // of all containers, by row
  for (const ContainerDemand& container : pod.containers) {
    for (uint32_t row = 0; row < together.size(); ++row) {
      const int64_t needed = kubelet::amount_of(container.memory, model.memory[row].resource);
      together[row] = add_amounts(together[row], needed);
    }
  }
  // A zone has room for all containers together, whatever comes free, or never for any of them.
  // What has room for some of them only may take another one later.
  for (uint32_t column = 0; column < model.zones(); ++column) {
    bool roomy = true;
    for (uint32_t row = 0; row < together.size(); ++row) {
      roomy = roomy && state.memory(model, row)[column] >= together[row];
    }
    const auto never_there = [&](const ContainerDemand& container) {
      return !asking.memory(container) ||
             std::any_of(model.memory.begin(), model.memory.end(), [&](const auto& type) {
               return type.allocatable[column] <
                      kubelet::amount_of(container.memory, type.resource);
             });
    };
    if (!roomy && !std::all_of(pod.containers.begin(), pod.containers.end(), never_there)) {
      return false;
    }
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

}  // namespace plimsoll::topology
