#pragma once
// Pods that wait for what HTTP extenders say. The loop never waits for an extender: an attempt that
// needs one is set aside here, in flight in the eyes of the queue, while other pods go on. When the
// answers are there, the attempt is made again with them (Placer::decide), on the cluster as it is
// then.
//
// Loop only. Extenders are asked about a few pods at once, as they were popped from the queue: they
// do not hear of a pod that is placed before it is bound, so asking about many at once only makes
// them promise the same room more often.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/cycle/loop_state.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/extenders/preemption_round.hpp"
#include "framework/port/extender_client.hpp"
#include "framework/runtime/preemption_extenders.hpp"

namespace plimsoll {

class ExtenderWaits final : private PreemptionExtenders {
 public:
  // Takes an attempt up again: its answers have grown, or its turn has come.
  using GoOn = std::function<void(std::unique_ptr<Attempt>)>;
  // Ends one: an extender that it needs has failed.
  using Fail = std::function<void(Attempt&, const Status&)>;

  ExtenderWaits(LoopState& state, GoOn go_on, Fail fail);  // the state must outlive this
  ~ExtenderWaits() override;
  ExtenderWaits(const ExtenderWaits&) = delete;
  ExtenderWaits& operator=(const ExtenderWaits&) = delete;

  [[nodiscard]] bool concern(const plimsoll_pod& pod) const;
  // Whether the attempt has to wait for its turn; it is taken then.
  [[nodiscard]] bool must_queue(std::unique_ptr<Attempt>& attempt);
  void ask(std::unique_ptr<Attempt> attempt, std::vector<NodeRef> nodes);
  // About attempt->victims_to_ask.
  void ask_about_victims(std::unique_ptr<Attempt> attempt);
  [[nodiscard]] size_t waiting() const { return asked_.size() + queued_.size(); }
  void clear();  // forgets all; what is under way is not heard

 private:
  struct Link;  // to the loop, for answers; broken when this goes

  // Reads the whole pod, which extenders get; here only what is scheduled by is kept of it.
  template <typename Ask>
  void with_pod(std::unique_ptr<Attempt> attempt, Ask ask);
  // The attempt of this question, if it is still wanted; `error` ends it.
  std::unique_ptr<Attempt> take_asked(uint64_t number, const Error* error);
  void answered(uint64_t number, Result<ExtenderAnswers> answers);
  void victims_answered(uint64_t number, Result<std::vector<ExtenderVictims>> victims);
  void take_up(std::unique_ptr<Attempt> attempt);
  void next_turn();

  // ---- PreemptionExtenders: within the attempt that is under way
  Outcome process(const plimsoll_pod& pod,
                  std::vector<PreemptionCandidate>& candidates) const override;
  [[nodiscard]] std::optional<std::unordered_set<std::string_view>> answered() const override;
  [[nodiscard]] StringMap<PodRef> possible_victims(const plimsoll_pod& pod,
                                                   std::string_view node) const;

  LoopState& state_;
  const GoOn go_on_;
  const Fail fail_;
  std::map<uint64_t, std::unique_ptr<Attempt>> asked_;  // by number of the question
  std::deque<std::unique_ptr<Attempt>> queued_;
  uint64_t questions_ = 0;
  const std::shared_ptr<Link> link_;
};

}  // namespace plimsoll
