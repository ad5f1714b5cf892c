#include "plugins/storage/storage_objects.hpp"

#include <algorithm>

#include "framework/api/selectors.hpp"

namespace plimsoll::volumes {

using sdk::List;
using sdk::view;

namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";

// The decoder has seen that it can be parsed.
std::optional<Quantity> quantity_of(const plimsoll_str& text) {
  if (text.len == 0) return std::nullopt;
  auto parsed = Quantity::parse(view(text));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

std::vector<std::string_view> sorted_once(const plimsoll_list& list) {
  std::vector<std::string_view> texts;
  for (const plimsoll_str& each : List<plimsoll_str>(list)) texts.push_back(view(each));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

template <typename Object>
std::string_view class_of(const Object& read) {
  const plimsoll_str* annotated = read.annotation(kClassAnnotation);
  return view(annotated != nullptr ? *annotated : read.object->storage_class);
}

// A label selector as the one term of a node selector. An empty one is every node.
AffinityRef affinity_of(const plimsoll_label_selector& selector) {
  std::vector<plimsoll_requirement> expressions;
  for (const plimsoll_label& label : List<plimsoll_label>(selector.match_labels)) {
    plimsoll_requirement one{};
    one.key = label.key;
    one.values = {&label.value, 1, sizeof label.value};
    one.op = PLIMSOLL_OP_IN;
    expressions.push_back(one);
  }
  for (const auto& each : List<plimsoll_requirement>(selector.expressions)) {
    expressions.push_back(each);
  }
  if (expressions.empty()) return nullptr;
  plimsoll_node_selector_term term{};
  term.size = sizeof term;
  term.expressions =
      sdk::list_of<plimsoll_requirement>(std::span<const plimsoll_requirement>(expressions));
  return VolumeAffinity::of({&term, 1, sizeof term});
}

}  // namespace

std::string key_of(std::string_view ns, std::string_view name) {
  std::string key(ns);
  if (!ns.empty()) key += '/';
  return key.append(name);
}

std::optional<ClaimReference> PersistentVolume::claim() const {
  if (assumed != nullptr) return ClaimReference{assumed->ns, assumed->name, assumed->uid};
  const plimsoll_claim_reference* stored = object->claim;
  if (stored == nullptr) return std::nullopt;
  return ClaimReference{view(stored->ns), view(stored->name), view(stored->uid)};
}

bool PersistentVolume::bound_by_controller() const {
  return (assumed != nullptr && assumed->by_controller) ||
         annotation("pv.kubernetes.io/bound-by-controller") != nullptr;
}

std::string_view PersistentVolume::source() const {
  const bool is_in_tree = object->source != nullptr && object->csi_driver.len == 0;
  return is_in_tree ? view(object->source->kind) : std::string_view();
}

std::optional<std::string_view> PersistentVolumeClaim::selected_node() const {
  if (assumed != nullptr) return assumed->name;
  const plimsoll_str* stored = annotation("volume.kubernetes.io/selected-node");
  return stored != nullptr ? std::optional(view(*stored)) : std::nullopt;
}

bool PersistentVolumeClaim::is_fully_bound() const {
  return !volume_name().empty() && annotation("pv.kubernetes.io/bind-completed") != nullptr;
}

ClaimIdentity PersistentVolumeClaim::identity() const {
  return {std::string(ns()), std::string(name()), std::string(uid()), std::string(version())};
}

std::string_view PersistentVolumeClaim::controller_uid() const {
  for (const plimsoll_owner& owner : List<plimsoll_owner>(base().meta.owners)) {
    if (owner.controller != 0) return view(owner.uid);
  }
  return {};
}

std::string PersistentVolumeClaim::selector_problem() const {
  if (selector() == nullptr) return {};
  const auto valid = validate(*selector());
  return valid ? std::string() : valid.error().message;
}

bool waits_for_consumer(const plimsoll_storage_class& storage_class) {
  return view(storage_class.binding_mode) == "WaitForFirstConsumer";
}

std::optional<Quantity> limit_of(const plimsoll_csi_storage_capacity& object) {
  const auto largest = quantity_of(object.maximum_volume_size);
  return largest ? largest : quantity_of(object.capacity);
}

PersistentVolume read(const plimsoll_persistent_volume& object) {
  PersistentVolume volume;
  volume.object = &object;
  volume.class_name = class_of(volume);
  volume.capacity = quantity_of(object.capacity).value_or(Quantity());
  volume.access_modes = sorted_once(object.access_modes);
  if (object.has_node_affinity != 0) volume.affinity = VolumeAffinity::of(object.node_affinity);
  return volume;
}

PersistentVolumeClaim read(const plimsoll_persistent_volume_claim& object) {
  PersistentVolumeClaim claim;
  claim.object = &object;
  claim.class_name = class_of(claim);
  claim.request = quantity_of(object.request);
  claim.access_modes = sorted_once(object.access_modes);
  return claim;
}

StorageClass read(const plimsoll_storage_class& object) {
  const bool every_node = object.allowed_topologies.count == 0;
  return {{&object}, every_node ? nullptr : VolumeAffinity::of(object.allowed_topologies)};
}

CsiStorageCapacity read(const plimsoll_csi_storage_capacity& object) {
  return {{&object},
          quantity_of(object.capacity),
          quantity_of(object.maximum_volume_size),
          affinity_of(object.node_topology)};
}

}  // namespace plimsoll::volumes
