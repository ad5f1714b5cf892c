#pragma once
// Packs an object from scratch memory into one block: counts the bytes of the struct and everything
// that it points to, then copies. Names are not copied; they live in the symbol table. Texts that
// are marked kToShare are shared there, and released with the block.

#include "framework/api/objects.hpp"

namespace plimsoll {

class SymbolTable;

// Marks a text in scratch memory as one to share, because many objects have it.
inline constexpr plimsoll_symbol kToShare = UINT32_MAX;

// `symbols`: null if nothing is marked.
[[nodiscard]] PodRef pack_pod(const plimsoll_pod& pod, SymbolTable* symbols);
[[nodiscard]] NodeRef pack_node(const plimsoll_node& node, SymbolTable* symbols);
// Of the kinds in <plimsoll/kinds.h>. Nothing is marked.
template <typename Object>
[[nodiscard]] std::shared_ptr<const Object> pack_object(const Object& object);
[[nodiscard]] std::shared_ptr<const plimsoll_node_affinity> pack_node_affinity(
    const plimsoll_node_affinity& affinity);
[[nodiscard]] std::shared_ptr<const plimsoll_label_selector> pack_label_selector(
    const plimsoll_label_selector& selector);

}  // namespace plimsoll
