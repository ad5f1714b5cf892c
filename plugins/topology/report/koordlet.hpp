#pragma once
// What koordlet, Koordinator's node agent, says of the kubelet in a NodeResourceTopology object.
//
// koordlet lists the CPUs and the memory of every zone, whether or not the kubelet's managers are
// on, so its zones do not show that. Of the CPU manager an annotation says it. Of the memory
// manager nothing does: the kubelet's default counts, None. koordlet writes no attributes. An
// object that has the Topology Manager's policy among them is another exporter's, and the
// annotation is a leftover. Pure, any thread.

#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::topology {

// {"policy":"static","options":{"full-pcpus-only":"true"},"reservedCPUs":"0-1"}; without "policy"
// where koordlet may not ask the kubelet.
inline constexpr std::string_view kKoordletCpuAnnotation =
    "kubelet.koordinator.sh/cpu-manager-policy";

// Adds to the attributes of an object what the text of that annotation says, if the object is
// koordlet's. Attributes that are there win. Returns what is wrong with the text, which then counts
// as if it were not there; empty: nothing.
[[nodiscard]] std::string add_koordlet_settings(std::string_view text,
                                                std::vector<NrtAttribute>& attributes);

}  // namespace plimsoll::topology
