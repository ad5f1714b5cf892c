#include "plugins/topology/kubelet/admit.hpp"

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// One past the last container that asks this node for anything.
uint32_t containers_that_act(const Run& run) {
  auto end = static_cast<uint32_t>(run.pod.containers.size());
  if (run.memory_acts) return end;
  for (; end > 0; --end) {
    const ContainerDemand& container = run.pod.containers[end - 1];
    if (run.cpu_acts && container.whole_cpus() > 0) break;
    bool known = false;
    for (const Need& need : container.devices) {
      known = known || run.model.device_row(need.resource) != kNoResourceRow;
    }
    if (known) break;
  }
  return end;
}

// Providers allocate in the order of their registration: device, CPU, memory manager.
bool allocate(Run& run, uint32_t container, const Request& request, const Hint& hint, bool last) {
  return allocate_devices(run, container, request, hint, last) &&
         allocate_cpus(run, container, request.cpus, hint, last) &&
         (!request.memory_acts || allocate_memory(run, container, request, hint, last));
}

bool store_hint(Run& run, uint32_t container, const Affinity& affinity) {
  if (!affinity.admit) {
    return run.refuse(Reason::kTopologyAffinityError, Stage::kMerge,
                      run.pod_level ? Fault::kNoPodLevelContainerAffinity : Fault::kNoAffinity);
  }
  if (run.out != nullptr && run.model.managers.policy != Policy::kNone) {
    run.out->containers[container].has_hint = true;
    run.out->containers[container].hint = affinity.hint;
  }
  return true;
}

// Scopes none and container: each container alone, later ones see what earlier ones took.
bool admit_by_container(Run& run, uint32_t& container) {
  const auto count = static_cast<uint32_t>(run.pod.containers.size());
  const uint32_t acting = containers_that_act(run);
  Request& request = run.work.request;
  for (container = 0; container < (run.out != nullptr ? count : acting); ++container) {
    const bool last = container + 1 == acting;
    run.request_of(run.pod.containers[container], request);
    const Affinity found = affinity(run, request, true, run.zones_matter(last), container);
    if (!store_hint(run, container, found) ||
        !allocate(run, container, request, found.hint, last)) {
      return false;
    }
  }
  return true;
}

// Scope pod: one affinity for all.
bool admit_by_pod(Run& run, uint32_t& container) {
  const auto count = static_cast<uint32_t>(run.pod.containers.size());
  Request& whole = run.work.whole;
  container = kWholePod;
  run.request_of_pod(whole);
  const uint32_t acting = containers_that_act(run);
  const bool zones_matter = run.zones_matter(!run.pod_level && acting <= 1);
  const Affinity found = affinity(run, whole, false, zones_matter, kWholePod);
  if (!found.admit) {
    return run.refuse(Reason::kTopologyAffinityError, Stage::kMerge,
                      run.pod_level ? Fault::kNoPodLevelAffinity : Fault::kNoAffinity);
  }
  if (run.pod_level) {
    for (uint32_t i = 0; i < count; ++i) store_hint(run, i, found);
    return allocate_pod_cpus(run, whole, found.hint) && allocate_pod_memory(run, whole, found.hint);
  }
  Request& request = run.work.request;
  for (container = 0; container < (run.out != nullptr ? count : acting); ++container) {
    run.request_of(run.pod.containers[container], request);
    store_hint(run, container, found);
    if (!allocate(run, container, request, found.hint, container + 1 == acting)) return false;
  }
  return true;
}

bool admit_pod(Run& run, uint32_t& container) {
  const Managers& managers = run.model.managers;
  return managers.policy != Policy::kNone && managers.scope == Scope::kPod
             ? admit_by_pod(run, container)
             : admit_by_container(run, container);
}

}  // namespace

Scratch::Scratch() : work_(std::make_unique<Work>()) {}
Scratch::~Scratch() = default;
Scratch::Scratch(Scratch&&) noexcept = default;
Scratch& Scratch::operator=(Scratch&&) noexcept = default;
void Scratch::use_full_lists(bool on) {
  work_->full_lists = on;
}
bool Scratch::uses_full_lists() const {
  return work_->full_lists;
}

Admission admit(const NodeModel& model, NodeState& state, const PodDemand& pod, Scratch& scratch,
                std::vector<HintRecord>* records) {
  Admission admission;
  admission.containers.resize(pod.containers.size());
  Run run(model, state, pod, scratch.work(), &admission);
  run.records = records;
  uint32_t container = kWholePod;
  if (admit_pod(run, container)) {
    if (run.state != &state) state = *run.state;
    return admission;
  }
  admission.reason = run.reason;
  admission.stage = run.stage;
  admission.fault = run.fault;
  admission.container = container;
  admission.resource = run.resource;
  admission.need = run.need;
  admission.have = run.have;
  if (model.layout) admission.per_core = model.layout->per_core();
  if (run.state != &state) {
    // What containers got before the one that failed is given back before the next admission.
    state = *run.state;
    release(model, state, admission.allocation);
  }
  admission.allocation = {};
  return admission;
}

Reason verdict(const NodeModel& model, const NodeState& state, const PodDemand& pod,
               Scratch& scratch) {
  if (!pod.asks) return Reason::kAdmitted;
  Run run(model, state, pod, scratch.work(), nullptr);
  uint32_t container = kWholePod;
  return admit_pod(run, container) ? Reason::kAdmitted : run.reason;
}

}  // namespace plimsoll::topology::kubelet
