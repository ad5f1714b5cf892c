#include "plugins/storage/volume_lists.hpp"

#include <algorithm>

namespace plimsoll::volumes {
namespace {

bool is_free(const PersistentVolume& volume) {
  return volume.meta.readable() && !volume.claim && volume.phase == "Available" &&
         !volume.meta.is_deleting;
}

bool comes_first(const VolumeRef& a, const VolumeRef& b) {
  const int order = a->capacity.cmp(b->capacity);
  return order != 0 ? order < 0 : a->meta.name < b->meta.name;
}

std::string claim_key(const PersistentVolume& volume) {
  return key_of(volume.claim->ns, volume.claim->name);
}

// The list itself, if nobody else holds it; else a copy.
VolumeLists::List& own(std::shared_ptr<VolumeLists::List>& list) {
  if (list == nullptr) {
    list = std::make_shared<VolumeLists::List>();
  } else if (list.use_count() > 1) {
    list = std::make_shared<VolumeLists::List>(*list);
  }
  return *list;
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
  if (known != current_.end()) take_out(*known->second);
  if (now == nullptr) {
    if (known != current_.end()) current_.erase(known);
    return;
  }
  if (known == current_.end()) {
    current_.emplace(name, now);
  } else {
    known->second = now;
  }
  put_in(now);
}

void VolumeLists::put_in(const VolumeRef& volume) {
  if (is_free(*volume)) {
    List& list = own(free_[volume->class_name]);
    list.insert(std::lower_bound(list.begin(), list.end(), volume, comes_first), volume);
  } else if (volume->meta.readable() && volume->claim) {
    claimed_[claim_key(*volume)][volume->meta.name] = volume;
  }
}

void VolumeLists::take_out(const PersistentVolume& volume) {
  if (is_free(volume)) {
    const auto found = free_.find(volume.class_name);
    List& list = own(found->second);
    const auto at =
        std::lower_bound(list.begin(), list.end(), current_.at(volume.meta.name), comes_first);
    list.erase(at);
    if (list.empty()) free_.erase(found);
  } else if (volume.meta.readable() && volume.claim) {
    const auto found = claimed_.find(claim_key(volume));
    found->second.erase(volume.meta.name);
    if (found->second.empty()) claimed_.erase(found);
  }
}

VolumeLists::ListRef VolumeLists::free_of(std::string_view class_name) const {
  static const ListRef kNone = std::make_shared<const List>();
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
