#pragma once
// What kube-apiserver makes of a new pod: its defaults (set_pod_defaults), and what admission
// plugins add: LimitRanger (limit_ranges.hpp), ResourceQuota (resource_quotas.hpp), Priority and
// RuntimeClass
// (plugin/pkg/admission/priority and runtimeclass): priority and preemptionPolicy of its
// PriorityClass, or of the default one, and overhead, nodeSelector and tolerations of its
// RuntimeClass.
//
// Over the API it refuses what kube-apiserver does. Pods of a file can be tried without everything
// that their cluster has: a class that is not there adds nothing, and a priority or an overhead
// that the pod has already stays.

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "lab/sandbox/store/api_status.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::sandbox {

// The admission plugin PodTopologyLabels: the labels of the node's zone and region become the pod's
// when it is bound, or created with a node. `metadata`: of a pod or a Binding.
void add_topology_labels(const ObjectStore& store, const std::string& node,
                         nlohmann::json& metadata);

// The class of pods that name none; null if there is none (getDefaultPriorityClass).
[[nodiscard]] nlohmann::json default_priority_class(const ObjectStore& store);

// Any thread. The store must outlive it.
class PodAdmission {
 public:
  explicit PodAdmission(ObjectStore& store) : store_(store) {}

  // `pod` has a metadata object, with its namespace. 403 if its nodeSelector contradicts that of
  // its RuntimeClass, or if a LimitRange or a ResourceQuota forbids it; 400 if it cannot be read
  // (decode_pod). With `missing`, the pod is one of a file: adds to it which classes it names that
  // are not there: `PriorityClass "high"`.
  [[nodiscard]] ApiResult<void> admit(nlohmann::json& pod,
                                      std::set<std::string>* missing = nullptr);

 private:
  [[nodiscard]] ApiResult<void> set_priority(nlohmann::json& pod, std::set<std::string>* missing);
  [[nodiscard]] ApiResult<void> set_runtime(nlohmann::json& pod,
                                            std::set<std::string>* missing) const;

  ObjectStore& store_;
  std::mutex mutex_;
  nlohmann::json default_class_;         // null: there is none
  std::uint64_t default_as_of_ = ~0ULL;  // the newest change of a PriorityClass that it knows
};

}  // namespace plimsoll::sandbox
