#pragma once
// Objects of the kinds that several plugins read, decoded once: <plimsoll/kinds.h>. Any thread; the
// reflectors decode them, not the loop.

#include <string_view>

#include "framework/api/objects.hpp"

namespace plimsoll {

// Of the JSON text of one object. Annotations are kept only where some are part of the API, as with
// claims: clusters have far more of them than labels. Never fails: plimsoll_object.unreadable says
// what is wrong. Null: the kind is not one of these.
[[nodiscard]] ObjectRef decode_object(std::string_view resource, std::string_view ns,
                                      std::string_view name, std::string_view json);

// The object with what its text says.
[[nodiscard]] RawRef decoded(RawObject object);

}  // namespace plimsoll
