#pragma once
// The accounts as JSON, for people and for tests that recount them: `plimsoll debug dump` shows it.
// docs/operations.md describes the fields. Pure; reads the accounts, so on the loop only.

#include <cstdint>
#include <span>
#include <string>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices {

// {"nodes":{NAME:{"devices":{TYPE:{...}},"pods":{UID:{...}}}}}; equal accounts give equal texts.
[[nodiscard]] std::string accounts_json(const Accounts& accounts);
[[nodiscard]] std::string accounts_json(const Accounts& accounts, std::span<const uint32_t> slots);

// Who keeps devices of these types (bits) from being given without anybody knowing which, and what
// of the node's Device object is ignored; a line each, empty if there is nothing to say:
//   pod team/a holds 2 gpu without saying which: as many are set aside
std::string explain_doubts(const Accounts& accounts, const NodeState& node, uint32_t types);

}  // namespace plimsoll::devices
