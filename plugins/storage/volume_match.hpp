#pragma once
// Whether a PersistentVolume can be bound to a claim, apart from the node. Kubernetes:
// FindMatchingVolume and CheckVolumeModeMismatches in k8s.io/component-helpers/storage/volume.
// Pure; any thread.

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

// A claim's label selector, by key: a volume costs as much as it has labels, however long the
// selector is.
class ClaimSelector {
 public:
  // Null: every volume matches. It outlives this.
  explicit ClaimSelector(const plimsoll_label_selector* selector);
  [[nodiscard]] bool matches(const plimsoll_list& labels) const;

 private:
  struct Rule {
    bool is_wanted = false;
    bool is_unwanted = false;
    std::optional<std::unordered_set<std::string_view>> allowed;  // values; nothing: all
    std::unordered_set<std::string_view> denied;
  };
  void add(const plimsoll_requirement& requirement);
  static void allow(Rule& rule, std::unordered_set<std::string_view> values);

  bool is_never_ = false;
  size_t wanted_ = 0;  // keys that a volume has to have
  std::unordered_map<std::string_view, Rule> rules_;
};

// Without the claim's selector.
enum class VolumeFit : uint8_t {
  kNone,
  kPreBound,  // it is bound to this claim already: taken whatever else it is, if its node fits
  kFits,
};
[[nodiscard]] VolumeFit fit_of(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// Whether the volume's claimRef is this claim: its UID equals, or is empty.
[[nodiscard]] bool is_bound_to(const PersistentVolume& volume, const PersistentVolumeClaim& claim);

// The requested size; 0 if there is none.
[[nodiscard]] Quantity requested_size(const PersistentVolumeClaim& claim);

}  // namespace plimsoll::volumes
