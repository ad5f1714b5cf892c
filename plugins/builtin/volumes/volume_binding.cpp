// VolumeBinding: a pod goes only where its bound volumes can be used, and where its unbound claims
// find volumes or can get new ones; before it is bound, its claims are. Kubernetes:
// pkg/scheduler/framework/plugins/volumebinding.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/volumes/capacity_score.hpp"
#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/shared_claims.hpp"
#include "plugins/builtin/volumes/storage.hpp"
#include "plugins/builtin/volumes/volume_binding_args.hpp"
#include "plugins/builtin/volumes/volume_writes.hpp"
#include "plugins/storage/csi_translation.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using namespace volumes;

// No node can attach more; a pod with more unbound claims than this would delay all others.
constexpr size_t kMostDelayedClaims = 256;

// The unbound claims of a member of the group that is decided on.
struct Coming {
  std::set<std::string> shared;   // those that other members name, too; keys
  std::set<std::string> classes;  // those of which there are volumes to choose from
};

// What one attempt knows of the pod's claims. By name: objects may change during the attempt.
struct PodVolumes {
  std::vector<std::string> claims;        // all; keys
  std::vector<std::string> bound;         // their volumes
  std::vector<SeenClaim> delayed;         // wait for their first consumer
  std::shared_ptr<Reservation> reserved;  // null: there is nothing to write

  // Of members that a what-if adds, if claims are delayed: how many choose volumes of a class; and
  // how many on a node have a claim of this pod, by its key and the node.
  std::map<std::string, int> choosing;
  std::map<std::string, std::map<std::string, int, std::less<>>> bound_on;
};

class VolumeBinding {
 public:
  static constexpr const char* kName = "VolumeBinding";
  static constexpr const char* kDefaultArgs = VolumeBindingArgs::kDefaults;
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_CLUSTER;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_CLUSTER;

  VolumeBinding(const Host& host, std::string_view args_json)
      : host_(host),
        args_(read_volume_binding_args(host, args_json)),
        stage_errors_(host.counter("scheduler_volume_scheduling_stage_error_total",
                                   "[ALPHA] Errors of VolumeBinding; rejections are none.",
                                   {"operation"})) {
    constexpr std::array<std::string_view, 4> kTexts{
        "node(s) didn't match PersistentVolume's node affinity",
        "node(s) didn't find available persistent volumes to bind",
        "node(s) did not have enough free storage",
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};
    for (size_t faults = 1; faults < reasons_.size(); ++faults) {
      std::vector<std::string_view> texts;
      for (size_t i = 0; i < kTexts.size(); ++i) {
        if ((faults >> i & 1U) != 0) texts.push_back(kTexts[i]);
      }
      reasons_[faults] = host.reason(texts);
    }
  }

  void start() {
    storage_ = Storage::shared(host_, kName);
    kKinds.watch(host_);
    shared_.start(host_);
  }

  void object_event(const ObjectEvent& event) { Storage::pass_on(storage_, host_, event); }
  bool rests_on(Pod pod, std::string_view resource) const {
    return has_claims(pod) && kKinds.has(resource);
  }

