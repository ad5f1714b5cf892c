#pragma once
// Advances a simulated clock when no component has anything left to do.
//
// Kubelets, the API server's watches and the scheduler run at the speed of this machine; arrivals,
// delays and backoffs follow the clock. If the clock advanced while one of them lags, a slow
// machine would leave resources unused that a fast one uses.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "framework/cycle/scheduler.hpp"
#include "sandbox/apiserver/simulated_clock.hpp"
#include "sandbox/kubelet/kubelet.hpp"

namespace plimsoll::cli {

// Belongs to one thread; its arguments must outlive it.
class Pace {
 public:
  // `speed`: the maximum speed of the clock, relative to the real one.
  Pace(sandbox::SimulatedClock& clock, sandbox::SimulatedKubelets& kubelets, Scheduler& scheduler,
       double speed);

  // Advances the clock by up to kStep, or waits briefly if a component is busy. `waiting`: the
  // number of pods in the store that have arrived and are not bound.
  void go_on(std::size_t waiting);

  static constexpr double kStep = 0.05;  // seconds of the simulated clock

 private:
  using Clock = std::chrono::steady_clock;
  // Values that change while any component works.
  using Progress = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::size_t>;

  [[nodiscard]] bool quiet(std::size_t waiting);

  sandbox::SimulatedClock& clock_;
  sandbox::SimulatedKubelets& kubelets_;
  Scheduler& scheduler_;
  double speed_;
  static constexpr std::chrono::microseconds kShortestPause{100};

  std::chrono::microseconds pause_ = kShortestPause;
  Clock::time_point moved_ = Clock::now();
  Progress progress_{};
  Clock::time_point progressed_ = Clock::now();
};

}  // namespace plimsoll::cli
