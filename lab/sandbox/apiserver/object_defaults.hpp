#pragma once
// What kube-apiserver makes of new objects of kinds other than Pod: its defaulting, and the
// admission plugins DefaultStorageClass, LimitRanger and ResourceQuota.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/sandbox/apiserver/object_store.hpp"

namespace plimsoll::sandbox {

// Sets what a scheduler reads; 403 if a LimitRange or a ResourceQuota forbids a claim
// without a UID, which is new:
// - any kind: null as the value of a label or annotation is "", as a typed decoder reads it;
// - fields that are missing, by a table (SetDefaults_...);
// - Node: allocatable is the capacity where it is missing (SetDefaults_NodeStatus);
// - Namespace: the label of its own name (SetDefaults_Namespace);
// - LimitRange: the defaults of its containers (SetDefaults_LimitRangeItem);
// - PersistentVolumeClaim: the default StorageClass of `store`, of several the newest, unless the
//   claim names a class, if only "", or is bound already (plugin/pkg/admission/storage).
// `object` has a metadata object, with its namespace. Any thread.
[[nodiscard]] ApiResult<void> admit_object(ObjectStore& store, const ResourceName& resource,
                                           nlohmann::json& object);

// Creates the namespace unless it is there.
void ensure_namespace(ObjectStore& store, const std::string& name);

// What is null in the member `map` of `owner` becomes `value`. Typed decoders read null in a map of
// texts as "", and in one of amounts as "0" (Quantity.UnmarshalJSON).
void set_nulls(nlohmann::json& owner, const char* map, const char* value);

// The same for amounts, which are rounded up to thousandths (SetDefaults_ResourceList).
void settle_amounts(nlohmann::json& owner, const char* map);

}  // namespace plimsoll::sandbox
