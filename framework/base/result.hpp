#pragma once
// Errors as values. Every function that may fail returns Result<T>. Only libraries throw
// exceptions; they are caught at four places: main, thread entry, I/O handler and plugin
// trampoline.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace plimsoll {

// The kind of a failure. It decides whether and how to retry.
enum class ErrorCode {
  kInvalid,       // the input is wrong: a retry cannot help
  kNotFound,      // a file, object, kind or symbol does not exist
  kConflict,      // the object changed meanwhile (HTTP 409)
  kGone,          // the resource version is too old (HTTP 410)
  kUnauthorized,  // credentials are missing, expired or refused (HTTP 401, 403)
  kThrottled,     // the server asks to wait (HTTP 429)
  kUnavailable,   // not reachable, timed out, or a server error: retry later
  kCancelled,     // cancelled because of a stop
  kInternal,      // an invariant of the program is broken
};

// The message says what is wrong, where, and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // The same error with `context` in front: "reading a.yaml: no such file".
  [[nodiscard]] Error within(std::string_view context) const {
    return Error{code, std::string(context) + ": " + message};
  }
};

template <typename T>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace plimsoll
