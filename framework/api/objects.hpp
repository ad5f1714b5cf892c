#pragma once
// Handles on decoded Kubernetes objects. An object is one immutable block of memory (see arena.hpp)
// that holds the C struct of <plimsoll/objects.h> and everything it points to; a handle shares the
// block. Copying a handle is an atomic increment; the last one frees the block, on whatever thread
// it is.

#include <plimsoll/objects.h>
#include <plimsoll/views.hpp>

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

// Text of an ABI string, an ABI string over a text, and equality that compares symbols first.
using sdk::equal;
using sdk::str;
using sdk::view;

// "namespace/name", as Kubernetes prints it.
[[nodiscard]] std::string full_name(const plimsoll_pod& pod);

}  // namespace plimsoll
