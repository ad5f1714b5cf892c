#pragma once
// Hash tables by text, for look-ups that happen many times per pod. Entries are stored in the table
// itself, so a look-up usually costs one or two cache misses; a node-based table costs three or
// more. But entries move when others are added or removed: do not keep a pointer to one.

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>

#include "framework/base/string_map.hpp"

namespace plimsoll {

template <typename Value>
using FlatStringMap = boost::unordered_flat_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace plimsoll
