#pragma once
// The crowds of pods with equal namespace, labels and termination, found by their labels and
// namespace.

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/census/buckets.hpp"
#include "plugins/builtin/census/crowd.hpp"
#include "plugins/builtin/census/selection.hpp"

namespace plimsoll::builtin {

struct LabelCrowd : Crowd, Seated {
  PodTraits traits;  // in texts of its own

 private:
  friend class LabelCrowds;
  std::string_view key;  // its own in crowds_
  std::vector<plimsoll_label> labels;
  uint64_t seen_by = 0;      // the last selection that it was a candidate for
  uint64_t kept_out_by = 0;  // the last selection one of whose NotIns forbids it
};

class LabelCrowds {
 public:
  // The crowd of such pods; `is_new`: it has just been made.
  [[nodiscard]] LabelCrowd& of(const PodTraits& pod, bool& is_new);
  // Of an empty crowd that no tally counts.
  void drop(LabelCrowd& crowd);
  void clear();

  // How often selected_by compares a requirement with a crowd, at most.
  [[nodiscard]] uint64_t comparisons_for(const SelectionSpec& spec) const;
  // All crowds that the selection selects.
  [[nodiscard]] std::vector<LabelCrowd*> selected_by(const SelectionSpec& spec,
                                                     const Namespaces& known);
  // visit(crowd) for all in this namespace, and perhaps others.
  template <typename Visit>
  void for_each_in(const plimsoll_str& ns, const Visit& visit) const {
    by_number_.for_each(namespace_number(ns), visit);
  }

 private:
  [[nodiscard]] size_t fewest_for(const SelectionSpec& spec, std::vector<uint64_t>& numbers) const;
  [[nodiscard]] std::vector<LabelCrowd*> candidates_for(const SelectionSpec& spec);
  void keep_out(sdk::List<plimsoll_requirement>::iterator not_in,
                sdk::List<plimsoll_requirement>::iterator end);
  void enter(LabelCrowd& crowd);

  std::unordered_map<std::string, std::unique_ptr<LabelCrowd>> crowds_;
  Buckets<LabelCrowd> by_number_;  // of each label, and of the namespace
  uint64_t asked_ = 0;             // selections
  std::string key_;                // room for one, kept
};

}  // namespace plimsoll::builtin
