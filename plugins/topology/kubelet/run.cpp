#include "plugins/topology/kubelet/run.hpp"

#include <algorithm>

namespace plimsoll::topology::kubelet {

void Reusable::make_room(const NodeModel& model) {
  if (has_rooms_) return;
  has_rooms_ = true;
  devices.assign(model.devices.size() * model.zones(), 0);
  device_count.assign(model.devices.size(), 0);
  device_ids.assign(model.cpu_ids_at - model.device_ids_at, 0);
}

int64_t Reusable::memory_in(ZoneMask zones, uint32_t resource) const {
  for (const Memory& each : memory) {
    if (each.zones == zones && each.resource == resource) return each.bytes;
  }
  return 0;
}

Run::Run(const NodeModel& node, const NodeState& from, const PodDemand& demand,
         Scratch::Work& memory, Admission* result)
    : model(node), state(&from), pod(demand), work(memory), out(result) {
  pod_level = pod.pod_level && model.managers.pod_level_resource_managers;
  looks_at_pod = pod.guaranteed && (!pod.pod_level || pod_level);
  cpu_acts = model.cpu_static && looks_at_pod;
  memory_acts = model.memory_static && looks_at_pod;
  work.reusable.clear();
}

bool Run::refuse(Reason why, Stage who, Fault what, int64_t wanted, int64_t there) {
  reason = why;
  stage = who;
  fault = what;
  need = wanted;
  have = there;
  return false;
}

namespace {

// As NodeModel's, but from what verdicts read anyway.
uint32_t device_row(const NodeModel& model, uint32_t resource) {
  for (uint32_t row = 0; row < model.device_facts.size(); ++row) {
    if (model.device_facts[row].totals.resource == resource) return row;
  }
  return kNoResourceRow;
}
uint32_t memory_row(const NodeModel& model, uint32_t resource) {
  for (uint32_t row = 0; row < model.memory_by_type.size(); ++row) {
    if (model.memory_by_type[row].resource == resource) return row;
  }
  return kNoResourceRow;
}

void add_devices(const NodeModel& model, const Needs& needs, std::vector<RowNeed>& rows) {
  for (const Need& need : needs) {
    const uint32_t row = device_row(model, need.resource);
    if (row != kNoResourceRow) rows.push_back({row, need.resource, need.amount});
  }
}

void add_memory(const NodeModel& model, const Needs& needs, std::vector<RowNeed>& rows) {
  for (const Need& need : needs) {
    rows.push_back({memory_row(model, need.resource), need.resource, need.amount});
  }
}

void clear(Request& request) {
  request.cpus = 0;
  request.memory.clear();
  request.devices.clear();
  request.memory_acts = false;
  request.cpu_impossible = false;
  request.memory_impossible = false;
  request.memory_unreadable = false;
}

}  // namespace

void Run::request_of(const ContainerDemand& container, Request& request) const {
  clear(request);
  add_devices(model, container.devices, request.devices);
  if (!pod_level || container.equal_requests_and_limits()) {
    if (cpu_acts) request.cpus = container.whole_cpus();
    request.memory_unreadable = memory_acts && container.memory_unreadable;
    if (memory_acts && !request.memory_unreadable) {
      add_memory(model, container.memory, request.memory);
    }
  }
  // With pod-level resources a container may need no memory. Up to 1.36 the kubelet refuses it for
  // want of an affinity.
  const bool passed_over = pod_level && request.memory.empty() && !request.memory_unreadable &&
                           model.managers.since_1_37();
  request.memory_acts = memory_acts && !passed_over;
}

void Run::request_of_pod(Request& request) const {
  clear(request);
  const PodTotals& totals = pod_level ? pod.pod_totals : pod.totals;
  add_devices(model, totals.devices, request.devices);
  if (cpu_acts) request.cpus = totals.cpus;
  const bool unreadable = std::any_of(
      pod.containers.begin(), pod.containers.end(), [&](const ContainerDemand& container) {
        return container.memory_unreadable && (!pod_level || container.equal_requests_and_limits());
      });
  request.memory_unreadable = memory_acts && (pod_level ? pod.pod_memory_unreadable : unreadable);
  if (memory_acts && !request.memory_unreadable) {
    add_memory(model, totals.memory, request.memory);
  }
  if (!pod_level) return;
  const RowNeed cpus{0, kCpuResource, request.cpus * 1000};
  request.cpu_impossible = request.cpus > 0 && empties_shared_pool(*this, {&cpus, 1}, true);
  // validatePodScopeResources fails on a container that it cannot read, too.
  request.memory_impossible = memory_acts && !request.memory_unreadable &&
                              (unreadable || empties_shared_pool(*this, request.memory, false));
}

}  // namespace plimsoll::topology::kubelet
