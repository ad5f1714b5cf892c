#pragma once
// The scheduler with everything there is: the builtin plugins, and the topology and device plugins
// from their .so files, on a loop of its own. For the random-event test: one that lives, and fresh
// ones to compare it with.

#include <plimsoll/host.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "framework/cycle/groups/group_decision.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/inspect/snapshot.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/placement/group_trial.hpp"
#include "framework/port/api_writer.hpp"
#include "tests/cycle/random_cluster.hpp"

namespace plimsoll::testing {

// What a scheduler believes of one node.
struct NodeView {
  std::map<std::string, std::string> pods;  // UID -> version
  std::vector<int64_t> allocatable;         // by resource
  std::vector<int64_t> requested;
  int64_t nonzero_cpu = 0;
  int64_t nonzero_memory = 0;
  std::multiset<std::string> ports;
  uint64_t generation = 0;
  std::map<std::string, int64_t> zones;          // "node-0 cpu" -> free
  int64_t unused_gpus = -1;                      // -1: nothing known of its devices
  std::map<std::string, uint64_t> device_zones;  // of its pods, by UID, where there are any
  std::set<std::string> nominated;               // UIDs
};
using ClusterView = std::map<std::string, NodeView>;

class FullScheduler {
 public:
  enum class Role {
    kLiving,
    kFresh,  // gives no pod a node, but says of one at a time what it would do: verdict()
  };
  struct Setup {
    std::string device_args = "{}";  // of NodeDevice
    bool devices_first = false;      // NodeDevice before the topology plugins, at every point
    bool pauses = false;             // attempts on groups pause wherever they may
  };
  // `now_ms`: its clock, and that of nobody else; it stands still unless moved.
  FullScheduler(Role role, ApiWriter& writer, int64_t now_ms)
      : FullScheduler(role, writer, now_ms, Setup()) {}
  FullScheduler(Role role, ApiWriter& writer, int64_t now_ms, const Setup& setup);
  ~FullScheduler();
  FullScheduler(const FullScheduler&) = delete;
  FullScheduler& operator=(const FullScheduler&) = delete;

  void pass(int64_t ms) { now_ms_ += ms; }
  [[nodiscard]] int64_t now_ms() const { return now_ms_; }

  void sync();  // the first lists are complete
  void deliver(const Change& change);
  // Delivers all of them in one turn of the loop.
  void deliver(const std::vector<Change>& changes);

  // Waits until the loop has handled everything and waits for the world. `answers`: the writes that
  // it waits for. False: not within 20 s.
  [[nodiscard]] bool settle(const std::function<std::vector<RandomCluster::Asked>()>& answers);
  [[nodiscard]] bool settle() {
    return settle([] { return std::vector<RandomCluster::Asked>(); });
  }
  [[nodiscard]] SchedulerStats stats() const { return scheduler_->stats(); }
  [[nodiscard]] ClusterView view();
  [[nodiscard]] ClusterView view_now();  // on the loop

  // What people are shown of the nodes, kept up to date by what changed since the last call alone:
  // the first node that it has otherwise than the whole, or is wrong to have; empty: none.
  [[nodiscard]] std::string misdrawn();

  // Pods with the label "wait" wait on Permit.
  [[nodiscard]] std::vector<std::string> waiting();
  void allow(const std::string& uid);
  void activate(const std::string& uid);

  // A fresh one's word about a pod that it was told of: "fits NODE", or the FitError.
  [[nodiscard]] std::string verdict(const std::string& uid);

  // What would become of the pod, which is not there. On the loop.
  [[nodiscard]] Explanation explain_now(const Json& pod);
  [[nodiscard]] StateSnapshot snapshot_now(const StateChoice& choice) {  // on the loop
    return scheduler_->snapshot(choice);
  }
  // Dry runs of groups. On the loop.
  [[nodiscard]] const GroupTrial& group_trial();
  [[nodiscard]] GroupDecision& group_decision();
  [[nodiscard]] static PodRef decoded_pod(const Json& pod);
  // Calls it on the loop, in each turn until it says false.
  void in_each_turn(std::function<bool()> visit);
  // Runs on the loop, and waits for it.
  void on_loop(const std::function<void()>& task);

 private:
  struct Verdicts;
  void post(const Change& change);
  [[nodiscard]] const sdk::Host& host() const { return *host_; }

  std::atomic<int64_t> now_ms_;
  std::unique_ptr<Verdicts> verdicts_;  // of a fresh one: its writer
  std::optional<sdk::Host> host_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
  std::map<std::string, std::string> drawn_;  // by node
  std::optional<StateMark> drawn_until_;
};

}  // namespace plimsoll::testing
