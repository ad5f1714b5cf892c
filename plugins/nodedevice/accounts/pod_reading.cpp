#include "plugins/nodedevice/accounts/pod_reading.hpp"

#include <algorithm>

#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/requests/device_hints.hpp"
#include "plugins/nodedevice/requests/numa_spec.hpp"
#include "plugins/nodedevice/requests/second_names.hpp"

namespace plimsoll::devices {

using sdk::Pod;

namespace {

bool concerns_devices(const DeviceTypes& types, std::string_view resource) {
  return types.find_request(resource) || types.find_same_hardware(resource).any();
}

// It says how much of each device.
bool is_per_device(const DeviceTypes& types, std::string_view resource) {
  const auto found = types.find_request(resource);
  return found && (types.per_device_names(found->first) >> found->second & 1U) != 0;
}

ContainerKind kind_of(const plimsoll_container& container) {
  switch (container.kind) {
    case PLIMSOLL_CONTAINER_INIT:
      return ContainerKind::kInit;
    case PLIMSOLL_CONTAINER_SIDECAR:
      return ContainerKind::kSidecar;
    default:
      return ContainerKind::kApp;
  }
}

// By container, init containers first: those that ask for what `wanted` says, and for what of it.
template <typename Wanted>
std::vector<ContainerRequests> by_container(Pod pod, const Wanted& wanted) {
  std::vector<ContainerRequests> asking;
  for (const auto& containers : {pod.init_containers(), pod.containers()}) {
    for (const plimsoll_container& container : containers) {
      ContainerRequests own{sdk::view(container.name), kind_of(container), {}};
      for (const plimsoll_resource& resource : sdk::Resources(container.requests))
        if (wanted(sdk::view(resource.name)))
          own.requests.push_back({sdk::view(resource.name), resource.value});
      if (!own.requests.empty()) asking.push_back(std::move(own));
    }
  }
  return asking;
}

}  // namespace

std::vector<ResourceQuantity> requests_of(const DeviceTypes& types, Pod pod) {
  std::vector<ResourceQuantity> requests;
  bool other_names = false;
  for (const plimsoll_resource& resource : pod.requests()) {
    const std::string_view name = sdk::view(resource.name);
    if (!concerns_devices(types, name)) continue;
    requests.push_back({name, resource.value});
    other_names = other_names || !types.find_request(name);
  }
  if (other_names) {
    const auto concerned = [&](std::string_view name) { return concerns_devices(types, name); };
    leave_out_second_names(types, by_container(pod, concerned), requests);
  }
  if (pod->resource_claims.count != 0)
    requests.push_back({kClaimsName, static_cast<int64_t>(pod->resource_claims.count)});
  return requests;
}

std::vector<ContainerRequests> containers_of(const DeviceTypes& types, Pod pod) {
  const sdk::Resources all = pod.requests();
  const bool told_apart =
      std::any_of(all.begin(), all.end(), [&](const plimsoll_resource& resource) {
        return is_per_device(types, sdk::view(resource.name));
      });
  if (!told_apart) return {};
  std::vector<ContainerRequests> asking = by_container(
      pod, [&](std::string_view name) { return types.find_request(name).has_value(); });
  if (asking.size() < 2) asking.clear();
  return asking;
}

bool asks_for_devices(const DeviceTypes& types, Pod pod) {
  if (pod->resource_claims.count != 0) return true;
  for (const plimsoll_resource& resource : pod.requests())
    if (concerns_devices(types, sdk::view(resource.name))) return true;
  return false;
}

std::optional<DeviceHints> hints_of(const DeviceTypes& types, Pod pod) {
  auto hints = parse_device_hints(types, pod.annotation(kHintAnnotation).value_or(""),
                                  pod.annotation(kJointAnnotation).value_or(""), "");
  if (!hints) return std::nullopt;
  return *std::move(hints);
}

std::array<std::string_view, 5> wishes_of(Pod pod) {
  return {pod.annotation(kHintAnnotation).value_or(""),
          pod.annotation(kJointAnnotation).value_or(""),
          pod.annotation(kPartitionAnnotation).value_or(""),
          pod.annotation(kNumaAnnotation).value_or(""), pod.label(kIsolationLabel).value_or("")};
}

std::string asked_by(const DeviceTypes& types, Pod pod) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    text += std::to_string(part.size()) + ":" + std::string(part);
  };
  for (const ResourceQuantity& request : requests_of(types, pod)) {
    add(request.name);
    add(std::to_string(request.value));
  }
  for (const ContainerRequests& container : containers_of(types, pod)) {
    add(container.name);
    add(std::to_string(static_cast<int>(container.kind)));
    for (const ResourceQuantity& request : container.requests) {
      add(request.name);
      add(std::to_string(request.value));
    }
  }
  for (std::string_view wish : wishes_of(pod)) add(wish);
  return text;
}

bool asks_otherwise(const DeviceTypes& types, const plimsoll_event& event) {
  return event.old_pod == nullptr ||
         asked_by(types, Pod(event.old_pod)) != asked_by(types, Pod(event.new_pod));
}

bool holds_otherwise(const DeviceTypes& types, const plimsoll_event& event) {
  if (event.old_pod == nullptr || !asks_for_devices(types, Pod(event.old_pod))) return false;
  const Pod before(event.old_pod);
  const Pod now(event.new_pod);
  return before.annotation(kAllocatedAnnotation) != now.annotation(kAllocatedAnnotation) ||
         asked_by(types, before) != asked_by(types, now);
}

}  // namespace plimsoll::devices
