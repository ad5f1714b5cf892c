#pragma once
// What nodes and their zones have, and how much of it is used at the end of a
// simulation, or in a running scheduler's view.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/cycle/inspect/snapshot.hpp"
#include "node/report/node_report.hpp"

namespace plimsoll::cli {

struct AmountUse {
  int64_t used = 0;
  int64_t allocatable = 0;
};

// By resource, in base units; CPUs in thousandths.
using AmountUses = std::map<std::string, AmountUse>;

struct NodeUse {
  std::string node;
  AmountUses all;                   // as the scheduler counts: what pods request
  std::map<int, AmountUses> zones;  // as whoever said it counts
};

// By name. `zones`: what the kubelets' machines have and had left, by node.
[[nodiscard]] std::vector<NodeUse> node_use(
    const StateSnapshot& scheduler,
    const std::map<std::string, std::vector<node::ZoneReport>>& zones);

// A table of at most `most` nodes, each with its zones below; a note says how many more there are,
// and by which flag of the command all are shown.
[[nodiscard]] std::string node_use_text(const std::vector<NodeUse>& nodes, size_t most,
                                        const char* flag);
[[nodiscard]] nlohmann::json node_use_json(const std::vector<NodeUse>& nodes);
// What node_use_json made. Throws nlohmann::json::exception on anything else.
[[nodiscard]] std::vector<NodeUse> read_node_use(const nlohmann::json& nodes);

}  // namespace plimsoll::cli
