// NodeVolumeLimits: a node takes no more volumes of a CSI driver than the driver can attach there.
// Kubernetes: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
//
// It differs from kube-scheduler where that is wrong (docs/volumes.md): a volume that is attached
// to the node already is not counted twice, and a volume of another pod that nobody can count keeps
// pods away from that pod's node only.
#include <plimsoll/args.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/volumes/counted_volumes.hpp"
#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/storage.hpp"
#include "plugins/groups/current_decision.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using namespace volumes;

// How many volumes of pods a what-if adds to a node.
struct Added {
  std::map<CsiVolume, int64_t> volumes;
  int64_t uncounted = 0;
};

// What one attempt needs.
struct Demand {
  NewVolumes on_csi_node;
  NewVolumes elsewhere;
  std::map<std::string, Added, std::less<>> added;  // by node
  bool is_member = false;                           // of the group that is decided on
};

// The volumes of a node as they are, or as they would be in a what-if.
class Attached {
 public:
  Attached(const NodeVolumes* node, const Added& added) : node_(node), added_(added) {}

  [[nodiscard]] bool has_uncounted() const {
    return (node_ == nullptr ? 0 : static_cast<int64_t>(node_->uncounted)) + added_.uncounted > 0;
  }
  [[nodiscard]] bool has(const CsiVolume& volume) const {
    const auto added = added_.volumes.find(volume);
    return is_used(volume, added == added_.volumes.end() ? 0 : added->second);
  }
  [[nodiscard]] int64_t count(const std::string& driver) const {
    int64_t sum = 0;
    if (node_ != nullptr) {
      const auto found = node_->count.find(driver);
      if (found != node_->count.end()) sum = found->second;
    }
    auto added = added_.volumes.lower_bound({driver, ""});
    for (; added != added_.volumes.end() && added->first.driver == driver; ++added) {
      sum += is_used(added->first, added->second) - is_used(added->first, 0);
    }
    return sum;
  }

 private:
  [[nodiscard]] bool is_used(const CsiVolume& volume, int64_t added) const {
    NodeVolumes::Uses uses;
    if (node_ != nullptr) {
      const auto found = node_->attached.find(volume);
      if (found != node_->attached.end()) uses = found->second;
    }
    return int64_t{uses.pods} + uses.attachments + added > 0;
  }

  const NodeVolumes* node_;
  const Added& added_;
};

// Whether a driver's limit is higher than before; no limit and no driver count as 0. With
// `or_driver` a driver is as good that was not there before.
bool raises_limit(const plimsoll_csi_node& before, const plimsoll_csi_node& now, bool or_driver) {
  using Drivers = List<plimsoll_csi_node_driver>;
  const auto limit = [](const plimsoll_csi_node_driver& driver) {
    return driver.has_count != 0 ? driver.count : 0;
  };
  std::map<std::string_view, int64_t> limits;
  for (const auto& driver : Drivers(before.drivers)) limits[view(driver.name)] = limit(driver);
  const Drivers drivers = now.drivers;
  return std::any_of(drivers.begin(), drivers.end(), [&](const plimsoll_csi_node_driver& driver) {
    const auto known = limits.find(view(driver.name));
    const bool is_new = known == limits.end();
    return (is_new && or_driver) || limit(driver) > (is_new ? 0 : known->second);
  });
}

class NodeVolumeLimits {
 public:
  static constexpr const char* kName = "NodeVolumeLimits";
  // Changes of what is attached are reported as changes of the node's volumes.
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_VOLUMES;

  NodeVolumeLimits(const Host& host, std::string_view args_json)
      : host_(host),
        exceeded_(host.reason("node(s) exceed max volume count")),
        uncounted_(host.reason("node(s) had a pod with volumes that cannot be counted")),
        unreadable_(host.reason("node(s) had a CSINode that cannot be read")) {
    read_args(host, args_json, {"NodeVolumeLimitsArgs"}, [this](Args& args) {
      args.object("featureGates",
                  [this](Args& gates) { gates.read("VolumeLimitScaling", limit_scaling_); });
    });
  }

  void start() {
    storage_ = Storage::shared(host_, kName);
    kKinds.watch(host_);
    if (limit_scaling_) host_.watch(sdk::kCsiDrivers);
    groups_.look(host_);
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    const std::string_view resource = view(event.resource);
    if (resource == sdk::kCsiNodes.resource) return queue_if(raises_limit(event));
    if (resource == sdk::kPersistentVolumeClaims.resource)
      return queue_if(event.new_object == nullptr || uses_claim(pod, event.new_object->meta));
    if (resource == sdk::kVolumeAttachments.resource)
      return queue_if(waits_for_detachment(pod, event));
    if (event.old_pod == nullptr) return Hint::kQueue;
    const bool had_node =
        event.old_pod->node_name.len != 0 || event.old_pod->nominated_node_name.len != 0;
    return queue_if(had_node && may_count(Pod(event.old_pod)));
  }

