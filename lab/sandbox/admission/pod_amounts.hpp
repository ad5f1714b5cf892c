#pragma once
// A pod's requests and limits, added up like in the kubelet.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/api/requests.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::sandbox {

struct ContainerAmounts {
  // A sidecar is an init container with restartPolicy Always.
  enum class Role { kInit, kSidecar, kApp };
  std::string name;
  Role role = Role::kApp;
  node::Amounts requests;
  node::Amounts limits;
};

struct PodAmounts {
  std::vector<ContainerAmounts> containers;  // init containers first, in order
  node::Amounts requests;                    // PodRequests: with init containers and overhead
  bool guaranteed = false;
};

// The resources of a pod that may have no name yet (decode_pod_resources).
[[nodiscard]] Result<PodResources> resources_of(const nlohmann::json& pod, SymbolTable& symbols);

// Fails with kInvalid if a quantity is malformed.
[[nodiscard]] Result<PodAmounts> pod_amounts(const nlohmann::json& pod);

// What a running pod takes beside others in the kubelet's fit check (PodRequests with the status):
// one that is resized in place, by the largest of its sums. Fails as pod_amounts does.
[[nodiscard]] Result<node::Amounts> running_requests(const nlohmann::json& pod);

// max( max over init containers of (it + sidecars before it), apps + all sidecars ), with one
// amount per container.
[[nodiscard]] node::Amounts peak_of(const std::vector<ContainerAmounts>& containers,
                                    const std::vector<node::Amounts>& per_container);

}  // namespace plimsoll::sandbox
