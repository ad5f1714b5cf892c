#pragma once
// The parts of a metav1.Status that say why a request was refused or a watch ended. Pure; any
// thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::informer {

// What is missing, or of another type, is empty or 0.
struct StatusAnswer {
  std::string message;
  int code = 0;
  std::int64_t retry_after_seconds = 0;
};

// The body of an answer, JSON or protobuf in its envelope. Of other text it says nothing. kInvalid:
// malformed protobuf.
[[nodiscard]] Result<StatusAnswer> read_status(std::string_view body);

[[nodiscard]] StatusAnswer read_json_status(std::string_view json);

}  // namespace plimsoll::informer
