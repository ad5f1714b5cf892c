#include "framework/api/group_name.hpp"

#include "framework/api/selectors.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kGangLabel = "pod-group.scheduling.sigs.k8s.io";
constexpr std::string_view kLightGangLabel = "pod-group.scheduling.sigs.k8s.io/name";
constexpr std::string_view kGangName = "gang.scheduling.koordinator.sh/name";

}  // namespace

std::string GroupName::key() const {
  std::string key(1, static_cast<char>('0' + index_of(kind)));
  return key.append(ns).append(1, '/').append(name);
}

GroupName group_of(const plimsoll_pod& pod, GroupKinds kinds) {
  const auto named = [&](GroupKind kind, std::string_view name) {
    return kinds.test(index_of(kind)) ? GroupName{kind, view(pod.meta.ns), name} : GroupName();
  };
  const auto said = [](const plimsoll_list& by, std::string_view key) {
    const plimsoll_str* value = find_label(by, str(key));
    return value == nullptr ? std::string_view() : view(*value);
  };
  if (pod.group.len != 0) return named(GroupKind::kPodGroup, view(pod.group));
  const bool gangs = kinds.test(index_of(GroupKind::kGang));
  if (!gangs && !kinds.test(index_of(GroupKind::kCoscheduling))) return {};
  const plimsoll_meta& meta = pod.meta;
  std::string_view name = said(meta.labels, kCoschedulingLabel);
  if (!name.empty()) return named(GroupKind::kCoscheduling, name);
  if (!gangs) return {};
  for (const std::string_view key : {kGangLabel, kLightGangLabel, kGangName}) {
    if (name.empty() && key == kGangName) name = said(meta.annotations, key);
    if (name.empty()) name = said(meta.labels, key);
  }
  return name.empty() ? GroupName() : named(GroupKind::kGang, name.substr(0, kLongestGangName));
}

}  // namespace plimsoll
