#pragma once
// Makes API objects agree with the machines that nodes name: Node.status and the
// NodeResourceTopology, as kubelet and exporter would write them.

#include "sandbox/apiserver/object_store.hpp"
#include "sandbox/kubelet/node_report.hpp"
#include "sandbox/machine/machine_description.hpp"

namespace plimsoll::sandbox {

// Every Node of the store that names a machine gets the machine's capacity and allocatable, and a
// NodeResourceTopology (made if there is none) in which everything is free; what the objects said
// of zones, settings, huge pages and devices is gone. Call it before anybody looks at the store.
// Fails on descriptions that are wrong: all of them, each with its node; then nothing is changed.
[[nodiscard]] Result<void> install_machine_nodes(ObjectStore& store, MachineLibrary& machines,
                                                 ReportKind kind = ReportKind::kFacts);

// The Node.status part for one node; true: it was different.
bool write_node_status(ObjectStore& store, const std::string& name, const Machine& machine);

// Writes a report; `may_create`: makes the object if it is not there. 0: it was not written; else
// the resource version.
std::uint64_t publish_report(ObjectStore& store, const std::string& node, const NodeReport& report,
                             bool may_create);

}  // namespace plimsoll::sandbox
