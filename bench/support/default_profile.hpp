#pragma once
// kube-scheduler's default profile, made in code, with those of its plugins that exist here.

#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"

namespace plimsoll::bench {

// The plugins with Kubernetes' default weights, and UnsupportedFeatures; `further` come last, with
// weight 1. Fails if `modules` lacks one of them.
[[nodiscard]] Result<ProfileSpec> default_profile(const Modules& modules,
                                                  const std::string& scheduler_name,
                                                  const std::vector<std::string>& further = {});

}  // namespace plimsoll::bench
