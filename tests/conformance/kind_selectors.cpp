#include <algorithm>
#include <plimsoll/views.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "tests/conformance/kinds.hpp"
#include "tests/conformance/plugin_bench.hpp"

namespace plimsoll::conformance {
namespace {

// Labels are decoded as those of a pod are.
PodRef pod_with_labels(const Json& labels, SymbolTable& symbols) {
  const Json pod = {{"metadata", {{"name", "p"}, {"labels", labels}}}};
  auto decoded = decode_pod(pod.dump(), symbols);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  return std::move(*decoded);
}

template <typename Matches>
Json matches_of(const Json& test_case, SymbolTable& symbols, Matches&& matches) {
  Json result = Json::array();
  for (const Json& labels : test_case.at("labels")) {
    result.push_back(matches(pod_with_labels(labels, symbols)->meta.labels));
  }
  return result;
}

void check_label_selector(const Json& test_case, Findings& findings) {
  SymbolTable symbols;
  const Json term = {{"labelSelector", member(test_case, "selector")}, {"topologyKey", "k"}};
  const Json pod = {
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"affinity",
         {{"podAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}}}}}}}};
  const auto decoded = decode_pod(pod.dump(), symbols);
  if (!decoded) return findings.add(decoded.error().message);
  const sdk::List<plimsoll_pod_affinity_term> terms = (*decoded)->pod_affinity->required;
  const plimsoll_label_selector& selector = terms[0].selector;

  const bool failed = !validate(selector);
  findings.expect("err", member(test_case, "err"), failed);
  if (failed) return;
  findings.expect("matches", test_case.at("matches"),
                  matches_of(test_case, symbols, [&](const plimsoll_list& labels) {
                    return matches(selector, labels);
                  }));
  findings.expect("string", member(test_case, "string"), selector_text(selector));
  findings.expect("empty", member(test_case, "empty"),
                  selector.present != 0 && selector_text(selector).empty());
}

void check_string(const Json& test_case, Findings& findings) {
  SymbolTable symbols;
  const auto query = LabelQuery::parse(test_case.at("in").get<std::string>());
  findings.expect("err", member(test_case, "err"), !query);
  if (!query) return;
  findings.expect("matches", test_case.at("matches"),
                  matches_of(test_case, symbols,
                             [&](const plimsoll_list& labels) { return query->matches(labels); }));
  findings.expect("string", member(test_case, "string"), query->text());
}

void check_node_selector(const Json& test_case, Findings& findings) {
  SymbolTable symbols;
  const Json pod = {
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"affinity",
         {{"nodeAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution", test_case.at("nodeSelector")}}}}}}}};
  const auto decoded = decode_pod(pod.dump(), symbols);
  if (!decoded) return findings.add(decoded.error().message);
  const plimsoll_list& terms = (*decoded)->node_affinity->required;
  const sdk::List<plimsoll_node_selector_term> list = terms;
  const bool failed = std::any_of(list.begin(), list.end(), has_error);

  Json lazy = Json::array();
  Json errors = Json::array();
  for (const Json& node_json : test_case.at("nodes")) {
    const auto node = decode_node(node_json.dump(), symbols);
    if (!node) return findings.add(node.error().message);
    const bool match = matches_any(terms, **node);
    lazy.push_back(match);
    errors.push_back(!match && failed);
  }
  findings.expect("err", member(test_case, "err"), failed);
  if (!failed) findings.expect("matches", test_case.at("matches"), lazy);
  findings.expect("lazyMatches", test_case.at("lazyMatches"), lazy);
  findings.expect("lazyErr", test_case.at("lazyErr"), errors);
}

void check_plugins(const Json& test_case, Findings& findings) {
  PluginBench bench(test_case);
  const Json& expected = test_case.at("plugins");
  const auto args = member(test_case, "nodeAffinityArgs");
  for (const auto& [name, outcome] : expected.items()) {
    const bool has_args = name == "NodeAffinity" && args.is_object();
    bench.check(name, has_args ? args.dump() : "", outcome, findings);
  }
}

}  // namespace

void check_selectors(const Json& test_case, Findings& findings) {
  const std::string kind = test_case.at("kind");
  if (kind == "labelselector") return check_label_selector(test_case, findings);
  if (kind == "string") return check_string(test_case, findings);
  if (kind == "nodeselector") return check_node_selector(test_case, findings);
  if (kind == "plugins") return check_plugins(test_case, findings);
  findings.add("unknown kind " + kind);
}

}  // namespace plimsoll::conformance
