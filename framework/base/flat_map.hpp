#pragma once
// Hash tables by text for what is asked for many times a pod: entries lie in the table itself, so
// that looking one up mostly costs one or two misses of the cache, where a table of nodes costs
// three and more. In return entries move when others come or go: keep no pointer to one.

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>

#include "framework/base/string_map.hpp"

namespace plimsoll {

template <typename Value>
using FlatStringMap = boost::unordered_flat_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace plimsoll
