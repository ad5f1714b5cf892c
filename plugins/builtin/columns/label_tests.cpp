#include "plugins/builtin/columns/label_tests.hpp"

#include <utility>

#include "framework/api/selectors.hpp"

namespace plimsoll::builtin {

using namespace sdk;

std::optional<LabelTest> LabelTest::on(const plimsoll_columns& columns, const plimsoll_str& key) {
  plimsoll_label_column column{sizeof column, 0, nullptr};
  if (columns.label_column(&columns, key, &column) != PLIMSOLL_SUCCESS) return std::nullopt;
  LabelTest test;
  test.values_ = column.values;
  test.verdicts_.assign(column.value_count, kUnknown);
  return test;
}

std::optional<LabelTest> LabelTest::of(const plimsoll_columns& columns,
                                       const plimsoll_requirement& requirement) {
  auto test = on(columns, requirement.key);
  if (test) test->requirement_ = &requirement;
  return test;
}

std::optional<LabelTest> LabelTest::of(const plimsoll_columns& columns,
                                       const plimsoll_label& wanted) {
  auto test = on(columns, wanted.key);
  if (test) test->wanted_ = &wanted;
  return test;
}

bool LabelTest::ask(const plimsoll_node& node) const {
  if (requirement_ != nullptr) return matches(*requirement_, node.meta.labels);
  const plimsoll_str* value = find_label(node.meta.labels, wanted_->key);
  return value != nullptr && equal(*value, wanted_->value);
}

std::optional<LabelTests> LabelTests::of(const plimsoll_columns& columns,
                                         const plimsoll_node_selector_term& term) {
  if (term.fields.count != 0) return std::nullopt;
  LabelTests tests;
  tests.never_ = term.expressions.count == 0;
  for (const plimsoll_requirement& requirement : List<plimsoll_requirement>(term.expressions)) {
    auto test = LabelTest::of(columns, requirement);
    if (!test) return std::nullopt;
    tests.tests_.push_back(std::move(*test));
  }
  return tests;
}

std::optional<LabelTests> LabelTests::of(const plimsoll_columns& columns, Labels node_selector) {
  LabelTests tests;
  for (const plimsoll_label& wanted : node_selector) {
    auto test = LabelTest::of(columns, wanted);
    if (!test) return std::nullopt;
    tests.tests_.push_back(std::move(*test));
  }
  return tests;
}

std::optional<std::vector<LabelTests>> tests_of(const plimsoll_columns& columns,
                                                List<plimsoll_node_selector_term> terms) {
  std::vector<LabelTests> all;
  for (const plimsoll_node_selector_term& term : terms) {
    auto tests = LabelTests::of(columns, term);
    if (!tests) return std::nullopt;
    all.push_back(std::move(*tests));
  }
  return all;
}

}  // namespace plimsoll::builtin
