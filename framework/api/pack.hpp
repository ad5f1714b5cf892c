#pragma once
// From an object in scratch memory to one block: counts what the struct and everything below it
// need, then copies. Interned texts are not copied, they live in the symbol table.

#include "framework/api/objects.hpp"

namespace plimsoll {

[[nodiscard]] PodRef pack_pod(const plimsoll_pod& pod);
[[nodiscard]] NodeRef pack_node(const plimsoll_node& node);
[[nodiscard]] std::shared_ptr<const plimsoll_node_affinity> pack_node_affinity(
    const plimsoll_node_affinity& affinity);
[[nodiscard]] std::shared_ptr<const plimsoll_label_selector> pack_label_selector(
    const plimsoll_label_selector& selector);

}  // namespace plimsoll
