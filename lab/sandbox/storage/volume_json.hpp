#pragma once
// Storage objects in JSON, as the simulated controllers read them. Pure; any thread.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/api/quantity.hpp"

namespace plimsoll::sandbox {

inline constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";

// The value at this path, or null.
[[nodiscard]] const nlohmann::json& value_at(const nlohmann::json& object,
                                             std::initializer_list<const char*> path);
// The text at this path; empty if there is none.
[[nodiscard]] std::string text_in(const nlohmann::json& object,
                                  std::initializer_list<const char*> path);

[[nodiscard]] Quantity size_of(const nlohmann::json& quantity);  // 0 if it is not one
[[nodiscard]] bool is_fully_bound(const nlohmann::json& claim);
[[nodiscard]] nlohmann::json reference_to(const nlohmann::json& claim);
// Whether a claimRef is this claim: its UID is the claim's, or empty.
[[nodiscard]] bool refers_to(const nlohmann::json& reference, const nlohmann::json& claim);
// Whether the volume is free and large enough for the claim, and of its class and modes.
[[nodiscard]] bool fits(const nlohmann::json& volume, const nlohmann::json& claim);

}  // namespace plimsoll::sandbox
