// VolumeZone: a pod goes where the zone and region labels of its PersistentVolumes say. Kubernetes:
// pkg/scheduler/framework/plugins/volumezone.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/builtin/volumes/storage.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using namespace volumes;

struct TopologyKey {
  std::string_view key;
  std::string_view newer;  // what a node may have instead; empty: nothing
};
constexpr std::array<TopologyKey, 4> kKeys{{
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", ""},
    {"topology.kubernetes.io/region", ""},
}};

// A label of a PersistentVolume, as an index into kKeys and the values that a node may have.
struct Topology {
  size_t key;
  std::set<std::string, std::less<>> values;
  bool operator==(const Topology&) const = default;
};
using Topologies = std::vector<Topology>;

// The parts of "a__b", trimmed; nothing if one of them is empty.
std::optional<std::set<std::string, std::less<>>> values_of(std::string_view label) {
  constexpr std::string_view kDelimiter = "__";
  constexpr std::string_view kSpaces = " \t\n\v\f\r";
  std::set<std::string, std::less<>> values;
  for (size_t begin = 0;;) {
    const size_t end = std::min(label.find(kDelimiter, begin), label.size());
    const std::string_view part = label.substr(begin, end - begin);
    const size_t first = part.find_first_not_of(kSpaces);
    if (first == part.npos) return std::nullopt;
    values.emplace(part.substr(first, part.find_last_not_of(kSpaces) + 1 - first));
    if (end == label.size()) return values;
    begin = end + kDelimiter.size();
  }
}

void add_topologies(Labels labels, Topologies& to) {
  for (size_t i = 0; i < kKeys.size(); ++i) {
    const plimsoll_str* label = labels.find(kKeys[i].key);
    if (label == nullptr) continue;
    if (auto values = values_of(view(*label))) to.push_back({i, *std::move(values)});
  }
}

bool has_topology(Node node) {
  return std::any_of(kKeys.begin(), kKeys.end(),
                     [&](const TopologyKey& each) { return node.label(each.key).has_value(); });
}

bool matches(Node node, const Topology& topology) {
  const TopologyKey& key = kKeys[topology.key];
  auto value = node.label(key.key);
  if (!value && !key.newer.empty()) value = node.label(key.newer);
  return value && topology.values.contains(*value);
}

class VolumeZone {
 public:
  static constexpr const char* kName = "VolumeZone";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;

  explicit VolumeZone(const Host& host)
      : host_(host), elsewhere_(host.reason("node(s) had no available volume zone")) {}

