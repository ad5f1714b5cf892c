#pragma once
// YAML files as JSON values, for objects that tests create.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// The documents of a file; empty ones are left out. Plain scalars become null, booleans and numbers
// as in YAML 1.2's core schema; quoted ones are always strings.
[[nodiscard]] Result<std::vector<nlohmann::json>> read_yaml(const std::filesystem::path& file);

}  // namespace plimsoll::test
