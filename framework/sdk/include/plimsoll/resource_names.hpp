// Plimsoll plugin SDK: what names of resources say.
#pragma once

#include <string_view>

namespace plimsoll::sdk {

// Of a domain that is not Kubernetes' own, and not a quota's name. Kubernetes:
// pkg/apis/core/v1/helper, IsExtendedResourceName, of a name that is valid.
[[nodiscard]] constexpr bool is_extended_resource(std::string_view name) {
  const bool native = name.find('/') == std::string_view::npos ||
                      name.find("kubernetes.io/") != std::string_view::npos;
  return !native && !name.starts_with("requests.");
}

}  // namespace plimsoll::sdk
