#pragma once
// Hash maps by text. A look-up takes a std::string_view and does not create a string.

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace plimsoll {

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename Value>
using StringMap = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;

}  // namespace plimsoll
