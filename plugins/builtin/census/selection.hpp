#pragma once
// Which pods are meant: those in some namespaces that label selectors match. A selection is first
// put in the words of a pod at hand (SelectionSpec), which copies nothing; what is kept is a copy.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/builtin/census/namespaces.hpp"

namespace plimsoll::builtin {

// What a selection looks at of a pod.
struct PodTraits {
  plimsoll_str ns;
  plimsoll_list labels;  // plimsoll_label, sorted by key
  bool terminating = false;

  [[nodiscard]] static PodTraits of(const plimsoll_pod& pod) {
    return {pod.meta.ns, pod.meta.labels, pod.meta.deletion_ms != 0};
  }
};

// The namespaces of one term: those named, and those that the selector matches.
struct NamespacesSpec {
  std::vector<plimsoll_str> names;
  const plimsoll_label_selector* by_labels = nullptr;  // null: none; empty: every namespace

  [[nodiscard]] bool everywhere() const;
  [[nodiscard]] bool need_labels() const { return by_labels != nullptr && !everywhere(); }
  [[nodiscard]] bool contain(const plimsoll_str& ns, const Namespaces& known) const;
};

// A selector that matches everything.
[[nodiscard]] bool is_empty(const plimsoll_label_selector& selector);
// It has an operator that Kubernetes does not know.
[[nodiscard]] bool is_broken(const plimsoll_label_selector& selector);

// Pods in these namespaces that every selector matches.
struct ClauseSpec {
  NamespacesSpec namespaces;
  std::vector<const plimsoll_label_selector*> selectors;

  // A term of a pod in namespace `own`.
  [[nodiscard]] static ClauseSpec of(const plimsoll_pod_affinity_term& term,
                                     const plimsoll_str& own);
  [[nodiscard]] bool select(const PodTraits& pod, const Namespaces& known) const;
};

// Pods that every clause selects.
struct SelectionSpec {
  std::vector<ClauseSpec> clauses;
  bool skips_terminating = false;

  // Of one term of a pod in namespace `own`.
  [[nodiscard]] static SelectionSpec of(const plimsoll_pod_affinity_term& term,
                                        const plimsoll_str& own) {
    return {{ClauseSpec::of(term, own)}, false};
  }
  [[nodiscard]] bool select(const PodTraits& pod, const Namespaces& known) const;
  // Whether labels of namespaces make a difference.
  [[nodiscard]] bool need_namespaces() const;
  // Equal bytes, equal selections.
  void sign(std::string& bytes) const;
};

// A copy that outlives the pod.
class Selection {
 public:
  explicit Selection(const SelectionSpec& spec);
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;
  [[nodiscard]] const SelectionSpec& spec() const { return spec_; }

 private:
  [[nodiscard]] const plimsoll_label_selector* keep(const plimsoll_label_selector& selector);

  std::vector<std::shared_ptr<const plimsoll_label_selector>> selectors_;
  std::deque<std::string> texts_;
  SelectionSpec spec_;
};

// ---- finding what matches without looking at all

// A label as one number. Different labels may have the same: whoever finds something by it looks
// again.
[[nodiscard]] inline uint64_t label_hash(const plimsoll_str& key, const plimsoll_str& value) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  return hash(sdk::view(key)) * kGolden ^ hash(sdk::view(value));
}

// Sets of labels of which each selected pod has at least one: visit(hashes) for each such set.
// None: nothing can be said.
template <typename Visit>
void for_each_anchor(const SelectionSpec& spec, const Visit& visit) {
  std::vector<uint64_t> hashes;
  for (const ClauseSpec& clause : spec.clauses) {
    for (const plimsoll_label_selector* selector : clause.selectors) {
      for (const auto& label : sdk::List<plimsoll_label>(selector->match_labels)) {
        hashes.assign(1, label_hash(label.key, label.value));
        visit(hashes);
      }
      for (const auto& each : sdk::List<plimsoll_requirement>(selector->expressions)) {
        if (each.op != PLIMSOLL_OP_IN) continue;
        hashes.clear();
        for (const plimsoll_str& value : sdk::Strings(each.values)) {
          const uint64_t hash = label_hash(each.key, value);
          if (std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) hashes.push_back(hash);
        }
        visit(hashes);
      }
    }
  }
}

}  // namespace plimsoll::builtin
