#pragma once
// Units that tests of machines count memory in.

#include <cstdint>

namespace plimsoll::sandbox {

inline constexpr std::int64_t kGi = std::int64_t{1} << 30;

}  // namespace plimsoll::sandbox
