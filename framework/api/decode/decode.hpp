#pragma once
// Decodes objects from the API server. Any thread; the scheduler loop never sees JSON of pods and
// nodes.
//
// `object` is one object as it appears in a watch event or a list (where apiVersion and kind are
// left out): its JSON text, which need not be padded, or its protobuf message without an envelope.
// Unknown fields are ignored. A field of the wrong type or an invalid quantity is an error that
// names the field ("spec.containers[1].resources.requests[cpu]: ..."). The caller then skips the
// object.

#include <memory>
#include <string_view>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"

namespace plimsoll {

class SymbolTable;

// The two encodings of core kinds in the Kubernetes API.
enum class Encoding { kJson, kProtobuf };

[[nodiscard]] Result<PodRef> decode_pod(std::string_view object, SymbolTable& symbols,
                                        Encoding encoding = Encoding::kJson);
[[nodiscard]] Result<NodeRef> decode_node(std::string_view object, SymbolTable& symbols,
                                          Encoding encoding = Encoding::kJson);

// Decodes the readable parts of a pod that decode_pod rejects. Wrong fields are left out and named
// in `unreadable`. Fields of `identity` are used where the object has none.
struct PodIdentity {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
};
[[nodiscard]] Result<PodRef> decode_readable(std::string_view object, const PodIdentity& identity,
                                             SymbolTable& symbols,
                                             Encoding encoding = Encoding::kJson);

// A v1.NodeAffinity, as in NodeAffinityArgs.addedAffinity. Nothing in it has a symbol.
[[nodiscard]] Result<std::shared_ptr<const plimsoll_node_affinity>> decode_node_affinity(
    std::string_view json);

// A metav1.LabelSelector. Nothing in it has a symbol.
[[nodiscard]] Result<std::shared_ptr<const plimsoll_label_selector>> decode_label_selector(
    std::string_view json);

// Whether the pod names a resource that no node and no plugin has named so far
// (PLIMSOLL_RESOURCE_OF_NO_NODE).
[[nodiscard]] bool has_unplaced(const plimsoll_pod& pod);
// The pod with the positions that such resources have got since; the same pod if there are none.
[[nodiscard]] PodRef reindexed(const PodRef& pod, SymbolTable& symbols);

// The same pod on `node_name`, for assuming it before the API server confirms.
[[nodiscard]] PodRef assigned_copy(const PodRef& pod, std::string_view node_name);
// The same pod nominated to `node_name`, before the watch shows the nomination.
[[nodiscard]] PodRef nominated_copy(const PodRef& pod, std::string_view node_name);
// The pod with these amounts (plimsoll_claim_amount) instead of its own, also in what it requests
// and uses, except where its pod-level requests cover them.
[[nodiscard]] PodRef with_claim_amounts(const PodRef& pod, const plimsoll_list& amounts,
                                        SymbolTable& symbols);

}  // namespace plimsoll
