#pragma once
// A pod's claims, made ready for all nodes: what is independent of them is looked up and judged
// once (structured/internal/incubating, validateDeviceRequest).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/dynamicresources/allocator/inventory.hpp"
#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

// Why nothing can be allocated, in classes.
enum class Fault : uint8_t {
  kNone,
  kNodeSelector,
  kSelectorEmpty,
  kNoClassName,
  kClassNotFound,
  kUnsupportedMode,
  kDerivedAttributes,
  kTooManyDevices,
  kEmptyConstraint,
  kAllPoolIncomplete,
  kAllPoolInvalid,
  kAllConstraint,
  kCapacityNotRepresentable,
  kCapacityNegative,
  kCelCompile,
  kCelRuntime,
  kInvalidPoolOnNode,
};

struct Failure {
  Fault fault = Fault::kNone;
  std::string error;
};

// AllocationResultsMaxSize: devices of one claim.
inline constexpr int64_t kMostResults = 32;

struct Plan {
  struct Test {  // one selector
    std::shared_ptr<const Question> expression;
    bool of_class = false;
    uint32_t index = 0;
  };
  struct Alternative {  // a request, or a subrequest of it
    const DeviceRequest* asked = nullptr;
    uint32_t claim = 0;
    uint32_t request = 0;
    const DeviceClass* device_class = nullptr;
    std::string name;   // "request" or "request/subrequest"
    std::string where;  // "claim NAMESPACE/NAME, request NAME"
    bool all = false;   // every device; else `count` of them
    int64_t count = 0;
    std::vector<Test> tests;            // in order; each must be true
    std::vector<uint32_t> constraints;  // those that concern it
    Failure failure;
  };
  struct RequestOf {
    uint32_t claim = 0;
    uint32_t first = 0, end = 0;  // alternatives
    bool first_available = false;
    bool begins_claim = false;
  };
  struct ConstraintOf {
    std::shared_ptr<AttributeQuestion> attribute;
    bool distinct = false;
  };
  struct ClaimOf {
    const Claim* claim = nullptr;
    uint32_t first_request = 0, end_request = 0;
    uint32_t first_constraint = 0, end_constraint = 0;
    bool any_admin = false;
    Failure failure;  // of its constraints
  };

  std::vector<ClaimOf> claims;
  std::vector<RequestOf> requests;  // of all claims, in order
  std::vector<Alternative> alternatives;
  std::vector<ConstraintOf> constraints;
  bool any_all = false;
};

// Nullptr: there is no such class.
using ClassLister = std::function<const DeviceClass*(const std::string& name)>;

// `claims` and the classes must outlive the plan.
[[nodiscard]] Plan make_plan(Inventory& inventory, const ClassLister& classes,
                             const std::vector<const Claim*>& claims);

// klog.KObj
[[nodiscard]] std::string name_of(const Claim& claim);

}  // namespace plimsoll::dra
