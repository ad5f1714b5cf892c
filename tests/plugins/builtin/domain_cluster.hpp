#pragma once
// A small cluster with PodTopologySpread and InterPodAffinity, and what they say about a pod.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "lab/lint/trial_cluster.hpp"

namespace plimsoll::builtin_test {

// `args`: JSON of the plugins' arguments, by plugin.
[[nodiscard]] std::unique_ptr<lint::TrialCluster> new_cluster(
    const std::map<std::string, std::string>& args = {});

// ---- objects as JSON. They throw if they cannot be decoded.
[[nodiscard]] PodRef decoded_pod(lint::TrialCluster& cluster, const nlohmann::json& pod);
void put_node(lint::TrialCluster& cluster, const nlohmann::json& node);
void put_namespace(lint::TrialCluster& cluster, const std::string& name,
                   const nlohmann::json& labels);

// All that the two plugins say about the pod: {verdicts: {node: reason}, scores: {node: [..]}}, the
// scores in the order of the plugins that did not skip; or the text of an error.
[[nodiscard]] nlohmann::json answer_of(lint::TrialCluster& cluster, const PodRef& pod);

}  // namespace plimsoll::builtin_test
