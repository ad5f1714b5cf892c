#pragma once
// The ledger as `plimsoll debug dump` shows it: what each node's zones have left, and which pods
// have promises there. Loop only.

#include <plimsoll/host.hpp>
#include <span>
#include <string>

#include "plugins/topology/ask/questions.hpp"

namespace plimsoll::topology {

// {"nodes": {NAME: ...}}, of nodes that have reported or hold pods that pin something.
// docs/operations.md, "The promises of zones", has the fields.
[[nodiscard]] std::string ledger_json(const Questions& ledger, const sdk::Host& host);
[[nodiscard]] std::string ledger_json(const Questions& ledger, const sdk::Host& host,
                                      std::span<const uint32_t> slots);

}  // namespace plimsoll::topology
