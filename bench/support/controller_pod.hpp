#pragma once
// A pod of the usual size of a controller's pod: two containers with probes and environment, and a
// volume.

#include <nlohmann/json_fwd.hpp>

namespace plimsoll::bench {

// "web-<number>" in namespace default, 6 KiB as JSON, for a scheduler that does not exist.
[[nodiscard]] nlohmann::json controller_pod(int number);
// The additional status of the running pod, to be merged into its status; 2 KiB.
[[nodiscard]] nlohmann::json controller_pod_status();

}  // namespace plimsoll::bench
