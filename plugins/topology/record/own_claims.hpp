#pragma once
// What a pod asks for by hand though claims of its have it already (KEP-5517, the switch is off):
// the kubelet's managers are thought to be asked for the rest only. Internal to the ledger.

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

struct AskedAgain {
  std::vector<uint32_t> resources;                 // none: it asks for nothing again
  std::shared_ptr<const kubelet::PodDemand> rest;  // null: the same
};
// Of the node's claims. `asks`: all that the pod asks for.
[[nodiscard]] AskedAgain asked_again(const NodeRecord& node, const PodKey& pod,
                                     const kubelet::PodDemand& asks);

// Sets the demand of a pod of the node, after the node's claims or what the pod asks for changed.
void ask_for_the_rest(const NodeRecord& node, PodRecord& pod);

}  // namespace plimsoll::topology
