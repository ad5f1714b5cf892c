#pragma once
// Label selectors (metav1.LabelSelector and kubectl's -l syntax), node selectors, and tolerations
// of taints. Pure functions on the ABI structs; any thread.
//
// The decoder has set PLIMSOLL_OP_INVALID in every requirement that Kubernetes would reject
// (labels.NewRequirement). So matching does not validate; an invalid requirement matches nothing.

#include <plimsoll/objects.h>
#include <plimsoll/views.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/short_list.hpp"
#include "framework/base/result.hpp"

namespace plimsoll {

// ---- labels. `labels` is a list of plimsoll_label, sorted by key.

// Of more than kShortList labels: the value of one, or null.
[[nodiscard]] const plimsoll_str* find_among_many(const plimsoll_list& labels,
                                                  const plimsoll_str& key);
// The value of a label, or null.
[[nodiscard]] inline const plimsoll_str* find_label(const plimsoll_list& labels,
                                                    const plimsoll_str& key) {
  if (labels.count > kShortList) return find_among_many(labels, key);
  for (const plimsoll_label& label : sdk::List<plimsoll_label>(labels)) {
    if (sdk::equal(label.key, key)) return &label.value;
  }
  return nullptr;
}

// The operator of a selector's requirement: "In", "DoesNotExist", "Gt". PLIMSOLL_OP_INVALID: there
// is none of that name.
[[nodiscard]] uint32_t operator_of(std::string_view name);
// The other way; empty for PLIMSOLL_OP_INVALID.
[[nodiscard]] std::string_view operator_name(uint32_t op);

[[nodiscard]] bool matches(const plimsoll_requirement& requirement, const plimsoll_list& labels);

// A label's value or a bound, as Gt and Lt read it (strconv.ParseInt). Nothing if the text is not a
// number; then neither Gt nor Lt matches.
[[nodiscard]] std::optional<int64_t> selector_number(std::string_view text);

// A null selector matches nothing, an empty one everything.
[[nodiscard]] bool matches(const plimsoll_label_selector& selector, const plimsoll_list& labels);

// The errors of LabelSelectorAsSelector: bad keys, values and operators.
[[nodiscard]] Result<void> validate(const plimsoll_label_selector& selector);

// As labels.Selector prints it: "app=web,tier in (a,b),!old".
[[nodiscard]] std::string selector_text(const plimsoll_label_selector& selector);

// `selector` in the syntax of `kubectl -l`.
class LabelQuery {
 public:
  enum class Op { kEquals, kDoubleEquals, kNotEquals, kIn, kNotIn, kExists, kNotExists, kGt, kLt };
  struct Requirement {
    std::string key;
    Op op;
    std::vector<std::string> values;  // sorted, each once
  };

  // labels.Parse.
  [[nodiscard]] static Result<LabelQuery> parse(std::string_view text);

  [[nodiscard]] bool matches(const plimsoll_list& labels) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return requirements_.empty(); }

 private:
  std::vector<Requirement> requirements_;  // sorted by key
};

// ---- nodes

// One term, ANDed: labels and metadata.name. An empty term matches nothing.
[[nodiscard]] bool matches(const plimsoll_node_selector_term& term, const plimsoll_node& node);

// Terms, ORed. A term with an error matches nothing and does not affect the others
// (LazyErrorNodeSelector). An empty list matches nothing.
[[nodiscard]] bool matches_any(const plimsoll_list& terms, const plimsoll_node& node);

// Whether NewNodeSelector rejects the term. It accepts an empty term.
[[nodiscard]] bool has_error(const plimsoll_node_selector_term& term);

// spec.nodeSelector: the node has all these labels.
[[nodiscard]] bool matches_node_selector(const plimsoll_pod& pod, const plimsoll_node& node);

// spec.nodeSelector and the required node affinity together (GetRequiredNodeAffinity).
[[nodiscard]] bool matches_required_node_affinity(const plimsoll_pod& pod,
                                                  const plimsoll_node& node);

// ---- taints

[[nodiscard]] bool tolerates(const plimsoll_toleration& toleration, const plimsoll_taint& taint);
[[nodiscard]] bool tolerated(const plimsoll_list& tolerations, const plimsoll_taint& taint);

// ---- host ports

// Same protocol and port, and the same address; 0.0.0.0 equals every address.
[[nodiscard]] bool conflicts(const plimsoll_host_port& a, const plimsoll_host_port& b);

// ---- validation, for the decoder

enum class RequirementOf { kLabelSelector, kNodeLabels, kNodeFields };
[[nodiscard]] bool is_valid(const plimsoll_requirement& requirement, RequirementOf where);
[[nodiscard]] bool is_label_key(std::string_view key);      // IsQualifiedName
[[nodiscard]] bool is_label_value(std::string_view value);  // IsValidLabelValue

}  // namespace plimsoll
