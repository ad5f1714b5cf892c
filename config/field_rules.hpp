#pragma once
// Kubernetes' rules for names, with its messages. Pure functions, any thread.

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::config {

// IsQualifiedName: "cpu", "example.com/gpu". One message per broken rule.
[[nodiscard]] std::vector<std::string> qualified_name_errors(std::string_view name);

// IsValidLabelValue.
[[nodiscard]] std::vector<std::string> label_value_errors(std::string_view value);

// IsExtendedResourceName: qualified, not in kubernetes.io, not a quota's "requests." name.
[[nodiscard]] bool is_extended_resource_name(std::string_view name);

}  // namespace plimsoll::config