  // ---- queue

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    const std::string_view resource = view(event.resource);
    if (resource == sdk::kPersistentVolumeClaims.resource)
      return queue_if(event.new_object == nullptr || uses_claim(pod, event.new_object->meta));
    if (event.old_object == nullptr || event.new_object == nullptr) return Hint::kQueue;
    if (resource == sdk::kStorageClasses.resource) return queue_if(other_topologies(event));
    if (resource == sdk::kCsiNodes.resource) return queue_if(other_migration(event));
    if (resource == sdk::kCsiDrivers.resource) return queue_if(needs_no_space_now(pod, event));
    if (resource == sdk::kCsiStorageCapacities.resource) return queue_if(has_more_space(event));
    return Hint::kQueue;  // volumes and nodes
  }

  // ---- scheduling cycle

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    if (!has_claims(pod)) return Status::skip();
    PodVolumes found;
    if (auto sorted = find_claims(pod, found); !sorted) {
      const int32_t code = sorted.error().code == ErrorCode::kInternal
                               ? PLIMSOLL_ERROR
                               : PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE;
      return host_.failed(code, sorted.error().message);
    }
    host_.set_state(cycle, std::move(found));
    return Status::success();
  }

  // Pods that run have their volumes, and keep them when they go. Which ones a member would choose
  // is not foreseen: after it no other chooses of that class (docs/groups.md).
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
    return change(cycle, added, node, 1);
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
    return change(cycle, removed, node, -1);
  }

  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* pod = host_.state<PodVolumes>(cycle);
    if (pod == nullptr) return Status::success();
    NodeSets sets(nodes);
    std::vector<uint8_t> faults(nodes.size());
    for (size_t row = 0; row < nodes.size(); ++row) {
      if (!verdicts.open(row)) faults[row] = kClosed;
    }
    if (auto checked = check_bound(*pod, sets, faults); !checked) {
      return failed("predicate", checked.error().message);
    }
    if (!pod->delayed.empty()) {
      const bool shares = !pod->bound_on.empty();
      const auto rest = shares ? unbound(*pod) : std::vector<SeenClaim>();
      const auto delayed = delayed_claims(storage_->objects, shares ? rest : pod->delayed);
      if (!delayed) return failed("predicate", delayed.error().message);
      ClassNames taken;
      for (const auto& [name, members] : pod->choosing) taken.insert(name);
      VolumeFinder finder(storage_->objects, *delayed, sets, taken);
      for (uint32_t row = 0; row < nodes.size(); ++row) {
        if (faults[row] == kClosed) continue;
        if (shares && !is_bound_there(*pod, nodes[row].name())) faults[row] |= kBindConflict;
        const uint8_t found = finder.faults_on(row);
        if (found == VolumeFinder::kFailed) return failed("predicate", finder.problem());
        faults[row] |= found;
      }
    }
    for (size_t row = 0; row < nodes.size(); ++row) {
      if (faults[row] == 0 || faults[row] == kClosed) continue;
      verdicts.set(row, Status::unresolvable(reasons_[faults[row]]));
    }
    return Status::success();
  }

  Status pre_score(plimsoll_cycle& cycle, Pod, Nodes) {
    const bool scores = args_.scores_capacity && host_.state<PodVolumes>(cycle) != nullptr;
    return scores ? Status::success() : Status::skip();
  }
  Status score(const plimsoll_cycle& cycle, Pod, Nodes nodes, std::span<int64_t> scores) const {
    std::fill(scores.begin(), scores.end(), int64_t{0});
    const auto* pod = host_.state<PodVolumes>(cycle);
    if (pod == nullptr || pod->delayed.empty()) return Status::success();
    const auto delayed = delayed_claims(storage_->objects, pod->delayed);
    if (!delayed) return Status::success();
    NodeSets sets(nodes);
    VolumeFinder finder(storage_->objects, *delayed, sets);
    for (uint32_t row = 0; row < nodes.size(); ++row) {
      NodePlan plan;
      if (finder.faults_on(row, &plan) == 0) scores[row] = capacity_score(plan, args_.shape);
    }
    return Status::success();
  }

  Status reserve(plimsoll_cycle& cycle, Pod, Node node) {
    auto* found = host_.state<PodVolumes>(cycle);
    if (found == nullptr || found->delayed.empty() || all_bound(*found)) return Status::success();
    const auto delayed = delayed_claims(storage_->objects, found->delayed);
    if (!delayed) return failed("assume", delayed.error().message);
    NodePlan plan;
    const OneNode one(node);
    NodeSets sets(one.nodes());
    if (VolumeFinder(storage_->objects, *delayed, sets).faults_on(0, &plan) != 0) {
      return failed("assume", "the node does not take the pod's claims any more");
    }
    auto reservation = volumes::reserve(storage_->objects, plan, node.name(), found->delayed);
    if (!reservation) return failed("assume", reservation.error().message);
    found->reserved = std::make_shared<Reservation>(*std::move(reservation));
    return Status::success();
  }

  void unreserve(plimsoll_cycle& cycle, Pod pod, std::string_view) {
    auto* found = host_.state<PodVolumes>(cycle);
    if (found == nullptr || found->reserved == nullptr) return;
    storage_->runs.abandon(pod.uid());
    restore(storage_->objects, *found->reserved);
    found->reserved = nullptr;
    // No event of the API server may follow: another pod can have these volumes now.
    host_.requeue_rejected();
  }

  // ---- binding

  Status pre_bind_pre_flight(plimsoll_cycle& cycle, Pod, std::string_view, bool& allow_parallel) {
    const auto* found = host_.state<PodVolumes>(cycle);
    if (found == nullptr || found->reserved == nullptr) return Status::skip();
    allow_parallel = true;
    return Status::success();
  }

  Status pre_bind(plimsoll_cycle& cycle, Pod pod, std::string_view, Token token) {
    const auto* found = host_.state<PodVolumes>(cycle);
    if (found == nullptr || found->reserved == nullptr) return Status::success();
    storage_->runs.begin(host_, {std::string(pod.uid()), std::string(pod.name()), found->reserved,
                                 args_.bind_timeout_s * 1000, token, stage_errors_});
    return Status::wait();
  }

  // Nothing of a verdict is reused, so nothing of the pod has to be told apart.
  Status sign(Pod, Sink&) { return Status::success(); }

 private:
  Status change(plimsoll_cycle& cycle, Pod other, Node node, int by) {
    auto* pod = host_.state<PodVolumes>(cycle);
    if (pod == nullptr || pod->delayed.empty()) return {};
    const Coming& comes = coming(other);
    const auto count = [by](auto& counts, const auto& key) {
      if ((counts[key] += by) == 0) counts.erase(key);
    };
    for (const std::string& name : comes.classes) count(pod->choosing, name);
    for (size_t i = 0; i < pod->delayed.size() && !comes.shared.empty(); ++i) {
      const std::string& key = pod->delayed[i].first;
      if (!comes.shared.contains(key)) continue;
      auto& nodes = pod->bound_on[key];
      count(nodes, std::string(node.name()));
      if (nodes.empty()) pod->bound_on.erase(key);
    }
    return {};
  }
  // Found once in a decision: all members are told of each.
  const Coming& coming(Pod member) {
    static const Coming kNothing;
    const uint64_t decision = shared_.decision_on(member);
    if (decision == 0) return kNothing;
    if (std::exchange(decision_, decision) != decision) coming_.clear();
    const auto [known, is_new] = coming_.try_emplace(std::string(member.uid()));
    Coming& comes = known->second;
    PodVolumes theirs;
    if (!is_new || !find_claims(member, theirs)) return comes;
    const auto delayed = delayed_claims(storage_->objects, theirs.delayed);
    if (!delayed) return comes;
    for (const DelayedClaim& each : *delayed) {
      if (!each.free->empty()) comes.classes.emplace(each.claim->class_name);
      if (shared_.of(member).contains(std::string(each.claim->name())))
        comes.shared.insert(each.claim->key());
    }
    return comes;
  }
  // Without those that a member binds in a what-if: its volume can be reached from its node, and
  // whether it can from elsewhere is not looked at.
  static std::vector<SeenClaim> unbound(const PodVolumes& pod) {
    std::vector<SeenClaim> claims = pod.delayed;
    std::erase_if(claims, [&](const SeenClaim& each) { return pod.bound_on.contains(each.first); });
    return claims;
  }
  static bool is_bound_there(const PodVolumes& pod, std::string_view node) {
    return std::ranges::all_of(pod.bound_on, [&](const auto& claim) {
      return claim.second.size() == 1 && claim.second.begin()->first == node;
    });
  }

  static constexpr StorageKinds kKinds{sdk::kPersistentVolumes, sdk::kPersistentVolumeClaims,
                                       sdk::kStorageClasses,    sdk::kCsiNodes,
                                       sdk::kCsiDrivers,        sdk::kCsiStorageCapacities};
  static constexpr uint8_t kClosed = 0x80;

  [[nodiscard]] Status failed(std::string_view stage, std::string_view message) const {
    stage_errors_.add(1, stage);
    return host_.error(message);
  }

  // Kubernetes: podHasPVCs and GetPodVolumeClaims. An error of kind kInternal is one, any other
  // rejects the pod.
  Result<void> find_claims(Pod pod, PodVolumes& found) const {
    const StorageStore& store = storage_->objects;
    std::unordered_set<std::string> known;  // a claim that two volumes name is taken once
    for (const plimsoll_volume& volume : volumes_of(pod)) {
      auto name = claim_name(pod, volume);
      if (!name) continue;
      if (auto usable = check_claim(pod, volume, *name); !usable) return usable;
      if (known.insert(*name).second) found.claims.push_back(key_of(pod.ns(), *name));
    }
    bool any_immediate = false;
    for (const std::string& key : found.claims) {
      const ClaimRef claim = store.claims().find(key);
      if (claim->is_fully_bound()) {
        const VolumeRef bound = store.volume(claim->volume_name());
        if (bound != nullptr && !bound->readable()) {
          return fail(ErrorCode::kInvalid, unreadable_text("persistentvolume", bound->base()));
        }
        if (bound != nullptr) NodeSets::look_ahead(host_, bound->affinity.get());
        found.bound.emplace_back(claim->volume_name());
        continue;
      }
      auto delayed = is_delayed(*claim);
      if (!delayed) return fail(std::move(delayed.error()));
      if (*delayed) {
        found.delayed.emplace_back(key, claim->version());
      } else {
        any_immediate = true;
      }
    }
    if (any_immediate) {
      return fail(ErrorCode::kInvalid, "pod has unbound immediate PersistentVolumeClaims");
    }
    if (found.delayed.size() > kMostDelayedClaims) {
      return fail(ErrorCode::kInvalid, "pod has more than " + std::to_string(kMostDelayedClaims) +
                                           " unbound PersistentVolumeClaims");
    }
    return {};
  }

  Result<void> check_claim(Pod pod, const plimsoll_volume& volume, const std::string& name) const {
    const ClaimRef claim = storage_->objects.claim(pod.ns(), name);
    const auto refuse = [](std::string text) { return fail(ErrorCode::kInvalid, std::move(text)); };
    const std::string quoted = "persistentvolumeclaim \"" + name + "\"";
    if (claim == nullptr) {
      return refuse(is_ephemeral(volume)
                        ? "waiting for ephemeral volume controller to create the " + quoted
                        : quoted + " not found");
    }
    if (!claim->readable()) {
      return refuse(unreadable_text("persistentvolumeclaim", claim->base()));
    }
    if (view(claim->object->phase) == "Lost") {
      return refuse(quoted + " bound to non-existent persistentvolume \"" +
                    std::string(claim->volume_name()) + "\"");
    }
    if (claim->is_deleting()) return refuse(quoted + " is being deleted");
    if (is_ephemeral(volume) && !is_owned_by(*claim, pod)) {
      return refuse(not_owner_text(*claim, pod));
    }
    return {};
  }

  // Whether the claim waits for its first consumer. One that names its volume already is not ours
  // to bind.
  Result<bool> is_delayed(const PersistentVolumeClaim& claim) const {
    if (claim.class_name.empty()) return false;
    const auto storage_class = storage_->objects.classes().find(claim.class_name);
    if (storage_class == nullptr) return false;
    if (!storage_class->readable()) {
      return fail(ErrorCode::kInvalid, unreadable_text("storageclass", storage_class->base()));
    }
    if (storage_class->object->binding_mode.len == 0) {
      return fail(ErrorCode::kInternal, "VolumeBindingMode not set for StorageClass \"" +
                                            std::string(claim.class_name) + "\"");
    }
    return waits_for_consumer(*storage_class->object) && claim.volume_name().empty();
  }

  bool all_bound(const PodVolumes& found) const {
    return std::all_of(found.claims.begin(), found.claims.end(), [&](const std::string& key) {
      const ClaimRef claim = storage_->objects.claims().find(key);
      return claim != nullptr && claim->is_fully_bound();
    });
  }

  // Kubernetes: checkBoundClaims. The first bad claim decides for a node.
  Result<void> check_bound(const PodVolumes& pod, NodeSets& sets,
                           std::vector<uint8_t>& faults) const {
    for (const std::string& name : pod.bound) {
      const VolumeRef volume = storage_->objects.volume(name);
      if (volume == nullptr || !volume->readable()) {
        for (uint8_t& fault : faults) {
          if (fault == 0) fault = kVolumeNotExist;
        }
        return {};
      }
      if (volume->source().empty()) {
        keep(sets.of(volume->affinity.get()), faults);
      } else if (auto checked = check_in_tree(*volume, sets, faults); !checked) {
        return checked;
      }
    }
    return {};
  }

  static void keep(const RowSet& rows, std::vector<uint8_t>& faults) {
    if (rows.is_every()) return;
    for (size_t row = 0; row < faults.size(); ++row) {
      if (faults[row] == 0 && !rows.has(row)) faults[row] = kNodeConflict;
    }
  }

  // On nodes where the volume's plugin is migrated, its driver's topology counts.
  Result<void> check_in_tree(const PersistentVolume& volume, NodeSets& sets,
                             std::vector<uint8_t>& faults) const {
    const InTreePlugin* plugin = in_tree_plugin_of(volume.source());
    const Result<TranslatedVolume> translated = translate(volume);
    // Often both topologies are the same: then no node's CSINode matters.
    if (translated && translated->affinity == volume.affinity) {
      keep(sets.of(volume.affinity.get()), faults);
      return {};
    }
    for (size_t row = 0; row < faults.size(); ++row) {
      if (faults[row] != 0) continue;
      const Node node = sets.nodes()[row];
      const auto csi_node = storage_->objects.csi_nodes().find(node.name());
      if (plugin == nullptr || !is_migrated_on(*plugin, csi_node.get())) {
        if (!sets.of(volume.affinity.get()).has(row)) faults[row] = kNodeConflict;
        continue;
      }
      if (!translated) return fail(translated.error().within("could not translate pv"));
      const AffinityRef& affinity = translated->affinity;
      if (affinity != nullptr && !affinity->matches(node)) faults[row] = kNodeConflict;
    }
    return {};
  }

  // ---- hints: what an update changed

  template <typename Decoded>
  static std::pair<const Decoded&, const Decoded&> change(const plimsoll_event& event) {
    return {*reinterpret_cast<const Decoded*>(event.old_object),
            *reinterpret_cast<const Decoded*>(event.new_object)};
  }
  static bool other_topologies(const plimsoll_event& event) {
    const auto [before, now] = change<plimsoll_storage_class>(event);
    const uint32_t counts = before.allowed_topologies.count + now.allowed_topologies.count;
    return counts != 0 && VolumeAffinity::of(before.allowed_topologies)->json() !=
                              VolumeAffinity::of(now.allowed_topologies)->json();
  }
  static bool other_migration(const plimsoll_event& event) {
    const auto [before, now] = change<plimsoll_csi_node>(event);
    return migrated_plugins({&before}) != migrated_plugins({&now});
  }
  static bool needs_no_space_now(Pod pod, const plimsoll_event& event) {
    const auto [before, now] = change<plimsoll_csi_driver>(event);
    if (before.storage_capacity == 0 || now.storage_capacity != 0) return false;
    const auto of_driver = [name = view(now.object.meta.name)](const plimsoll_volume& volume) {
      return view(volume.kind) == "csi" && view(volume.target) == name;
    };
    const auto volumes = volumes_of(pod);
    return std::any_of(volumes.begin(), volumes.end(), of_driver);
  }
  static bool has_more_space(const plimsoll_event& event) {
    const auto [before, now] = change<plimsoll_csi_storage_capacity>(event);
    const auto old_limit = limit_of(before);
    const auto limit = limit_of(now);
    return limit && (!old_limit || limit->value() > old_limit->value());  // of whole bytes
  }

  Host host_;
  VolumeBindingArgs args_;
  CounterMetric stage_errors_;
  std::array<uint32_t, 16> reasons_{};  // by faults
  Storage::Shared storage_;
  SharedClaims shared_;
  uint64_t decision_ = 0;  // to which these belong, by UID
  std::unordered_map<std::string, Coming> coming_;
  static constexpr uint32_t kAddUpdate = PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE;
  std::array<plimsoll_event_interest, 7> events_{{
      {str(sdk::kStorageClasses.resource), kAddUpdate, 0},
      {str(sdk::kPersistentVolumeClaims.resource), kAddUpdate, 0},
      {str(sdk::kPersistentVolumes.resource), kAddUpdate, 0},
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL),
      {str(sdk::kCsiNodes.resource), kAddUpdate, 0},
      {str(sdk::kCsiDrivers.resource), PLIMSOLL_ACTION_UPDATE, 0},
      {str(sdk::kCsiStorageCapacities.resource), kAddUpdate, 0},
  }};
};

}  // namespace

StaticModule volume_binding() {
  return linked_in<VolumeBinding>();
}

}  // namespace plimsoll::builtin
