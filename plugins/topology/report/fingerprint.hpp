#pragma once
// The pod fingerprint of NodeResourceTopology objects, version v001: which pods an exporter saw on
// its node when it wrote the report. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::topology {

// XXH64 of the xxHash specification.
[[nodiscard]] uint64_t xxh64(std::string_view bytes, uint64_t seed);

// A pod's part of the fingerprint. Pods of the same namespace and name have the same.
[[nodiscard]] uint64_t pod_hash(std::string_view ns, std::string_view name);

// The sum over pods, in any order; sorts `hashes`. Pods that occur twice count twice.
[[nodiscard]] uint64_t fingerprint_sum(std::vector<uint64_t>& hashes);

// "pfp0v001" and 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint_text(uint64_t sum);

// The fingerprint of pods, given as (namespace, name) in any order.
[[nodiscard]] std::string pod_fingerprint(
    const std::vector<std::pair<std::string, std::string>>& pods);

// The sum in a fingerprint's text; false if it is malformed or of another version.
[[nodiscard]] bool parse_fingerprint(std::string_view text, uint64_t& sum);

}  // namespace plimsoll::topology
