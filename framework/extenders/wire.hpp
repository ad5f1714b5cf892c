#pragma once
// The bodies of calls to extenders and of their answers (k8s.io/kube-scheduler/extender/v1).
// Answers are other people's bytes: what is of the wrong type is an error. Names of fields are read
// whatever their case, as Go does. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"
#include "framework/base/string_map.hpp"

namespace plimsoll::extender_wire {

// ExtenderArgs. `pod_json`: the whole pod, as the API server has it. Nodes have the fields that
// this scheduler reads.
[[nodiscard]] std::string arguments(std::string_view pod_json, const std::vector<NodeRef>& nodes,
                                    bool names_only);

struct Filtered {  // ExtenderFilterResult
  std::vector<std::string> nodes;
  StringMap<std::string> failed;  // node: why
  StringMap<std::string> unresolvable;
};
// An answer with an `error` is an error with that text.
[[nodiscard]] Result<Filtered> read_filtered(std::string_view body, bool names_only);

// HostPriorityList.
using Scores = std::vector<std::pair<std::string, int64_t>>;
[[nodiscard]] Result<Scores> read_scores(std::string_view body);

// A node whose pods might have to go.
struct Victims {
  std::string node;
  std::vector<std::string> uids;
  std::vector<const plimsoll_pod*> pods;  // for an extender without a node cache; else empty
  int64_t violations = 0;                 // of PodDisruptionBudgets
};
[[nodiscard]] std::string preemption_arguments(std::string_view pod_json,
                                               const std::vector<Victims>& victims,
                                               bool names_only);
[[nodiscard]] Result<std::vector<Victims>> read_victims(std::string_view body);

// ExtenderBindingArgs, and whether an ExtenderBindingResult says that all went well.
[[nodiscard]] std::string binding_arguments(const plimsoll_pod& pod, std::string_view node);
[[nodiscard]] Result<void> read_bound(std::string_view body);

// spec.nodeName of a pod's JSON; empty: none, or it is no pod.
[[nodiscard]] std::string node_of(std::string_view pod_json);

}  // namespace plimsoll::extender_wire
