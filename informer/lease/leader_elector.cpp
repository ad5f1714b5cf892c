#include "informer/lease/leader_elector.hpp"

#include <plimsoll/time_text.hpp>

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::informer {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// client-go's JitterFactor: a candidate waits retry_period plus up to this many times retry_period.
constexpr double kJitter = 1.2;

class RealClock final : public ElectionClock {
 public:
  BootClock::time_point now() override { return BootClock::now(); }
  std::chrono::system_clock::time_point wall_now() override {
    return std::chrono::system_clock::now();
  }
  bool sleep_until(BootClock::time_point time, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    // Wait in short pieces: the condition variable's clock stands still while the machine sleeps.
    constexpr nanoseconds kPiece = std::chrono::seconds(1);
    for (auto left = time - now(); left > nanoseconds::zero(); left = time - now()) {
      if (stop.stop_requested()) return false;
      wake.wait_for(lock, stop, std::min<nanoseconds>(left, kPiece),
                    [&stop] { return stop.stop_requested(); });
    }
    return !stop.stop_requested();
  }
};

std::string seconds_text(nanoseconds time) {
  std::string text = std::to_string(std::chrono::duration<double>(time).count());
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "s";
}

}  // namespace

std::string election_identity() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  std::string uuid;
  std::ifstream("/proc/sys/kernel/random/uuid") >> uuid;
  if (uuid.empty()) {  // no /proc: random enough to distinguish processes
    std::random_device random;
    for (int i = 0; i < 4; ++i) uuid += std::to_string(random());
  }
  return std::string(host) + "_" + uuid;
}

ElectionClock& real_election_clock() {
  static RealClock clock;
  return clock;
}

LeaderElector::LeaderElector(LeaseStore& store, WriteFence& fence, LeaderElectionOptions options,
                             LeaderElectionCallbacks callbacks, ElectionClock& clock)
    : store_(store),
      fence_(fence),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      clock_(clock) {}

LeaderElector::End LeaderElector::run(const std::stop_token& stop) {
  log_info("attempting to acquire the leader lease",
           {{"lease", options_.lease}, {"identity", options_.identity}});
  std::string said;
  while (callbacks_.unfit() || try_acquire_or_renew() != Try::kHeld) {
    // Nobody would ever lead, and nothing else says why. Once for each reason.
    if (std::string refusal = status().refusal; refusal != said) {
      said = std::move(refusal);
      if (!said.empty()) {
        log_warn("the leader lease is refused to this process, which cannot lead",
                 {{"lease", options_.lease}, {"error", said}});
      }
    }
    const double spread = std::uniform_real_distribution<double>(0, kJitter)(random_);
    const auto period = std::chrono::duration<double, std::nano>(options_.retry_period);
    const auto wait = std::chrono::duration_cast<nanoseconds>(period * (1 + spread));
    if (!clock_.sleep_until(clock_.now() + wait, stop)) return End::kStopped;
  }
  log_info("acquired the leader lease", {{"lease", options_.lease}});
  leading_ = true;
  {
    const std::lock_guard lock(mutex_);
    status_.leading = true;
  }
  // The answer may have arrived while the process was stopping: it does not lead, but has to
  // release.
  if (stop.stop_requested()) return End::kStopped;
  callbacks_.on_leading();
  return lead(stop);
}

LeaderElector::End LeaderElector::lead(const std::stop_token& stop) {
  while (true) {
    const auto next = std::min(clock_.now() + options_.retry_period, deadline());
    if (!clock_.sleep_until(next, stop)) return End::kStopped;
    if (clock_.now() >= deadline()) return lose(deadline_text());
    if (auto why = callbacks_.unfit()) return lose(std::move(*why));
    switch (try_acquire_or_renew()) {
      case Try::kHeld:
        break;
      case Try::kTaken:
        return lose(observed_.holder.empty() ? "somebody else has released it"
                                             : "it is held by " + observed_.holder);
      case Try::kFailed:
        log_warn(status().refusal.empty()
                     ? "the leader lease was not renewed; trying again"
                     : "the leader lease is refused to this leader; trying again until it ends",
                 {{"lease", options_.lease}, {"error", error_ ? error_->message : ""}});
        break;
    }
  }
}

std::string LeaderElector::deadline_text() const {
  return "it was not renewed for " + seconds_text(options_.renew_deadline) +
         (error_ ? "; the last error: " + error_->message : "");
}

