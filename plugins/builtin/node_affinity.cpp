// NodeAffinity: spec.nodeSelector and node affinity, and the affinity that a profile adds for all
// its pods (NodeAffinityArgs.addedAffinity).
#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "framework/api/selectors.hpp"
#include "plugins/builtin/columns/label_index.hpp"
#include "plugins/builtin/columns/label_tests.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/node_affinity_args.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/signing.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using Terms = List<plimsoll_node_selector_term>;

bool has_required(const plimsoll_node_affinity* affinity) {
  return affinity != nullptr && affinity->has_required != 0;
}

// The nodes that a term's matchFields name; nothing if it does not restrict the name.
std::optional<std::set<std::string_view>> names_of(const plimsoll_node_selector_term& term) {
  std::optional<std::set<std::string_view>> names;
  for (const plimsoll_requirement& field : List<plimsoll_requirement>(term.fields)) {
    if (view(field.key) != "metadata.name" || field.op != PLIMSOLL_OP_IN) continue;
    std::set<std::string_view> these;
    for (const plimsoll_str& value : Strings(field.values)) {
      if (!names || names->count(view(value)) != 0) these.insert(view(value));
    }
    names = std::move(these);
  }
  return names;
}

enum class Match { kNo, kYes, kError };

// RequiredNodeAffinity.Match: an invalid term is an error, unless another term matches or the
// spec.nodeSelector already does not.
Match match(const plimsoll_pod& pod, const plimsoll_node& node) {
  if (matches_required_node_affinity(pod, node)) return Match::kYes;
  if (!has_required(pod.node_affinity)) return Match::kNo;
  if (!matches_node_selector(pod, node)) return Match::kNo;
  const Terms terms = pod.node_affinity->required;
  return std::any_of(terms.begin(), terms.end(), has_error) ? Match::kError : Match::kNo;
}

class NodeAffinity {
 public:
  static constexpr const char* kName = "NodeAffinity";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_LABELS;
  static constexpr bool normalizes_by_extremes = true;

