#pragma once
// NodeResourceTopologyMatchArgs of scheduler-plugins (kubescheduler.config.k8s.io/v1): all eight
// fields with their defaults, and one of this project: admissionModel. What configures the
// reference's cache is accepted, and the ledger stands in for the cache whatever it says;
// docs/topology.md says how.

#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/score.hpp"

namespace plimsoll::topology {

// Who decides whether a node can hold a pod: the kubelet's own algorithm under all four policies,
// or the rule of KEP-119, as scheduler-plugins has it.
enum class AdmissionModel : uint8_t { kKubelet, kReference };

struct MatchArgs {
  ScoringStrategy scoring;
  AdmissionModel admission = AdmissionModel::kKubelet;  // admissionModel: not the reference's
  int64_t cache_resync_period_seconds = 0;
  bool discard_reserved_nodes = false;
  std::string foreign_pods_detect = "All";
  std::string resync_method = "Autodetect";
  std::string informer_mode = "Dedicated";
  std::string resync_scope = "All";
  bool preemption = false;            // preemptionMode: Enabled
  std::vector<std::string> warnings;  // values that the reference would silently misread
};

// Throws std::runtime_error with every problem and its path. Empty text or null: the defaults.
[[nodiscard]] MatchArgs parse_match_args(std::string_view json);

}  // namespace plimsoll::topology
