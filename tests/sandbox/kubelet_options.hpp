#pragma once
// Simulated kubelets for tests that wait for them.

#include <chrono>

#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {

inline constexpr std::chrono::seconds kLong{20};  // for what takes milliseconds

// Everything happens within milliseconds.
[[nodiscard]] inline KubeletOptions fast() {
  using std::chrono::milliseconds;
  KubeletOptions options;
  options.start_delay = milliseconds(5);
  options.stop_delay = milliseconds(5);
  options.reports.delay = milliseconds(5);
  options.reports.period = milliseconds(10);
  options.reports.pause = milliseconds(10);
  return options;
}

}  // namespace plimsoll::sandbox
