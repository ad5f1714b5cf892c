#pragma once
// Evaluates node selector terms of a pod that has thousands of them. A pod's author may write as
// many as an object holds, and testing each on each node would delay all other pods. The nodes are
// sorted once by the labels that the terms name; a term then is an AND of bits. For one call of a
// plugin.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace plimsoll::builtin {

class LabelIndex {
 public:
  using Bits = std::vector<uint64_t>;  // by row of `nodes`
  using Terms = sdk::List<plimsoll_node_selector_term>;

  // Both outlive this.
  LabelIndex(sdk::Nodes nodes, Terms terms);

  static bool has(const Bits& bits, size_t row) { return (bits[row / 64] >> (row % 64) & 1U) != 0; }

  // Which nodes match `term`, one of those (as matches() says); valid until the next call.
  const Bits& matching(const plimsoll_node_selector_term& term);
  // Which nodes match at least one of them.
  Bits matching_any();

  // From so many requirements on, an index is worth it.
  static bool is_worth_it(sdk::Nodes nodes, Terms terms);

 private:
  using Row = uint32_t;
  struct Key {
    std::vector<std::pair<std::string_view, Row>> by_value;  // sorted
    std::vector<std::pair<int64_t, Row>> by_number;  // sorted; filled in when it is asked for
    bool has_numbers = false;
    Bits present;
  };

  void read_labels(Row row, const plimsoll_node& node);
  void keep(const plimsoll_requirement& requirement);
  void keep_field(const plimsoll_requirement& requirement);
  void keep_values(Key& key, const sdk::List<plimsoll_str>& values, bool wanted);
  void keep_numbers(Key& key, const plimsoll_requirement& requirement);
  void keep_found(bool wanted);  // keeps the nodes in found_, or the others; clears found_
  void keep_none();

  sdk::Nodes nodes_;
  Terms terms_;
  std::map<std::string_view, Key> keys_;
  std::unordered_map<plimsoll_symbol, Key*> by_symbol_;  // of interned keys; null: no term names it
  Key names_;                                            // metadata.name
  bool has_names_ = false;
  Bits bits_;   // of the term that is asked about
  Bits found_;  // of one of its requirements
};

}  // namespace plimsoll::builtin
