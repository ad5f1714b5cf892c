#pragma once
// Reads a machine's hardware with hwloc.
//
// Any thread. Errors (kInvalid) say what is wrong with the description and what to do; `where` in
// them is left to the caller.

#include <string>

#include "framework/base/result.hpp"
#include "sandbox/machine/machine.hpp"

namespace plimsoll::sandbox {

// The text of an XML export: `lstopo --of xml` of hwloc 1.x or 2.x, with or without I/O devices.
// Offline and disallowed CPUs: offline ones are left out, those that only the exporting process
// might not use count, as for a kubelet.
[[nodiscard]] Result<Hardware> hardware_from_xml(const std::string& xml);

// hwloc's synthetic description: "pack:2 [numa(memory=64GiB)] l3:2 core:4 pu:2".
[[nodiscard]] Result<Hardware> hardware_from_synthetic(const std::string& description);

}  // namespace plimsoll::sandbox
