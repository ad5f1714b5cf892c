#pragma once
// Strict field validation of Pod manifests, as of `kubectl apply --validate=strict` (KEP-2885).
//
// A field that Kubernetes does not have is most often one that is misspelt, and an API server that
// is not asked to be strict drops it without a word. Pure; any thread.

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::config {

// The Kubernetes version whose fields are known.
inline constexpr std::string_view kPodFieldsVersion = "1.37";

// One line for each unknown field of the Pod, at most `most`: `unknown field "spec.nodeSelectr",
// did you mean "nodeSelector"?`. `json`: the object; nothing is said of what is no JSON object.
[[nodiscard]] std::vector<std::string> unknown_pod_fields(std::string_view json,
                                                          std::size_t most = 10);

}  // namespace plimsoll::config
