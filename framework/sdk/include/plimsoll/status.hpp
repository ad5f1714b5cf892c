// Plimsoll plugin SDK: what plugin functions return.
#pragma once

#include <plimsoll/plugin_abi.h>

#include <cstdint>

namespace plimsoll::sdk {

// The result of a call: a code of the Kubernetes scheduling framework and, for a rejection, the id
// of a list of reasons (Host::reason).
struct [[nodiscard]] Status {
  int32_t code = PLIMSOLL_SUCCESS;
  uint32_t reason = 0;

  [[nodiscard]] constexpr bool ok() const { return code == PLIMSOLL_SUCCESS; }

  static constexpr Status success() { return {}; }
  static constexpr Status skip() { return {PLIMSOLL_SKIP, 0}; }
  static constexpr Status wait() { return {PLIMSOLL_WAIT, 0}; }
  // Rejections whose reason id was created before: cheap enough for every node.
  static constexpr Status unschedulable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE, reason};
  }
  static constexpr Status unresolvable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, reason};
  }
  static constexpr Status pending(uint32_t reason) { return {PLIMSOLL_PENDING, reason}; }

  friend constexpr bool operator==(const Status&, const Status&) = default;
};

// Lets pre_bind or bind finish later: return Status::wait(), then call Host::complete exactly once,
// from any thread.
struct Token {
  plimsoll_token* raw = nullptr;
};

}  // namespace plimsoll::sdk
