#pragma once
// Kubernetes JSON to objects. Any thread; the scheduler loop never sees JSON of pods and nodes.
//
// `json` is one object as an API server sends it in a watch event or a list (where apiVersion and
// kind are left out); it need not be padded. Unknown fields are ignored. A field of the wrong type
// or an invalid quantity is an error that names the field
// ("spec.containers[1].resources.requests[cpu]: ..."): the object is then skipped by the caller.

#include <memory>
#include <string_view>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"

namespace plimsoll {

class SymbolTable;

[[nodiscard]] Result<PodRef> decode_pod(std::string_view json, SymbolTable& symbols);
[[nodiscard]] Result<NodeRef> decode_node(std::string_view json, SymbolTable& symbols);

// A v1.NodeAffinity, as in NodeAffinityArgs.addedAffinity. Nothing in it has a symbol.
[[nodiscard]] Result<std::shared_ptr<const plimsoll_node_affinity>> decode_node_affinity(
    std::string_view json);

// A metav1.LabelSelector. Nothing in it has a symbol.
[[nodiscard]] Result<std::shared_ptr<const plimsoll_label_selector>> decode_label_selector(
    std::string_view json);

// The same pod on `node_name`, as the scheduler assumes it before the API server confirms.
[[nodiscard]] PodRef assigned_copy(const PodRef& pod, std::string_view node_name);

}  // namespace plimsoll
