#pragma once
// Resource names that are no amount of anything: a pod asks with them how it wants to be treated,
// and no node advertises them. A chart has kube-scheduler ignore them (managedResources with
// ignoredByScheduler), which a profile without the chart's extender lacks.

#include <string>

namespace plimsoll::config {

// The args of NodeResourcesFit, with what the profile's NodeDevice is for ignored: such a name
// counts if `device_args_json` has a combination with another name of the same chart's.
[[nodiscard]] std::string with_hints_ignored(const std::string& fit_args_json,
                                             const std::string& device_args_json);

}  // namespace plimsoll::config
