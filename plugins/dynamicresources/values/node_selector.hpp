#pragma once
// Node selectors of ResourceSlices and devices (v1.NodeSelector), as values.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::dra {

struct NodeRequirement {  // v1.NodeSelectorRequirement
  enum class Op : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kInvalid };
  std::string key;
  Op op = Op::kInvalid;
  std::vector<std::string> values;
  bool operator==(const NodeRequirement&) const = default;
};

struct NodeSelectorTerm {
  std::vector<NodeRequirement> expressions;  // of labels
  std::vector<NodeRequirement> fields;       // of metadata.name
  bool operator==(const NodeSelectorTerm&) const = default;
};

struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;  // ORed
  bool operator==(const NodeSelector&) const = default;
};

// What a selector asks of a node.
struct Node {
  std::string_view name;
  std::function<std::optional<std::string_view>(std::string_view key)> label;
};

// Nothing: Kubernetes cannot read the selector (component-helpers, NewNodeSelector). An empty term
// selects no node.
[[nodiscard]] std::optional<bool> matches(const NodeSelector& selector, const Node& node);

}  // namespace plimsoll::dra
