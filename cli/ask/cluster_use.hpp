#pragma once
// What `plimsoll top` and `plimsoll queue` show of a running scheduler: its own view of nodes,
// zones and devices, and of the pods that wait.

#include <cstddef>
#include <string>
#include <string_view>

#include "framework/cycle/inspect/snapshot.hpp"

namespace plimsoll::cli {

// What is shown of the nodes.
struct UseChoice {
  bool pods = false;     // with the pods on each
  std::string era = {};  // begins the mark; empty: the answer has none
};

// {"standby": ..., "loopMilliseconds": ..., "state": MARK, "nodes": [...]}; with "changes": true
// and perhaps "names" as StateSnapshot::changes_only says. Of each node what node_use_json has,
// by type and minor its "devices", and what docs/ui.md has of its labels and of who holds what.
// Zones and devices are as the plugins count them (StateSnapshot::plugins): with everything that is
// promised. Nothing of them without the plugins. Of a resource that stands for devices, what no pod
// can have any more counts as used: a card of which a share is given is no whole card.
[[nodiscard]] std::string use_json(const StateSnapshot& snapshot, const UseChoice& choice = {});

// Tables for people, of what use_json and queue_json return. `most`: nodes, or pods, of which those
// that have waited longest come first.
[[nodiscard]] std::string use_text(std::string_view json, size_t most);
[[nodiscard]] std::string queue_text(std::string_view json, size_t most);

}  // namespace plimsoll::cli
