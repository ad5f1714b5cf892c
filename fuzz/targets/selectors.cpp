// Selectors: kubectl's syntax, metav1.LabelSelector and v1.NodeAffinity. A valid selector and its
// text must select the same objects.

#include "framework/api/selectors.hpp"

#include <array>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/symbols.hpp"
#include "fuzz/target.hpp"

namespace plimsoll::fuzz {
namespace {

const std::array<NodeRef, 4>& samples() {
  static const std::array<NodeRef, 4> kNodes = [] {
    static SymbolTable symbols;  // what is decoded looks into it
    std::array<NodeRef, 4> nodes;
    const std::array<const char*, 4> texts = {
        R"({"metadata": {"name": "n1"}})",
        R"({"metadata": {"name": "n2", "labels": {"app": "web", "tier": "a"}}})",
        R"({"metadata": {"name": "n3", "labels": {"app": "db", "gen": "7", "zone": ""}}})",
        R"({"metadata": {"name": "n4", "labels": {"a": "b", "a/b": "c", "x": "-3"}}})"};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      nodes[i] = decode_node(texts[i], symbols).value();
    }
    return nodes;
  }();
  return kNodes;
}

void kubectl_syntax(std::string_view input) {
  const auto query = LabelQuery::parse(input);
  if (!query) return require(!query.error().message.empty(), "an error says something");
  const auto again = LabelQuery::parse(query->text());
  require(again.has_value(), "'", query->text(), "' is read again");
  require(again->text() == query->text(), "'", query->text(), "' is printed the same again");
  for (const NodeRef& node : samples()) {
    require(query->matches(node->meta.labels) == again->matches(node->meta.labels), "'",
            query->text(), "' selects the same");
  }
}

void label_selector(std::string_view input) {
  const auto selector = decode_label_selector(input);
  if (!selector) return require(!selector.error().message.empty(), "an error says something");
  if (!validate(**selector)) return;
  const std::string text = selector_text(**selector);
  const auto query = LabelQuery::parse(text);
  require(query.has_value(), "'", text, "' is a selector");
  for (const NodeRef& node : samples()) {
    const bool chosen = matches(**selector, node->meta.labels);
    if ((*selector)->present == 0) {
      require(!chosen, "null selects nothing");
    } else {
      require(chosen == query->matches(node->meta.labels), "'", text, "' selects the same");
    }
  }
}

void node_affinity(std::string_view input) {
  const auto affinity = decode_node_affinity(input);
  if (!affinity) return require(!affinity.error().message.empty(), "an error says something");
  for (const NodeRef& node : samples()) {
    bool some = false;
    for (const auto& term : items<plimsoll_node_selector_term>((*affinity)->required)) {
      const bool chosen = matches(term, *node);
      require(!(chosen && has_error(term)), "a term with an error selects nothing");
      some = some || chosen;
    }
    require(some == matches_any((*affinity)->required, *node), "terms are ORed");
  }
}

}  // namespace

void selectors(std::string_view input) {
  kubectl_syntax(input);
  label_selector(input);
  node_affinity(input);
}

}  // namespace plimsoll::fuzz
