#pragma once
// Measures extension points where the cycle runs them. What-ifs run the same functions and are not
// measured, as in kube-scheduler.

#include <type_traits>
#include <utility>

#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll {

inline int32_t code_of(const Status& status) {
  return static_cast<int32_t>(status.code);
}
template <typename Outcome>
int32_t code_of(const Outcome& outcome) {
  return code_of(outcome.status);
}

// What `run` returns: a Status, or an outcome that has one; or nothing, which is a success.
template <typename Run>
auto timed(const Framework& framework, metrics::Point point, Run&& run) {
  const metrics::PointTimer timer(framework.metrics(), point);
  if constexpr (std::is_void_v<std::invoke_result_t<Run>>) {
    std::forward<Run>(run)();
    timer.end(PLIMSOLL_SUCCESS);
  } else {
    auto outcome = std::forward<Run>(run)();
    timer.end(code_of(outcome));
    return outcome;
  }
}

}  // namespace plimsoll
