#pragma once
// The crowds of pods with equal namespace, labels and termination, found by their labels.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/census/crowd.hpp"
#include "plugins/builtin/census/selection.hpp"

namespace plimsoll::builtin {

struct LabelCrowd : Crowd {
  PodTraits traits;  // in texts of its own

 private:
  friend class LabelCrowds;
  std::string_view key;  // its own in crowds_
  std::vector<plimsoll_label> labels;
  std::vector<uint64_t> hashes;  // by label
  std::vector<size_t> places;    // by label: where it is in by_label_
  size_t place_in_namespace = 0;
};

class LabelCrowds {
 public:
  using List = std::vector<LabelCrowd*>;

  // The crowd of such pods; `is_new`: it has just been made.
  [[nodiscard]] LabelCrowd& of(const PodTraits& pod, bool& is_new);
  // Of an empty crowd that no tally counts.
  void drop(LabelCrowd& crowd);
  void clear();

  // visit(crowd) for every crowd that the selection may select, each once.
  template <typename Visit>
  void for_each_candidate(const SelectionSpec& spec, const Visit& visit) const;
  [[nodiscard]] const List& in_namespace(std::string_view ns) const;
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [key, crowd] : crowds_) visit(*crowd);
  }

 private:
  [[nodiscard]] const List& with_label(uint64_t hash) const;
  void enter(LabelCrowd& crowd);

  std::unordered_map<std::string, std::unique_ptr<LabelCrowd>> crowds_;
  std::unordered_map<uint64_t, List> by_label_;
  std::unordered_map<std::string, List> by_namespace_;
  std::string key_;  // room for one, kept
  const List none_{};
};

template <typename Visit>
void LabelCrowds::for_each_candidate(const SelectionSpec& spec, const Visit& visit) const {
  std::vector<const List*> lists;
  size_t fewest = 0;
  bool found = false;
  for_each_anchor(spec, [&](const std::vector<uint64_t>& hashes) {
    size_t crowds = 0;
    for (const uint64_t hash : hashes) crowds += with_label(hash).size();
    if (found && crowds >= fewest) return;
    found = true;
    fewest = crowds;
    lists.clear();
    for (const uint64_t hash : hashes) lists.push_back(&with_label(hash));
  });
  for (const ClauseSpec& clause : spec.clauses) {
    if (clause.namespaces.by_labels != nullptr || clause.namespaces.names.size() != 1) continue;
    const List& here = in_namespace(sdk::view(clause.namespaces.names.front()));
    if (found && here.size() >= fewest) continue;
    found = true;
    fewest = here.size();
    lists.assign(1, &here);
  }
  if (!found) return for_each(visit);
  for (const List* list : lists) {
    for (LabelCrowd* crowd : *list) visit(*crowd);
  }
}

}  // namespace plimsoll::builtin
