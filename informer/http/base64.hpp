#pragma once
// Base64 as kubeconfigs have it. Pure; any thread.

#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

[[nodiscard]] std::string encode_base64(std::string_view bytes);

// White space is left out, and padding may be missing. kInvalid: it is not base64.
[[nodiscard]] Result<std::string> decode_base64(std::string_view text);

}  // namespace plimsoll::informer
