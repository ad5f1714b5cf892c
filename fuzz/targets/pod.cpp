// Pods in both encodings.

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/requests.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/symbols.hpp"
#include "fuzz/target.hpp"
#include "tests/api/describe.hpp"

namespace plimsoll::fuzz {
namespace {

void look_at(const plimsoll_pod& pod, SymbolTable& symbols) {
  static const NodeRef kNode = [] {
    static SymbolTable other;  // what is decoded looks into it
    return decode_node(R"({"metadata": {"name": "n1", "labels": {"zone": "a", "gen": "7"}}})",
                       other)
        .value();
  }();
  (void)matches_required_node_affinity(pod, *kNode);
  if (pod.node_affinity != nullptr) {
    for (const auto& term : items<plimsoll_node_selector_term>(pod.node_affinity->preferred)) {
      (void)(has_error(term) || matches(term, *kNode));
    }
  }
  for (const auto* affinity : {pod.pod_affinity, pod.pod_anti_affinity}) {
    if (affinity == nullptr) continue;
    for (const auto& term : items<plimsoll_pod_affinity_term>(affinity->required)) {
      if (validate(term.selector)) (void)selector_text(term.selector);
      (void)matches(term.selector, pod.meta.labels);
    }
  }
  for (const auto& amount : items<plimsoll_resource>(pod.requests)) {
    if (amount.index >= symbols.resource_count()) continue;
    require(symbols.resource_name(amount.index) == view(amount.name), "a resource has its index");
  }
  for (const auto& label : items<plimsoll_label>(pod.meta.labels)) {
    require(find_label(pod.meta.labels, label.key) != nullptr, "labels are sorted");
  }
}

void decode(std::string_view input, Encoding encoding) {
  SymbolTable symbols;
  const auto pod = decode_pod(input, symbols, encoding);
  if (!pod) return require(!pod.error().message.empty(), "an error says something");
  const std::string text = test::describe(**pod);
  look_at(**pod, symbols);
  const PodRef bound = assigned_copy(*pod, "some-node");
  require(view(bound->node_name) == "some-node", "a pod is on the node that it is assigned to");
  const PodRef nominated = nominated_copy(*pod, "some-node");
  require(view(nominated->nominated_node_name) == "some-node", "the same of a nominated pod");
  require(decode_pod(input, symbols, encoding).has_value(), "what is read once is read twice");
  require(test::describe(**pod) == text, "an object does not change");
}

}  // namespace

void pod_json(std::string_view input) {
  decode(input, Encoding::kJson);
  SymbolTable symbols;
  const auto resources = decode_pod_resources(input, symbols);
  if (!resources) return;
  (void)compute_qos(*resources);
  (void)nonzero_requests(*resources);
  ResourceOptions options;
  const auto spec = pod_requests(*resources, options);
  options.use_status = true;
  (void)pod_requests(*resources, options);
  (void)pod_limits(*resources, options);
  for (const Amount& amount : spec) (void)base_units(view(amount.name), amount.quantity);
}

void pod_protobuf(std::string_view input) {
  decode(input, Encoding::kProtobuf);
}

}  // namespace plimsoll::fuzz
