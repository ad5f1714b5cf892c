// InterPodAffinity: keeps pods near other pods, or away from them.
#include "plugins/builtin/affinity/affinity_basis.hpp"
#include "plugins/builtin/affinity/affinity_filter.hpp"
#include "plugins/builtin/affinity/affinity_hints.hpp"
#include "plugins/builtin/affinity/affinity_score.hpp"
#include "plugins/builtin/affinity/term_costs.hpp"
#include "plugins/builtin/census/shared_census.hpp"
#include "plugins/builtin/default_args.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

struct AffinityArgs {  // InterPodAffinityArgs
  static constexpr const char* kDefaults =
      R"({"hardPodAffinityWeight":1,"ignorePreferredTermsOfExistingPods":false})";
  int32_t hard_weight = 0;
  bool ignores_preferences_of_existing_pods = false;

  static AffinityArgs read(const Host& host, std::string_view json) {
    AffinityArgs out;
    read_over(kDefaults, host, json, {"InterPodAffinityArgs"}, [&out](Args& args) {
      args.read("hardPodAffinityWeight", out.hard_weight, 0, 100);
      args.read("ignorePreferredTermsOfExistingPods", out.ignores_preferences_of_existing_pods);
    });
    return out;
  }
};

bool has_requirements(const plimsoll_pod_affinity* affinity) {
  return affinity != nullptr && affinity->required.count != 0;
}
bool has_preferences(const plimsoll_pod_affinity* affinity) {
  return affinity != nullptr && affinity->preferred.count != 0;
}

bool has_requirements(const plimsoll_pod& pod) {
  return has_requirements(pod.pod_affinity) || has_requirements(pod.pod_anti_affinity);
}
bool has_preferences(const plimsoll_pod& pod) {
  return has_preferences(pod.pod_affinity) || has_preferences(pod.pod_anti_affinity);
}

// Each term has a table of counts of its own, which stays for a while. Nobody needs as many.
constexpr size_t kMostTerms = 64;

bool has_too_many_terms(const plimsoll_pod& pod) {
  size_t terms = 0;
  for (const plimsoll_pod_affinity* affinity : {pod.pod_affinity, pod.pod_anti_affinity}) {
    if (affinity != nullptr) terms += affinity->required.count + affinity->preferred.count;
  }
  return terms > kMostTerms;
}

class InterPodAffinity : private AffinityBasis {
 public:
  static constexpr const char* kName = "InterPodAffinity";
  static constexpr const char* kDefaultArgs = AffinityArgs::kDefaults;
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr bool counts_assumed_pods = true;

  InterPodAffinity(const Host& host, std::string_view args_json)
      : host_(host),
        args_(AffinityArgs::read(host, args_json)),
        reasons_{host.reason(std::string_view("node(s) didn't match pod affinity rules")),
                 host.reason(std::string_view("node(s) didn't match pod anti-affinity rules")),
                 host.reason(std::string_view(
                     "node(s) didn't satisfy existing pods anti-affinity rules"))} {
    host_.publish(kService, 1, static_cast<const AffinityBasis*>(this));  // the first one's stays
  }

  void start() {
    shared_ = SharedCensus::of(host_);
    host_.watch("", "v1", "namespaces");
  }
  // Preferences do not wait for namespaces, requirements do: the pod's own, and those of existing
  // pods that may be about it.
  bool rests_on(Pod pod, std::string_view) const {
    for (const TermSpec& each : terms_of(*pod)) {
      if (each.required() && ClauseSpec::of(*each.term, pod->meta.ns).namespaces.need_labels()) {
        return true;
      }
    }
    return census().terms().rest_on_namespaces(PodTraits::of(*pod));
  }