  NodeAffinity(const Host& host, std::string_view args_json)
      : host_(host),
        added_(read_added_affinity(host, args_json)),
        enforced_(host.reason("node(s) didn't match scheduler-enforced node affinity")),
        mismatch_(host.reason("node(s) didn't match Pod's node affinity/selector")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.new_node == nullptr) return Hint::kQueue;
    if (!added_matches(*event.new_node)) return Hint::kSkip;
    const Match now = match(*pod, *event.new_node);
    if (now != Match::kYes) return queue_if(now == Match::kError);
    // Only from not matching to matching.
    return queue_if(event.old_node == nullptr || match(*pod, *event.old_node) != Match::kYes);
  }

  Status pre_filter(plimsoll_cycle&, Pod pod, NodeNames& narrow) {
    const bool required = has_required(pod->node_affinity);
    if (!required && !has_required(added_.get()) && pod->node_selector.count == 0) {
      return Status::skip();
    }
    if (!required || pod->node_affinity->required.count == 0) return Status::success();
    std::set<std::string_view> names;
    for (const plimsoll_node_selector_term& term : Terms(pod->node_affinity->required)) {
      const auto these = names_of(term);
      if (!these) return Status::success();  // terms are ORed: this one allows every name
      names.insert(these->begin(), these->end());
    }
    if (names.empty()) return host_.unresolvable("pod affinity terms conflict");
    for (std::string_view name : names) narrow.add(name);
    return Status::success();
  }

  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    if (filter_by_index(*pod, nodes, verdicts)) return Status::success();
    if (filter_by_columns(*pod, nodes, verdicts)) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      const plimsoll_node& node = nodes[i].object();
      if (!added_matches(node)) {
        verdicts.set(i, Status::unresolvable(enforced_));
      } else if (!matches_required_node_affinity(*pod, node)) {
        verdicts.set(i, Status::unresolvable(mismatch_));
      }
    }
    return Status::success();
  }

  Status pre_score(plimsoll_cycle&, Pod pod, Nodes) {
    const bool added = added_ && added_->preferred.count != 0;
    const plimsoll_node_affinity* affinity = pod->node_affinity;
    if (affinity == nullptr || affinity->preferred.count == 0) {
      return added ? Status::success() : Status::skip();
    }
    for (const plimsoll_node_selector_term& term : Terms(affinity->preferred)) {
      if (term.weight != 0 && has_error(term)) {
        return host_.error("a preferred node affinity term of the pod is not valid");
      }
    }
    return Status::success();
  }

  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    std::fill(scores.begin(), scores.end(), int64_t{0});
    if (added_) add_preferences(added_->preferred, nodes, scores);
    if (pod->node_affinity != nullptr) {
      add_preferences(pod->node_affinity->preferred, nodes, scores);
    }
    return Status::success();
  }
  Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    normalize_scores(scores, false);
    return Status::success();
  }

  Status sign(Pod pod, Sink& sink) {
    builtin::sign(sink, Labels(pod->node_selector));
    const plimsoll_node_affinity* affinity = pod->node_affinity;
    sink.put_value(uint8_t{has_required(affinity)});
    if (affinity == nullptr) return Status::success();
    builtin::sign(sink, Terms(affinity->required));
    builtin::sign(sink, Terms(affinity->preferred));
    return Status::success();
  }

 private:
  bool added_matches(const plimsoll_node& node) const {
    return !has_required(added_.get()) || matches_any(added_->required, node);
  }

  // False: the pod has few terms.
  bool filter_by_index(const plimsoll_pod& pod, Nodes nodes, Verdicts verdicts) const {
    if (!has_required(pod.node_affinity)) return false;
    const Terms terms = pod.node_affinity->required;
    if (!LabelIndex::is_worth_it(nodes, terms)) return false;
    const LabelIndex::Bits any = LabelIndex(nodes, terms).matching_any();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      const plimsoll_node& node = nodes[i].object();
      if (!added_matches(node)) {
        verdicts.set(i, Status::unresolvable(enforced_));
      } else if (!LabelIndex::has(any, i) || !matches_node_selector(pod, node)) {
        verdicts.set(i, Status::unresolvable(mismatch_));
      }
    }
    return true;
  }

  // False: nothing was done, the nodes have to be looked at.
  bool filter_by_columns(const plimsoll_pod& pod, Nodes nodes, Verdicts verdicts) const {
    const plimsoll_columns* columns = nodes.columns();
    if (columns == nullptr || nodes.size() < kFewNodes) return false;
    const auto required = [columns](const plimsoll_node_affinity* affinity) {
      return tests_of(*columns, has_required(affinity) ? Terms(affinity->required) : Terms());
    };
    auto enforced = required(added_.get());
    auto selector = LabelTests::of(*columns, Labels(pod.node_selector));
    auto wanted = required(pod.node_affinity);
    if (!enforced || !selector || !wanted) return false;
    const auto any = [nodes](std::vector<LabelTests>& terms, size_t i) {
      return std::any_of(terms.begin(), terms.end(),
                         [&](LabelTests& term) { return term.hold(nodes, i); });
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      if (has_required(added_.get()) && !any(*enforced, i)) {
        verdicts.set(i, Status::unresolvable(enforced_));
      } else if (!selector->hold(nodes, i) ||
                 (has_required(pod.node_affinity) && !any(*wanted, i))) {
        verdicts.set(i, Status::unresolvable(mismatch_));
      }
    }
    return true;
  }

  static void add_by_index(Terms terms, Nodes nodes, std::span<int64_t> scores) {
    LabelIndex index(nodes, terms);
    for (const plimsoll_node_selector_term& term : terms) {
      const LabelIndex::Bits& these = index.matching(term);
      for (size_t word = 0; word < these.size(); ++word) {
        for (uint64_t left = these[word]; left != 0; left &= left - 1) {
          scores[word * 64 + static_cast<size_t>(std::countr_zero(left))] += term.weight;
        }
      }
    }
  }

  // The weights of the terms that match.
  static void add_preferences(Terms terms, Nodes nodes, std::span<int64_t> scores) {
    if (LabelIndex::is_worth_it(nodes, terms)) return add_by_index(terms, nodes, scores);
    const plimsoll_columns* columns = nodes.columns();
    const bool by_columns = columns != nullptr && nodes.size() >= kFewNodes;
    for (const plimsoll_node_selector_term& term : terms) {
      auto tests = by_columns ? LabelTests::of(*columns, term) : std::nullopt;
      for (size_t i = 0; i < nodes.size(); ++i) {
        if (tests ? tests->hold(nodes, i) : matches(term, nodes[i].object())) {
          scores[i] += term.weight;
        }
      }
    }
  }

  Host host_;
  AddedAffinity added_;
  uint32_t enforced_;
  uint32_t mismatch_;
  std::array<plimsoll_event_interest, 1> events_{
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL)};
};

}  // namespace

StaticModule node_affinity() {
  return linked_in<NodeAffinity>();
}

}  // namespace plimsoll::builtin
