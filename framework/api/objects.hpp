#pragma once
// Handles on decoded Kubernetes objects. An object is one immutable block of memory (see arena.hpp)
// with the C struct of <plimsoll/objects.h> and everything it points to. Handles share the block.
// Copying a handle costs an atomic increment. The thread that drops the last handle frees the
// block.

#include <plimsoll/claims.h>
#include <plimsoll/objects.h>
#include <plimsoll/views.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace plimsoll {

using PodRef = std::shared_ptr<const plimsoll_pod>;
using NodeRef = std::shared_ptr<const plimsoll_node>;

using ObjectRef = std::shared_ptr<const plimsoll_object>;

// An object of another kind, with the text from the API server.
struct RawObject {
  std::string resource;  // "<plural>.<version>.<group>", as in plimsoll_event_interest
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string json;
  ObjectRef decoded = nullptr;  // of the kinds in <plimsoll/kinds.h> (framework/objects)
};
using RawRef = std::shared_ptr<const RawObject>;

// view: the text of an ABI string. str: an ABI string that points to a text. equal: compares
// symbols first.
using sdk::equal;
using sdk::str;
using sdk::view;

// "namespace/name", as Kubernetes prints it.
[[nodiscard]] std::string full_name(const plimsoll_pod& pod);

}  // namespace plimsoll
