// Plimsoll plugin SDK: texts or numbers in a row, for messages.
//
//   join(names)                                            "a, b, c"
//   join(pods, "; ", [](Pod pod) { return pod.name(); })
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace plimsoll::sdk {

// `text` gives the text of an item.
template <typename Range, typename Text = std::identity>
[[nodiscard]] std::string join(const Range& items, std::string_view separator = ", ",
                               const Text& text = {}) {
  std::string out;
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += separator;
    first = false;
    const auto& part = std::invoke(text, item);
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      out += std::to_string(part);
    } else {
      out += part;
    }
  }
  return out;
}

}  // namespace plimsoll::sdk
