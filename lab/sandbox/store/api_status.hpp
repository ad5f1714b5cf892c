#pragma once
// The failure of an API request: the fields of a Kubernetes Status object.
//
// The sandbox's clients decide by HTTP code, `reason` and sometimes the text of kube-apiserver.
// Result<T> has no room for these, so the store and the request handler return ApiResult<T>.

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "framework/base/result.hpp"

namespace plimsoll::sandbox {

struct ApiStatus {
  int code = 500;       // HTTP status
  std::string reason;   // metav1.StatusReason: NotFound, Conflict, Expired, ...
  std::string message;  // kube-apiserver's text
  int retry_after_seconds = 0;
};

template <typename T>
using ApiResult = tl::expected<T, ApiStatus>;
using ApiFailure = tl::unexpected<ApiStatus>;

// `resource` is the qualified name as kube-apiserver prints it: "pods",
// "leases.coordination.k8s.io".
[[nodiscard]] ApiFailure not_found(std::string_view resource, std::string_view name);
[[nodiscard]] ApiFailure already_exists(std::string_view resource, std::string_view name);
[[nodiscard]] ApiFailure conflict(std::string_view resource, std::string_view name,
                                  std::string_view why);
// A precondition on UID or resourceVersion that does not hold, with the storage layer's message.
[[nodiscard]] ApiFailure precondition_failed(std::string_view resource, std::string_view ns,
                                             std::string_view name, std::string_view field,
                                             std::string_view wanted, std::string_view found);
[[nodiscard]] ApiFailure forbidden(std::string_view resource, std::string_view name,
                                   std::string_view why);
[[nodiscard]] ApiFailure bad_request(std::string message);
// `kind` is "Pod" or "Device.scheduling.koordinator.sh"; `why` is "path: cause: text".
[[nodiscard]] ApiFailure invalid(std::string_view kind, std::string_view name,
                                 std::string_view why);
// The watch or list requests a version whose history is gone: list again.
[[nodiscard]] ApiFailure too_old_resource_version(std::uint64_t asked, std::uint64_t oldest);
[[nodiscard]] ApiFailure too_large_resource_version(std::uint64_t asked, std::uint64_t current);

// The Status object as JSON text.
[[nodiscard]] std::string to_status_json(const ApiStatus& status);

}  // namespace plimsoll::sandbox
