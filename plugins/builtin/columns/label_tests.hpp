#pragma once
// Node selectors by the columns of the labels that they name: each requirement is evaluated once
// for each value that occurs, on the first node that has it. For one call of a plugin.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace plimsoll::builtin {

// One requirement, or one label of a spec.nodeSelector.
class LabelTest {
 public:
  // Nothing: there is no column for the label.
  static std::optional<LabelTest> of(const plimsoll_columns& columns,
                                     const plimsoll_requirement& requirement);
  static std::optional<LabelTest> of(const plimsoll_columns& columns, const plimsoll_label& wanted);

  // Whether node i has it.
  bool holds(sdk::Nodes nodes, size_t i) {
    char& verdict = verdicts_[values_[nodes.slots()[i]]];
    if (verdict == kUnknown) verdict = ask(nodes[i].object()) ? 1 : 0;
    return verdict != 0;
  }

 private:
  static constexpr char kUnknown = 2;
  static std::optional<LabelTest> on(const plimsoll_columns& columns, const plimsoll_str& key);
  [[nodiscard]] bool ask(const plimsoll_node& node) const;

  const plimsoll_requirement* requirement_ = nullptr;
  const plimsoll_label* wanted_ = nullptr;  // instead
  const uint32_t* values_ = nullptr;
  std::vector<char> verdicts_;  // by value
};

// Requirements that are ANDed: a term, or a spec.nodeSelector.
class LabelTests {
 public:
  // Nothing: it looks at more than labels, or there are no columns.
  static std::optional<LabelTests> of(const plimsoll_columns& columns,
                                      const plimsoll_node_selector_term& term);
  static std::optional<LabelTests> of(const plimsoll_columns& columns, sdk::Labels node_selector);

  bool hold(sdk::Nodes nodes, size_t i) {
    if (never_) return false;
    for (LabelTest& test : tests_) {
      if (!test.holds(nodes, i)) return false;
    }
    return true;
  }

 private:
  bool never_ = false;  // an empty term matches nothing
  std::vector<LabelTest> tests_;
};

// A list of terms; nothing if one of them cannot be tested by columns.
[[nodiscard]] std::optional<std::vector<LabelTests>> tests_of(
    const plimsoll_columns& columns, sdk::List<plimsoll_node_selector_term> terms);

// For fewer nodes than this, columns are not worth it.
inline constexpr size_t kFewNodes = 8;

}  // namespace plimsoll::builtin
