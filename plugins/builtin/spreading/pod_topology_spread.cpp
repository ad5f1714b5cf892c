// PodTopologySpread: spreads pods that belong together over the domains of topology keys.
#include "framework/api/selectors.hpp"
#include "plugins/builtin/census/shared_census.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/spreading/spread_args.hpp"
#include "plugins/builtin/spreading/spread_filter.hpp"
#include "plugins/builtin/spreading/spread_hints.hpp"
#include "plugins/builtin/spreading/spread_score.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// Each constraint counts the nodes that have the keys of all the others, so many of them cost their
// square. Nobody needs as many.
constexpr uint32_t kMostConstraints = 64;

bool has_too_many(const plimsoll_pod& pod) {
  return pod.spread_constraints.count > kMostConstraints;
}

class PodTopologySpread {
 public:
  static constexpr const char* kName = "PodTopologySpread";
  static constexpr const char* kDefaultArgs = SpreadArgs::kDefaults;
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr bool counts_assumed_pods = true;

  PodTopologySpread(const Host& host, std::string_view args_json)
      : host_(host),
        args_(SpreadArgs::read(host, args_json)),
        reasons_{
            host.reason(std::string_view("node(s) didn't match pod topology spread constraints "
                                         "(missing required label)")),
            host.reason(std::string_view("node(s) didn't match pod topology spread constraints"))} {
  }

  // Services and controllers say which pods belong together where a pod says nothing itself.
  void start() {
    shared_ = SharedCensus::of(host_);
    if (args_.defaults.empty()) return;
    for (const Controllers::Kind& kind : Controllers::kinds()) {
      host_.watch(kind.group, kind.version, kind.plural);
    }
  }
  // Preferences do not wait for them, requirements do.
  bool rests_on(Pod pod, std::string_view resource) const {
    return pod->spread_constraints.count == 0 && args_.has_default(true) &&
           Controllers::rests_on(pod, resource);
  }

  void node_event(NodeEvent type, Node node, uint32_t aspects) {
    if (shared_.feeds(SharedCensus::kNodesAndPods)) {
      shared_->census.node_event(type, node, aspects);
    }
  }
  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (shared_.feeds(SharedCensus::kNodesAndPods)) {
      shared_->census.pod_event(type, pod, node_name);
    }
  }
  void object_event(const ObjectEvent& event) {
    synced_ = synced_ || event.type == ObjectEvent::kSynced;
    if (event.type == ObjectEvent::kSynced) return;
    if (synced_ && args_.has_default(true)) host_.requeue_rejected();
    if (!shared_.feeds(SharedCensus::kControllers)) return;
    Controllers& controllers = shared_->controllers;
    const plimsoll_pod_selector* object = nullptr;
    for (const Controllers::Kind& kind : Controllers::kinds()) {
      if (kind.resource == event.resource) object = host_.object(kind, event.ns, event.name);
    }
    if (object == nullptr) return controllers.remove(event.resource, event.ns, event.name);
    if (auto read = controllers.put(event.resource, *object); !read) {
      host_.warn(std::string(event.resource) + " " + std::string(event.ns) + "/" +
                 std::string(event.name) + " selects no pod: " + read.error().message);
    }
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (has_too_many(*pod)) return Hint::kSkip;
    return spread_hint(pod, event, SpreadConstraints(*pod, true, args_, shared_->controllers));
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (has_too_many(*pod)) {
      return host_.unresolvable("pod has more than 64 topology spread constraints");
    }
    if (says_too_much(*pod)) {
      return host_.unresolvable(
          "pod's topology spread constraints need more than 4000000 comparisons with labels of "
          "other pods: use fewer requirements, or name labels (matchLabels)");
    }
    if (!has_constraints(*pod, true, args_, shared_->controllers)) return Status::skip();
    const SpreadConstraints constraints(*pod, true, args_, shared_->controllers);
    if (constraints.broken()) return broken();
    host_.set_state(cycle, SpreadFilter(*pod, constraints, shared_->census));
    return Status::success();
  }
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
    return change(cycle, added, 1, node);
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
    return change(cycle, removed, -1, node);
  }
  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* filter = host_.state<SpreadFilter>(cycle);
    if (filter != nullptr) filter->filter(nodes, verdicts, reasons_);
    return Status::success();
  }

  Status pre_score(plimsoll_cycle& cycle, Pod pod, Nodes nodes) {
    if (!has_constraints(*pod, false, args_, shared_->controllers)) return Status::skip();
    const SpreadConstraints constraints(*pod, false, args_, shared_->controllers);
    if (constraints.broken()) return broken();
    // The defaults of kube-scheduler spread over nodes where nodes have no zone.
    const bool all_keys = pod->spread_constraints.count != 0 || !args_.system;
    host_.set_state(cycle, SpreadScore(*pod, constraints, all_keys, nodes, shared_->census));
    return Status::success();
  }
  Status score(const plimsoll_cycle& cycle, Pod, Nodes nodes, std::span<int64_t> scores) const {
    host_.state<SpreadScore>(cycle)->score(nodes, scores);
    return Status::success();
  }
  Status normalize(const plimsoll_cycle& cycle, Pod, Nodes nodes, std::span<int64_t> scores) const {
    host_.state<SpreadScore>(cycle)->normalize(nodes, scores);
    return Status::success();
  }

  // Its word is asked for each time. Pods that it looks at and pods that it skips are not to share
  // a table, which would begin anew at each change between them.
  Status sign(Pod pod, Sink& sink) {
    for (const bool do_not_schedule : {true, false}) {
      sink.put_value(uint8_t{has_constraints(*pod, do_not_schedule, args_, shared_->controllers)});
    }
    return Status::success();
  }

 private:
  Status change(plimsoll_cycle& cycle, Pod pod, int64_t pods, Node node) {
    auto* filter = host_.state<SpreadFilter>(cycle);
    if (filter == nullptr ||
        filter->change(*pod, pods, node.slot(), shared_->census.namespaces())) {
      return Status::success();
    }
    return host_.error(
        "what-ifs need more than 4000000 comparisons of the pod's topology spread constraints with "
        "labels of other pods: use fewer requirements");
  }
  [[nodiscard]] bool says_too_much(const plimsoll_pod& pod) const {
    uint64_t comparisons = 0;
    for (const bool do_not_schedule : {true, false}) {
      if (!has_constraints(pod, do_not_schedule, args_, shared_->controllers)) continue;
      const SpreadConstraints constraints(pod, do_not_schedule, args_, shared_->controllers);
      for (const SpreadConstraint& each : constraints.all()) {
        comparisons += shared_->census.comparisons_for(each.selection(pod));
      }
    }
    return comparisons > Census::kMostComparisons;
  }
  Status broken() const {
    return host_.error("a label selector of the pod's topology spread constraints is not valid");
  }

  Host host_;
  SpreadArgs args_;
  sdk::Shared<SharedCensus> shared_;
  SpreadReasons reasons_;
  bool synced_ = false;  // a first list of services or controllers is complete
  std::array<plimsoll_event_interest, 2> events_{
      on_pod(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_LABEL |
             PLIMSOLL_ACTION_UPDATE_POD_TOLERATION),
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_NODE_LABEL |
              PLIMSOLL_ACTION_UPDATE_NODE_TAINT)};
};

}  // namespace

StaticModule pod_topology_spread() {
  return linked_in<PodTopologySpread>();
}

}  // namespace plimsoll::builtin
