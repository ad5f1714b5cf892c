#pragma once
// Reads a machine's hardware with hwloc.
//
// Any thread, but for use_host_root. Errors (kInvalid) say what is wrong with the description and
// how to fix it; the caller adds where it is.

#include <string>

#include "framework/base/result.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::node {

// Makes this_machine() read the machine whose root folder is mounted at `root`. Call it before
// threads are started: it sets an environment variable, hwloc has no function for it.
void use_host_root(const std::string& root);

// Reads this machine, as it is now.
[[nodiscard]] Result<Hardware> this_machine();

// Reads the text of an XML export: `lstopo --of xml` of hwloc 1.x or 2.x, with or without I/O
// devices. Offline CPUs are left out. CPUs that only the exporting process was not allowed to use
// are included, as in a kubelet.
[[nodiscard]] Result<Hardware> hardware_from_xml(const std::string& xml);

// hwloc's synthetic description: "pack:2 [numa(memory=64GiB)] l3:2 core:4 pu:2".
[[nodiscard]] Result<Hardware> hardware_from_synthetic(const std::string& description);

}  // namespace plimsoll::node
