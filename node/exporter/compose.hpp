#pragma once
// Makes the published object of what a kubelet and the API server say. Pure, but for what
// KnownDevices remembers.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "node/exporter/known_devices.hpp"
#include "node/exporter/node_watch.hpp"
#include "node/kubelet/snapshot.hpp"
#include "node/machine/machine.hpp"
#include "node/report/node_report.hpp"

namespace plimsoll::node {

// Zones, node facts and the fingerprint of the pods that are counted.
[[nodiscard]] NodeReport compose(const Hardware& hardware, const KubeletSettings& settings,
                                 const KubeletView& kubelet, const ClusterView& cluster,
                                 KnownDevices& devices);

// Writes the report into a NodeResourceTopology, or makes one of null. Content of others stays
// (write_report). The Node becomes its owner, so it goes with the node.
void write_object(nlohmann::json& object, const std::string& node, const std::string& node_uid,
                  const NodeReport& report);

// The pods that the kubelet lists and the API server does not know (yet).
[[nodiscard]] PodNames strangers_of(const KubeletView& kubelet, const ClusterView& cluster);

// A kubelet lists a pod before it has decided on it; then its files have nothing of the pod, or a
// part. Takes the pods that are starting out of the view: the report is that of the moment before,
// and does not count them. `known_strangers` are counted (static pods). Returns false if it cannot
// be told which pods are starting: look again.
[[nodiscard]] bool take_out_starting(KubeletView& kubelet, const ClusterView& cluster,
                                     const PodNames& known_strangers);

// Why the kubelet may not know everything yet after it has started, for people: pods that run and
// are not listed, or devices that it wrote down and that are not registered. Empty: it knows
// everything that can be checked.
[[nodiscard]] std::string not_back_yet(const KubeletView& kubelet, const ClusterView& cluster);

}  // namespace plimsoll::node
