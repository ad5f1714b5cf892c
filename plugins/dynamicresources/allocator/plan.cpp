#include "plugins/dynamicresources/allocator/plan.hpp"

#include <algorithm>

namespace plimsoll::dra {
namespace {

// The selectors of a class or a request; false: one is of a type that we do not know.
bool add_tests(Inventory& inventory, const std::vector<Selector>& selectors, bool of_class,
               Plan::Alternative& alternative, uint32_t& unknown) {
  for (uint32_t index = 0; index < selectors.size(); ++index) {
    if (!selectors[index]) {
      unknown = index;
      return false;
    }
    alternative.tests.push_back({inventory.expression(*selectors[index]), of_class, index});
  }
  return true;
}

Failure prepare(Inventory& inventory, const ClassLister& classes, Plan::Alternative& alternative) {
  const DeviceRequest& asked = *alternative.asked;
  const std::string& where = alternative.where;
  if (asked.derives_attributes) {
    return {Fault::kDerivedAttributes,
            where + ": cannot handle request with derived attributes, the feature is disabled"};
  }
  Plan::Alternative own;
  uint32_t unknown = 0;
  const std::string empty = ": CEL expression empty (unsupported selector type?)";
  if (!add_tests(inventory, asked.selectors, false, own, unknown)) {
    return {Fault::kSelectorEmpty, where + ", selector #" + std::to_string(unknown) + empty};
  }
  if (asked.class_name.empty()) {
    return {Fault::kNoClassName, where + ": missing device class name (unsupported request type?)"};
  }
  alternative.device_class = classes(asked.class_name);
  if (alternative.device_class == nullptr) {
    return {Fault::kClassNotFound, where + ": could not retrieve device class " + asked.class_name +
                                       ": deviceclasses.resource.k8s.io \"" + asked.class_name +
                                       "\" not found"};
  }
  if (!add_tests(inventory, alternative.device_class->selectors, true, alternative, unknown)) {
    return {Fault::kSelectorEmpty,
            "class " + asked.class_name + ": selector #" + std::to_string(unknown) + empty};
  }
  alternative.tests.insert(alternative.tests.end(), own.tests.begin(), own.tests.end());
  if (asked.mode == "All") {
    alternative.all = true;
  } else if (asked.mode == "ExactCount") {
    alternative.count = std::max<int64_t>(asked.count, 0);
  } else {
    return {Fault::kUnsupportedMode, where + ": unsupported count mode " + asked.mode};
  }
  return {};
}

void add_request(Inventory& inventory, const ClassLister& classes, const Request& request,
                 Plan& plan) {
  const auto claim = static_cast<uint32_t>(plan.claims.size() - 1);
  Plan::ClaimOf& of = plan.claims.back();
  Plan::RequestOf& made = plan.requests.emplace_back();
  made.claim = claim;
  made.first = static_cast<uint32_t>(plan.alternatives.size());
  made.first_available = request.first_available;
  made.begins_claim = plan.requests.size() - 1 == of.first_request;
  for (const DeviceRequest& asked : request.alternatives) {
    Plan::Alternative& alternative = plan.alternatives.emplace_back();
    alternative.asked = &asked;
    alternative.claim = claim;
    alternative.request = static_cast<uint32_t>(plan.requests.size() - 1);
    alternative.name = request.first_available ? request.name + "/" + asked.name : request.name;
    alternative.where = "claim " + name_of(*of.claim) + ", request " + asked.name;
    for (uint32_t index = of.first_constraint; index < of.end_constraint; ++index) {
      const auto& names = of.claim->constraints[index - of.first_constraint].requests;
      const auto named = [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) != names.end();
      };
      if (names.empty() || named(request.name) || named(alternative.name)) {
        alternative.constraints.push_back(index);
      }
    }
    alternative.failure = prepare(inventory, classes, alternative);
    plan.any_all = plan.any_all || alternative.all;
    of.any_admin = of.any_admin || asked.admin_access;
  }
  made.end = static_cast<uint32_t>(plan.alternatives.size());
}

}  // namespace

std::string name_of(const Claim& claim) {
  return claim.space.empty() ? claim.name : claim.space + "/" + claim.name;
}

Plan make_plan(Inventory& inventory, const ClassLister& classes,
               const std::vector<const Claim*>& claims) {
  Plan plan;
  for (const Claim* claim : claims) {
    Plan::ClaimOf& of = plan.claims.emplace_back();
    of.claim = claim;
    of.first_request = static_cast<uint32_t>(plan.requests.size());
    of.first_constraint = static_cast<uint32_t>(plan.constraints.size());
    for (size_t index = 0; index < claim->constraints.size(); ++index) {
      const Constraint& constraint = claim->constraints[index];
      const bool distinct = constraint.match_attribute.empty();
      const std::string& attribute =
          distinct ? constraint.distinct_attribute : constraint.match_attribute;
      Plan::ConstraintOf& made = plan.constraints.emplace_back();
      made.distinct = distinct;
      if (!attribute.empty()) {
        made.attribute = inventory.attribute(attribute);
      } else if (of.failure.fault == Fault::kNone) {
        of.failure = {Fault::kEmptyConstraint,
                      "claim " + name_of(*claim) + ", constraint #" + std::to_string(index) +
                          ": empty constraint (unsupported constraint type?)"};
      }
    }
    of.end_constraint = static_cast<uint32_t>(plan.constraints.size());
    for (const Request& request : claim->requests) add_request(inventory, classes, request, plan);
    of.end_request = static_cast<uint32_t>(plan.requests.size());
  }
  return plan;
}

}  // namespace plimsoll::dra
