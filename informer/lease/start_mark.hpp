#pragma once
// The running mark tells a scheduler without leader election whether the one before it ended well.
// It is a Lease that a scheduler holds from its start until it has stopped and every write of it
// has ended. The mark is never renewed and excludes nobody. But whoever finds that another has
// taken it since must end: two that decide for the same pods give the same room away twice.
//
// If the mark is found released, the previous scheduler has nothing under way any more. If it is
// missing, no scheduler of this name ever ran. If it is held, the previous one may have been
// killed.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "informer/lease/leader_elector.hpp"
#include "informer/lease/lease.hpp"

namespace plimsoll::informer {

// For one thread.
class StartMark {
 public:
  // `identity`: of this process only, never reused. `lease`: "namespace/name", for messages.
  StartMark(LeaseStore& store, std::string identity, std::string lease,
            ElectionClock& clock = real_election_clock());

  // Takes the mark and returns whether it was released or missing. Blocks until the API server has
  // answered. If the mark cannot be kept, logs a warning and returns false. Returns nothing if
  // `stop` was requested before that.
  [[nodiscard]] std::optional<bool> take(const std::stop_token& stop);

  // Whether take() could keep it.
  [[nodiscard]] bool taken() const { return taken_; }

  // Blocks until somebody else holds the mark, and returns who; nothing if `stop` was requested
  // before. A mark that is gone or cannot be read says nothing.
  [[nodiscard]] std::optional<std::string> wait_for_another(const std::stop_token& stop);

  // Releases the mark, after every write has ended. Blocks for at most the time of two requests; on
  // an error the mark stays held.
  Result<void> release();

 private:
  // The result of one try to take the mark.
  enum class Try { kTaken, kAgain, kImpossible };
  Try try_take();
  Try written(const Result<void>& done);
  [[nodiscard]] LeaseRecord record(std::int64_t transitions) const;

  LeaseStore& store_;
  const std::string identity_;
  const std::string lease_;
  ElectionClock& clock_;
  bool ended_well_ = false;  // as found before our first write
  bool taken_ = false;
  std::string error_;
};

}  // namespace plimsoll::informer
