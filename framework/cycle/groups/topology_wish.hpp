#pragma once
// In which domains of the network a PodGroup is to be looked for a place, and in which order
// (docs/groups.md).

#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"

namespace plimsoll {

struct PodGroup;

// Label keys; empty: none.
struct TopologyWish {
  std::string required;
  std::string preferred;

  [[nodiscard]] bool any() const { return !required.empty() || !preferred.empty(); }
};

// By the group's spec, its annotations, or Kueue's of its pods.
[[nodiscard]] TopologyWish wish_of(const PodGroup& group, const plimsoll_pod& member);

// Keys whose values together name a domain: those of a level and of all wider ones. The narrowest
// domains come first, what is required last.
[[nodiscard]] std::vector<std::vector<std::string>> levels_to_try(
    const TopologyWish& wish, const std::vector<std::string>& levels);

}  // namespace plimsoll