  void node_event(NodeEvent type, Node node, uint32_t aspects) {
    if (shared_.feeds(SharedCensus::kNodesAndPods)) {
      census().node_event(type, node, aspects);
    }
    // Its pods count no longer. kube-scheduler waits until they are gone, too.
    if (type == NodeEvent::kRemoved) host_.requeue_rejected();
  }
  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (shared_.feeds(SharedCensus::kNodesAndPods)) {
      census().pod_event(type, pod, node_name);
    }
    costs_.tell();
  }
  void object_event(const ObjectEvent& event) {
    synced_ = synced_ || event.type == ObjectEvent::kSynced;
    if (shared_.feeds(SharedCensus::kNamespaces) && census().namespace_event(event)) {
      if (synced_) host_.requeue_rejected();
    }
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    return has_too_many_terms(*pod) ? Hint::kSkip : affinity_hint(pod, event, census());
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (has_too_many_terms(*pod)) {
      return host_.unresolvable("pod has more than 64 inter-pod affinity terms");
    }
    if (says_too_much(*pod)) {
      return host_.unresolvable(
          "pod's inter-pod affinity needs more than 4000000 comparisons with labels of other pods: "
          "use fewer requirements, or name labels (matchLabels) or namespaces");
    }
    if (!has_requirements(*pod) && census().terms().empty()) return Status::skip();
    for (const TermSpec& each : terms_of(*pod)) {
      if (is_broken(each.term->selector) || is_broken(each.term->namespace_selector)) {
        return host_.error("a label selector of the pod's inter-pod affinity is not valid");
      }
    }
    AffinityFilter filter(*pod, census());
    if (filter.empty()) return Status::skip();
    host_.set_state(cycle, std::move(filter));
    return Status::success();
  }
  Status add_pod(plimsoll_cycle& cycle, Pod pod, Pod added, Node node) {
    return change(cycle, pod, added, 1, node);
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod pod, Pod removed, Node node) {
    return change(cycle, pod, removed, -1, node);
  }
  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* filter = host_.state<AffinityFilter>(cycle);
    if (filter != nullptr) filter->filter(nodes, verdicts, reasons_);
    return Status::success();
  }

  Status pre_score(plimsoll_cycle& cycle, Pod pod, Nodes) {
    const bool own = has_preferences(*pod);
    if (!own && (census().terms().empty() || args_.ignores_preferences_of_existing_pods)) {
      return Status::skip();
    }
    AffinityScore score(*pod, args_.hard_weight, census());
    if (score.empty()) return Status::skip();
    host_.set_state(cycle, std::move(score));
    return Status::success();
  }
  Status score(const plimsoll_cycle& cycle, Pod, Nodes nodes, std::span<int64_t> scores) const {
    host_.state<AffinityScore>(cycle)->score(nodes, scores);
    return Status::success();
  }
  Status normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    normalize_affinity(scores);
    return Status::success();
  }

  // Its word is asked for each time. Pods that it looks at and pods that it skips are not to share
  // a table, which would begin anew at each change between them.
  Status sign(Pod pod, Sink& sink) {
    bool filters = has_requirements(*pod);
    bool scores = has_preferences(*pod);
    if (!census().terms().empty()) {
      const auto word = [&](const ExistingTerm& term) -> bool& {
        return term.kind == TermKind::kAntiAffinity ? filters : scores;
      };
      census().terms().for_each_about(
          PodTraits::of(*pod), census().namespaces(),
          [&](const ExistingTerm& term) { return !word(term) && !term.counts.empty(); },
          [&](const ExistingTerm& term) { word(term) = true; });
    }
    sink.put_value(uint8_t{filters});
    sink.put_value(uint8_t{scores});
    return Status::success();
  }

 private:
  [[nodiscard]] uint64_t of(const plimsoll_cycle& cycle, Pod pod, Node node,
                            std::span<const Pod> nominated) const override {
    const auto* filter = host_.state<AffinityFilter>(cycle);
    if (filter == nullptr) return 0;
    const uint64_t namespaces = census().namespaces().version();
    if (nominated.empty()) return filter->basis(node.slot(), namespaces);
    AffinityFilter with = *filter;
    for (Pod other : nominated) {
      if (!with.change(*pod, *other, 1, node.slot(), census())) return ~uint64_t{0};
    }
    return with.basis(node.slot(), namespaces);
  }
  [[nodiscard]] bool says_too_much(const plimsoll_pod& pod) const {
    uint64_t comparisons = 0;
    for (const TermSpec& each : terms_of(pod)) {
      comparisons += census().comparisons_for(SelectionSpec::of(*each.term, pod.meta.ns));
    }
    return comparisons > Census::kMostComparisons;
  }
  [[nodiscard]] Census& census() const { return shared_->census; }
  Status change(plimsoll_cycle& cycle, Pod pod, Pod other, int64_t pods, Node node) {
    auto* filter = host_.state<AffinityFilter>(cycle);
    if (filter == nullptr || filter->change(*pod, *other, pods, node.slot(), census())) {
      return Status::success();
    }
    return host_.error(
        "what-ifs need more than 4000000 comparisons of the pod's inter-pod affinity with labels "
        "of "
        "other pods: use fewer requirements");
  }

  Host host_;
  AffinityArgs args_;
  AffinityReasons reasons_;
  sdk::Shared<SharedCensus> shared_;
  TermCosts costs_{host_, [this]() -> ExistingTerms& { return census().terms(); }};
  bool synced_ = false;  // the first list of namespaces is complete
  std::array<plimsoll_event_interest, 2> events_{
      on_pod(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_LABEL),
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL)};
};

}  // namespace

StaticModule inter_pod_affinity() {
  return linked_in<InterPodAffinity>();
}

}  // namespace plimsoll::builtin
