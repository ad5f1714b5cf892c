#pragma once
// Iterates over and compares the lists of the ABI structs.

#include <plimsoll/views.hpp>

#include <algorithm>

namespace plimsoll {

// The elements of an ABI list: for (const auto& port : items<plimsoll_host_port>(container.ports)).
template <typename T>
[[nodiscard]] sdk::List<T> items(const plimsoll_list& list) {
  return sdk::List<T>(list);
}

// The order of resources in a list: by position; resources without a position come last, by name.
[[nodiscard]] inline bool comes_before(const plimsoll_resource& a, const plimsoll_resource& b) {
  if (a.index != b.index) return a.index < b.index;
  return a.index == PLIMSOLL_RESOURCE_OF_NO_NODE && sdk::view(a.name) < sdk::view(b.name);
}

// Whether both have the same length and `same(x, y)` is true for each pair.
template <typename T, typename Same>
[[nodiscard]] bool same_list(const plimsoll_list& a, const plimsoll_list& b, Same same) {
  const sdk::List<T> left(a);
  const sdk::List<T> right(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
}

}  // namespace plimsoll
