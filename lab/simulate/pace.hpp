#pragma once
// Runs a simulation step by step, so that the same input gives the same result on every machine.
//
// Kubelets, the controllers, the API server, its watches and the scheduler run at the speed
// of this machine. Whoever is faster must not decide what comes out. So nothing begins before
// everything that went before has had all its effects: one decision, the pods of one moment, or the
// next moment of the simulated clock. A decision takes no time of that clock.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>

#include "cli/run/wiring.hpp"
#include "lab/sandbox/controllers/controllers.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/sandbox/store/object_store.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::cli {

// What takes part. All must outlive the Pace.
struct SimulatedParts {
  sandbox::ObjectStore& store;
  sandbox::SimulatedKubelets& kubelets;
  sandbox::SimulatedControllers& controllers;
  Session& session;                // its scheduler is stepwise
  sandbox::SimulatedClock& clock;  // of the kubelets and of timestamps
  // The scheduler's, in milliseconds since the epoch: it follows once the kubelets rest, so that
  // what is due for both at the same moment comes in one order.
  std::atomic<std::int64_t>& scheduler_ms;
};

// Belongs to one thread.
class Pace {
 public:
  // `speed`: the highest speed of the clock, relative to the real one; 0: there is none.
  Pace(SimulatedParts parts, double speed);

  // Waits until everything rests. Returns false if something was still under way after a moment of
  // the real time: call it again.
  [[nodiscard]] bool rests();

  // The scheduler's numbers when everything came to rest.
  [[nodiscard]] const SchedulerStats& scheduler() const { return stats_; }

  // Lets the scheduler decide on one pod. Only while everything rests. Returns false if it has none
  // to decide on.
  bool decide();

  // The next moment at which something is due, in seconds of the clock.
  [[nodiscard]] double next_due() const;

  // Moves the clock to that moment, or by kLeast if it is not later.
  void advance_to(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  // Values that change while anything works.
  struct Progress {
    std::uint64_t version = 0;  // of the store
    std::uint64_t attempts = 0;
    std::uint64_t delivered = 0;
    std::uint64_t lists = 0;
    bool operator==(const Progress&) const = default;
  };

  [[nodiscard]] bool look();
  [[nodiscard]] bool watches_are_complete();
  [[nodiscard]] bool scheduler_has_heard();
  void note_progress();

  SimulatedParts parts_;
  const double speed_;
  const Clock::time_point began_ = Clock::now();
  const double began_seconds_;
  SchedulerStats stats_;
  Progress progress_;
  Clock::time_point progressed_ = Clock::now();
  bool behind_ = false;  // the scheduler's clock has yet to follow
  std::optional<std::pair<std::uint64_t, std::size_t>> decided_at_;  // see decide()
  std::future<void> heard_;
};

}  // namespace plimsoll::cli
