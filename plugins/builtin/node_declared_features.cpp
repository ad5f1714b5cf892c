// NodeDeclaredFeatures: refuses nodes whose kubelet does not declare the features that the pod's
// spec needs (status.declaredFeatures).
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// The features that are inferred from a pod for scheduling (kube-scheduler 1.37); those of others
// matter for updates only.
constexpr uint32_t kUserNamespacesHostNetwork = 1;
constexpr uint32_t kRestartAllContainers = 2;
constexpr uint32_t kBindMountOptions = 4;

uint32_t needs_of(const plimsoll_pod& pod) {
  if (!PLIMSOLL_HAS(&pod, uses)) return 0;
  uint32_t needs = 0;
  if (pod.host_network != 0 && (pod.uses & PLIMSOLL_USES_USER_NAMESPACE) != 0) {
    needs |= kUserNamespacesHostNetwork;
  }
  if ((pod.uses & PLIMSOLL_USES_RESTART_ALL_CONTAINERS) != 0) needs |= kRestartAllContainers;
  if ((pod.uses & PLIMSOLL_USES_BIND_MOUNT_OPTIONS) != 0) needs |= kBindMountOptions;
  return needs;
}

uint32_t declared_by(const plimsoll_node& node) {
  uint32_t declared = 0;
  for (const plimsoll_str& feature : Strings(node.declared_features)) {
    if (view(feature) == "UserNamespacesHostNetworkSupport") declared |= kUserNamespacesHostNetwork;
    if (view(feature) == "RestartAllContainersOnContainerExits") declared |= kRestartAllContainers;
    if (view(feature) == "VolumeBindMountOptions") declared |= kBindMountOptions;
  }
  return declared;
}

bool same(Strings a, Strings b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& left, const auto& right) { return equal(left, right); });
}

class NodeDeclaredFeatures {
 public:
  static constexpr const char* kName = "NodeDeclaredFeatures";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_FEATURES;

  explicit NodeDeclaredFeatures(const Host& host)
      : missing_(host.reason("node(s) didn't match Pod's required features")) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (event.new_pod != nullptr) {
      return queue_if(
          is_about(event, pod) &&
          (event.old_pod == nullptr || needs_of(*event.old_pod) != needs_of(*event.new_pod)));
    }
    return queue_if(event.old_node == nullptr || event.new_node == nullptr ||
                    !same(event.old_node->declared_features, event.new_node->declared_features));
  }
  Status pre_filter(plimsoll_cycle&, Pod pod) {
    return needs_of(*pod) == 0 ? Status::skip() : Status::success();
  }
  Status filter(const plimsoll_cycle&, Pod pod, Nodes nodes, Verdicts verdicts) const {
    const uint32_t needs = needs_of(*pod);
    for (size_t i = 0; i < nodes.size() && needs != 0; ++i) {
      if (verdicts.open(i) && (needs & ~declared_by(nodes[i].object())) != 0) {
        verdicts.set(i, Status::unresolvable(missing_));
      }
    }
    return Status::success();
  }
  Status sign(Pod pod, Sink& sink) {
    sink.put_value(needs_of(*pod));
    return Status::success();
  }

 private:
  uint32_t missing_;
  std::array<plimsoll_event_interest, 2> events_{
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_DECLARED_FEATURE),
      on_pod(PLIMSOLL_ACTION_UPDATE)};
};

}  // namespace

StaticModule node_declared_features() {
  return linked_in<NodeDeclaredFeatures>();
}

}  // namespace plimsoll::builtin