  // kube-scheduler tries a pod again only once a new node has its CSINode, and not when a CSINode,
  // and so its limit, or something that counts there goes.
  void node_event(NodeEvent type, Node, uint32_t) {
    if (type == NodeEvent::kAdded) host_.requeue_rejected();
  }
  void object_event(const ObjectEvent& event) {
    Storage::pass_on(storage_, host_, event);
    if (event.resource == sdk::kCsiNodes.resource) judged_ = nullptr;
    const auto nodes = storage_->use.changed(event.resource, event.ns, event.name);
    for (const std::string& name : nodes) touch(name);
    const bool frees = event.type == ObjectEvent::kDelete && !nodes.empty();
    if (frees || asks_for_no_driver(event)) host_.requeue_rejected();
  }
  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (type == PodEvent::kRemoved) {
      storage_->use.remove(pod.uid());
    } else {
      storage_->use.assign(pod, node_name);
    }
  }
  // A pod that is on its way to a node has its volumes there already.
  Status reserve(plimsoll_cycle&, Pod pod, Node node) {
    storage_->use.reserve(pod, node.name());
    return Status::success();
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view node_name) {
    if (!may_count(pod)) return;
    storage_->use.release(pod.uid());  // unless another plugin has already done so
    touch(node_name);
    host_.requeue_rejected();
  }

  bool rests_on(Pod pod, std::string_view resource) const {
    const bool is_own =
        kKinds.has(resource) || (limit_scaling_ && resource == sdk::kCsiDrivers.resource);
    return is_own && may_count(pod);
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (!may_count(pod)) return Status::skip();
    host_.set_state(cycle, demand_of(pod));
    return Status::success();
  }
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
    return simulate(cycle, added, node, 1);
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
    return simulate(cycle, removed, node, -1);
  }
  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* demand = host_.state<Demand>(cycle);
    if (demand == nullptr) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      const Status verdict = judge(*demand, nodes[i].name());
      if (verdict.code == PLIMSOLL_ERROR) return verdict;
      if (!verdict.ok()) verdicts.set(i, verdict);
    }
    return Status::success();
  }

  // Volumes that no node has are alike on every node: only their number matters.
  Status sign(Pod pod, Sink& sink) {
    if (!may_count(pod)) return Status::success();
    const Demand demand = demand_of(pod);
    if (demand.on_csi_node.fault || demand.elsewhere.fault) return Status::skip();
    sign(demand.on_csi_node.volumes, sink);
    sign(demand.elsewhere.volumes, sink);
    return Status::success();
  }

 private:
  static constexpr StorageKinds kKinds{sdk::kPersistentVolumeClaims, sdk::kPersistentVolumes,
                                       sdk::kStorageClasses, sdk::kCsiNodes,
                                       sdk::kVolumeAttachments};

  void touch(std::string_view node_name) {
    if (const Node node = host_.node(node_name)) {
      host_.touch_node(node.slot(), PLIMSOLL_ASPECT_VOLUMES);
    }
  }

  [[nodiscard]] Demand demand_of(Pod pod) const {
    return {new_volumes(pod, storage_->objects, true),
            new_volumes(pod, storage_->objects, false),
            {},
            groups_.on(pod) != 0};
  }

  Status simulate(plimsoll_cycle& cycle, Pod pod, Node node, int sign) const {
    auto* demand = host_.state<Demand>(cycle);
    if (demand == nullptr) return Status::success();
    const HeldVolumes held = held_volumes(pod, storage_->objects);
    if (held.volumes.empty() && held.uncounted == 0) return Status::success();
    Added& added = demand->added[std::string(node.name())];
    for (const CsiVolume& volume : held.volumes) added.volumes[volume] += sign;
    added.uncounted += sign * static_cast<int64_t>(held.uncounted);
    return Status::success();
  }

  [[nodiscard]] Status judge(const Demand& demand, std::string_view node_name) const {
    const NodeVolumes* known = storage_->use.node(node_name);
    const bool has_csi_node = known != nullptr && known->csi_node;
    const NewVolumes& wanted = has_csi_node ? demand.on_csi_node : demand.elsewhere;
    if (wanted.fault) {
      return wanted.fault->is_error ? host_.error(wanted.fault->text)
                                    : host_.unresolvable(wanted.fault->text);
    }
    if (limit_scaling_) {
      for (const CsiVolume& volume : wanted.volumes) {
        if (!requires_driver(volume.driver)) continue;
        if (has_csi_node && known->csi_node->drivers.contains(volume.driver)) continue;
        return host_.unschedulable(volume.driver + " CSI driver is not installed on the node");
      }
    }
    if (!has_csi_node || wanted.volumes.empty()) return Status::success();
    if (!known->csi_node->is_readable) return Status::unresolvable(unreadable_);
    static const Added kNothing;
    const auto added = demand.added.find(node_name);
    return judge_limits(wanted.volumes, known->csi_node->drivers,
                        Attached(known, added == demand.added.end() ? kNothing : added->second),
                        demand.is_member);
  }

  // `wanted` is sorted by driver. Members of a group that have one signature are told by it of
  // volumes that no node has, by their number: that another brings one of them does not count.
  [[nodiscard]] Status judge_limits(const std::vector<CsiVolume>& wanted,
                                    const StringMap<std::optional<int64_t>>& drivers,
                                    const Attached& attached, bool is_member) const {
    for (auto at = wanted.begin(); at != wanted.end();) {
      const std::string& driver = at->driver;
      const auto known = drivers.find(driver);
      int64_t added = 0;
      for (; at != wanted.end() && at->driver == driver; ++at)
        added += !attached.has(*at) || (is_member && !storage_->use.is_attached(*at));
      if (known == drivers.end() || !known->second || added == 0) continue;
      if (attached.has_uncounted()) return Status::unresolvable(uncounted_);
      if (attached.count(driver) + added > *known->second) return Status::unschedulable(exceeded_);
    }
    return Status::success();
  }

  [[nodiscard]] bool requires_driver(std::string_view driver) const {
    const auto found = storage_->objects.csi_drivers().find(driver);
    return found != nullptr && found->object->prevents_scheduling_if_missing != 0;
  }

  // A CSIDriver that is gone, or says so now: nodes without it may do.
  [[nodiscard]] bool asks_for_no_driver(const ObjectEvent& event) const {
    return limit_scaling_ && event.resource == sdk::kCsiDrivers.resource &&
           event.type != ObjectEvent::kSynced && !requires_driver(event.name);
  }

  void sign(const std::vector<CsiVolume>& wanted, Sink& sink) const {
    std::vector<const CsiVolume*> attached;
    std::map<std::string_view, uint64_t> unattached;
    for (const CsiVolume& volume : wanted) {
      if (storage_->use.is_attached(volume)) {
        attached.push_back(&volume);
      } else {
        ++unattached[volume.driver];
      }
    }
    sink.put_value(attached.size());
    for (const CsiVolume* volume : attached) sign(volume->driver, volume->handle, sink);
    sink.put_value(unattached.size());
    for (const auto& [driver, count] : unattached) sign(driver, std::to_string(count), sink);
  }
  void sign(std::string_view driver, std::string_view what, Sink& sink) const {
    sink.put_field(driver);
    sink.put_field(what);
    if (limit_scaling_) sink.put_value(requires_driver(driver));
  }

  // The hints about an event come one after the other: what it means is worked out once for them.
  bool raises_limit(const plimsoll_event& event) {
    if (event.old_object == nullptr || event.new_object == nullptr) return true;
    if (std::exchange(judged_, event.new_object) == event.new_object) return raised_limit_;
    const auto read = [](const plimsoll_object* object) {
      return reinterpret_cast<const plimsoll_csi_node*>(object);
    };
    raised_limit_ =
        builtin::raises_limit(*read(event.old_object), *read(event.new_object), limit_scaling_);
    return raised_limit_;
  }

  [[nodiscard]] static bool waits_for_detachment(Pod pod, const plimsoll_event& event) {
    const auto* gone = reinterpret_cast<const plimsoll_volume_attachment*>(event.old_object);
    if (gone == nullptr) return true;
    const auto volumes = volumes_of(pod);
    return std::any_of(volumes.begin(), volumes.end(), [&](const plimsoll_volume& volume) {
      if (is_claim(volume)) return true;
      if (in_tree_plugin_of(view(volume.kind)) == nullptr) return false;
      const auto translated = translate(volume);
      return !translated || translated->driver == view(gone->attacher);
    });
  }

  Host host_;
  Storage::Shared storage_;
  groups::CurrentDecision groups_;
  bool limit_scaling_ = true;                // the feature gate; off up to Kubernetes 1.36
  const plimsoll_object* judged_ = nullptr;  // a CSINode, by the latest hint; compared only
  bool raised_limit_ = true;                 // a limit, as that hint was told
  uint32_t exceeded_;
  uint32_t uncounted_;
  uint32_t unreadable_;
  std::array<plimsoll_event_interest, 5> events_{
      plimsoll_event_interest{str(sdk::kCsiNodes.resource), PLIMSOLL_ACTION_ADD, 0},
      plimsoll_event_interest{str(sdk::kCsiNodes.resource), PLIMSOLL_ACTION_UPDATE, 0},
      on_pod(PLIMSOLL_ACTION_DELETE),
      plimsoll_event_interest{str(sdk::kPersistentVolumeClaims.resource), PLIMSOLL_ACTION_ADD, 0},
      plimsoll_event_interest{str(sdk::kVolumeAttachments.resource), PLIMSOLL_ACTION_DELETE, 0}};
};

}  // namespace

StaticModule node_volume_limits() {
  return linked_in<NodeVolumeLimits>();
}

}  // namespace plimsoll::builtin
