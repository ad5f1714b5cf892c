#include "plugins/builtin/volumes/storage_objects.hpp"

#include <algorithm>
#include <array>

#include "framework/api/decode.hpp"
#include "framework/api/selectors.hpp"
#include "plugins/builtin/volumes/storage_json.hpp"

namespace plimsoll::volumes {

using fields::Field;
using fields::Json;

namespace {

constexpr const char* kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

// The sources of in-tree plugins that a CSI driver may stand in for.
constexpr std::array kMigratable{
    "gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "azureFile", "cinder",
    "portworxVolume",    "vsphereVolume"};

// Reads an object with `fill`. One that cannot be read is all empty but for its name and the
// problem.
template <typename Object, typename Fill>
Object read(std::string_view ns, std::string_view name, std::string_view json, const Fill& fill) {
  Object object;
  try {
    const Json parsed = fields::parsed_object(json);
    const Field root(&parsed, "");
    const Field meta = root.at("metadata");
    object.meta.uid = meta.at("uid").text();
    object.meta.resource_version = meta.at("resourceVersion").text();
    object.meta.is_deleting = meta.at("deletionTimestamp").is_set();
    fill(object, root);
  } catch (const fields::WrongField& wrong) {
    object = Object();
    object.meta.problem = wrong.problem;
  }
  object.meta.ns = ns;
  object.meta.name = name;
  return object;
}

std::vector<std::string> sorted_once(std::vector<std::string> texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  return texts;
}

std::string class_of(const Field& root) {
  const auto annotated = root.at("metadata").at("annotations").at(kClassAnnotation).optional_text();
  return annotated ? *annotated : root.at("spec").at("storageClassName").text();
}

std::string mode_of(const Field& spec) {
  return spec.at("volumeMode").optional_text().value_or("Filesystem");
}

AffinityRef affinity_of(const Field& required, std::string& text) {
  if (!required.is_set()) return nullptr;
  text = required.value().dump(-1, ' ', false, Json::error_handler_t::replace);
  auto affinity = VolumeAffinity::read(text);
  if (!affinity) required.wrong(affinity.error().message);
  return std::move(*affinity);
}

AffinityRef affinity_of(const Json& terms, const Field& field) {
  auto affinity = VolumeAffinity::read(
      Json{{"nodeSelectorTerms", terms}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!affinity) field.wrong(affinity.error().message);
  return std::move(*affinity);
}

// Terms ORed, as of a node selector: each key with the values that it may have.
AffinityRef topologies_of(const Field& topologies) {
  Json terms = Json::array();
  for (const Field& term : topologies.elements()) {
    Json expressions = Json::array();
    for (const Field& expression : term.at("matchLabelExpressions").elements()) {
      expressions.push_back({{"key", expression.at("key").text()},
                             {"operator", "In"},
                             {"values", expression.at("values").texts()}});
    }
    terms.push_back({{"matchExpressions", std::move(expressions)}});
  }
  return terms.empty() ? nullptr : affinity_of(terms, topologies);
}

// A label selector as the one term of a node selector. An empty one is every node.
AffinityRef node_topology_of(const Field& topology) {
  Json expressions = Json::array();
  for (const auto& [key, value] : topology.at("matchLabels").text_map()) {
    expressions.push_back({{"key", key}, {"operator", "In"}, {"values", {value}}});
  }
  for (const Field& expression : topology.at("matchExpressions").elements()) {
    expressions.push_back({{"key", expression.at("key").text()},
                           {"operator", expression.at("operator").text()},
                           {"values", expression.at("values").texts()}});
  }
  if (expressions.empty()) return nullptr;
  return affinity_of(Json::array({{{"matchExpressions", std::move(expressions)}}}), topology);
}

std::shared_ptr<const plimsoll_label_selector> selector_of(const Field& field) {
  auto decoded =
      decode_label_selector(field.value().dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!decoded) field.wrong(decoded.error().message);
  return std::move(*decoded);
}

std::optional<ClaimReference> claim_reference(const Field& field) {
  if (!field.is_set()) return std::nullopt;
  return ClaimReference{field.at("namespace").text(), field.at("name").text(),
                        field.at("uid").text(), field.at("resourceVersion").text()};
}

void fill_source(PersistentVolume& volume, const Field& spec) {
  if (const Field csi = spec.at("csi"); csi.is_set()) {
    volume.csi_driver = csi.at("driver").text();
    volume.csi_handle = csi.at("volumeHandle").text();
    return;
  }
  for (const char* name : kMigratable) {
    const Field source = spec.at(name);
    if (!source.is_set()) continue;
    volume.source = name;
    volume.source_json = source.value().dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

LabelSet::LabelSet(std::vector<std::pair<std::string, std::string>> labels)
    : texts_(std::move(labels)) {
  std::sort(texts_.begin(), texts_.end());
  rows_.reserve(texts_.size());
  for (const auto& [key, value] : texts_) rows_.push_back({sdk::str(key), sdk::str(value)});
}

PersistentVolume read_volume(std::string_view name, std::string_view json) {
  return read<PersistentVolume>("", name, json, [](PersistentVolume& volume, const Field& root) {
    const Field meta = root.at("metadata");
    const Field spec = root.at("spec");
    volume.labels = LabelSet(meta.at("labels").text_map());
    volume.class_name = class_of(root);
    volume.spec_class_name = spec.at("storageClassName").text();
    volume.bound_by_controller =
        meta.at("annotations").at("pv.kubernetes.io/bound-by-controller").is_set();
    volume.capacity = spec.at("capacity").at("storage").quantity().value_or(Quantity());
    volume.access_modes = sorted_once(spec.at("accessModes").texts());
    volume.volume_mode = mode_of(spec);
    volume.attributes_class = spec.at("volumeAttributesClassName").text();
    volume.phase = root.at("status").at("phase").text();
    volume.claim = claim_reference(spec.at("claimRef"));
    volume.affinity = affinity_of(spec.at("nodeAffinity").at("required"), volume.affinity_text);
    fill_source(volume, spec);
  });
}

PersistentVolumeClaim read_claim(std::string_view ns, std::string_view name,
                                 std::string_view json) {
  return read<PersistentVolumeClaim>(
      ns, name, json, [](PersistentVolumeClaim& claim, const Field& root) {
        const Field meta = root.at("metadata");
        const Field annotations = meta.at("annotations");
        const Field spec = root.at("spec");
        claim.class_name = class_of(root);
        claim.spec_class_name = spec.at("storageClassName").optional_text();
        claim.selected_node = annotations.at("volume.kubernetes.io/selected-node").optional_text();
        claim.has_annotations = annotations.is_set();
        claim.bind_completed = annotations.at("pv.kubernetes.io/bind-completed").is_set();
        claim.volume_name = spec.at("volumeName").text();
        claim.request = spec.at("resources").at("requests").at("storage").quantity();
        claim.access_modes = sorted_once(spec.at("accessModes").texts());
        claim.volume_mode = mode_of(spec);
        claim.attributes_class = spec.at("volumeAttributesClassName").text();
        if (const Field selector = spec.at("selector"); selector.is_set()) {
          claim.selector.parsed = selector_of(selector);
          if (const auto valid = validate(*claim.selector.parsed); !valid) {
            claim.selector.problem = valid.error().message;
          }
        }
        claim.phase = root.at("status").at("phase").text();
        for (const Field& owner : meta.at("ownerReferences").elements()) {
          if (!owner.at("controller").boolean()) continue;
          claim.has_controller = true;
          claim.controller_uid = owner.at("uid").text();
          break;
        }
      });
}

StorageClass read_storage_class(std::string_view name, std::string_view json) {
  return read<StorageClass>("", name, json, [](StorageClass& made, const Field& root) {
    made.provisioner = root.at("provisioner").text();
    made.binding_mode = root.at("volumeBindingMode").optional_text();
    made.allowed_topologies = topologies_of(root.at("allowedTopologies"));
  });
}

CsiNode read_csi_node(std::string_view name, std::string_view json) {
  return read<CsiNode>("", name, json, [](CsiNode& node, const Field& root) {
    for (const Field& driver : root.at("spec").at("drivers").elements()) {
      node.drivers.push_back(
          {driver.at("name").text(), driver.at("allocatable").at("count").integer()});
    }
    node.migrated_text = root.at("metadata").at("annotations").at(kMigratedPlugins).text();
    node.migrated_plugins = split_at_commas(node.migrated_text);
  });
}

CsiDriver read_csi_driver(std::string_view name, std::string_view json) {
  return read<CsiDriver>("", name, json, [](CsiDriver& driver, const Field& root) {
    driver.storage_capacity = root.at("spec").at("storageCapacity").boolean();
    driver.prevents_scheduling_if_missing =
        root.at("spec").at("preventPodSchedulingIfMissing").boolean();
  });
}

CsiStorageCapacity read_csi_storage_capacity(std::string_view ns, std::string_view name,
                                             std::string_view json) {
  return read<CsiStorageCapacity>(ns, name, json,
                                  [](CsiStorageCapacity& capacity, const Field& root) {
                                    capacity.class_name = root.at("storageClassName").text();
                                    capacity.capacity = root.at("capacity").quantity();
                                    capacity.maximum_size = root.at("maximumVolumeSize").quantity();
                                    const Field topology = root.at("nodeTopology");
                                    capacity.has_topology = topology.is_set();
                                    if (capacity.has_topology)
                                      capacity.topology = node_topology_of(topology);
                                  });
}

VolumeAttachment read_volume_attachment(std::string_view name, std::string_view json) {
  return read<VolumeAttachment>("", name, json, [](VolumeAttachment& made, const Field& root) {
    const Field spec = root.at("spec");
    made.attacher = spec.at("attacher").text();
    made.node_name = spec.at("nodeName").text();
    made.volume_name = spec.at("source").at("persistentVolumeName").text();
  });
}

}  // namespace plimsoll::volumes
