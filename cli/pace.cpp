#include "cli/pace.hpp"

#include <algorithm>
#include <thread>

namespace plimsoll::cli {
namespace {

using namespace std::chrono_literals;

// After this long without any change the counts are ignored: they include pods of other schedulers.
constexpr auto kStuck = 500ms;
constexpr std::chrono::microseconds kLongestPause = 1ms;  // between two checks
constexpr double kShortest = 0.005;  // seconds of the real clock between two steps

}  // namespace

Pace::Pace(sandbox::SimulatedClock& clock, sandbox::SimulatedKubelets& kubelets,
           Scheduler& scheduler, double speed)
    : clock_(clock), kubelets_(kubelets), scheduler_(scheduler), speed_(speed) {}

// The scheduler has seen every pod if it has as many waiting pods as the store and as many running
// pods as the kubelets.
bool Pace::quiet(std::size_t waiting) {
  const bool kubelets_quiet = kubelets_.quiet();
  if (!kubelets_quiet) kubelets_.wake();  // writes of other kinds do not wake the thread
  const SchedulerStats stats = scheduler_.stats();
  const sandbox::KubeletStats kubelets = kubelets_.stats();
  const SchedulingQueue::Sizes& queue = stats.queue;
  if (kubelets_quiet && stats.inbox == 0 && queue.active == 0 && stats.binding == 0 &&
      stats.assumed_pods == 0 && stats.pods == kubelets.pods &&
      queue.backoff + queue.unschedulable + queue.gated + stats.waiting_on_permit == waiting) {
    return true;
  }
  const Progress now{stats.attempts, kubelets.admitted + kubelets.finished + kubelets.reports,
                     stats.pods, waiting};
  if (now != progress_) {
    progress_ = now;
    progressed_ = Clock::now();
  }
  return Clock::now() - progressed_ > kStuck;
}

void Pace::go_on(std::size_t waiting) {
  const double passed = std::chrono::duration<double>(Clock::now() - moved_).count();
  const double step = std::min(kStep, passed * speed_);
  if (step < std::min(kStep, kShortest * speed_)) return std::this_thread::sleep_for(1ms);
  if (!quiet(waiting)) {
    std::this_thread::sleep_for(pause_);
    pause_ = std::min<std::chrono::microseconds>(2 * pause_, kLongestPause);
    return;
  }
  pause_ = kShortestPause;
  clock_.advance(step);
  moved_ = progressed_ = Clock::now();
  kubelets_.wake();
  scheduler_.post(Task{[] {}});  // its timers follow the clock
}

}  // namespace plimsoll::cli
