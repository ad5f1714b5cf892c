#pragma once
// Calls of the kubelet's gRPC services over its unix sockets: HTTP/2 by libcurl, one unary call per
// connection. gRPC's own library would bring more than this program is long.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::node {

// One call. `method` is "/v1.PodResourcesLister/List", `request` an encoded message; the result is
// the encoded answer. Blocks until the answer or the deadline.
// Fails with kUnavailable (no such socket, refused, deadline, connection lost), kThrottled
// (RESOURCE_EXHAUSTED: the kubelet limits its clients together), kNotFound (UNIMPLEMENTED: this
// kubelet does not have the method), kInvalid (any other status, or an answer of more than 64 MiB).
[[nodiscard]] Result<std::string> grpc_call(const std::filesystem::path& socket,
                                            std::string_view method, std::string_view request,
                                            std::chrono::milliseconds deadline);

}  // namespace plimsoll::node
