#pragma once
// What a kubelet's refusals teach about its node. Internal to the ledger.

#include <memory>
#include <vector>

#include "plugins/topology/kubelet/pod_demand.hpp"
#include "plugins/topology/verdict/fit.hpp"

namespace plimsoll::topology {

struct NodeReport;

class Lessons {
 public:
  // Its kubelet refused a pod that should have fit: no pod goes there until it reports, or for a
  // while.
  void stop(int64_t now_ms);
  void go_on() { stopped_ms_ = 0; }
  [[nodiscard]] bool stopped() const { return stopped_ms_ != 0; }

  // On nodes of which only counts are known, what was refused is remembered. `whole_cores`: with
  // SMTAlignmentError.
  void learn(const NodeReport& report, const std::shared_ptr<const kubelet::PodDemand>& refused,
             bool whole_cores, int64_t now_ms);
  // Of a pod that was not refused yet: kFits, kNotWholeCores or kUncertain.
  [[nodiscard]] Verdict verdict(const kubelet::PodDemand& pod) const;
  [[nodiscard]] bool none() const {
    return !stopped() && refusals_.empty() && whole_cores_ms_ == 0;
  }
  [[nodiscard]] bool waits_for_room() const { return stopped() || !refusals_.empty(); }

  // A new report came. True: something that was learned no longer holds.
  bool unlearn(const NodeReport& report);
  // When the first lesson ends by its age, and what ends them.
  [[nodiscard]] int64_t due_ms() const;
  void pass_time(int64_t now_ms);

 private:
  // A pod that a kubelet refused although the counts had room for it.
  struct Refusal {
    std::shared_ptr<const kubelet::PodDemand> demand;
    std::vector<int64_t> available;  // in the first report after it; empty: none yet
    int64_t ms = 0;
  };

  std::vector<Refusal> refusals_;
  int64_t stopped_ms_ = 0;
  int64_t whole_cores_ms_ = 0;  // when it was seen to give whole cores only; 0: it was not
};

}  // namespace plimsoll::topology
