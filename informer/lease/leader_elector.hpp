#pragma once
// Leader election: of all replicas that share a Lease, one at a time leads.
//
// The rules are those of client-go's leaderelection:
// - A candidate that finds no lease creates it. It takes a lease that was released, or that has not
//   changed for its whole duration while the candidate watched it. No other machine's clock is
//   trusted: only the time since *we* saw the lease change counts.
// - Every write carries the resource version that was read: of several that try, one succeeds.
// - The leader renews every retry_period. It does not read first unless it has a reason for doubt.
// - A leader that has not renewed for renew_deadline stops leading.
// - A leader that is unfit to lead (its work makes no progress) does not renew.
// - On a clean stop the lease is released, so that the next leader need not wait for its end.
//
// Two rules are stricter, because two schedulers must never promise the same resources. First, the
// renew deadline counts from the moment at which the last successful renewal was *sent* (client-go:
// from the first try after it), so it always ends before any other replica sees the lease end.
// Second, a leader that reads another holder in the lease has lost it at once, not at the deadline.
//
// Every renewal extends the WriteFence. Hence no write leaves this process later than
// renew_deadline after the last renewal was sent, and none is still under way lease_duration after
// it. No other replica leads before that.

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
  std::string identity;  // of this process only, never reused
  std::string lease;     // "namespace/name", for messages
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);
};

// "<host name>_<random UUID>", the format that Kubernetes components use.
[[nodiscard]] std::string election_identity();

// Time and waiting; tests supply their own.
class ElectionClock {
 public:
  virtual ~ElectionClock() = default;
  [[nodiscard]] virtual BootClock::time_point now() = 0;
  // For the times written into the lease.
  [[nodiscard]] virtual std::chrono::system_clock::time_point wall_now() = 0;
  // Returns false if `stop` was requested before or during the wait.
  virtual bool sleep_until(BootClock::time_point time, const std::stop_token& stop) = 0;
};
[[nodiscard]] ElectionClock& real_election_clock();

// Called on the thread of run(); they must not block.
struct LeaderElectionCallbacks {
  std::function<void()> on_leading = [] {};                          // once
  std::function<void(const std::string&)> on_holder = [](auto&) {};  // another holder is seen
  // Called before each try to acquire or renew. Returns why this process must not lead, or nothing.
  // With a reason, a candidate waits; a leader gives up the lease: it renews no more, and the fence
  // is closed.
  std::function<std::optional<std::string>()> unfit = [] { return std::nullopt; };
};

struct LeadershipStatus {
  bool leading = false;
  std::string holder;  // as last seen; empty: nobody
  // When the last successful renewal was sent.
  BootClock::time_point last_renewal{};
  // Why the API server refused the lease to us (401, 403) at the last try; empty: it did not.
  std::string refusal;
};

class LeaderElector {
 public:
  enum class End {
    kStopped,  // as requested
    kLost,     // it led and no longer leads: loss() says why, and the fence is closed
  };

  // The references must outlive it.
  LeaderElector(LeaseStore& store, WriteFence& fence, LeaderElectionOptions options,
                LeaderElectionCallbacks callbacks, ElectionClock& clock = real_election_clock());

  // Tries until it leads, then renews until `stop` is requested or the lease is lost. Blocks; call
  // it once, on a thread of its own. A stop takes effect within renew_deadline / 2, usually at
  // once.
  End run(const std::stop_token& stop);

  // Releases the lease if we hold it, even if we acquired it by a write whose answer came too late
  // or never. Call it after run() has returned kStopped, when nothing is written any more and the
  // end of every write is known. Closes the fence. Blocks for at most renew_deadline; on an error
  // the lease expires by itself.
  Result<void> release();

  [[nodiscard]] const std::string& loss() const { return loss_; }

  // Whether nobody held the lease when we took it: it was released, or there never was one. If so,
  // no earlier leader has a write under way. On the thread of run().
  [[nodiscard]] bool took_free_lease() const { return took_free_; }

  // Any thread.
  [[nodiscard]] LeadershipStatus status() const;
  // Any thread. True if this process leads but has not renewed for this long after the lease's end:
  // it should have exited and did not. Kubernetes: the leader election watchdog of /healthz (20 s).
  [[nodiscard]] bool overdue(std::chrono::nanoseconds tolerance = std::chrono::seconds(20)) const;

 private:
  enum class Try { kHeld, kFailed, kTaken };

  Try try_acquire_or_renew();
  Try acquire_or_renew();
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

  // Used by the thread of run() only.
  LeaseRecord observed_;
  BootClock::time_point observed_at_{};
  BootClock::time_point renewed_{};  // when the last successful write was sent
  bool leading_ = false;
  bool claimed_ = false;        // the lease may hold a write of ours
  bool took_free_ = false;      // as found before the write that took it
  std::optional<Error> error_;  // of the last try
  std::string loss_;
  std::minstd_rand random_{std::random_device{}()};

  mutable std::mutex mutex_;
  LeadershipStatus status_;  // guarded by mutex_
};

}  // namespace plimsoll::informer
