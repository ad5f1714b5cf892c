#pragma once
// Random lives of one node: pods are promised, bound, admitted by a kubelet (the library's own
// algorithm on the whole machine), started, reported late, deleted; schedulers are killed.
//
// What is simulated is what the API server and kubelets guarantee: bindings are written in any
// order; a kubelet sees them in the order of their writing, and so does the scheduler's watch, in
// which every event comes in that order too, late; a kubelet lets go of a pod before the API server
// says that it is gone. Reports come late and in their order. With `strange`, other schedulers bind
// pods without asking, static pods come, names are used again, pods finish, are resized in vain,
// the report is deleted, the policy changes, and the kubelet is away for a while.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/topology/report/facts.hpp"
#include "plugins/topology/report/fingerprint.hpp"
#include "tests/plugins/topology/two_ledgers.hpp"

namespace plimsoll::topology {

struct LifeOptions {
  bool facts = true;         // reports carry node facts
  bool holdings = true;      // and with them what each pod holds
  bool fingerprints = true;  // or do not say which pods they count
  bool exclusive = false;    // fingerprints count pods with exclusive resources only
  bool finishes = false;     // pods finish by themselves, and reports list them for long
  bool deletions = true;
  bool crashes = false;
  bool gaps = false;  // the watch ends, and what happened until the next one is not told
  bool strange = false;
  bool plain = false;  // no options, no memory manager, no plain init containers
};

struct LifeTotals {
  int placed = 0;
  int admitted = 0;
  int refused = 0;
  // Refused because another was gone, or never came, that was there when the pod was placed: with
  // more room its first container, or a pod before it, took what it needs. Nobody can know.
  // Only where nothing else is left open. Or because a static pod or one of another scheduler had
  // come of which the watch did not tell yet, or the kubelet had been away and took pods in another
  // order.
  int overtaken = 0;
  int foreign = 0;  // pods of others, admitted
  int asked = 0;
  int held_back = 0;  // the kubelet would have taken it at that moment, were it the next
  std::map<std::string, int> reasons;  // of those refused
};

class NodeLife {
 public:
  NodeLife(uint32_t seed, LifeOptions options);

  void step();
  // Everything that is under way arrives.
  void quiesce();
  [[nodiscard]] const LifeTotals& totals() const { return totals_; }

 private:
  struct Pod {
    std::string id;
    std::string name;     // of which there may be several, one after the other
    std::string json;     // of its containers
    std::string resized;  // the same, asked for since
    PodRef object;        // as admitted
    int64_t created_ms = 0;
    bool foreign = false;
    bool mirror = false;
    bool reordered = false;  // the kubelet came back while it was on its way
    int strangers_before = 0;
    uint64_t version = 0;
    int64_t start_ms = 0;
    std::string annotation;
    bool running = false;  // admitted
    bool started = false;  // its init containers are over, and the API server knows
    enum { kNo, kAsked, kSeen } terminating = kNo;  // kSeen: by the scheduler
    kubelet::Admission given;
    kubelet::Allocation held;
    int ends_before = 0;  // of ends_, when it was placed
    bool alone = true;    // no other pod was on its way at the same time
  };
  struct Event {
    enum class Kind { kBound, kStarted, kRunning, kTerminating, kGone } kind = Kind::kBound;
    PodRef pod;
  };

  void make_machine();
  void make_ledger();
  std::string random_containers();
  PodRef object_of(const Pod& pod, std::string_view failed = {});
  Pod new_pod();

  [[nodiscard]] bool gpus_left(const kubelet::PodDemand& pod) const;
  void place();
  void write_binding();
  void admit();
  void admit_next();
  void start_containers();
  void terminate();
  bool end();  // false: none is to end
  void deliver_event();
  void report_now();
  void deliver_report();
  void crash();
  void strange();
  void come_unasked();
  void run_static_pod();
  void finish();
  void resize();
  void lose_report();
  void change_policy();
  void stop_kubelet();
  Pod* running_pod();
  static std::string id_of(const plimsoll_pod& pod) {
    return std::string(sdk::view(pod.meta.uid).substr(4));  // "uid-"
  }
  void miss_events();
  NrtObject report_object();

  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  std::mt19937 random_;
  LifeOptions options_;
  SymbolTable symbols_;
  uint32_t gpu_ = 0;
  std::shared_ptr<kubelet::NodeModel> model_;
  kubelet::NodeState state_;
  kubelet::Scratch scratch_;
  uint32_t zone_cpus_ = 0;
  std::unique_ptr<TwoLedgers> ledger_;
  std::map<std::string, Pod> reserved_;  // their bindings are under way
  std::map<std::string, Pod> api_;       // bound
  std::deque<std::string> to_admit_;
  std::deque<Event> watch_;
  std::map<std::string, PodRef> told_;  // that the ledger heard of and that are not gone for it
  std::deque<NrtObject> reports_;
  NrtObject latest_;
  uint64_t versions_ = 0;
  int names_ = 0;
  std::vector<std::string> old_names_;
  std::vector<std::string> listed_;  // finished pods that fingerprints still count
  int strangers_ = 0;
  int strangers_told_ = 0;
  int64_t away_until_ = 0;  // of the kubelet
  size_t at_first_ = 0;     // pods that it found when it came back, not admitted yet
  std::vector<kubelet::Allocation> stale_;  // of pods that ended while it was away
  bool said_away_ = false;                  // by the report
  int ends_ = 0;                            // pods that made room
  std::set<std::string> untold_;  // of them: not admitted, and the ledger does not know why yet
  int64_t now_ = 1'767'225'600'000;
  LifeTotals totals_;
};

}  // namespace plimsoll::topology
