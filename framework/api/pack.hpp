#pragma once
// From an object in scratch memory to one block: counts what the struct and everything below it
// need, then copies. Names are not copied, they live in the symbol table; texts that are marked
// kToShare are shared there, and given back with the block.

#include "framework/api/objects.hpp"

namespace plimsoll {

class SymbolTable;

// The symbol of a text in scratch memory that many objects have.
inline constexpr plimsoll_symbol kToShare = UINT32_MAX;

// `symbols`: null if nothing is marked.
[[nodiscard]] PodRef pack_pod(const plimsoll_pod& pod, SymbolTable* symbols);
[[nodiscard]] NodeRef pack_node(const plimsoll_node& node, SymbolTable* symbols);
[[nodiscard]] std::shared_ptr<const plimsoll_node_affinity> pack_node_affinity(
    const plimsoll_node_affinity& affinity);
[[nodiscard]] std::shared_ptr<const plimsoll_label_selector> pack_label_selector(
    const plimsoll_label_selector& selector);

}  // namespace plimsoll
