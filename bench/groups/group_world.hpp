#pragma once
// A scheduler without an API server that places gangs, one at a time: every binding succeeds at
// once, and the watch shows it.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/groups/mix.hpp"
#include "framework/api/objects.hpp"

namespace plimsoll::bench {

struct GroupWorldOptions {
  Network network;
  Amounts host = kHost;
  bool with_levels = true;      // GangScheduling knows the levels, and gangs prefer the narrowest
  std::string required = {};    // label key of the domain that all pods of a gang need; empty: none
  bool most_allocated = false;  // NodeResourcesFit packs instead of spreading
  // Pods on every node, each with 16 CPUs, whom gangs may evict.
  size_t evictable = 0;
  std::chrono::nanoseconds slice{0};  // as SchedulerOptions::group_slice; 0: never pauses
};

// CPU time of the loop, in milliseconds, from when the last of a gang was known.
struct DecisionTime {
  double decided = 0;    // until the first pod was given to be bound, so all had a place
  double committed = 0;  // until all were
};

// The longest time, in milliseconds, for which the loop heard nobody while a gang was tried: of its
// thread's CPU time, and by the clock.
struct LongestTurn {
  double cpu = 0;
  double wall = 0;
};

class GroupWorld final : public Placer {
 public:
  // Throws std::runtime_error if there can be no such scheduler.
  explicit GroupWorld(const GroupWorldOptions& options);
  ~GroupWorld() override;

  // What is refused is gone again.
  [[nodiscard]] std::optional<Places> place(const Room& room, const Gang& gang) override;
  void remove(const Gang& gang) override;
  [[nodiscard]] DecisionTime last_decision() const { return last_; }
  [[nodiscard]] LongestTurn longest_turn() const;  // of the last gang

  static constexpr const char* kRack = "example.com/rack";

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  DecisionTime last_;
};

}  // namespace plimsoll::bench
