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
  plimsoll_list names{};                               // plimsoll_str, sorted
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

  // A term of a pod in namespace `own`, which outlives this.
  [[nodiscard]] static ClauseSpec of(const plimsoll_pod_affinity_term& term,
                                     const plimsoll_str& own);
  [[nodiscard]] bool select(const PodTraits& pod, const Namespaces& known) const;
};

// Pods that every clause selects.
struct SelectionSpec {
  std::vector<ClauseSpec> clauses;
  bool skips_terminating = false;

  // Of one term of a pod in namespace `own`, which outlives this.
  [[nodiscard]] static SelectionSpec of(const plimsoll_pod_affinity_term& term,
                                        const plimsoll_str& own) {
    return {{ClauseSpec::of(term, own)}, false};
  }
  [[nodiscard]] bool select(const PodTraits& pod, const Namespaces& known) const;
  // Whether labels of namespaces make a difference.
  [[nodiscard]] bool need_namespaces() const;
  // How many labels and requirements it names.
  [[nodiscard]] uint64_t size() const;
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
  std::deque<std::vector<plimsoll_str>> names_;
  SelectionSpec spec_;
};

// ---- finding what matches without looking at all

// What is known of each pod that a selection selects.
enum class Anchor : uint8_t {
  kAnything,   // nothing
  kLabel,      // it has one of some labels
  kKey,        // it has a label of this key
  kNamespace,  // it is in one of some namespaces
};

// These as numbers. Different ones may have the same: whoever finds something by it looks again.
[[nodiscard]] inline uint64_t text_number(const plimsoll_str& text) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return std::hash<std::string_view>()(sdk::view(text)) * kGolden;
}
[[nodiscard]] inline uint64_t label_number(const plimsoll_str& key, const plimsoll_str& value) {
  return text_number(key) ^ std::hash<std::string_view>()(sdk::view(value));
}
[[nodiscard]] inline uint64_t key_number(const plimsoll_str& key) {
  return ~text_number(key);
}
[[nodiscard]] inline uint64_t namespace_number(const plimsoll_str& ns) {
  return text_number(ns);
}

// visit(anchor, numbers) for each thing that is known: a selected pod has exactly one of these.
template <typename Visit>
void for_each_anchor(const SelectionSpec& spec, const Visit& visit) {
  std::vector<uint64_t> numbers;
  // Of texts that are sorted.
  const auto number_all = [&](const sdk::Strings& texts, const auto& number) {
    numbers.clear();
    for (const plimsoll_str& text : texts) {
      const uint64_t next = number(text);
      if (numbers.empty() || numbers.back() != next) numbers.push_back(next);
    }
  };
  for (const ClauseSpec& clause : spec.clauses) {
    for (const plimsoll_label_selector* selector : clause.selectors) {
      for (const auto& label : sdk::List<plimsoll_label>(selector->match_labels)) {
        numbers.assign(1, label_number(label.key, label.value));
        visit(Anchor::kLabel, numbers);
      }
      for (const auto& each : sdk::List<plimsoll_requirement>(selector->expressions)) {
        if (each.op == PLIMSOLL_OP_EXISTS) {
          numbers.assign(1, key_number(each.key));
          visit(Anchor::kKey, numbers);
        } else if (each.op == PLIMSOLL_OP_IN) {
          number_all(each.values, [&](const auto& value) { return label_number(each.key, value); });
          visit(Anchor::kLabel, numbers);
        }
      }
    }
    if (clause.namespaces.by_labels != nullptr) continue;
    number_all(clause.namespaces.names, namespace_number);
    visit(Anchor::kNamespace, numbers);
  }
}

}  // namespace plimsoll::builtin
