#include "plugins/builtin/census/counted_nodes.hpp"

#include <algorithm>

#include "framework/api/decode/pack.hpp"
#include "framework/api/selectors.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {

using namespace sdk;

namespace {

bool has_node_terms(const plimsoll_pod& pod) {
  return pod.node_affinity != nullptr && pod.node_affinity->has_required != 0;
}

bool restricts(const plimsoll_pod& pod) {
  return pod.node_selector.count != 0 || has_node_terms(pod);
}

void append_to_text(void* to, const void* from, size_t length) {
  static_cast<std::string*>(to)->append(static_cast<const char*>(from), length);
}

// Helper.DoNotScheduleTaintsFilterFunc.
bool repels(const plimsoll_node& node, const plimsoll_pod& pod) {
  const List<plimsoll_taint> taints = node.taints;
  return std::any_of(taints.begin(), taints.end(), [&](const plimsoll_taint& taint) {
    return (taint.effect == PLIMSOLL_EFFECT_NO_SCHEDULE ||
            taint.effect == PLIMSOLL_EFFECT_NO_EXECUTE) &&
           !tolerated(pod.tolerations, taint);
  });
}

}  // namespace

std::string PodRule::bytes_of(const plimsoll_pod& pod, bool affinity, bool taints) {
  std::string bytes;
  affinity = affinity && restricts(pod);
  if (!affinity && !taints) return bytes;
  Sink sink(append_to_text, &bytes);
  sink.put_value(uint8_t{affinity});
  if (affinity) {
    builtin::sign(sink, Labels(pod.node_selector));
    sink.put_value(uint8_t{has_node_terms(pod)});
    if (has_node_terms(pod)) {
      builtin::sign(sink, List<plimsoll_node_selector_term>(pod.node_affinity->required));
    }
  }
  if (taints) builtin::sign(sink, List<plimsoll_toleration>(pod.tolerations));
  return bytes;
}

PodRule::PodRule(const plimsoll_pod& pod, bool affinity, bool taints, uint64_t number)
    : by_affinity_(affinity && restricts(pod)), by_taints_(taints), number_(number) {
  plimsoll_pod shown{};
  shown.size = sizeof shown;
  if (by_affinity_) {
    shown.node_selector = pod.node_selector;
    shown.node_affinity = pod.node_affinity;
  }
  if (by_taints_) shown.tolerations = pod.tolerations;
  pod_ = pack_pod(shown, nullptr);
}

bool PodRule::passes(const plimsoll_node& node) const {
  if (by_affinity_ && !matches_required_node_affinity(*pod_, node)) return false;
  return !by_taints_ || !repels(node, *pod_);
}

std::string NodeRule::signature() const {
  std::string bytes;
  Sink sink(append_to_text, &bytes);
  std::vector<std::string_view> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  sink.put_value(uint64_t{sorted.size()});
  for (const std::string_view key : sorted) sink.put_field(key);
  sink.put_value(pod == nullptr ? uint64_t{0} : pod->number());
  return bytes;
}

CountedNodes::CountedNodes(TopologyKeyRef key, const NodeRule& rule)
    : key_(std::move(key)), pod_(rule.pod) {
  for (const std::string_view name : rule.keys) {
    if (name != key_->name()) needed_.emplace_back(name);
  }
}

bool CountedNodes::passes(const plimsoll_node& node) const {
  for (const std::string& name : needed_) {
    if (find_label(node.meta.labels, str(name)) == nullptr) return false;
  }
  return pod_ == nullptr || pod_->passes(node);
}

void CountedNodes::put(uint32_t slot, const plimsoll_node& node) {
  const uint32_t domain = key_->domain(slot);
  if (domain == TopologyKey::kNone || !passes(node)) return;
  if (slot >= counted_.size()) counted_.resize(slot + size_t{1}, 0);
  if (domain >= nodes_.size()) nodes_.resize(domain + size_t{1}, 0);
  counted_[slot] = 1;
  if (nodes_[domain]++ == 0) ++domain_count_;
}

void CountedNodes::remove(uint32_t slot) {
  if (!counts(slot)) return;
  counted_[slot] = 0;
  if (--nodes_[key_->domain(slot)] == 0) --domain_count_;
}

}  // namespace plimsoll::builtin
