#pragma once
// Executes a preemption: evicts the victims, off the loop, while the preemptor is held back.
// Kubernetes: pkg/scheduler/framework/preemption/executor.go (KEP-4832).
//
// All functions and all state belong to the loop; the API server's answers return to it. A pod that
// is already gone, or that another pod has replaced under its name, is no longer a victim.

#include <plimsoll/plugin.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::builtin {

class PreemptionExecutor {
 public:
  // Of the condition DisruptionTarget of its victims (v1.PodReasonPreemptionByScheduler).
  static constexpr std::string_view kReason = "PreemptionByScheduler";

  PreemptionExecutor(const sdk::Host& host, std::string_view plugin_name);
  PreemptionExecutor(const PreemptionExecutor&) = delete;
  PreemptionExecutor& operator=(const PreemptionExecutor&) = delete;

  // Starts the preemption. Victims that wait on Permit or are in PreBind are rejected in memory;
  // the others are deleted: all but the last at once, the last after the requests for the others
  // were answered. Pods of lower priority that are nominated to the node lose their nomination.
  // `violations`: of them, those whose eviction breaks a PodDisruptionBudget.
  void start(sdk::Pod preemptor, std::string_view node_name, const std::vector<sdk::Pod>& victims,
             int64_t violations);
  struct Costs {
    int64_t violations = 0;
    int64_t disruptions = 0;  // units of groups among the victims
  };
  // The same for a whole group, which is held back with each of these pods. `uid`: the PodGroup's;
  // `is_there`: asked before the last victim goes.
  void start(const std::vector<sdk::Pod>& group, std::string_view uid,
             const std::vector<sdk::Pod>& victims, const Costs& costs,
             std::function<bool()> is_there);

  // Whether requests of this preemptor are still to be answered. The last victim's own end counts
  // as the answer: its event may come first, and nothing else would wake the preemptor after it.
  [[nodiscard]] bool is_running(std::string_view preemptor_uid) const;

  // The same, for PreEnqueue. A preemptor that it keeps out of the queue is woken when the
  // preemption is done: no event wakes it, since none opens this gate.
  [[nodiscard]] bool holds_back(std::string_view preemptor_uid);

  // The number of preemptors whose failures are remembered; those that are gone or on a node are
  // eventually forgotten.
  [[nodiscard]] size_t failing() const { return failures_.size(); }

 private:
  struct Victim {
    std::string ns, name, uid, resource_version, node;
    int64_t generation = 0;
    bool marked = false;  // it has the condition DisruptionTarget already
  };
  struct Run {
    std::vector<std::string> uids;  // of the preemptor, or of all of its group
    std::string scheduler_name;
    std::string type, uid;           // of who evicts, for people
    std::function<bool()> is_there;  // the group; empty: it is a pod
    std::vector<Victim> victims;
    size_t unanswered = 0;
    std::string last_victim;  // UID, once it is its turn
    int64_t since_ms = 0;
    bool failed = false;
    bool wake = false;  // a victim was gone before its turn, say, or the preemptor was held back
  };
  using RunRef = std::shared_ptr<Run>;
  using Uids = std::set<std::string, std::less<>>;
  enum class Outcome { kDone, kWake, kFailed };

  void start(const RunRef& run, const std::vector<sdk::Pod>& preemptors,
             const std::set<std::string>& nodes, const std::vector<sdk::Pod>& victims);
  void clear_nominations(const RunRef& run, sdk::Pod preemptor, std::string_view node_name);
  [[nodiscard]] Uids waiting_on_permit() const;
  void evict(const RunRef& run, const Victim& victim, const Uids& waiting);
  bool evict_in_memory(const Run& run, const Victim& victim, const Uids& waiting);
  void mark(const RunRef& run, const Victim& victim);
  void remove(const RunRef& run, const Victim& victim);
  void tell(const Run& run, const Victim& victim, bool in_memory) const;
  void wake(const std::vector<std::string>& uids, int64_t delay_ms);
  // Sends the request; the answer arrives on the loop.
  template <typename Then>
  void send(sdk::Host::ApiRequest request, Then then);
  void answered(const RunRef& run, Outcome outcome);
  void proceed(const RunRef& run);
  void finish(const RunRef& run);
  void forget_who_is_gone();

  sdk::Host host_;
  std::string plugin_name_;
  sdk::HistogramMetric victims_;
  sdk::HistogramMetric group_victims_;
  sdk::HistogramMetric disruptions_;
  sdk::CounterMetric violations_;
  sdk::HistogramMetric execution_;
  sdk::HistogramMetric duration_;                          // result: success or error
  sdk::CounterMetric executions_;                          // the same
  std::map<std::string, RunRef, std::less<>> runs_;        // by UID of the preemptor
  std::map<std::string, unsigned, std::less<>> failures_;  // in a row, by UID of the preemptor
  size_t forget_at_ = 64;                                  // failures, before the next look
};

}  // namespace plimsoll::builtin
