#pragma once
// What ResourceClaims ask for and what they are given (resource.k8s.io/v1), as values.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "plugins/dynamicresources/values/node_selector.hpp"
#include "plugins/dynamicresources/values/quantity.hpp"

namespace plimsoll::dra {

// The text of a CEL expression; nothing: a selector of a type that we do not know.
using Selector = std::optional<std::string>;

struct OpaqueConfig {  // v1.OpaqueDeviceConfiguration
  std::string driver;
  std::string parameters;  // JSON text, as written
  bool operator==(const OpaqueConfig&) const = default;
};

struct DeviceClass {
  std::string name;
  std::vector<Selector> selectors;
  std::vector<OpaqueConfig> config;
};

struct Toleration {  // v1.DeviceToleration
  std::string key, op, value, effect;
  std::optional<int64_t> seconds;
  bool operator==(const Toleration&) const = default;
};

struct DeviceRequest {  // v1.ExactDeviceRequest or v1.DeviceSubRequest
  std::string name;
  std::string class_name;
  std::vector<Selector> selectors;
  std::string mode = "ExactCount";  // allocationMode
  int64_t count = 1;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::map<std::string, Quantity> capacity;  // capacity.requests
  bool derives_attributes = false;           // derivedAttributes are there (alpha)
};

struct Request {  // v1.DeviceRequest
  std::string name;
  bool first_available = false;
  // `exactly` under the request's own name, or the subrequests of `firstAvailable`.
  std::vector<DeviceRequest> alternatives;
};

struct Constraint {                   // v1.DeviceConstraint
  std::vector<std::string> requests;  // "request" or "request/subrequest"; none: all
  std::string match_attribute;        // the full name; empty: not of this kind
  std::string distinct_attribute;
};

struct ClaimConfig {                  // v1.DeviceClaimConfiguration
  std::vector<std::string> requests;  // none: all
  OpaqueConfig opaque;
};

struct Claim {
  std::string space;  // namespace
  std::string name;
  std::vector<Request> requests;
  std::vector<Constraint> constraints;
  std::vector<ClaimConfig> config;
};

struct DeviceResult {   // v1.DeviceRequestAllocationResult
  std::string request;  // "request" or "request/subrequest"
  std::string driver, pool, device;
  bool admin_access = false;
  std::vector<Toleration> tolerations;
  std::string share_id;  // empty: the device is not shared
  std::map<std::string, Quantity> consumed_capacity;
  std::vector<std::string> binding_conditions, binding_failure_conditions;
  // Nobody else may have the device beside it.
  [[nodiscard]] bool takes_all() const { return !admin_access && share_id.empty(); }
  [[nodiscard]] auto where() const { return std::tie(driver, pool, device); }
};

struct AllocatedConfig {  // v1.DeviceAllocationConfiguration
  bool from_class = false;
  std::vector<std::string> requests;  // none: all
  OpaqueConfig opaque;
};

struct Allocation {  // v1.AllocationResult
  std::vector<DeviceResult> results;
  std::vector<AllocatedConfig> config;
  std::optional<NodeSelector> node_selector;  // nothing: every node reaches the devices
};

}  // namespace plimsoll::dra
