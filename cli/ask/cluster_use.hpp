#pragma once
// What `plimsoll top` and `plimsoll queue` show of a running scheduler: its own view of nodes,
// zones and devices, and of the pods that wait.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "framework/cycle/inspect/snapshot.hpp"

namespace plimsoll::cli {

// {"standby": ..., "loopMilliseconds": ..., "nodes": [...]}. Of each node what node_use_json has,
// by type and minor its "devices", and what docs/ui.md has of its labels and of who holds what.
// Zones and devices are as the plugins count them (StateSnapshot::plugins): with everything that is
// promised. Nothing of them without the plugins. Of a resource that stands for devices, what no pod
// can have any more counts as used: a card of which a share is given is no whole card. `pods`: with
// the pods on each.
[[nodiscard]] std::string use_json(const StateSnapshot& snapshot, bool pods = false);
// The members of "nodes", by name.
[[nodiscard]] std::map<std::string, std::string> use_of_nodes(const StateSnapshot& snapshot);

// Tables for people, of what use_json and queue_json return. `most`: nodes, or pods, of which those
// that have waited longest come first.
[[nodiscard]] std::string use_text(std::string_view json, size_t most);
[[nodiscard]] std::string queue_text(std::string_view json, size_t most);

}  // namespace plimsoll::cli
