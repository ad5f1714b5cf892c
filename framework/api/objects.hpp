#pragma once
// Handles on decoded Kubernetes objects. An object is one immutable block of memory (see arena.hpp)
// that holds the C struct of <plimsoll/objects.h> and everything it points to; a handle shares the
// block. Copying a handle is an atomic increment; the last one frees the block, on whatever thread
// it is.

#include <plimsoll/objects.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace plimsoll {

using PodRef = std::shared_ptr<const plimsoll_pod>;
using NodeRef = std::shared_ptr<const plimsoll_node>;

// An object of a kind that only plugins understand: its text as the API server sent it.
struct RawObject {
  std::string resource;  // "<plural>.<version>.<group>", as in plimsoll_event_interest
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string json;
};
using RawRef = std::shared_ptr<const RawObject>;

// Text of an ABI string; valid as long as the object.
[[nodiscard]] constexpr std::string_view view(const plimsoll_str& text) {
  return {text.data, text.len};
}

// An ABI string over text that outlives its use; not interned.
[[nodiscard]] constexpr plimsoll_str str(std::string_view text) {
  return {text.data(), static_cast<uint32_t>(text.size()), PLIMSOLL_SYMBOL_NONE};
}

// Equality that compares symbols where both are interned.
[[nodiscard]] inline bool equal(const plimsoll_str& a, const plimsoll_str& b) {
  if (a.symbol != 0 && b.symbol != 0) return a.symbol == b.symbol;
  return view(a) == view(b);
}

// "namespace/name", as Kubernetes prints it.
[[nodiscard]] std::string full_name(const plimsoll_pod& pod);

}  // namespace plimsoll
