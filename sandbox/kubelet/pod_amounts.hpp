#pragma once
// What a pod asks for, as the kubelet adds it up.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sandbox/machine/amounts.hpp"

namespace plimsoll::sandbox {

struct ContainerAmounts {
  enum class Role { kInit, kSidecar, kApp };  // a sidecar is an init container that restarts always
  std::string name;
  Role role = Role::kApp;
  Amounts requests;
  Amounts limits;
};

struct PodAmounts {
  std::vector<ContainerAmounts> containers;  // init containers first, in order
  Amounts requests;                          // PodRequests: with init containers and overhead
  bool guaranteed = false;
};

// Fails with kInvalid when a quantity is malformed.
[[nodiscard]] Result<PodAmounts> pod_amounts(const nlohmann::json& pod);

// max( max over init containers of (it + sidecars before it), apps + all sidecars ), of one amount
// per container.
[[nodiscard]] Amounts peak_of(const std::vector<ContainerAmounts>& containers,
                              const std::vector<Amounts>& per_container);

}  // namespace plimsoll::sandbox
