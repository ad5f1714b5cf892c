#pragma once
// One pod on its way from the queue to a node.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/cycle/loop_state.hpp"
#include "framework/extenders/preemption_round.hpp"
#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/pre_bind_gate.hpp"

namespace plimsoll {

struct Attempt {
  Attempt(PodRef scheduled_pod, Framework& profile)
      : pod(std::move(scheduled_pod)), framework(profile), cycle(profile.new_cycle()) {
    if (profile.metrics() != nullptr) start = metrics::Clock::now();
  }

  [[nodiscard]] std::string uid() const { return std::string(view(pod->meta.uid)); }
  // In the scheduling queue's eyes it is in flight: it waits on Permit.
  [[nodiscard]] bool waiting() const { return !binding; }
  // The end of the attempt, for its metrics.
  void count(metrics::AttemptResult result) const {
    if (auto* measured = framework.metrics()) {
      measured->attempt(result, metrics::seconds_since(start));
    }
  }
  // What the binding steps work on; once it is assumed.
  [[nodiscard]] BindTarget target() const {
    return {cycle, assumed, std::string(view(assumed->node_name)), gate};
  }
  // What is tried again if this attempt fails: the newest version that was heard of.
  [[nodiscard]] const PodRef& current() const { return latest ? latest : pod; }

  PodRef pod;      // as it was popped; see LoopState::as_nominated
  PodRef latest;   // a newer version that arrived meanwhile, or the original of a copy, or null
  PodRef assumed;  // on its node; null before assume
  uint32_t slot = ClusterState::kAnySlot;  // of that node, then
  Framework& framework;
  std::shared_ptr<CycleContext> cycle;
  // Permit plugins that have not allowed it yet.
  struct Wait {
    int64_t timeout_ms = 0;
    Timers::iterator timer{};  // rejects it; the end of the timers while it does
  };
  std::map<std::string, Wait, std::less<>> waits;
  std::unique_ptr<ExtenderAnswers> answers;  // null: no extender is interested in the pod
  // What they said about those that might have to make way; nothing: they were not asked.
  std::optional<std::vector<ExtenderVictims>> victims;
  // Not empty: they have to be asked about these before the attempt can go on.
  std::vector<ExtenderVictims> victims_to_ask;
  std::string nominated_to;              // when it was popped, in memory; empty: nowhere
  std::vector<std::string> to_activate;  // UIDs; once the scheduling cycle has succeeded
  std::shared_ptr<PreBindGate> gate = std::make_shared<PreBindGate>();
  bool nominated = false;  // where it goes was sent to the API server: a failure takes it back
  metrics::Clock::time_point start;         // set if anything is measured; as the next five
  metrics::Clock::time_point wait_start;    // on Permit
  std::optional<metrics::PointTimer> step;  // of the binding step that is under way
  uint32_t number = 0;                      // attempts of this pod, with this one
  int64_t first_attempt_ms = 0;
  bool flushed = false;     // it was only tried again because it had waited for too long
  bool binding = false;     // left the loop; until then it waits on Permit
  bool deleted = false;     // the pod is gone: nothing to try again
  bool seen_bound = false;  // the API server has it on a node: nothing to try again
};

// Points to `value` for as long as it lives.
template <typename T>
class ScopedPointer {
 public:
  ScopedPointer(T*& slot, T* value) : slot_(slot) { slot_ = value; }
  ~ScopedPointer() { slot_ = nullptr; }
  ScopedPointer(const ScopedPointer&) = delete;
  ScopedPointer& operator=(const ScopedPointer&) = delete;

 private:
  T*& slot_;
};

}  // namespace plimsoll
