#include "framework/api/group_name.hpp"

#include "framework/api/selectors.hpp"

namespace plimsoll {

std::string GroupName::key() const {
  std::string key(1, static_cast<char>('0' + index_of(kind)));
  return key.append(ns).append(1, '/').append(name);
}

GroupName group_of(const plimsoll_pod& pod, GroupKinds kinds) {
  const auto named = [&](GroupKind kind, std::string_view name) {
    return kinds.test(index_of(kind)) ? GroupName{kind, view(pod.meta.ns), name} : GroupName();
  };
  if (pod.group.len != 0) return named(GroupKind::kPodGroup, view(pod.group));
  if (!kinds.test(index_of(GroupKind::kCoscheduling))) return {};
  const plimsoll_str* label = find_label(pod.meta.labels, str(kCoschedulingLabel));
  return label == nullptr || label->len == 0 ? GroupName()
                                             : named(GroupKind::kCoscheduling, view(*label));
}

}  // namespace plimsoll
