#pragma once
// Which group of pods a pod is placed with, by what the pod itself says. A further way of naming a
// group is a further GroupKind: group_of() says how pods name it, ProfilesPolicy which plugin
// stands for it and what is known of it.

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "framework/api/objects.hpp"

namespace plimsoll {

enum class GroupKind : uint8_t {
  kNone,
  kPodGroup,      // spec.schedulingGroup: a PodGroup of scheduling.k8s.io
  kCoscheduling,  // the label kCoschedulingLabel: a PodGroup of scheduling.x-k8s.io
  kGang,  // Koordinator's labels and annotations (objects/gang_terms.hpp), and a PodGroup of
          // scheduling.sigs.k8s.io
};
inline constexpr size_t kGroupKindCount = 4;
using GroupKinds = std::bitset<kGroupKindCount>;

[[nodiscard]] constexpr size_t index_of(GroupKind kind) {
  return static_cast<size_t>(kind);
}

inline constexpr std::string_view kCoschedulingLabel = "scheduling.x-k8s.io/pod-group";
// Before all that annotations and labels say of a gang.
inline constexpr std::string_view kGangPrefix = "gang.scheduling.koordinator.sh/";
inline constexpr size_t kLongestGangName = 253;  // of a longer one only so much is read

// The texts are whoever's it was made of.
struct GroupName {
  GroupKind kind = GroupKind::kNone;  // of no group
  std::string_view ns;
  std::string_view name;

  explicit operator bool() const { return kind != GroupKind::kNone; }
  bool operator==(const GroupName&) const = default;
  [[nodiscard]] std::string key() const;  // another one for each group
};

// Only ways of naming that are in `kinds` count. Of several the first does: the pod belongs to no
// other group, even where that way does not count.
[[nodiscard]] GroupName group_of(const plimsoll_pod& pod, GroupKinds kinds);

}  // namespace plimsoll
