#pragma once
// What kube-apiserver makes of new objects of kinds other than Pod: its defaulting, and the
// admission plugins NamespaceLifecycle, Priority, DefaultStorageClass, LimitRanger and
// ResourceQuota.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// Sets what a scheduler reads. 403 for an object without a UID, which is new: a claim that a
// LimitRange or a ResourceQuota forbids, a second PriorityClass that is the default. It sets:
// - any kind: null as the value of a label is "" (settle_texts);
// - fields that are missing, by a table (SetDefaults_...);
// - Node: allocatable is the capacity where it is missing (SetDefaults_NodeStatus);
// - Namespace: the label of its own name (SetDefaults_Namespace);
// - ReplicationController: the labels of its template as its selector and labels;
// - LimitRange: the defaults of its containers (SetDefaults_LimitRangeItem);
// - PersistentVolumeClaim: the default StorageClass of `store`, of several the newest, unless the
//   claim names a class, if only "", or is bound already (plugin/pkg/admission/storage).
// `object` has a metadata object, with its namespace. Any thread.
[[nodiscard]] ApiResult<void> admit_object(ObjectStore& store, const ResourceName& resource,
                                           nlohmann::json& object);

// The admission plugin NamespaceLifecycle: 404 if the namespace is not there, 403 if it is being
// deleted. The namespaces that every API server has are made here.
[[nodiscard]] ApiResult<void> check_namespace(ObjectStore& store, const ResourceName& resource,
                                              const std::string& name, const std::string& ns);

// Creates the namespace unless it is there.
void ensure_namespace(ObjectStore& store, const std::string& name);

}  // namespace plimsoll::sandbox
