#pragma once
// What hwloc may be asked to read. hwloc trusts descriptions: it makes whatever they say, takes a
// bit of memory for each number up to an index, and a stack frame for each level of an export. So
// they are looked at first, in time and memory linear in the text. Pure.

#include <cstddef>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::node {

inline constexpr int kMaxCpuId = 2047;
inline constexpr int kMaxZones = 64;  // bits in a kubelet's mask of NUMA nodes
inline constexpr std::size_t kLargestExport = 16 << 20;

// An XML export: of at most 16 MiB and 65,536 objects, 128 levels deep, with ids of CPUs and NUMA
// nodes that a kubelet can have. What hwloc refuses besides is not looked for.
[[nodiscard]] Result<void> check_export(std::string_view xml);

// A synthetic description: of at most 2,048 CPUs and 65,536 objects. A text of another form than
// hwloc's is refused.
[[nodiscard]] Result<void> check_synthetic(std::string_view text);

}  // namespace plimsoll::node
