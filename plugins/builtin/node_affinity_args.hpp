#pragma once
// NodeAffinityArgs: the affinity that a profile adds for all its pods.

#include <plimsoll/objects.h>
#include <plimsoll/host.hpp>

#include <memory>
#include <string_view>

namespace plimsoll::builtin {

using AddedAffinity = std::shared_ptr<const plimsoll_node_affinity>;

// Null: it adds none. Terms are as nodeaffinity.NewRequiredNodeAffinity and
// NewPreferredSchedulingTerms take them; the host is warned of what these take and cannot mean
// anything. Throws std::runtime_error with all that is wrong.
[[nodiscard]] AddedAffinity read_added_affinity(const sdk::Host& host, std::string_view json);

}  // namespace plimsoll::builtin
