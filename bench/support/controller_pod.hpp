#pragma once
// A pod as large as controllers make them: two containers with probes and environment, a volume.

#include <nlohmann/json_fwd.hpp>

namespace plimsoll::bench {

// "web-<number>" in namespace default, 6 KiB as JSON; for a scheduler that nobody is.
[[nodiscard]] nlohmann::json controller_pod(int number);
// What it has besides once it runs, to be merged into its status; 2 KiB.
[[nodiscard]] nlohmann::json controller_pod_status();

}  // namespace plimsoll::bench
