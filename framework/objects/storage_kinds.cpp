// The kinds about storage: core/v1 PersistentVolume and PersistentVolumeClaim, and
// storage.k8s.io/v1. Kubernetes: staging/src/k8s.io/api/core/v1/types.go,
// staging/src/k8s.io/api/storage/v1/types.go.

#include <algorithm>
#include <array>
#include <plimsoll/kinds.hpp>

#include "framework/objects/kind_reader.hpp"

namespace plimsoll {
namespace {

// The sources of in-tree plugins that a CSI driver may stand in for. Of several the first counts.
constexpr std::array<std::string_view, 7> kInTree{
    "gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "azureFile", "cinder",
    "portworxVolume",    "vsphereVolume"};

size_t in_tree_order(std::string_view kind) {
  return static_cast<size_t>(std::find(kInTree.begin(), kInTree.end(), kind) - kInTree.begin());
}

// The quantity "storage" of a list of resources.
bool storage_quantity(Decoder& decoder, WireValue& value, plimsoll_str* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    return key != "storage" || decoder.quantity(field, out);
  });
}

bool claim_reference(Decoder& decoder, WireValue& value, const plimsoll_claim_reference** claim) {
  if (value.is_null()) return true;
  auto* out = decoder.arena().make<plimsoll_claim_reference>();
  out->size = sizeof(plimsoll_claim_reference);
  *claim = out;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "namespace") return decoder.text(field, &out->ns, Keep::kPlain);
    if (key == "name") return decoder.text(field, &out->name, Keep::kPlain);
    if (key == "uid") return decoder.text(field, &out->uid, Keep::kPlain);
    if (key == "resourceVersion") {
      return decoder.text(field, &out->resource_version, Keep::kPlain);
    }
    return true;
  });
}

bool csi_source(Decoder& decoder, WireValue& value, plimsoll_persistent_volume& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "driver") return decoder.text(field, &out.csi_driver, Keep::kPlain);
    if (key == "volumeHandle") return decoder.text(field, &out.csi_handle, Keep::kPlain);
    return true;
  });
}

bool in_tree_source(Decoder& decoder, std::string_view kind, WireValue& value,
                    plimsoll_persistent_volume& out) {
  const size_t order = in_tree_order(kind);
  const size_t known =
      out.source == nullptr ? kInTree.size() : in_tree_order(view(out.source->kind));
  if (order >= known || value.is_null()) return true;
  auto* source = decoder.arena().make<plimsoll_volume>();
  source->size = sizeof(plimsoll_volume);
  source->kind = str(kInTree[order]);
  out.source = source;
  return decoder.volume_source(kind, value, source);
}

bool node_affinity(Decoder& decoder, WireValue& value, plimsoll_persistent_volume& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key != "required" || field.is_null()) return true;
    out.has_node_affinity = 1;
    return decoder.node_selector_terms(field, &out.node_affinity);
  });
}

bool volume_spec(Decoder& decoder, WireValue& value, plimsoll_persistent_volume& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "capacity") return storage_quantity(decoder, field, &out.capacity);
    if (key == "accessModes") return decoder.texts(field, &out.access_modes, Keep::kPlain);
    if (key == "storageClassName") return decoder.text(field, &out.storage_class, Keep::kPlain);
    if (key == "volumeMode") return decoder.text(field, &out.volume_mode, Keep::kPlain);
    if (key == "volumeAttributesClassName") {
      return decoder.text(field, &out.attributes_class, Keep::kPlain);
    }
    if (key == "claimRef") return claim_reference(decoder, field, &out.claim);
    if (key == "nodeAffinity") return node_affinity(decoder, field, out);
    if (key == "csi") return csi_source(decoder, field, out);
    return in_tree_source(decoder, key, field, out);
  });
}

bool phase(Decoder& decoder, WireValue& value, plimsoll_str* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    return key != "phase" || decoder.text(field, out, Keep::kPlain);
  });
}

bool volume(Decoder& decoder, std::string_view key, WireValue& value,
            plimsoll_persistent_volume& out) {
  if (key == "spec") return volume_spec(decoder, value, out);
  return key != "status" || phase(decoder, value, &out.phase);
}

bool claim_spec(Decoder& decoder, WireValue& value, plimsoll_persistent_volume_claim& out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "volumeName") return decoder.text(field, &out.volume_name, Keep::kPlain);
    if (key == "accessModes") return decoder.texts(field, &out.access_modes, Keep::kPlain);
    if (key == "storageClassName") {
      out.has_storage_class = field.is_null() ? 0 : 1;
      return decoder.text(field, &out.storage_class, Keep::kPlain);
    }
    if (key == "volumeMode") return decoder.text(field, &out.volume_mode, Keep::kPlain);
    if (key == "volumeAttributesClassName") {
      return decoder.text(field, &out.attributes_class, Keep::kPlain);
    }
    if (key == "selector") return decoder.label_selector(field, &out.selector);
    if (key != "resources") return true;
    return field.fields([&](std::string_view name, WireValue& amounts) {
      return name != "requests" || storage_quantity(decoder, amounts, &out.request);
    });
  });
}

bool claim(Decoder& decoder, std::string_view key, WireValue& value,
           plimsoll_persistent_volume_claim& out) {
  if (key == "spec") return claim_spec(decoder, value, out);
  return key != "status" || phase(decoder, value, &out.phase);
}

