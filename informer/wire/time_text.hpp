#pragma once
// Times in Kubernetes' text format.

#include <chrono>
#include <string>

namespace plimsoll::informer {

// RFC 3339 in UTC; with microseconds where Kubernetes has a MicroTime.
[[nodiscard]] std::string time_text(std::chrono::system_clock::time_point when, bool micro);

}  // namespace plimsoll::informer
