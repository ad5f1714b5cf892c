#pragma once
// What kube-apiserver requires of amounts of resources: of objects, of containers, of limit ranges
// and of quotas. Pure; any thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lab/sandbox/store/field_rules.hpp"

namespace plimsoll::sandbox {

// What is wrong: the path, and 400 for a type or 422.
struct Wrong {
  int code;
  std::string path;
  std::string why;
};
using Found = std::optional<Wrong>;

[[nodiscard]] Wrong type_of(const std::string& path, const char* expected);
[[nodiscard]] Wrong value_of(const std::string& path, const nlohmann::json& value,
                             const std::string& why);

// Whether it is a quantity above zero.
[[nodiscard]] bool is_positive(const nlohmann::json& value);

[[nodiscard]] Found check_amount(const std::string& path, const nlohmann::json& value,
                                 bool negative = false);

// Whose amounts: it says which names there may be.
enum class AmountsOf { kAnything, kPod, kContainer, kQuota };
[[nodiscard]] Found check_amounts(const std::string& path, const nlohmann::json& list,
                                  AmountsOf owner = AmountsOf::kAnything);

// An item of a LimitRange.
[[nodiscard]] Found check_limits(const std::string& path, const nlohmann::json& item);

// Requests and limits of a container, or of a pod.
[[nodiscard]] Found check_resources(const std::string& path, const nlohmann::json& resources,
                                    AmountsOf owner, Missing missing);

// The spec of a ResourceQuota: whether its scopes are for what it counts.
[[nodiscard]] Found check_scopes(const std::string& path, const nlohmann::json& spec);

}  // namespace plimsoll::sandbox
