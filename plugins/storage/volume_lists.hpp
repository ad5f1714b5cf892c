#pragma once
// PersistentVolumes as claims look for them: those of a class that are free, smallest first, and
// those that have a claimRef, by claim. As they are assumed to be. Loop only.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/string_map.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

class VolumeLists {
 public:
  // By capacity, then by name.
  using List = std::vector<VolumeRef>;
  using ListRef = std::shared_ptr<const List>;

  // Null: there is none of this name.
  [[nodiscard]] VolumeRef find(std::string_view name) const;

  // How the volume of this name is now; null: it is gone.
  void update(const std::string& name, const VolumeRef& now);

  // Those that could be bound to a claim of exactly this class. A list that somebody holds stays as
  // it is.
  [[nodiscard]] ListRef free_of(std::string_view class_name) const;
  // Those whose claimRef names the claim (its UID may be another), by name.
  [[nodiscard]] List named_by(std::string_view claim_key) const;

  // The first one of a list that is not smaller.
  [[nodiscard]] static List::const_iterator first_of_size(const List& list, const Quantity& size);

 private:
  void take_out(const PersistentVolume& volume);
  void put_in(const VolumeRef& volume);

  StringMap<VolumeRef> current_;
  StringMap<std::shared_ptr<List>> free_;                             // by class
  StringMap<std::map<std::string, VolumeRef, std::less<>>> claimed_;  // by claim, then by name
};

}  // namespace plimsoll::volumes
