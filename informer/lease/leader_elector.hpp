#pragma once
// Leader election: of all replicas that share a Lease, one at a time leads.
//
// The rules are those of client-go's leaderelection:
// - Whoever finds no lease creates it; whoever finds one that was released, or that has not changed
//   for as long as it says while we looked at it, takes it. No other machine's clock is believed:
//   only how long ago *we* saw the lease change counts.
// - Every write carries the resource version that was read: of several that try, one succeeds.
// - The leader renews every retry_period, without reading first while it has no reason to doubt.
// - A leader that has not renewed for renew_deadline leads no more.
// - A leader that is not fit to lead any longer (its work does not get on) does not renew.
// - On a clean stop the lease is released, so that the next one need not wait for its end.
//
// Two rules are stricter, because what a scheduler promises must never be promised by two. The
// renew deadline counts from the moment at which the last successful renewal was *sent* (client-go:
// from the first try after it), so it always ends before the lease does for anybody else. And a
// leader that reads another holder in the lease has lost it at once, not at the deadline.
//
// Every renewal extends the WriteFence. Hence no write leaves this process later than
// renew_deadline after the last renewal was sent, and none is still under way lease_duration after
// it; nobody else leads before that.

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "informer/http/write_fence.hpp"
#include "informer/lease/lease.hpp"

namespace plimsoll::informer {

struct LeaderElectionOptions {
  std::string identity;  // of this process, never of another or an earlier one
  std::string lease;     // "namespace/name", for messages
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);
};

// "<host name>_<random UUID>", as Kubernetes' components call themselves.
[[nodiscard]] std::string election_identity();

// The time, and waiting; tests have one of their own.
class ElectionClock {
 public:
  virtual ~ElectionClock() = default;
  [[nodiscard]] virtual BootClock::time_point now() = 0;
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall_now() = 0;  // to write down
  // False if `stop` was requested before or meanwhile.
  virtual bool sleep_until(BootClock::time_point time, const std::stop_token& stop) = 0;
};
[[nodiscard]] ElectionClock& real_election_clock();

// Called on the thread of run(); they must not block.
struct LeaderElectionCallbacks {
  std::function<void()> on_leading = [] {};                          // once
  std::function<void(const std::string&)> on_holder = [](auto&) {};  // another holder is seen
  // Asked before each try to acquire or renew: why this process must not lead. A candidate waits
  // until there is nothing, a leader lets the lease go: it renews no more, and the fence is closed.
  std::function<std::optional<std::string>()> unfit = [] { return std::nullopt; };
};

struct LeadershipStatus {
  bool leading = false;
  std::string holder;  // as last seen; empty: nobody
  // When the last renewal that succeeded was sent.
  BootClock::time_point last_renewal{};
};

class LeaderElector {
 public:
  enum class End {
    kStopped,  // as asked
    kLost,     // it led and leads no more: loss() says why, and the fence is closed
  };

  // All must outlive it.
  LeaderElector(LeaseStore& store, WriteFence& fence, LeaderElectionOptions options,
                LeaderElectionCallbacks callbacks, ElectionClock& clock = real_election_clock());

  // Tries to lead until it does, and renews until `stop` is requested or the lease is lost. Blocks;
  // call it once, on a thread of its own. A stop is noticed within renew_deadline / 2, mostly at
  // once.
  End run(const std::stop_token& stop);

  // After run() has returned kStopped: gives the lease to whoever wants it, if we hold it, be it by
  // a write whose answer came too late or never. Nothing may be written any more and nothing be
  // under way whose end is not known. Closes the fence. Blocks for renew_deadline at most; on an
  // error the lease ends by itself.
  Result<void> release();

  [[nodiscard]] const std::string& loss() const { return loss_; }

  // Whether the lease that was taken had been released: whoever led before has nothing under way
  // any more. On the thread of run().
  [[nodiscard]] bool took_released_lease() const { return took_released_; }

  // Any thread.
  [[nodiscard]] LeadershipStatus status() const;
  // Any thread. Leading, but without a renewal for so long after the lease's end: a process that
  // should have ended and did not. Kubernetes: the leader election watchdog of /healthz (20 s).
  [[nodiscard]] bool overdue(std::chrono::nanoseconds tolerance = std::chrono::seconds(20)) const;

 private:
  enum class Try { kHeld, kFailed, kTaken };

  Try try_acquire_or_renew();
  Result<void> write(const LeaseRecord& record, bool create);
  [[nodiscard]] LeaseRecord record_now() const;
  [[nodiscard]] bool holds() const { return observed_.holder == options_.identity; }
  [[nodiscard]] bool still_valid() const;
  void observe(const LeaseRecord& record);
  [[nodiscard]] BootClock::time_point deadline() const {
    return renewed_ + options_.renew_deadline;
  }
  [[nodiscard]] std::chrono::milliseconds patience() const;
  End lose(std::string reason);
  End lead(const std::stop_token& stop);
  [[nodiscard]] std::string deadline_text() const;

  LeaseStore& store_;
  WriteFence& fence_;
  const LeaderElectionOptions options_;
  const LeaderElectionCallbacks callbacks_;
  ElectionClock& clock_;

  // Of the thread of run().
  LeaseRecord observed_;
  BootClock::time_point observed_at_{};
  BootClock::time_point renewed_{};  // when the last successful write was sent
  bool leading_ = false;
  bool claimed_ = false;        // a write of ours may be what the lease says
  bool took_released_ = false;  // as found before the write that took it
  std::string last_error_;
  std::string loss_;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  LeadershipStatus status_;  // guarded by mutex_
};

}  // namespace plimsoll::informer
