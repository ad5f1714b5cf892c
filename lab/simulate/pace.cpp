#include "lab/simulate/pace.hpp"

#include <algorithm>
#include <thread>

namespace plimsoll::cli {
namespace {

using namespace std::chrono_literals;

// After so long without any change whatever is under way waits for the clock, as a PreBind plugin
// does that has a time limit.
constexpr auto kStuck = 2s;
constexpr auto kMoment = 20ms;
constexpr std::chrono::microseconds kShortestPause = 20us;  // between two looks
constexpr std::chrono::microseconds kLongestPause = 500us;
constexpr double kLeast = 0.001;  // seconds

sandbox::ResourceName name_of(const std::string& kind) {
  const std::size_t plural = kind.find('.');
  if (plural == std::string::npos) return {"", kind};
  const std::size_t version = kind.find('.', plural + 1);
  return {version == std::string::npos ? "" : kind.substr(version + 1), kind.substr(0, plural)};
}

}  // namespace

Pace::Pace(SimulatedParts parts, double speed)
    : parts_(parts), speed_(speed), began_seconds_(parts.clock.seconds()) {}

bool Pace::watches_are_complete() {
  for (const informer::KindStatus& kind : parts_.session.kinds()) {
    if (kind.state == informer::ReflectorState::kNotServed) continue;
    if (!kind.followed || kind.position < parts_.store.last_change(name_of(kind.resource))) {
      return false;
    }
  }
  return true;
}

// Whether the loop has handled everything that was posted before the first call that returned
// false, or before this one. A pass of the loop handles what was posted before and then shows its
// numbers: the second one has shown them.
bool Pace::scheduler_has_heard() {
  if (!heard_.valid()) {
    auto passed = std::make_shared<std::promise<void>>();
    heard_ = passed->get_future();
    Scheduler& scheduler = parts_.session.scheduler();
    scheduler.post(
        Task{[passed, &scheduler] { scheduler.post(Task{[passed] { passed->set_value(); }}); }});
  }
  if (heard_.wait_for(kMoment) != std::future_status::ready) return false;
  heard_ = {};
  return true;
}

void Pace::note_progress() {
  Progress now{parts_.store.resource_version(), stats_.attempts, 0, 0};
  for (const informer::KindStatus& kind : parts_.session.kinds()) {
    now.delivered += kind.delivered;
    now.lists += kind.lists + kind.watches;
  }
  if (now == progress_) return;
  progress_ = now;
  progressed_ = Clock::now();
}

// Whoever has work to do shows it, or has written something that others have not read yet.
bool Pace::look() {
  if (!parts_.kubelets.quiet()) {
    parts_.kubelets.wake();  // writes of other kinds do not wake the thread
    return false;
  }
  if (!parts_.controllers.quiet() || !watches_are_complete() || !scheduler_has_heard())
    return false;
  stats_ = parts_.session.scheduler().stats();
  if (stats_.inbox + stats_.binding + stats_.waiting_for_extenders != 0) return false;
  for (const auto write_class : {informer::WriteClass::kBind, informer::WriteClass::kStatus,
                                 informer::WriteClass::kEvent, informer::WriteClass::kOther}) {
    const informer::WriteLoad load = parts_.session.write_load(write_class);
    if (load.in_flight + load.waiting != 0) return false;
  }
  return true;
}

// Two looks in a row between which nothing was written: what the first one saw at rest was not
// woken by what it looked at later.
bool Pace::rests() {
  const auto until = Clock::now() + kMoment;
  std::chrono::microseconds pause = kShortestPause;
  while (true) {
    const std::uint64_t version = parts_.store.resource_version();
    bool rest = look() && look() && version == parts_.store.resource_version();
    if (!rest) {
      note_progress();
      rest = Clock::now() - progressed_ > kStuck;
    }
    if (rest && behind_) {
      behind_ = false;
      parts_.scheduler_ms = parts_.clock.epoch_ms();
      parts_.session.scheduler().post(Task{[] {}});  // its timers follow the clock
      progressed_ = Clock::now();
      continue;
    }
    if (rest) return true;
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

// A pod may stay in the queue though it is its turn, as while a kind that it rests on is listed
// again. Then a further try would change nothing.
bool Pace::decide() {
  const std::pair<std::uint64_t, std::size_t> now{stats_.attempts, stats_.queue.active};
  if (now.second == 0 || decided_at_ == now) return false;
  decided_at_ = now;
  parts_.session.scheduler().step();
  progressed_ = Clock::now();
  return true;
}

double Pace::next_due() const {
  const double ahead = static_cast<double>(stats_.next_due_ms - parts_.clock.epoch_ms()) / 1000;
  double next = parts_.clock.seconds() + ahead;
  if (const auto kubelets = parts_.kubelets.next_due()) next = std::min(next, *kubelets);
  return next;
}

void Pace::advance_to(double seconds) {
  const double now = parts_.clock.seconds();
  const double then = std::max(seconds, now + kLeast);
  if (speed_ > 0) {
    const double allowed = (then - began_seconds_) / speed_;
    std::this_thread::sleep_until(began_ + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(allowed)));
  }
  // Exactly there, whatever moments the clock has passed: a sum alone may be a little off.
  parts_.clock.advance((then - now) * (1 - 1e-9));
  parts_.clock.advance(then - parts_.clock.seconds());
  behind_ = true;
  decided_at_.reset();
  parts_.kubelets.wake();
  progressed_ = Clock::now();
}

}  // namespace plimsoll::cli
