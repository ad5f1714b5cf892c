#pragma once
// Why a pod found no node, in kube-scheduler's words (pkg/scheduler/framework/types.go, FitError).

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "framework/runtime/plugin/status.hpp"

namespace plimsoll {

// The outcome of a failed attempt, before it becomes text.
struct Diagnosis {
  size_t node_count = 0;                       // all nodes of the cluster
  std::string pre_filter_message;              // PreFilter rejected the pod as a whole
  std::map<uint32_t, size_t> nodes_by_reason;  // reason id -> nodes refused with exactly this list
  std::vector<std::string>
      texts;  // further reasons, each of one node; texts that name a pod go here
  std::string post_filter_message;
  std::set<PluginIndex>
      rejectors;  // plugins of the profile that answered Unschedulable or ...AndUnresolvable
  std::set<PluginIndex> pending;  // that answered Pending

  // Counts the plugin that rejected the pod, if one did.
  void add_rejector(const Status& status);
};

// Of a pod that its only node rejected in Reserve or Permit; empty of an error.
[[nodiscard]] Diagnosis one_node_refused(const Status& status);

// "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s)." Each reason of
// a node counts; the "N reason" texts are sorted as texts.
[[nodiscard]] std::string fit_error_message(const Diagnosis& diagnosis, const ReasonTable& reasons);

inline constexpr std::string_view kNoNodesMessage = "no nodes available to schedule pods";

}  // namespace plimsoll