// A term of a class's allowedTopologies: each key with the values that it may have.
bool topology_term(Decoder& decoder, WireValue& value, plimsoll_node_selector_term* out) {
  const auto one_of = [&decoder](WireValue& item, plimsoll_requirement* requirement) {
    const bool read = item.fields([&](std::string_view key, WireValue& field) {
      if (key == "key") return decoder.text(field, &requirement->key, Keep::kPlain);
      return key != "values" || decoder.sorted_texts(field, &requirement->values, Keep::kPlain);
    });
    requirement->op = PLIMSOLL_OP_IN;
    const bool valid = is_valid(*requirement, RequirementOf::kNodeLabels);
    if (!valid) requirement->op = PLIMSOLL_OP_INVALID;
    return read;
  };
  out->size = sizeof(plimsoll_node_selector_term);
  return value.fields([&](std::string_view key, WireValue& field) {
    return key != "matchLabelExpressions" ||
           decoder.list<plimsoll_requirement>(field, &out->expressions, one_of);
  });
}

bool storage_class(Decoder& decoder, std::string_view key, WireValue& value,
                   plimsoll_storage_class& out) {
  if (key == "provisioner") return decoder.text(value, &out.provisioner, Keep::kPlain);
  if (key == "volumeBindingMode") return decoder.text(value, &out.binding_mode, Keep::kPlain);
  if (key != "allowedTopologies") return true;
  return decoder.list<plimsoll_node_selector_term>(
      value, &out.allowed_topologies, [&](WireValue& item, plimsoll_node_selector_term* term) {
        return topology_term(decoder, item, term);
      });
}

bool node_driver(Decoder& decoder, WireValue& value, plimsoll_csi_node_driver* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "name") return decoder.text(field, &out->name, Keep::kPlain);
    if (key != "allocatable") return true;
    return field.fields([&](std::string_view name, WireValue& count) {
      if (name != "count") return true;
      out->has_count = count.is_null() ? 0 : 1;
      return count.integer(&out->count);
    });
  });
}

bool csi_node(Decoder& decoder, std::string_view key, WireValue& value, plimsoll_csi_node& out) {
  if (key != "spec") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    return name != "drivers" ||
           decoder.list<plimsoll_csi_node_driver>(
               field, &out.drivers, [&](WireValue& item, plimsoll_csi_node_driver* driver) {
                 return node_driver(decoder, item, driver);
               });
  });
}

bool csi_driver(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_csi_driver& out) {
  if (key != "spec") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    if (name == "storageCapacity") return decoder.flag(field, &out.storage_capacity);
    return name != "preventPodSchedulingIfMissing" ||
           decoder.flag(field, &out.prevents_scheduling_if_missing);
  });
}

bool capacity(Decoder& decoder, std::string_view key, WireValue& value,
              plimsoll_csi_storage_capacity& out) {
  if (key == "storageClassName") return decoder.text(value, &out.storage_class, Keep::kPlain);
  if (key == "capacity") return decoder.quantity(value, &out.capacity);
  if (key == "maximumVolumeSize") return decoder.quantity(value, &out.maximum_volume_size);
  return key != "nodeTopology" || decoder.label_selector(value, &out.node_topology);
}

bool attachment(Decoder& decoder, std::string_view key, WireValue& value,
                plimsoll_volume_attachment& out) {
  if (key != "spec") return true;
  return value.fields([&](std::string_view name, WireValue& field) {
    if (name == "attacher") return decoder.text(field, &out.attacher, Keep::kPlain);
    if (name == "nodeName") return decoder.text(field, &out.node_name, Keep::kPlain);
    if (name != "source") return true;
    return field.fields([&](std::string_view of, WireValue& source) {
      return of != "persistentVolumeName" || decoder.text(source, &out.volume_name, Keep::kPlain);
    });
  });
}

plimsoll_persistent_volume absent_volume() {
  plimsoll_persistent_volume volume{};
  volume.volume_mode = str("Filesystem");
  return volume;
}

plimsoll_persistent_volume_claim absent_claim() {
  plimsoll_persistent_volume_claim claim{};
  claim.volume_mode = str("Filesystem");
  claim.selector.size = sizeof(plimsoll_label_selector);
  return claim;
}

plimsoll_csi_storage_capacity absent_capacity() {
  plimsoll_csi_storage_capacity capacity{};
  capacity.node_topology.size = sizeof(plimsoll_label_selector);
  return capacity;
}

}  // namespace

ObjectRef decode_storage_object(std::string_view resource, std::string_view ns,
                                std::string_view name, std::string_view json) {
  const auto read_as = [&](Annotations annotations, const auto& absent, const auto& read) {
    return decode(ns, name, json, annotations, absent, read);
  };
  using enum Annotations;
  if (resource == sdk::kPersistentVolumes.resource) return read_as(kKept, absent_volume(), volume);
  if (resource == sdk::kPersistentVolumeClaims.resource) {
    return read_as(kKept, absent_claim(), claim);
  }
  if (resource == sdk::kStorageClasses.resource) {
    return read_as(kDropped, plimsoll_storage_class{}, storage_class);
  }
  if (resource == sdk::kCsiNodes.resource) return read_as(kKept, plimsoll_csi_node{}, csi_node);
  if (resource == sdk::kCsiDrivers.resource) {
    return read_as(kDropped, plimsoll_csi_driver{}, csi_driver);
  }
  if (resource == sdk::kCsiStorageCapacities.resource) {
    return read_as(kDropped, absent_capacity(), capacity);
  }
  if (resource == sdk::kVolumeAttachments.resource) {
    return read_as(kDropped, plimsoll_volume_attachment{}, attachment);
  }
  return nullptr;
}

}  // namespace plimsoll
