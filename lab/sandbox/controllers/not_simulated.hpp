#pragma once
// What acts in a cluster on objects that are in the store, and not here. Any thread.

#include <string>

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// One note, with names; empty: there is nothing of the kind.
[[nodiscard]] std::string not_simulated(const ObjectStore& store);

}  // namespace plimsoll::sandbox
