// VolumeRestrictions: pods that must not share a disk are not put on one node, and a claim of
// access mode ReadWriteOncePod is given to one pod only. Kubernetes:
// pkg/scheduler/framework/plugins/volumerestrictions.
//
// Preemption sees which pod holds such a claim: unlike in kube-scheduler, the claim of the same
// name in another namespace is another claim, and a pod counts once for it (docs/volumes.md).
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/shared_claims.hpp"
#include "plugins/builtin/volumes/storage.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using namespace volumes;

bool is_disk(const plimsoll_volume& volume) {
  const std::string_view kind = view(volume.kind);
  return kind == "gcePersistentDisk" || kind == "awsElasticBlockStore" || kind == "iscsi" ||
         kind == "rbd";
}

// The disks of a pod, so kept that others are compared with all of them at once: a pod may have
// thousands.
class Disks {
 public:
  explicit Disks(Pod pod) {
    for (const plimsoll_volume& volume : volumes_of(pod)) {
      if (!is_disk(volume)) continue;
      is_empty_ = false;
      each_key(volume, [&](const Key& key) {
        bool& is_written = written_.try_emplace(key, false).first->second;
        is_written = is_written || is_exclusive(volume);
      });
    }
  }

  [[nodiscard]] bool empty() const { return is_empty_; }
  // Whether the other pod has one of these disks, and not both only read it.
  [[nodiscard]] bool conflict(Pod other) const {
    if (is_empty_) return false;
    bool found = false;
    for (const plimsoll_volume& volume : volumes_of(other)) {
      if (!is_disk(volume)) continue;
      each_key(volume, [&](const Key& key) {
        const auto ours = written_.find(key);
        found = found || (ours != written_.end() && (ours->second || is_exclusive(volume)));
      });
    }
    return found;
  }

 private:
  // What is equal in volumes of one disk. A volume of rbd has a key for each monitor: its disk is
  // the same if one monitor is.
  using Key = std::array<std::string_view, 4>;

  static bool is_exclusive(const plimsoll_volume& volume) {
    return volume.read_only == 0 || view(volume.kind) == "awsElasticBlockStore";
  }
  template <typename Visit>
  static void each_key(const plimsoll_volume& volume, const Visit& visit) {
    const std::string_view kind = view(volume.kind);
    if (kind != "rbd") return visit(Key{kind, view(volume.target)});
    const Strings details = volume.details;  // pool, image, monitors
    for (size_t i = 2; i < details.size(); ++i) {
      visit(Key{kind, view(details[0]), view(details[1]), view(details[i])});
    }
  }

  bool is_empty_ = true;
  std::map<Key, bool> written_;  // whether one of the pod's volumes of that disk excludes others
};

// Names of the claims that the pod's persistentVolumeClaim volumes name.
std::set<std::string> claims_of(Pod pod) {
  std::set<std::string> names;
  for (const plimsoll_volume& volume : volumes_of(pod)) {
    if (is_claim(volume)) names.emplace(view(volume.target));
  }
  return names;
}

// What one attempt needs.
struct Exclusive {
  std::set<std::string> claims;  // names of the pod's claims that only one pod may use
  int64_t users = 0;             // how often pods on nodes use one of them
};

class VolumeRestrictions {
 public:
  static constexpr const char* kName = "VolumeRestrictions";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_VOLUMES;

  explicit VolumeRestrictions(const Host& host)
      : host_(host),
        disk_taken_(host.reason("node(s) had no available disk")),
        claim_taken_(host.reason("node(s) unavailable due to PersistentVolumeClaim with "
                                 "ReadWriteOncePod access mode already in-use by another pod")) {}

  void start() {
    storage_ = Storage::shared(host_, kName);
    host_.watch(sdk::kPersistentVolumeClaims);
    shared_.start(host_);
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (view(event.resource) == sdk::kPersistentVolumeClaims.resource)
      return queue_if(event.new_object == nullptr || names_claim(pod, event.new_object->meta));
    if (event.old_pod == nullptr) return Hint::kQueue;  // a node was added
    const Pod gone(event.old_pod);
    if (gone.ns() != pod.ns()) return Hint::kSkip;
    if (Disks(pod).conflict(gone)) return Hint::kQueue;
    return queue_if(count_in(claims_of(pod), gone) > 0);
  }

  void object_event(const ObjectEvent& event) { Storage::pass_on(storage_, host_, event); }
  void pod_event(PodEvent type, Pod pod, std::string_view node_name) {
    if (type == PodEvent::kRemoved) {
      storage_->use.remove(pod.uid());
    } else {
      storage_->use.assign(pod, node_name);
    }
  }
  // A pod that is on its way to a node has its claims already.
  Status reserve(plimsoll_cycle&, Pod pod, Node node) {
    storage_->use.reserve(pod, node.name());
    return Status::success();
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
    storage_->use.release(pod.uid());
    if (!claims_of(pod).empty()) host_.requeue_rejected();
  }

