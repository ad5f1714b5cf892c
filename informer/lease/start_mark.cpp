#include "informer/lease/start_mark.hpp"

#include <plimsoll/time_text.hpp>

#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::informer {
namespace {

constexpr std::chrono::milliseconds kPatience{2'000};
constexpr std::chrono::milliseconds kPause{500};
constexpr std::chrono::seconds kLook{5};  // how often the holder is looked at
constexpr std::chrono::minutes kSay{1};   // how often a server that does not answer is named

bool may_pass(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kThrottled ||
         code == ErrorCode::kCancelled || code == ErrorCode::kInternal;
}

}  // namespace

StartMark::StartMark(LeaseStore& store, std::string identity, std::string lease,
                     ElectionClock& clock)
    : store_(store), identity_(std::move(identity)), lease_(std::move(lease)), clock_(clock) {}

std::optional<bool> StartMark::take(const std::stop_token& stop) {
  auto say = clock_.now() + kSay;  // that it does not answer was said just before
  while (!stop.stop_requested()) {
    switch (try_take()) {
      case Try::kTaken:
        taken_ = true;
        return ended_well_;
      case Try::kImpossible:
        log_warn(
            "the mark of a clean stop cannot be kept: every start is as after a crash, and touches "
            "all pods that wait (deploy/base/rbac.yaml)",
            {{"lease", lease_}, {"error", error_}});
        return false;
      case Try::kAgain:
        if (clock_.now() < say) break;
        say = clock_.now() + kSay;
        log_warn("nothing is scheduled before the mark of a clean stop can be written",
                 {{"lease", lease_}, {"error", error_}});
        break;
    }
    if (!clock_.sleep_until(clock_.now() + kPause, stop)) break;
  }
  return std::nullopt;
}

StartMark::Try StartMark::try_take() {
  const auto current = store_.get(kPatience);
  if (!current && current.error().code == ErrorCode::kNotFound) {
    ended_well_ = true;  // nobody was here before
    return written(store_.create(record(0), kPatience));
  }
  if (!current) return written(fail(current.error()));
  // The write was ours but its answer was lost: `ended_well_` is from before.
  if (current->holder == identity_) return Try::kTaken;
  ended_well_ = current->holder.empty();
  return written(store_.update(record(current->transitions + 1), kPatience));
}

StartMark::Try StartMark::written(const Result<void>& done) {
  if (done) return Try::kTaken;
  error_ = done.error().message;
  const ErrorCode code = done.error().code;
  return may_pass(code) || code == ErrorCode::kConflict ? Try::kAgain : Try::kImpossible;
}

std::optional<std::string> StartMark::wait_for_another(const std::stop_token& stop) {
  while (clock_.sleep_until(clock_.now() + kLook, stop)) {
    const auto current = store_.get(kPatience);
    if (!current || current->holder == identity_) continue;
    return current->holder.empty() ? "nobody, it was released" : current->holder;
  }
  return std::nullopt;
}

Result<void> StartMark::release() {
  const auto current = store_.get(kPatience);
  if (!current) return fail(current.error());
  if (current->holder != identity_) return {};
  LeaseRecord released = record(current->transitions);
  released.holder.clear();
  return store_.update(released, kPatience);
}

LeaseRecord StartMark::record(std::int64_t transitions) const {
  const std::string now = sdk::time_text(clock_.wall_now(), true);
  return {identity_, 1, now, now, transitions};
}

}  // namespace plimsoll::informer
