#pragma once
// Errors as values. Every fallible function returns Result<T>; exceptions are thrown only by
// libraries and are caught at four places: main, thread entry, I/O handler, plugin trampoline.

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace plimsoll {

// What kind of failure it is: decides whether and how it is tried again.
enum class ErrorCode {
  kInvalid,       // the input is wrong: trying again cannot help
  kNotFound,      // a file, object, kind or symbol is not there
  kConflict,      // the object changed under us (HTTP 409)
  kGone,          // the resource version is too old (HTTP 410)
  kUnauthorized,  // credentials are missing, expired or refused (HTTP 401, 403)
  kThrottled,     // the server asks to wait (HTTP 429)
  kUnavailable,   // not reachable, timed out, or a server error: try again later
  kCancelled,     // given up because of a stop
  kInternal,      // a broken invariant of our own
};

// An error says what is wrong, where, and what to do about it.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // The same error with where it happened in front: "reading a.yaml: no such file".
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
