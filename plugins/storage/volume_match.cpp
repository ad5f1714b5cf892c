#include "plugins/storage/volume_match.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::volumes {

using sdk::view;

Quantity requested_size(const PersistentVolumeClaim& claim) {
  return claim.request.value_or(Quantity());
}

bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const auto reference = volume.claim();
  return reference && reference->name == claim.name() && reference->ns == claim.ns() &&
         (reference->uid.empty() || reference->uid == claim.uid());
}

ClaimSelector::ClaimSelector(const plimsoll_label_selector* selector) {
  if (selector == nullptr) return;
  is_never_ = selector->present == 0;
  for (const plimsoll_label& label : sdk::List<plimsoll_label>(selector->match_labels))
    allow(rules_[view(label.key)], {view(label.value)});
  for (const auto& requirement : sdk::List<plimsoll_requirement>(selector->expressions))
    add(requirement);
  for (const auto& [key, rule] : rules_)
    if (rule.is_wanted) ++wanted_;
}

void ClaimSelector::allow(Rule& rule, std::unordered_set<std::string_view> values) {
  rule.is_wanted = true;
  if (rule.allowed)
    std::erase_if(values, [&](std::string_view value) { return !rule.allowed->contains(value); });
  rule.allowed = std::move(values);
}

void ClaimSelector::add(const plimsoll_requirement& requirement) {
  Rule& rule = rules_[view(requirement.key)];
  std::unordered_set<std::string_view> values;
  for (const plimsoll_str& value : sdk::List<plimsoll_str>(requirement.values))
    values.insert(view(value));
  switch (requirement.op) {
    case PLIMSOLL_OP_IN:
      return allow(rule, std::move(values));
    case PLIMSOLL_OP_NOT_IN:
      return rule.denied.merge(values);
    case PLIMSOLL_OP_EXISTS:
      rule.is_wanted = true;
      return;
    case PLIMSOLL_OP_DOES_NOT_EXIST:
      rule.is_unwanted = true;
      return;
    default:
      is_never_ = true;  // no operator of label selectors
  }
}

bool ClaimSelector::matches(const plimsoll_list& labels) const {
  if (is_never_) return false;
  size_t wanted = 0;
  for (const plimsoll_label& label : sdk::List<plimsoll_label>(labels)) {
    const auto found = rules_.find(view(label.key));
    if (found == rules_.end()) continue;
    const Rule& rule = found->second;
    const std::string_view value = view(label.value);
    if (rule.is_unwanted || rule.denied.contains(value)) return false;
    if (rule.allowed && !rule.allowed->contains(value)) return false;
    if (rule.is_wanted) ++wanted;
  }
  return wanted == wanted_;
}

VolumeFit fit_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim) {
  const bool pre_bound = is_bound_to(volume, claim);
  if (!volume.readable() || (volume.claim() && !pre_bound)) return VolumeFit::kNone;
  const bool is_enough = !claim.request || volume.capacity.cmp(*claim.request) >= 0;
  if (!is_enough || view(volume.object->volume_mode) != view(claim.object->volume_mode) ||
      view(volume.object->attributes_class) != view(claim.object->attributes_class) ||
      volume.is_deleting()) {
    return VolumeFit::kNone;
  }
  if (pre_bound) return VolumeFit::kPreBound;
  const bool fits = view(volume.object->phase) == "Available" &&
                    std::includes(volume.access_modes.begin(), volume.access_modes.end(),
                                  claim.access_modes.begin(), claim.access_modes.end());
  return fits ? VolumeFit::kFits : VolumeFit::kNone;
}

}  // namespace plimsoll::volumes
