#include "framework/cycle/groups/topology_wish.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kKueueRequired = "kueue.x-k8s.io/podset-required-topology";
constexpr std::string_view kKueuePreferred = "kueue.x-k8s.io/podset-preferred-topology";

void read(const plimsoll_list& annotations, std::string_view name, std::string& out) {
  const plimsoll_str* value = find_label(annotations, str(name));
  if (out.empty() && value != nullptr) out = view(*value);
}

}  // namespace

TopologyWish wish_of(const PodGroup& group, const plimsoll_pod& member) {
  TopologyWish wish{group.required_topology, group.preferred_topology};
  read(member.meta.annotations, kKueueRequired, wish.required);
  read(member.meta.annotations, kKueuePreferred, wish.preferred);
  return wish;
}

std::vector<std::vector<std::string>> levels_to_try(const TopologyWish& wish,
                                                    const std::vector<std::string>& levels) {
  const auto level = [&](const std::string& key) { return std::ranges::find(levels, key); };
  const bool has_required = !wish.required.empty();
  const bool has_preferred = !wish.preferred.empty();
  const auto required = has_required ? level(wish.required) : levels.end();
  const auto preferred = has_preferred ? level(wish.preferred) : levels.end();
  const bool is_level = required != levels.end();
  std::vector<std::vector<std::string>> result;
  if (has_preferred && preferred == levels.end()) {
    result.push_back({wish.preferred});
    if (has_required) result.back().insert(result.back().begin(), wish.required);
  }
  if (is_level || preferred != levels.end()) {
    const auto widest = is_level ? required : levels.begin();
    for (auto end = levels.end(); end != widest; --end) {
      result.emplace_back(levels.begin(), end);
      if (has_required && !is_level) result.back().insert(result.back().begin(), wish.required);
    }
  }
  if (has_required && !is_level) result.push_back({wish.required});
  return result;
}

}  // namespace plimsoll
