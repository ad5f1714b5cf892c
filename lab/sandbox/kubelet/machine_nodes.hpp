#pragma once
// Makes API objects agree with the machines that nodes name: Node.status and the
// NodeResourceTopology, as a kubelet and an exporter would write them.

#include "lab/sandbox/machine/machine_description.hpp"
#include "lab/sandbox/store/object_store.hpp"
#include "node/report/node_report.hpp"

namespace plimsoll::sandbox {

// Node.status in the file had more of a resource than the machine describes.
struct HiddenAmount {
  std::string node;
  std::string resource;
  std::int64_t said = 0;
  std::int64_t described = 0;
};

// Gives every Node of the store that names a machine the machine's capacity and allocatable, and a
// NodeResourceTopology (created if missing) in which everything is free. Earlier values of zones,
// settings, huge pages and devices in these objects are removed. Call it before anything else reads
// the store. Returns what is hidden by that. Fails if descriptions are wrong and names all of them,
// each with its node; nothing is changed then.
[[nodiscard]] Result<std::vector<HiddenAmount>> install_machine_nodes(
    ObjectStore& store, MachineLibrary& machines, node::ReportKind kind = node::ReportKind::kFacts);

// Writes the Node.status part for one node; returns whether it was different.
bool write_node_status(ObjectStore& store, const std::string& name, const node::Machine& machine);

// Writes a report and returns the resource version; 0 if it was not written. `may_create`: creates
// the object if it does not exist.
std::uint64_t publish_report(ObjectStore& store, const std::string& node,
                             const node::NodeReport& report, bool may_create);

}  // namespace plimsoll::sandbox
