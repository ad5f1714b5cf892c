#pragma once
// The claim that stands for extended resources of a pod behind which a DeviceClass stands
// (KEP-5004). Kubernetes:
// pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go. Pure.

#include <plimsoll/views.hpp>

#include <map>
#include <string>
#include <vector>

#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

// v1.ContainerExtendedResourceRequest: where a container's amount comes from.
struct ExtendedMapping {
  std::string container, resource, request;
};

// What the claim is called until the API server has named it.
inline constexpr const char* kUnnamed = "<extended-resources>";

struct ExtendedAsk {
  std::vector<Request> requests;  // by name
  std::vector<ExtendedMapping> mappings;
};

// What the pod's containers ask for of these resources, each with the name of its class. Containers
// that run one after the other reuse devices: init containers those of later long-lived ones, and
// one another's.
[[nodiscard]] ExtendedAsk extended_ask(sdk::Pod pod,
                                       const std::map<std::string, std::string>& classes);

}  // namespace plimsoll::dra
