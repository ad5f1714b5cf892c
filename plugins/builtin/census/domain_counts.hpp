#pragma once
// How many pods are in each domain of a topology key, over the nodes that count. Kept up to date
// pod by pod; whoever decides reads it by domain.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plugins/builtin/census/counted_nodes.hpp"
#include "plugins/builtin/census/sparse_counts.hpp"

namespace plimsoll::builtin {

// What a what-if changes: pods more (or less) in a domain.
struct CountChange {
  uint32_t domain;
  int64_t pods;
};

// Adds to the change of this domain; a change of 0 is dropped.
void add_change(std::vector<CountChange>& changes, uint32_t domain, int64_t pods);
[[nodiscard]] int64_t change_of(std::span<const CountChange> changes, uint32_t domain);

class DomainCounts {
 public:
  explicit DomainCounts(CountedNodesRef nodes) : nodes_(std::move(nodes)) {}

  [[nodiscard]] const CountedNodes& nodes() const { return *nodes_; }
  [[nodiscard]] const TopologyKey& key() const { return nodes_->key(); }
  [[nodiscard]] uint32_t at(uint32_t domain) const { return counts_.at(domain); }
  [[nodiscard]] bool empty() const { return counts_.nonzero() == 0; }
  [[nodiscard]] size_t nonzero() const { return counts_.nonzero(); }
  // visit(domain, pods) for each domain that has some.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    counts_.for_each(visit);
  }
  // The least of all domains with a node that counts, with these changes; 0 if there is no domain.
  [[nodiscard]] int64_t minimum(std::span<const CountChange> changes = {}) const;

  // Pods came to the node (or left it); nothing if the node does not count.
  void add(uint32_t slot, int64_t pods);

  [[nodiscard]] size_t bytes() const { return sizeof *this + counts_.bytes(); }

 private:
  void note(uint32_t before, uint32_t after);
  void find_minimum() const;
  [[nodiscard]] int64_t minimum_of_others(std::span<const CountChange> changes) const;

  CountedNodesRef nodes_;
  SparseCounts counts_;
  // Of the domains that have a pod; found again when it is asked for after the last of those at the
  // minimum has left it.
  mutable uint32_t minimum_ = 0;
  mutable size_t at_minimum_ = 0;  // domains; 0: not known
};

}  // namespace plimsoll::builtin
