#pragma once
// Random lives of one node: pods are promised, bound, admitted by a kubelet (the library's own
// algorithm on the whole machine), started, reported late, deleted; schedulers are killed.
//
// What is simulated is what the API server and kubelets guarantee: bindings are written in any
// order; a kubelet sees them in the order of their writing, and so does the scheduler's watch, in
// which every event comes in that order too, late; a kubelet lets go of a pod before the API server
// says that it is gone. Reports come late and in their order.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "framework/api/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/topology/fingerprint.hpp"
#include "plugins/topology/kubelet/facts.hpp"
#include "plugins/topology/ledger.hpp"

namespace plimsoll::topology {

struct LifeOptions {
  bool facts = true;         // reports carry node facts
  bool fingerprints = true;  // or do not say which pods they count
  bool deletions = true;
  bool crashes = false;
  bool gaps = false;   // the watch ends, and what happened until the next one is not told
  bool plain = false;  // no options, no memory manager, no plain init containers
};

struct LifeTotals {
  int placed = 0;
  int admitted = 0;
  int refused = 0;
  // Refused because another was gone, or never came, that was there when the pod was placed: with
  // more room its first container, or a pod before it, took what it needs. Nobody can know.
  // Only where nothing else is left open.
  int overtaken = 0;
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
    std::string name;
    std::string json;  // of its containers
    PodRef object;
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

  [[nodiscard]] bool gpus_left(const kubelet::PodDemand& pod) const;
  void place();
  void write_binding();
  void admit();
  void start_containers();
  void terminate();
  bool end();  // false: none is to end
  void deliver_event();
  void report_now();
  void deliver_report();
  void crash();
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
  std::unique_ptr<Ledger> ledger_;
  std::map<std::string, Pod> reserved_;  // their bindings are under way
  std::map<std::string, Pod> api_;       // bound
  std::deque<std::string> to_admit_;
  std::deque<Event> watch_;
  std::map<std::string, PodRef> told_;  // that the ledger heard of and that are not gone for it
  std::deque<NrtObject> reports_;
  NrtObject latest_;
  uint64_t versions_ = 0;
  int names_ = 0;
  int ends_ = 0;                  // pods that made room
  std::set<std::string> untold_;  // of them: not admitted, and the ledger does not know why yet
  int64_t now_ = 1'767'225'600'000;
  LifeTotals totals_;
};

}  // namespace plimsoll::topology
