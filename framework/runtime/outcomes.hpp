#pragma once
// What the extension points of a profile answer, and what its binding steps work on
// (framework.hpp).

#include <plimsoll/plugin_abi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/runtime/plugin/cycle_context.hpp"
#include "framework/runtime/plugin/status.hpp"
#include "framework/runtime/pre_bind_gate.hpp"

namespace plimsoll {

// Verdicts on rows of nodes, written by run_filters; all three are as long as the rows.
struct FilterColumns {
  std::span<uint8_t> codes;          // in: rows that are not 0 are left alone
  std::span<uint32_t> reasons;       // of the rejection
  std::span<PluginIndex> rejectors;  // the plugin that rejected
};

struct PreFilterOutcome {
  Status status;
  bool narrowed = false;  // only `node_names` are to be looked at
  std::vector<std::string> node_names;
  // The plugins that gave names: rejectors, if no node is left. Empty if PreFilter stopped at a
  // rejection.
  std::vector<PluginIndex> narrowed_by;
  // The verdict on all others: UnschedulableAndUnresolvable, "node(s) didn't satisfy plugin(s) [A
  // B]".
  Status absent_nodes;
};

struct PostFilterOutcome {
  Status status;
  bool override_nomination = false;
  std::string nominated_node;  // empty: clear it
};

// Scores of one attempt: totals[row], and per Score plugin its weighted part for explain.
struct ScoreTable {
  struct Part {
    PluginIndex plugin;
    std::vector<int64_t> weighted;
  };
  std::vector<int64_t> totals;
  std::vector<Part> parts;  // filled in only if asked for
};

struct PermitOutcome {
  struct Wait {
    std::string_view plugin;
    int64_t timeout_ms;  // 0 .. 15 min
  };
  Status status;            // Success, Wait, a rejection or Error
  std::vector<Wait> waits;  // with Wait
};

// What the binding steps work on; kept alive until they are done.
struct BindTarget {
  std::shared_ptr<CycleContext> cycle;
  PodRef pod;
  std::string node_name;
  std::shared_ptr<PreBindGate> gate = {};  // null: nobody can call it off
};

// Which events may help a pod that this plugin rejected.
struct EventInterests {
  PluginIndex plugin;
  bool all;  // registered nothing: every event
  std::span<const plimsoll_event_interest> interests;
};

}  // namespace plimsoll
