#pragma once
// When two answers are the same, and which part of a change makes them differ.

#include <algorithm>
#include <set>
#include <string>

#include "lint/examiner.hpp"

namespace plimsoll::lint {

// The two answers may be compared: the scheduler would have kept the first for the second's time.
[[nodiscard]] inline bool comparable(Part part, const Answer& before, const Answer& after) {
  if (part == Part::kFilter) {
    return before.filtered && after.filtered &&
           before.cycle->skip_filter == after.cycle->skip_filter;
  }
  return before.scored && after.scored;
}

[[nodiscard]] inline bool same(Part part, const NodeAnswer& before, const NodeAnswer& after) {
  if (!before.present || !after.present) return true;
  if (part == Part::kFilter) return before.code == after.code && before.reason == after.reason;
  return !before.scored || !after.scored || before.raw == after.raw;
}

// The first slot where the two differ; kNoSlot: nowhere, or they cannot be compared.
[[nodiscard]] inline uint32_t difference(Part part, const Answer& before, const Answer& after) {
  if (!comparable(part, before, after)) return kNoSlot;
  const size_t slots = std::min(before.by_slot.size(), after.by_slot.size());
  for (uint32_t slot = 0; slot < slots; ++slot) {
    if (!same(part, before.by_slot[slot], after.by_slot[slot])) return slot;
  }
  return kNoSlot;
}

[[nodiscard]] inline std::string answer_text(const TrialCluster& cluster, Part part,
                                             const NodeAnswer& answer) {
  return part == Part::kFilter ? verdict_text(cluster, answer) : score_text(answer);
}

// The object with only one key of a map changed to what it is in `after`, for each key that
// differs.
template <typename Try>
[[nodiscard]] std::string smallest(const Json& before, const Json& after, const Field& field,
                                   const Try& still_differs) {
  if (!field.is_map) return {};
  const Json::json_pointer at{std::string(field.pointer)};
  const Json old_map = before.value(at, Json::object());
  const Json new_map = after.value(at, Json::object());
  std::set<std::string> keys;
  for (const Json& map : {old_map, new_map}) {
    for (const auto& [key, value] : map.items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const bool there = new_map.contains(key);
    if (old_map.contains(key) == there && (!there || old_map[key] == new_map[key])) continue;
    Json trial = before;
    trial[at] = old_map;
    if (there) {
      trial[at][key] = new_map[key];
    } else {
      trial[at].erase(key);
    }
    if (still_differs(trial)) return key;
  }
  return {};
}

}  // namespace plimsoll::lint
