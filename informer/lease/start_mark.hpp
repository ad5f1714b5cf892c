#pragma once
// How a scheduler that elects no leader knows whether the one before it ended well: a Lease that it
// holds from its start until it has stopped and every write of it has ended. It is never renewed
// and keeps nobody out.
//
// Whoever finds it released follows one that has nothing under way any more. Whoever finds it held,
// or not there, cannot know.

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
  // `identity`: of this process, never of another or an earlier one. `lease`: "namespace/name", for
  // messages.
  StartMark(LeaseStore& store, std::string identity, std::string lease,
            ElectionClock& clock = real_election_clock());

  // Takes the mark, and says whether it was released. Blocks until the API server has answered.
  // Where the mark cannot be kept, the answer is no, with a warning. Nothing: `stop` was requested
  // before.
  [[nodiscard]] std::optional<bool> take(const std::stop_token& stop);

  // Everything that was written has ended. Blocks for two requests' time at most; on an error the
  // mark stays held.
  Result<void> release();

 private:
  // What a try to take it came to.
  enum class Try { kTaken, kAgain, kImpossible };
  Try try_take();
  Try written(const Result<void>& done);
  [[nodiscard]] LeaseRecord record(std::int64_t transitions) const;

  LeaseStore& store_;
  const std::string identity_;
  const std::string lease_;
  ElectionClock& clock_;
  bool released_ = false;  // as found before the first write of ours
  std::string error_;
};

}  // namespace plimsoll::informer
