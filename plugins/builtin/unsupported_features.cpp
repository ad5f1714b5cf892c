// UnsupportedFeatures: keeps a pod pending that asks for something this scheduler cannot honour
// yet, instead of placing it as if it had not asked. It also keeps pods away from nodes with a pod
// that cannot be read: what that takes is not known.
#include <map>
#include <plimsoll/args.hpp>
#include <string>
#include <unordered_map>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr std::string_view kNoResourceClaims =
    "pod uses resource claims, which its profile does not allocate: enable DynamicResources";

// A PodGroup of scheduling.k8s.io (KEP-4671): its members are to be placed together.
constexpr std::string_view kNoSchedulingGroups =
    "pod belongs to a pod group, which its profile does not place together: enable GangScheduling";

constexpr std::string_view kUnreadable =
    "pod has a field that this scheduler cannot read; its log says which";

// Pods are read in part only since 1.3 of the ABI.
bool is_unreadable(const plimsoll_pod& pod) {
  return PLIMSOLL_HAS(&pod, unreadable) && pod.unreadable.len != 0;
}

using UnreadablePods = std::map<std::string, std::string>;  // by node: one of them

class UnsupportedFeatures {
 public:
  static constexpr const char* kName = "UnsupportedFeatures";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;

  UnsupportedFeatures(const Host& host, std::string_view args_json) : host_(host) {
    read_args(host, args_json, {"UnsupportedFeaturesArgs"}, [this](Args& args) {
      args.read("resourceClaims", claims_allocated_);
      args.read("schedulingGroups", groups_placed_);
    });
  }

  const auto& events() const { return events_; }
  // Only a pod that it keeps away from others can be helped by what happens elsewhere.
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (!unsupported(pod).empty()) return Hint::kSkip;
    if (event.old_pod == nullptr) return Hint::kQueue;  // a node was added
    return queue_if(is_unreadable(*event.old_pod) || is_about(event, pod));
  }

  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (type == PodEvent::kRemoved || !is_unreadable(*pod)) {
      if (!unreadable_.empty()) unreadable_.erase(std::string(pod.uid()));
    } else {
      const std::string name = std::string(view(pod->meta.ns)) + "/" + std::string(pod.name());
      unreadable_[std::string(pod.uid())] = {std::string(node_name), name};
    }
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (const std::string_view reason = unsupported(pod); !reason.empty()) {
      return host_.unresolvable(reason);
    }
    if (unreadable_.empty()) return Status::skip();
    UnreadablePods forbidden;
    for (const auto& [uid, on] : unreadable_) forbidden.emplace(on.node, on.pod);
    host_.set_state(cycle, std::move(forbidden));
    return Status::success();
  }

  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* forbidden = host_.state<UnreadablePods>(cycle);
    if (forbidden == nullptr) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto found = forbidden->find(std::string(nodes[i].name()));
      if (found == forbidden->end() || !verdicts.open(i)) continue;
      // Nobody is evicted there: it would not be known what that frees.
      verdicts.set(i,
                   host_.unresolvable("node(s) had a pod that cannot be read: " + found->second));
    }
    return Status::success();
  }

  // Nothing of the verdict is reused, so nothing of the pod has to be told apart.
  Status sign(Pod, Sink&) { return Status::success(); }

 private:
  // The first thing about the pod that cannot be honoured; empty if there is none.
  std::string_view unsupported(Pod pod) const {
    if (is_unreadable(*pod)) return kUnreadable;
    const bool grouped =
        PLIMSOLL_HAS(&*pod, uses) && (pod->uses & PLIMSOLL_USES_SCHEDULING_GROUP) != 0;
    if (grouped && !groups_placed_) return kNoSchedulingGroups;
    const bool left = pod->resource_claims.count != 0 && !claims_allocated_;
    return left ? kNoResourceClaims : std::string_view();
  }

  Host host_;
  bool claims_allocated_ = false;
  bool groups_placed_ = false;
  struct Unreadable {
    std::string node;
    std::string pod;
  };
  std::unordered_map<std::string, Unreadable> unreadable_;  // by UID
  std::array<plimsoll_event_interest, 2> events_{
      on_pod(PLIMSOLL_ACTION_DELETE | PLIMSOLL_ACTION_UPDATE_POD_LABEL |
             PLIMSOLL_ACTION_UPDATE_POD_SCALE_DOWN),
      on_node(PLIMSOLL_ACTION_ADD)};
};

}  // namespace

StaticModule unsupported_features() {
  return linked_in<UnsupportedFeatures>();
}

}  // namespace plimsoll::builtin
