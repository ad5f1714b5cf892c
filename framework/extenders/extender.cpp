#include "framework/extenders/extender.hpp"

#include <plimsoll/views.hpp>

#include <algorithm>

namespace plimsoll {
namespace {

using sdk::view;

bool manages(const ExtenderSpec& extender, sdk::Resources resources) {
  return std::any_of(resources.begin(), resources.end(), [&](const plimsoll_resource& resource) {
    return std::any_of(extender.managed_resources.begin(), extender.managed_resources.end(),
                       [&](const auto& managed) { return managed.name == view(resource.name); });
  });
}

}  // namespace

bool is_interested(const ExtenderSpec& extender, const plimsoll_pod& pod) {
  if (extender.managed_resources.empty()) return true;
  for (const plimsoll_list* containers : {&pod.containers, &pod.init_containers}) {
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(*containers)) {
      if (manages(extender, container.requests) || manages(extender, container.limits)) return true;
    }
  }
  return false;
}

bool judges(const ExtenderSpec& extender, const plimsoll_pod& pod) {
  return !(extender.filter_verb.empty() && extender.prioritize_verb.empty()) &&
         is_interested(extender, pod);
}

const ExtenderVerdict* ExtenderAnswers::find(const plimsoll_node& node) const {
  const auto found = nodes.find(view(node.meta.name));
  const bool same = found != nodes.end() && found->second.node_uid == view(node.meta.uid);
  return same ? &found->second : nullptr;
}

}  // namespace plimsoll
