#pragma once
// Moves a simulated clock on when nobody has anything to do any more.
//
// Kubelets, the API server's watches and the scheduler work at the pace of this machine; arrivals,
// delays and backoffs follow the clock. If it went on while one of them is behind, a slow machine
// would leave room empty that a fast one uses.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "framework/cycle/scheduler.hpp"
#include "sandbox/apiserver/simulated_clock.hpp"
#include "sandbox/kubelet/kubelet.hpp"

namespace plimsoll::cli {

// Belongs to one thread; all that it is given outlives it.
class Pace {
 public:
  // `speed`: the clock goes so many times as fast as the real one at most.
  Pace(sandbox::SimulatedClock& clock, sandbox::SimulatedKubelets& kubelets, Scheduler& scheduler,
       double speed);

  // Moves the clock by a step of up to kStep, or waits for a moment because somebody is busy.
  // `waiting`: how many pods have come and are not bound, by the store.
  void go_on(std::size_t waiting);

  static constexpr double kStep = 0.05;  // seconds of the simulated clock

 private:
  using Clock = std::chrono::steady_clock;
  // What moves while anybody works.
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