  bool rests_on(Pod pod, std::string_view resource) const {
    return resource == sdk::kPersistentVolumeClaims.resource && !claims_of(pod).empty();
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    // The text may name anything, so it is no reason that is kept.
    if (const std::string problem = problem_of(pod); !problem.empty()) {
      return host_.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, problem);
    }
    Exclusive exclusive = exclusive_of(pod);
    if (!may_be_taken(exclusive, pod) && Disks(pod).empty()) return Status::skip();
    host_.set_state(cycle, std::move(exclusive));
    return Status::success();
  }
  Status add_pod(plimsoll_cycle& cycle, Pod pod, Pod added, Node) {
    count(cycle, pod, added, 1);
    return Status::success();
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod pod, Pod removed, Node) {
    count(cycle, pod, removed, -1);
    return Status::success();
  }

  Status filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes, Verdicts verdicts) const {
    const auto* exclusive = host_.state<Exclusive>(cycle);
    const bool is_taken = exclusive != nullptr && exclusive->users > 0;
    const Disks disks(pod);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      if (!disks.empty() && has_conflict(disks, nodes[i])) {
        verdicts.set(i, Status::unschedulable(disk_taken_));
      } else if (is_taken) {
        verdicts.set(i, Status::unschedulable(claim_taken_));
      }
    }
    return Status::success();
  }

  // Claims matter only while one of them may be taken. Then it matters which: where its user makes
  // way, there is room.
  Status sign(Pod pod, Sink& sink) {
    if (!problem_of(pod).empty()) return Status::skip();
    const Exclusive exclusive = exclusive_of(pod);
    const bool is_claim_signed = may_be_taken(exclusive, pod);
    if (!is_claim_signed && Disks(pod).empty()) return Status::success();
    sink.put_value(exclusive.users);
    if (is_claim_signed) {
      sink.put_field(pod.ns());
      for (const std::string& claim : exclusive.claims) sink.put_field(claim);
      sink.put_field({});
    }
    for (const plimsoll_volume& disk : volumes_of(pod)) {
      if (!is_disk(disk)) continue;
      sink.put_field(view(disk.kind));
      sink.put_field(view(disk.target));
      sink.put_value(disk.read_only);
      sink.put_value(disk.details.count);
      for (const plimsoll_str& detail : Strings(disk.details)) sink.put_field(view(detail));
    }
    return Status::success();
  }

 private:
  // Why the pod cannot be placed at all; empty: no reason.
  [[nodiscard]] std::string problem_of(Pod pod) const {
    constexpr std::string_view kClaim = "persistentvolumeclaim";
    for (const plimsoll_volume& volume : volumes_of(pod)) {
      if (!is_claim(volume)) continue;
      const ClaimRef claim = storage_->objects.claim(pod.ns(), view(volume.target));
      if (claim == nullptr) return not_found_text(kClaim, view(volume.target));
      if (!claim->readable()) return unreadable_text(kClaim, claim->base());
    }
    return {};
  }

  [[nodiscard]] Exclusive exclusive_of(Pod pod) const {
    Exclusive exclusive;
    for (const std::string& name : claims_of(pod)) {
      const ClaimRef claim = storage_->objects.claim(pod.ns(), name);
      if (claim == nullptr || !std::binary_search(claim->access_modes.begin(),
                                                  claim->access_modes.end(), "ReadWriteOncePod")) {
        continue;
      }
      exclusive.claims.insert(name);
      exclusive.users += static_cast<int64_t>(storage_->use.users(key_of(pod.ns(), name)));
    }
    return exclusive;
  }

  // By a pod that uses it, or by another member of the group that is decided on.
  [[nodiscard]] bool may_be_taken(const Exclusive& exclusive, Pod pod) {
    if (exclusive.claims.empty() || exclusive.users > 0) return !exclusive.claims.empty();
    const std::set<std::string>& shared = shared_.of(pod);
    return std::ranges::any_of(exclusive.claims,
                               [&](const std::string& claim) { return shared.contains(claim); });
  }

  // How many of these claims the other pod uses.
  [[nodiscard]] static int64_t count_in(const std::set<std::string>& claims, Pod other) {
    const auto theirs = claims_of(other);
    return std::count_if(theirs.begin(), theirs.end(),
                         [&](const std::string& name) { return claims.contains(name); });
  }

  void count(plimsoll_cycle& cycle, Pod pod, Pod other, int64_t sign) const {
    auto* exclusive = host_.state<Exclusive>(cycle);
    if (exclusive == nullptr || pod.ns() != other.ns()) return;
    exclusive->users += sign * count_in(exclusive->claims, other);
  }

  [[nodiscard]] static bool has_conflict(const Disks& disks, Node node) {
    const auto pods = node.pods();
    return std::any_of(pods.begin(), pods.end(), [&](const plimsoll_pod* other) {
      return other->volumes.count != 0 && disks.conflict(Pod(other));
    });
  }

  Host host_;
  Storage::Shared storage_;
  SharedClaims shared_;
  uint32_t disk_taken_;
  uint32_t claim_taken_;
  std::array<plimsoll_event_interest, 3> events_{
      on_pod(PLIMSOLL_ACTION_DELETE), on_node(PLIMSOLL_ACTION_ADD),
      plimsoll_event_interest{str(sdk::kPersistentVolumeClaims.resource), PLIMSOLL_ACTION_ADD, 0}};
};

}  // namespace

StaticModule volume_restrictions() {
  return linked_in<VolumeRestrictions>();
}

}  // namespace plimsoll::builtin
