#pragma once
// Durations as Go prints them, since kube-scheduler's texts contain them: "1.5s", "2m0s", "350ms".

#include <cstdint>
#include <string>

namespace plimsoll {

[[nodiscard]] std::string go_duration(int64_t milliseconds);

}  // namespace plimsoll
