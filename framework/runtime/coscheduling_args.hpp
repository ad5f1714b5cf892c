#pragma once
// The arguments of Coscheduling (scheduler-plugins), which its plugin checks and the queue heeds.

#include <plimsoll/args.hpp>

#include <cstdint>
#include <string_view>

namespace plimsoll {

struct CoschedulingArgs {
  int64_t backoff_ms = 0;  // podGroupBackoffSeconds
};

// Throws std::runtime_error with all that is wrong.
inline CoschedulingArgs read_coscheduling_args(std::string_view json,
                                               const sdk::ArgsWarn& warn = {}) {
  constexpr std::string_view kNothingIsHeld =
      "no pod of a group is held on Permit: the whole group is placed at once";
  constexpr int64_t kMostSeconds = int64_t{10} * 365 * 24 * 3600;
  int64_t backoff = 0;
  const auto read = [&](sdk::Args& args) {
    int64_t number = 0;
    if (args.read("permitWaitingTimeSeconds", number, 0))
      args.idle("permitWaitingTimeSeconds", int64_t{60}, kNothingIsHeld);
    args.read("podGroupBackoffSeconds", backoff, 0, kMostSeconds);
    if (args.read("podGroupRejectPercentage", number, 0, 100))
      args.idle("podGroupRejectPercentage", int64_t{10}, kNothingIsHeld);
  };
  sdk::read_args(json, {"CoschedulingArgs"}, read, warn);
  return {1000 * backoff};
}

}  // namespace plimsoll
