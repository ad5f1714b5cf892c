#include "plugins/storage/storage_objects.hpp"

#include <algorithm>

#include "framework/api/decode/pack.hpp"
#include "framework/api/selectors.hpp"
#include "framework/base/split.hpp"

namespace plimsoll::volumes {

using sdk::List;
using sdk::view;

namespace {

constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

// Null: there is no such annotation.
const plimsoll_str* annotation(const plimsoll_object& object, std::string_view key) {
  return sdk::Labels(object.meta.annotations).find(key);
}

Meta read_meta(const plimsoll_object& object) {
  const plimsoll_meta& meta = object.meta;
  return {std::string(view(meta.ns)),  std::string(view(meta.name)),
          std::string(view(meta.uid)), std::string(view(meta.resource_version)),
          meta.deletion_ms != 0,       std::string(view(object.unreadable))};
}

// The decoder has seen that it can be parsed.
std::optional<Quantity> quantity_of(const plimsoll_str& text) {
  if (text.len == 0) return std::nullopt;
  auto parsed = Quantity::parse(view(text));
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

std::vector<std::string> sorted_once(const plimsoll_list& list) {
  std::vector<std::string> texts;
  for (const plimsoll_str& each : List<plimsoll_str>(list)) texts.emplace_back(view(each));
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

std::string class_of(const plimsoll_object& object, const plimsoll_str& of_spec) {
  const plimsoll_str* annotated = annotation(object, kClassAnnotation);
  return std::string(view(annotated != nullptr ? *annotated : of_spec));
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

LabelSet::LabelSet(std::vector<std::pair<std::string, std::string>> labels)
    : texts_(std::move(labels)) {
  std::sort(texts_.begin(), texts_.end());
  rows_.reserve(texts_.size());
  for (const auto& [key, value] : texts_) rows_.push_back({sdk::str(key), sdk::str(value)});
}

std::string key_of(std::string_view ns, std::string_view name) {
  std::string key(ns);
  if (!ns.empty()) key += '/';
  return key.append(name);
}

std::string key_of(const Meta& meta) {
  return key_of(meta.ns, meta.name);
}

PersistentVolume read(const plimsoll_persistent_volume& object) {
  PersistentVolume volume;
  volume.meta = read_meta(object.object);
  std::vector<std::pair<std::string, std::string>> labels;
  for (const plimsoll_label& label : List<plimsoll_label>(object.object.meta.labels)) {
    labels.emplace_back(view(label.key), view(label.value));
  }
  volume.labels = LabelSet(std::move(labels));
  volume.class_name = class_of(object.object, object.storage_class);
  volume.spec_class_name = view(object.storage_class);
  volume.bound_by_controller =
      annotation(object.object, "pv.kubernetes.io/bound-by-controller") != nullptr;
  volume.capacity = quantity_of(object.capacity).value_or(Quantity());
  volume.access_modes = sorted_once(object.access_modes);
  volume.volume_mode = view(object.volume_mode);
  volume.attributes_class = view(object.attributes_class);
  volume.phase = view(object.phase);
  if (const plimsoll_claim_reference* claim = object.claim) {
    volume.claim =
        ClaimReference{std::string(view(claim->ns)), std::string(view(claim->name)),
                       std::string(view(claim->uid)), std::string(view(claim->resource_version))};
  }
  if (object.has_node_affinity != 0) volume.affinity = VolumeAffinity::of(object.node_affinity);
  volume.csi_driver = view(object.csi_driver);
  volume.csi_handle = view(object.csi_handle);
  if (object.source == nullptr || !volume.csi_driver.empty()) return volume;
  volume.source = view(object.source->kind);
  volume.source_id = view(object.source->target);
  if (object.source->details.count != 0)
    volume.disk_kind = view(sdk::Strings(object.source->details)[0]);
  return volume;
}

PersistentVolumeClaim read(const plimsoll_persistent_volume_claim& object) {
  PersistentVolumeClaim claim;
  claim.meta = read_meta(object.object);
  claim.class_name = class_of(object.object, object.storage_class);
  if (object.has_storage_class != 0) claim.spec_class_name = view(object.storage_class);
  if (const auto* node = annotation(object.object, "volume.kubernetes.io/selected-node")) {
    claim.selected_node = view(*node);
  }
  claim.has_annotations = object.object.meta.annotations.count != 0;
  claim.bind_completed = annotation(object.object, "pv.kubernetes.io/bind-completed") != nullptr;
  claim.volume_name = view(object.volume_name);
  claim.request = quantity_of(object.request);
  claim.access_modes = sorted_once(object.access_modes);
  claim.volume_mode = view(object.volume_mode);
  claim.attributes_class = view(object.attributes_class);
  if (object.selector.present != 0) {
    claim.selector.parsed = pack_label_selector(object.selector);
    if (const auto valid = validate(object.selector); !valid) {
      claim.selector.problem = valid.error().message;
    }
  }
  claim.phase = view(object.phase);
  for (const plimsoll_owner& owner : List<plimsoll_owner>(object.object.meta.owners)) {
    if (owner.controller == 0) continue;
    claim.has_controller = true;
    claim.controller_uid = view(owner.uid);
    break;
  }
  return claim;
}

StorageClass read(const plimsoll_storage_class& object) {
  StorageClass made;
  made.meta = read_meta(object.object);
  made.provisioner = view(object.provisioner);
  made.binding_mode = view(object.binding_mode);
  if (object.allowed_topologies.count != 0) {
    made.allowed_topologies = VolumeAffinity::of(object.allowed_topologies);
  }
  return made;
}

CsiNode read(const plimsoll_csi_node& object) {
  CsiNode node;
  node.meta = read_meta(object.object);
  for (const auto& driver : List<plimsoll_csi_node_driver>(object.drivers)) {
    node.drivers.push_back({std::string(view(driver.name)),
                            driver.has_count != 0 ? std::optional(driver.count) : std::nullopt});
  }
  if (const auto* migrated = annotation(object.object, kMigratedPlugins)) {
    node.migrated_text = view(*migrated);
  }
  node.migrated_plugins = split(node.migrated_text, ",");
  return node;
}

CsiDriver read(const plimsoll_csi_driver& object) {
  return {read_meta(object.object), object.storage_capacity != 0,
          object.prevents_scheduling_if_missing != 0};
}

CsiStorageCapacity read(const plimsoll_csi_storage_capacity& object) {
  CsiStorageCapacity capacity;
  capacity.meta = read_meta(object.object);
  capacity.class_name = view(object.storage_class);
  capacity.capacity = quantity_of(object.capacity);
  capacity.maximum_size = quantity_of(object.maximum_volume_size);
  capacity.has_topology = object.node_topology.present != 0;
  capacity.topology = affinity_of(object.node_topology);
  return capacity;
}

VolumeAttachment read(const plimsoll_volume_attachment& object) {
  return {read_meta(object.object), std::string(view(object.attacher)),
          std::string(view(object.node_name)), std::string(view(object.volume_name))};
}

}  // namespace plimsoll::volumes
