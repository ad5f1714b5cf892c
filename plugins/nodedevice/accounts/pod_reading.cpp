#include "plugins/nodedevice/accounts/pod_reading.hpp"

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

ContainerAsk::Kind lifetime_of(const plimsoll_container& container) {
  if (container.kind == PLIMSOLL_CONTAINER_INIT) return ContainerAsk::Kind::kInit;
  if (container.kind == PLIMSOLL_CONTAINER_SIDECAR) return ContainerAsk::Kind::kSidecar;
  return ContainerAsk::Kind::kApp;
}

// By container, init containers first.
std::vector<ContainerAsk> asks_of_containers(const DeviceTypes& types, Pod pod) {
  std::vector<ContainerAsk> asks;
  for (const auto& containers : {pod.init_containers(), pod.containers()}) {
    for (const plimsoll_container& container : containers) {
      ContainerAsk ask{lifetime_of(container), {}};
      for (const plimsoll_resource& resource : sdk::Resources(container.requests))
        if (concerns_devices(types, sdk::view(resource.name)))
          ask.requests.push_back({sdk::view(resource.name), resource.value});
      if (!ask.requests.empty()) asks.push_back(std::move(ask));
    }
  }
  return asks;
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
  if (other_names) leave_out_second_names(types, asks_of_containers(types, pod), requests);
  if (pod->resource_claims.count != 0)
    requests.push_back({kClaimsName, static_cast<int64_t>(pod->resource_claims.count)});
  return requests;
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