LeaderElector::End LeaderElector::lose(std::string reason) {
  fence_.close();
  leading_ = claimed_ = false;
  loss_ = std::move(reason);
  const std::lock_guard lock(mutex_);
  status_.leading = false;
  return End::kLost;
}

Result<void> LeaderElector::release() {
  fence_.close();
  if (!claimed_) return {};
  leading_ = claimed_ = false;
  {
    const std::lock_guard lock(mutex_);
    status_.leading = false;
  }
  const milliseconds timeout =
      std::chrono::duration_cast<milliseconds>(options_.renew_deadline / 2);
  const auto current = store_.get(timeout);
  if (!current) return fail(current.error());
  if (current->holder != options_.identity) return {};
  LeaseRecord released = record_now();
  released.holder.clear();
  released.duration_seconds = 1;
  released.transitions = current->transitions;
  return store_.update(released, timeout);
}

LeaderElector::Try LeaderElector::try_acquire_or_renew() {
  error_.reset();
  const Try result = acquire_or_renew();
  const std::lock_guard lock(mutex_);
  status_.refusal =
      error_ && error_->code == ErrorCode::kUnauthorized ? error_->message : std::string();
  return result;
}

// Kubernetes: LeaderElector.tryAcquireOrRenew.
LeaderElector::Try LeaderElector::acquire_or_renew() {
  LeaseRecord record = record_now();
  if (holds() && still_valid()) {
    record.acquire_time = observed_.acquire_time;
    record.transitions = observed_.transitions;
    if (write(record, false)) return Try::kHeld;
    if (leading_ && clock_.now() >= deadline()) return Try::kFailed;
  }
  const auto current = store_.get(patience());
  if (!current && current.error().code != ErrorCode::kNotFound) {
    error_ = current.error();
    return Try::kFailed;
  }
  if (current) observe(*current);
  if (leading_ && clock_.now() >= deadline()) return Try::kFailed;
  record.renew_time = record_now().renew_time;
  if (!holds()) took_free_ = observed_.holder.empty();  // also if there is none
  if (!current) return write(record, true) ? Try::kHeld : Try::kFailed;
  if (!holds() && leading_) return Try::kTaken;
  if (!holds() && !observed_.holder.empty() && still_valid()) return Try::kFailed;
  record.acquire_time = holds() ? observed_.acquire_time : record.renew_time;
  record.transitions = observed_.transitions + (holds() ? 0 : 1);
  return write(record, false) ? Try::kHeld : Try::kFailed;
}

Result<void> LeaderElector::write(const LeaseRecord& record, bool create) {
  const BootClock::time_point sent = clock_.now();
  claimed_ = true;  // whatever the answer, which may be lost
  auto done = create ? store_.create(record, patience()) : store_.update(record, patience());
  if (!done) {
    error_ = done.error();
    log_debug("the leader lease was not written",
              {{"lease", options_.lease}, {"error", error_->message}});
    return done;
  }
  error_.reset();
  observe(record);
  observed_at_ = clock_.now();
  renewed_ = sent;
  fence_.extend(deadline());
  const std::lock_guard lock(mutex_);
  status_.last_renewal = sent;
  return done;
}

LeaseRecord LeaderElector::record_now() const {
  const std::string now = sdk::time_text(clock_.wall_now(), true);
  // A lease holds whole seconds: round up, or the lease would end before our deadline.
  return {options_.identity,
          std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count(), now, now, 0};
}

bool LeaderElector::still_valid() const {
  return observed_at_ + std::chrono::seconds(observed_.duration_seconds) > clock_.now();
}

void LeaderElector::observe(const LeaseRecord& record) {
  if (record == observed_) return;
  const bool other = record.holder != observed_.holder;
  observed_ = record;
  observed_at_ = clock_.now();
  if (!other) return;
  {
    const std::lock_guard lock(mutex_);
    status_.holder = record.holder;
  }
  callbacks_.on_holder(record.holder);
}

// Kubernetes gives each request half of the renew deadline, so that there is time for a second one.
// A leader's request never lasts beyond the deadline.
milliseconds LeaderElector::patience() const {
  nanoseconds time = options_.renew_deadline / 2;
  if (leading_) time = std::min(time, deadline() - clock_.now());
  return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(time));
}

LeadershipStatus LeaderElector::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool LeaderElector::overdue(nanoseconds tolerance) const {
  const std::lock_guard lock(mutex_);
  return status_.leading &&
         clock_.now() - status_.last_renewal > options_.lease_duration + tolerance;
}

}  // namespace plimsoll::informer
