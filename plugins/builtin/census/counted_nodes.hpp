#pragma once
// Which nodes count, and in which domains of a topology key they are: all nodes that have the key,
// or those only that a pod's spread constraints look at (nodes with all topology keys that pass
// nodeAffinityPolicy and nodeTaintsPolicy). Shared by all tables with the same rule.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "framework/api/objects.hpp"
#include "plugins/builtin/census/topology.hpp"

namespace plimsoll::builtin {

// What a pod says about nodes: its selector and required affinity (nodeAffinityPolicy Honor), its
// tolerations (nodeTaintsPolicy Honor). As long as a pod may make it, so each is kept once.
class PodRule {
 public:
  // Empty: it keeps no node out. Equal bytes, equal rules.
  [[nodiscard]] static std::string bytes_of(const plimsoll_pod& pod, bool affinity, bool taints);
  PodRule(const plimsoll_pod& pod, bool affinity, bool taints, uint64_t number);

  [[nodiscard]] bool passes(const plimsoll_node& node) const;
  // Of no other rule, not even of one that is gone.
  [[nodiscard]] uint64_t number() const { return number_; }

 private:
  bool by_affinity_;
  bool by_taints_;
  PodRef pod_;  // what the rule looks at of it
  uint64_t number_;
};
using PodRuleRef = std::shared_ptr<const PodRule>;

// A rule for nodes, in the words of a pod that is at hand.
struct NodeRule {
  std::vector<std::string_view> keys;  // labels that a node must have
  PodRuleRef pod;                      // null: nothing of a pod keeps nodes out

  // Equal bytes, equal rules.
  [[nodiscard]] std::string signature() const;
};

class CountedNodes {
 public:
  CountedNodes(TopologyKeyRef key, const NodeRule& rule);

  [[nodiscard]] const TopologyKey& key() const { return *key_; }
  [[nodiscard]] const TopologyKeyRef& key_ref() const { return key_; }
  [[nodiscard]] bool counts(uint32_t slot) const {
    return slot < counted_.size() && counted_[slot] != 0;
  }
  // kNone: the node does not count.
  [[nodiscard]] uint32_t domain(uint32_t slot) const {
    return counts(slot) ? key_->domain(slot) : TopologyKey::kNone;
  }
  // Domains with a node that counts.
  [[nodiscard]] size_t domain_count() const { return domain_count_; }
  [[nodiscard]] bool has_node(uint32_t domain) const {
    return domain < nodes_.size() && nodes_[domain] != 0;
  }

  // After the key has the node, and before it loses it.
  void put(uint32_t slot, const plimsoll_node& node);
  void remove(uint32_t slot);

 private:
  [[nodiscard]] bool passes(const plimsoll_node& node) const;

  TopologyKeyRef key_;
  std::vector<std::string> needed_;  // besides the key itself
  PodRuleRef pod_;                   // may be null
  std::vector<uint8_t> counted_;     // by slot
  std::vector<uint32_t> nodes_;      // by domain
  size_t domain_count_ = 0;
};

using CountedNodesRef = std::shared_ptr<CountedNodes>;

}  // namespace plimsoll::builtin
