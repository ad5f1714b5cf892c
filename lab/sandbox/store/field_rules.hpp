#pragma once
// What kube-apiserver requires of the fields of a new object, as far as a decision reads them:
// their types (400) and their values (422, pkg/apis/*/validation). Pure; any thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/kinds.hpp"

namespace plimsoll::sandbox {

// Whether fields may be missing that kube-apiserver requires. A file need not say what no decision
// reads.
enum class Missing { kRefused, kTaken };

// Fails for the first field that is wrong.
[[nodiscard]] ApiResult<void> check_fields(const KindInfo& kind, const nlohmann::json& object,
                                           Missing missing);

// The priority of a class that every cluster has; nothing for another name.
[[nodiscard]] std::optional<int> system_priority(std::string_view name);

// IsDNS1123Subdomain, and what it asks for.
inline constexpr const char* kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character";
[[nodiscard]] bool is_subdomain_name(std::string_view name);

}  // namespace plimsoll::sandbox
