#pragma once
// NodeResourceTopologyMatchArgs of scheduler-plugins (kubescheduler.config.k8s.io/v1): all eight
// fields, and two of this project: admissionModel and withoutReport. What configures the
// reference's cache is accepted, and the ledger stands in for the cache whatever it says;
// docs/topology.md says how.

#include <cstdint>
#include <functional>
#include <string_view>

#include "plugins/topology/score/score.hpp"
#include "plugins/topology/verdict/judgement.hpp"

namespace plimsoll::topology {

// Who decides whether a node can hold a pod: the kubelet's own algorithm under all four policies,
// or the rule of KEP-119, as scheduler-plugins has it.
enum class AdmissionModel : uint8_t { kKubelet, kReference };

struct MatchArgs {
  ScoringStrategy scoring;
  // Not the reference's: admissionModel and withoutReport.
  AdmissionModel admission = AdmissionModel::kKubelet;
  WithoutReport without_report = WithoutReport::kWaitIfGone;
};

// Throws std::runtime_error with every problem and its path. Empty text or null: the defaults.
// Warns of fields that have no effect here, and of values that the reference would silently
// misread.
[[nodiscard]] MatchArgs parse_match_args(std::string_view json,
                                         const std::function<void(std::string_view)>& warn = {});

}  // namespace plimsoll::topology
