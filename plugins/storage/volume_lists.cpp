#include "plugins/storage/volume_lists.hpp"

#include <algorithm>

namespace plimsoll::volumes {
namespace {

bool is_free(const PersistentVolume& volume) {
  return volume.readable() && !volume.claim() && sdk::view(volume.object->phase) == "Available" &&
         !volume.is_deleting();
}

bool comes_first(const VolumeRef& a, const VolumeRef& b) {
  const int order = a->capacity.cmp(b->capacity);
  return order != 0 ? order < 0 : a->name() < b->name();
}

// Of the claim that it names; empty: it names none.
std::string claim_key(const PersistentVolume& volume) {
  const auto claim = volume.claim();
  return volume.readable() && claim ? key_of(claim->ns, claim->name) : std::string();
}

}  // namespace

VolumeRef VolumeLists::find(std::string_view name) const {
  const auto found = current_.find(name);
  return found == current_.end() ? nullptr : found->second;
}

VolumeLists::List::const_iterator VolumeLists::first_of_size(const List& list,
                                                             const Quantity& size) {
  return std::lower_bound(list.begin(), list.end(), size,
                          [](const VolumeRef& volume, const Quantity& least) {
                            return volume->capacity.cmp(least) < 0;
                          });
}

void VolumeLists::update(const std::string& name, const VolumeRef& now) {
  const auto known = current_.find(name);
  if (known != current_.end()) {
    take_out(known->second);
    current_.erase(known);
  }
  if (now == nullptr) return;
  current_.emplace(name, now);
  put_in(now);
}

void VolumeLists::put_in(const VolumeRef& volume) {
  if (is_free(*volume)) {
    List& list = free_[std::string(volume->class_name)];
    list.insert(std::lower_bound(list.begin(), list.end(), volume, comes_first), volume);
  } else if (std::string key = claim_key(*volume); !key.empty()) {
    claimed_[std::move(key)].emplace(volume->name(), volume);
  }
}

void VolumeLists::take_out(const VolumeRef& volume) {
  if (is_free(*volume)) {
    const auto found = free_.find(volume->class_name);
    List& list = found->second;
    list.erase(std::lower_bound(list.begin(), list.end(), volume, comes_first));
    if (list.empty()) free_.erase(found);
  } else if (const std::string key = claim_key(*volume); !key.empty()) {
    const auto found = claimed_.find(key);
    found->second.erase(found->second.find(volume->name()));
    if (found->second.empty()) claimed_.erase(found);
  }
}

const VolumeLists::List& VolumeLists::free_of(std::string_view class_name) const {
  static const List kNone;
  const auto found = free_.find(class_name);
  return found == free_.end() ? kNone : found->second;
}

VolumeLists::List VolumeLists::named_by(std::string_view claim_key) const {
  List list;
  const auto found = claimed_.find(claim_key);
  if (found == claimed_.end()) return list;
  for (const auto& [name, volume] : found->second) list.push_back(volume);
  return list;
}

}  // namespace plimsoll::volumes
