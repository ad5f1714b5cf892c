#pragma once
// The implementation of SimulatedKubelets. Everything that the mutex does not guard belongs to its
// thread.

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <thread>
#include <tuple>

#include "lab/sandbox/kubelet/dice.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// An exporter's view of a node at one moment.
struct NodeSnapshot {
  node::NodeReport report;
  std::string fingerprint;
};

// kReport: zones changed. kReportAgain: the period after a lost report is over.
enum class ActionKind { kRun, kFinish, kRemove, kReport, kReportAgain, kDeliver };

struct Action {
  Clock::time_point due;
  std::uint64_t order;  // ties are resolved in the order of scheduling
  ActionKind kind;
  ObjectKey pod;  // for reports: the name is the node's
  std::string uid;
  std::shared_ptr<const NodeSnapshot> snapshot;  // kDeliver
  std::string look = {};                         // for reports: the number of the exporter's look
  bool operator>(const Action& other) const {
    return std::tie(due, order) > std::tie(other.due, other.order);
  }
};

struct SimulatedPod {
  ObjectKey key;
  std::string node;
  bool stopping = false;
  std::size_t life = 0;  // position in lives
};

// A pod that was admitted before its binding.
struct AheadPod {
  ObjectKey key;
  AdmissionDecision decision;
};

struct SimulatedNode {
  NodeDescription description;
  std::unique_ptr<NodeAdmission> admission;
  std::set<std::string> pods;             // uids of the pods that the kubelet runs
  std::map<std::string, AheadPod> ahead;  // by uid
  std::uint64_t version = 0;              // changes with what the kubelet would admit
  std::uint64_t looks = 0;                // the exporter's looks caused by changed zones
  std::uint64_t looks_again = 0;
  bool report_pending = false;
  bool again_pending = false;
  bool behind = false;           // the last report was lost
  bool agent_back = false;       // the next report is the first after a restart
  Clock::time_point last_due{};  // of reports under way: one connection keeps their order
  std::uint64_t reported = 0;    // the resource version of the last report
};

struct SimulatedKubelets::Impl {
  Impl(ObjectStore& store_, KubeletOptions options_);

  ObjectStore& store;
  KubeletOptions options;
  const Clock::time_point begin = Clock::now();

  // Shared with other threads, under the mutex.
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool signalled = true;
  bool stopping = false;
  KubeletStats stats;
  std::uint64_t handled = 0;        // every event up to this resource version is handled
  double done_until = -1;           // seconds(): everything due until then is done
  std::optional<double> next_due;   // seconds()
  std::uint64_t short_actions = 0;  // starts, stops and reports under way
  std::uint64_t nodes_behind = 0;   // nodes whose last report was lost

  // Held to read or change the kubelets' state; locked before `mutex` if both are needed.
  mutable std::mutex acting;

  // Used by the kubelet thread only, except `nodes`: other threads read and change its admissions
  // while they hold `acting`.
  std::map<std::string, SimulatedNode> nodes;
  std::map<std::string, SimulatedPod> pods;  // by uid
  std::priority_queue<Action, std::vector<Action>, std::greater<>> actions;
  std::uint64_t next_order = 0;
  std::vector<PodLife> lives;
  std::vector<std::pair<std::string, std::string>> unknown_zones;  // pod, node
  std::uint64_t versions = 0;                                      // node versions assigned so far
  UseMeter use;
  std::map<ResourceName, std::uint64_t> positions;
  std::vector<ObjectStore::Subscription> subscriptions;
  std::thread thread;

  void signal();
  template <typename Update>
  void count(Update update) {
    const std::lock_guard lock(mutex);
    update(stats);
  }
  [[nodiscard]] double seconds() const;  // of the simulated clock, since the start

  // --- time and events (kubelet.cpp)
  [[nodiscard]] Clock::time_point now() const;
  [[nodiscard]] Clock::time_point after(Seconds delay) const;
  void schedule(Action action);
  void run_due_actions();
  void perform(const Action& action);
  void on_event(const ResourceName& resource, const StoreEvent& event);
  void look_at_everything();
  void read_events();
  void run();

  // --- nodes and reports (kubelet_nodes.cpp)
  [[nodiscard]] Result<NodeDescription> description_of(const nlohmann::json& node);
  // `bound`: the pods on it, if already known.
  void look_at_node(const std::string& name, const std::vector<ObjectPtr>* bound = nullptr);
  void adopt_pods(const std::string& name, SimulatedNode& node,
                  const std::vector<ObjectPtr>& bound);
  // The pods that the store has on one node, and on all.
  [[nodiscard]] std::vector<ObjectPtr> pods_on(const std::string& name) const;
  [[nodiscard]] std::map<std::string, std::vector<ObjectPtr>> pods_by_node() const;
  void forget_node(const std::string& name);
  void zones_changed(const std::string& name, SimulatedNode& node);
  [[nodiscard]] NodeSnapshot snapshot_of(const SimulatedNode& node) const;
  void report(const Action& action);
  void report_again(const Action& action);
  void look(const std::string& name, SimulatedNode& node, const std::string& number);
  void deliver(const std::string& name, const NodeSnapshot& snapshot, const std::string& number);
  void set_behind(SimulatedNode& node, bool behind);
  // The random numbers of one look of a node's exporter, for one purpose.
  [[nodiscard]] Dice dice(const std::string& node, const std::string& number,
                          const char* purpose) const;
  bool write(const std::string& name, SimulatedNode& node, const NodeSnapshot& snapshot);

  // --- pods (kubelet_pods.cpp)
  void look_at_pod(const nlohmann::json& pod);
  void admit(const nlohmann::json& pod, const ObjectKey& key, const std::string& uid,
             const std::string& node_name, SimulatedNode& node);
  // The kubelet's decision, made now or when the pod was admitted ahead of its binding.
  [[nodiscard]] AdmissionDecision decide(const nlohmann::json& pod, const std::string& uid,
                                         SimulatedNode& node);
  void begin_life(const nlohmann::json& pod, const ObjectKey& key, const std::string& uid,
                  PodLife life, SimulatedNode& node);
  void count_admission(const nlohmann::json& pod, const AdmissionDecision& decision);
  void let_go(const std::string& uid);
  bool change_pod(const ObjectKey& key, const std::string& uid,
                  const std::function<void(nlohmann::json&)>& change);
  void schedule_end(const nlohmann::json& pod, const ObjectKey& key, const std::string& uid);
  void start_pod(const Action& action);
  void finish_pod(const Action& action);
  void remove_pod(const Action& action);
  // A delay for this pod, varied by the jitter.
  [[nodiscard]] Seconds pod_delay(const ObjectKey& key, std::string_view what,
                                  std::chrono::milliseconds delay) const;
};

// The text of a field; empty if it is missing or not a text.
[[nodiscard]] std::string text_field(const nlohmann::json& object, const char* key);

}  // namespace plimsoll::sandbox