  void start() {
    storage_ = Storage::shared(host_, kName);
    kKinds.watch(host_);
  }

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) {
    if (view(event.resource) == sdk::kStorageClasses.resource) {
      const auto* added = reinterpret_cast<const plimsoll_storage_class*>(event.new_object);
      return queue_if(added == nullptr || waits_for_consumer(*added));
    }
    if (view(event.resource) == sdk::kPersistentVolumeClaims.resource)
      return queue_if(event.new_object == nullptr || names_claim(pod, event.new_object->meta));
    if (view(event.resource) != sdk::kPersistentVolumes.resource) return Hint::kQueue;  // a node
    if (event.old_object == nullptr || event.new_object == nullptr) return Hint::kQueue;
    Topologies before;
    Topologies now;
    add_topologies(event.old_object->meta.labels, before);
    add_topologies(event.new_object->meta.labels, now);
    return queue_if(before != now);
  }

  void object_event(const ObjectEvent& event) { Storage::pass_on(storage_, host_, event); }

  bool rests_on(Pod pod, std::string_view resource) const {
    const auto volumes = volumes_of(pod);
    return kKinds.has(resource) && std::any_of(volumes.begin(), volumes.end(), is_claim);
  }

  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    Topologies topologies;
    if (const std::string problem = collect(pod, topologies); !problem.empty()) {
      return host_.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, problem);
    }
    if (topologies.empty()) return Status::skip();
    host_.set_state(cycle, std::move(topologies));
    return Status::success();
  }

  Status filter(const plimsoll_cycle& cycle, Pod, Nodes nodes, Verdicts verdicts) const {
    const auto* topologies = host_.state<Topologies>(cycle);
    if (topologies == nullptr) return Status::success();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i) || !has_topology(nodes[i])) continue;
      const bool fits = std::all_of(topologies->begin(), topologies->end(),
                                    [&](const Topology& each) { return matches(nodes[i], each); });
      if (!fits) verdicts.set(i, Status::unresolvable(elsewhere_));
    }
    return Status::success();
  }

  // What the labels of its volumes say: claims as such do not matter.
  Status sign(Pod pod, Sink& sink) {
    Topologies topologies;
    if (!collect(pod, topologies).empty()) return Status::skip();
    for (const Topology& topology : topologies) {
      sink.put_value(topology.key);
      sink.put_value(topology.values.size());
      for (const std::string& value : topology.values) sink.put_field(value);
    }
    return Status::success();
  }

 private:
  static constexpr StorageKinds kKinds{sdk::kPersistentVolumeClaims, sdk::kPersistentVolumes,
                                       sdk::kStorageClasses};

  // Why the pod cannot be placed at all; empty: no reason.
  [[nodiscard]] std::string collect(Pod pod, Topologies& topologies) const {
    for (const plimsoll_volume& volume : volumes_of(pod)) {
      if (!is_claim(volume)) continue;
      std::string problem = collect(pod.ns(), view(volume.target), topologies);
      if (!problem.empty()) return problem;
    }
    return {};
  }

  [[nodiscard]] std::string collect(std::string_view ns, std::string_view claim_name,
                                    Topologies& topologies) const {
    constexpr std::string_view kClaim = "persistentvolumeclaim";
    constexpr std::string_view kVolume = "persistentvolume";
    if (claim_name.empty()) return "PersistentVolumeClaim had no name";
    const ClaimRef claim = storage_->objects.claim(ns, claim_name);
    if (claim == nullptr) return not_found_text(kClaim, claim_name);
    if (!claim->readable()) return unreadable_text(kClaim, claim->base());
    if (claim->volume_name().empty()) return unbound_problem(*claim);
    const VolumeRef volume = storage_->objects.volume(claim->volume_name());
    if (volume == nullptr) return not_found_text(kVolume, claim->volume_name());
    if (!volume->readable()) return unreadable_text(kVolume, volume->base());
    add_topologies(volume->base().meta.labels, topologies);
    return {};
  }

  // A claim without a volume has no topology yet, if it waits for this very pod.
  [[nodiscard]] std::string unbound_problem(const PersistentVolumeClaim& claim) const {
    constexpr std::string_view kClass = "storageclass.storage.k8s.io";
    if (claim.class_name.empty()) {
      return "PersistentVolumeClaim had no pv name and storageClass name";
    }
    const auto found = storage_->objects.classes().find(claim.class_name);
    if (found == nullptr) return not_found_text(kClass, claim.class_name);
    if (!found->readable()) return unreadable_text(kClass, found->base());
    if (found->object->binding_mode.len == 0) {
      return "VolumeBindingMode not set for StorageClass \"" + std::string(claim.class_name) + "\"";
    }
    return waits_for_consumer(*found->object) ? std::string() : "PersistentVolume had no name";
  }

  Host host_;
  Storage::Shared storage_;
  uint32_t elsewhere_;
  std::array<plimsoll_event_interest, 4> events_{
      plimsoll_event_interest{str(sdk::kStorageClasses.resource), PLIMSOLL_ACTION_ADD, 0},
      on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL),
      plimsoll_event_interest{str(sdk::kPersistentVolumeClaims.resource),
                              PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE, 0},
      plimsoll_event_interest{str(sdk::kPersistentVolumes.resource),
                              PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE, 0}};
};

}  // namespace

StaticModule volume_zone() {
  return linked_in<VolumeZone>();
}

}  // namespace plimsoll::builtin
