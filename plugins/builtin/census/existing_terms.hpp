#pragma once
// The affinity terms of pods that are on nodes: equal terms of replicas are one term, with the
// number of its pods in each domain of its topology key.

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/census/crowd.hpp"
#include "plugins/builtin/census/match_index.hpp"
#include "plugins/builtin/census/selection.hpp"

namespace plimsoll::builtin {

using AffinityTerms = sdk::List<plimsoll_pod_affinity_term>;
// None without an affinity.
[[nodiscard]] inline AffinityTerms required_terms(const plimsoll_pod_affinity* affinity) {
  return affinity != nullptr ? AffinityTerms(affinity->required) : AffinityTerms();
}

enum class TermKind : uint8_t { kAffinity, kAntiAffinity, kPreferred, kPreferredAnti };

// A term of a pod at hand.
struct TermSpec {
  TermKind kind;
  const plimsoll_pod_affinity_term* term;

  [[nodiscard]] bool required() const {
    return kind == TermKind::kAffinity || kind == TermKind::kAntiAffinity;
  }
};
// All terms of the pod, required ones and preferred ones.
[[nodiscard]] std::vector<TermSpec> terms_of(const plimsoll_pod& pod);
[[nodiscard]] bool has_terms(const plimsoll_pod& pod);

// The terms that pods of one namespace brought.
struct TermCost {
  std::string ns;
  size_t terms = 0;
  uint64_t compared = 0;  // how often one of them was compared with a pod of another namespace
  uint64_t told = 0;      // of these, in the metric

  void compare(const plimsoll_str& with) { compared += ns != sdk::view(with) ? 1 : 0; }
};

class ExistingTerm : public Tally, public Indexed {
 public:
  ExistingTerm(const TermSpec& of, const SelectionSpec& selected, CountedNodesRef nodes,
               TermCost& paid_by)
      : kind(of.kind),
        weight(of.term->weight),
        selection(selected),
        counts(std::move(nodes)),
        cost(paid_by) {
    add_view(counts);
  }
  [[nodiscard]] const SelectionSpec& spec() const { return selection.spec(); }

  const TermKind kind;
  const int32_t weight;  // preferred terms
  const Selection selection;
  DomainCounts counts;  // of the pods that have the term
  TermCost& cost;       // of the namespace whose pod had it first
  std::string key;
  uint64_t id = 0;  // of no other term, not even of one that is gone
};

// Pods with equal terms.
struct OwnerCrowd : Crowd {
  std::string_view key;
};

class ExistingTerms {
 public:
  // The nodes that have this label.
  using NodesOf = std::function<std::vector<CountedNodesRef>(std::span<const std::string_view>)>;
  explicit ExistingTerms(NodesOf nodes_of) : nodes_of_(std::move(nodes_of)) {}

  // The crowd of pods with these terms; null: the pod has none.
  [[nodiscard]] OwnerCrowd* owners_like(const plimsoll_pod& pod);
  // Forgets an empty crowd, and terms that no pod has any more.
  void drop(OwnerCrowd& crowd);

  [[nodiscard]] bool empty() const { return terms_.empty(); }
  // visit(term) for each that selects the pod, of those for which wants(term) is true: only these
  // are compared with it.
  template <typename Wants, typename Visit>
  void for_each_about(const PodTraits& pod, const Namespaces& known, const Wants& wants,
                      const Visit& visit) const {
    index_.for_each_candidate(pod, [&](const ExistingTerm& term) {
      if (!wants(term)) return;
      term.cost.compare(pod.ns);
      if (term.spec().select(pod, known)) visit(term);
    });
  }
  // Whether a required anti-affinity may select the pod or not, depending on labels of its
  // namespace.
  [[nodiscard]] bool rest_on_namespaces(const PodTraits& pod) const;

  [[nodiscard]] size_t size() const { return terms_.size(); }
  // Of so many namespaces at most: those whose terms were compared with most pods, them first.
  [[nodiscard]] std::vector<TermCost> worst(size_t namespaces) const;
  template <typename Visit>
  void for_each_cost(const Visit& visit) {
    for (auto& [ns, cost] : costs_) visit(cost);
  }

 private:
  [[nodiscard]] ExistingTerm& term(const TermSpec& spec, const plimsoll_str& own_ns,
                                   std::string key, const CountedNodesRef& nodes);

  NodesOf nodes_of_;
  std::unordered_map<std::string, std::unique_ptr<OwnerCrowd>> owners_;
  std::map<std::string, TermCost, std::less<>> costs_;  // by namespace; of those with terms
  std::unordered_map<std::string, std::unique_ptr<ExistingTerm>> terms_;
  MatchIndex<ExistingTerm> index_;
  size_t with_namespace_labels_ = 0;  // terms
  uint64_t last_id_ = 0;
};

}  // namespace plimsoll::builtin
