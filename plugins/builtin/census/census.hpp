#pragma once
// Where the pods of the cluster are, for plugins whose verdict depends on other nodes
// (PodTopologySpread, InterPodAffinity). What is counted belongs to the cluster: there is one
// census in the process, for all profiles, and it is kept up to date pod by pod, assumed pods
// included. A decision reads it by domain.
//
// While nobody asks for counts and no pod has affinity terms, it keeps nothing and costs nothing.
// Scheduler loop only.

#include <plimsoll/plugin.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/builtin/census/existing_terms.hpp"
#include "plugins/builtin/census/label_crowds.hpp"
#include "plugins/builtin/census/selected_counts.hpp"
#include "plugins/builtin/census/topology.hpp"

namespace plimsoll::builtin {

class Census {
 public:
  explicit Census(const sdk::Host& host);
  Census(const Census&) = delete;
  Census& operator=(const Census&) = delete;

  // ---- events, in the words of the SDK
  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void pod_event(sdk::PodEvent type, sdk::Pod pod, std::string_view node_name);
  // Whether labels changed.
  bool namespace_event(const sdk::ObjectEvent& event);

  // ---- questions
  // What one pod may have compared with the labels of others in one attempt. One that
  // needs more would keep everybody waiting. An ordinary pod needs less than a tenth where there
  // are 100,000 different sets of labels.
  static constexpr uint64_t kMostComparisons = 4'000'000;
  // How many comparisons select() makes if it does not know the selection, at most.
  [[nodiscard]] uint64_t comparisons_for(const SelectionSpec& selection);
  // The pods of the selection by domain of this key. `rule`: which nodes count.
  [[nodiscard]] SelectedCountsRef counts(const SelectionSpec& selection, std::string_view key,
                                         const NodeRule& rule = {}) {
    return counts(select(selection), key, rule);
  }
  // For many keys: select once, and ask for a count at once.
  [[nodiscard]] SelectedPodsRef select(const SelectionSpec& selection);
  [[nodiscard]] SelectedCountsRef counts(const SelectedPodsRef& pods, std::string_view key,
                                         const NodeRule& rule = {});
  // What the pod says about nodes, for rules; null if that keeps no node out. It costs as much as
  // the pod says, so ask once for many rules.
  [[nodiscard]] PodRuleRef pod_rule(const plimsoll_pod& pod, bool affinity, bool taints);
  [[nodiscard]] const ExistingTerms& terms() const { return terms_; }
  [[nodiscard]] ExistingTerms& terms() { return terms_; }
  [[nodiscard]] Topology& topology() { return topology_; }
  [[nodiscard]] const Namespaces& namespaces() const { return namespaces_; }
  // Of counts() at present.
  [[nodiscard]] size_t table_count() const { return tables_.size(); }
  [[nodiscard]] size_t table_bytes() const { return tables_.bytes(); }
  // Drops what nobody asked for lately. It is called with each event and each selection.
  void sweep();

 private:
  struct Record {
    LabelCrowd* labels = nullptr;  // null: nobody asks for counts
    OwnerCrowd* owners = nullptr;  // null: the pod has no terms
    uint32_t slot = 0;
    friend bool operator==(const Record&, const Record&) = default;
  };
  using Records = std::unordered_map<std::string, Record>;

  void place(const plimsoll_pod& pod, uint32_t slot);
  void take_away(std::string_view uid);
  void enter(const Record& record) const;
  void leave(const Record& record);
  void show_all_of(sdk::Node node, int32_t times) const;
  void put_node(sdk::Node node);
  void remove_node(uint32_t slot);
  // Drops keys and sets of nodes that nothing counts by any more.
  void forget_unused();
  void begin_counting();
  void stop_counting();
  [[nodiscard]] CountedNodesRef nodes_for(const TopologyKeyRef& key, const NodeRule& rule);
  template <typename Visit>
  void for_each_counted(const Visit& visit);

  sdk::Host host_;
  Topology topology_;
  Namespaces namespaces_;
  std::unordered_map<std::string, std::weak_ptr<CountedNodes>> counted_;     // by key and rule
  std::unordered_map<std::string, std::weak_ptr<const PodRule>> pod_rules_;  // by their bytes
  size_t forget_rules_at_ = 8;  // so many of them are a reason to look for unused ones
  uint64_t last_rule_ = 0;
  size_t forget_at_ = 64;  // so many of them are a reason to look for unused ones
  size_t dropped_ = 0;     // terms, since that was last done
  LabelCrowds crowds_;
  SelectedTables tables_{crowds_, namespaces_};
  ExistingTerms terms_;
  Records records_;        // by UID: of pods on nodes
  bool counting_ = false;  // labels of all pods are known
  int64_t begun_ms_ = 0;   // when that began
};

// What the what-ifs of one attempt compare, preemption's above all: each pod that comes or goes
// with each selection of the pod that is tried. Copies of a cycle's state count together.
class WhatIfComparisons {
 public:
  void count(const SelectionSpec& selection) { each_ += 1 + selection.size(); }
  // One more pod is compared. False: it would be too much.
  [[nodiscard]] bool add_one() {
    *all_ += each_;
    return *all_ <= Census::kMostComparisons;
  }

 private:
  uint64_t each_ = 0;
  std::shared_ptr<uint64_t> all_ = std::make_shared<uint64_t>(0);
};

}  // namespace plimsoll::builtin
