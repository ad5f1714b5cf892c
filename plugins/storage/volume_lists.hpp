#pragma once
// PersistentVolumes as claims look for them: those of a class that are free, smallest first, and
// those that have a claimRef, by claim. As they are assumed to be. Changed on the loop only.

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

  // Null: there is none of this name.
  [[nodiscard]] VolumeRef find(std::string_view name) const;

  // How the volume of this name is now; null: it is gone. Its object as it was must be there still.
  void update(const std::string& name, const VolumeRef& now);

  [[nodiscard]] const StringMap<VolumeRef>& all() const { return current_; }

  // Those that could be bound to a claim of exactly this class; valid until the next update.
  [[nodiscard]] const List& free_of(std::string_view class_name) const;
  // Those whose claimRef names the claim (its UID may be another), by name.
  [[nodiscard]] List named_by(std::string_view claim_key) const;

  // The first one of a list that is not smaller.
  [[nodiscard]] static List::const_iterator first_of_size(const List& list, const Quantity& size);

 private:
  void take_out(const VolumeRef& volume);
  void put_in(const VolumeRef& volume);

  StringMap<VolumeRef> current_;
  StringMap<List> free_;                                              // by class
  StringMap<std::map<std::string, VolumeRef, std::less<>>> claimed_;  // by claim, then by name
};

}  // namespace plimsoll::volumes
