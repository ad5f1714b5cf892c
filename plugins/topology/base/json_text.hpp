#pragma once
// JSON of which there is much, written as text: a tree of values in memory takes many times as
// long.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plimsoll {

// As a JSON string. Nearly all are names of resources and amounts, in which nothing is escaped.
inline void append_quoted(std::string& out, std::string_view text) {
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
  if (std::ranges::all_of(text, plain))
    out.append("\"").append(text).append("\"");
  else
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A comma, unless `out` has just begun an object or a list.
inline void append_comma(std::string& out) {
  if (!out.empty() && out.back() != '{' && out.back() != '[') out += ',';
}

}  // namespace plimsoll
