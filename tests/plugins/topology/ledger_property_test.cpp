// Random lives of a node: pods are promised, bound, admitted by a simulated kubelet, reported late,
// deleted. Whatever the delays, no zone is promised twice.

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "plugins/topology/fit.hpp"
#include "plugins/topology/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

constexpr uint32_t kSlot = 0;

struct Options {
  bool fingerprints = true;
  bool deletions = true;
  bool crashes = false;
  int fixed_cpus = 0;  // 0: sizes differ
};

// A single-numa-node node and what the API server and the watches know of it. Each step one thing
// happens; every queue is drained in its own time.
class NodeLife {
 public:
  NodeLife(uint32_t seed, Options options)
      : random_(seed), options_(options), zones_(1 + random_() % 4), ledger_(fresh_ledger()) {
    used_.resize(zones_);
    report_now();
    deliver_report();
  }

  void step() {
    ++now_;
    switch (random_() % 12) {
      case 0:
      case 1:
      case 2:
        place();
        break;
      case 3:
      case 4:
        admit();
        break;
      case 5:
        confirm();
        break;
      case 6:
        report_now();
        break;
      case 7:
      case 8:
        deliver_report();
        break;
      case 9:
        if (options_.deletions) erase();
        break;
      case 10:
        deliver_deletion();
        break;
      case 11:
        if (options_.crashes && random_() % 4 == 0) crash();
        break;
    }
    check();
  }

  // Everything that is under way arrives.
  void quiesce() {
    while (!to_admit_.empty()) admit();
    while (!to_confirm_.empty()) confirm();
    while (!to_delete_.empty()) deliver_deletion();
    reports_.clear();
    report_now();
    deliver_report();
    check();
    if (!options_.fingerprints) return;
    EXPECT_EQ(ledger_->pending_promises(), 0u);
    for (size_t zone = 0; zone < zones_; ++zone) EXPECT_EQ(free(zone), kCpus - used_[zone]);
  }

  int admitted = 0;
  int refused = 0;

 private:
  static constexpr int kCpus = 16;
  struct Pod {
    std::string name;
    int cpus;
    int zone = -1;  // as the kubelet placed it
    PodRef object;
  };

  std::unique_ptr<Ledger> fresh_ledger() {
    auto ledger = std::make_unique<Ledger>(scene_.index());
    ledger->node_added("n1", kSlot);
    return ledger;
  }
  int64_t free(size_t zone) const { return ledger_->node(kSlot)->free[zone] / 1000; }

  void place() {
    const int cpus = options_.fixed_cpus != 0 ? options_.fixed_cpus : 1 + int(random_() % 10);
    PodSpec spec = guaranteed("p" + std::to_string(++names_), cpus);
    const PodRef object = scene_.pod(spec);
    const Placement placement = ledger_->reserve(*object, kSlot, now_);
    if (!placement.complete) return;
    if (random_() % 6 == 0) {  // the binding failed
      ledger_->unreserve(*object);
      return;
    }
    spec.annotation = zones_annotation(PodRequest(*object), placement.where);
    Pod pod{spec.name, cpus, -1, scene_.pod(spec)};
    api_[pod.name] = pod;
    to_admit_.push_back(pod.name);
    to_confirm_.push_back(pod.name);
  }

  // The kubelet takes the pods in the order of their binding, each on the lowest zone that has
  // room.
  void admit() {
    if (to_admit_.empty()) return;
    const std::string name = to_admit_.front();
    to_admit_.pop_front();
    const auto at = api_.find(name);
    if (at == api_.end()) return;
    for (size_t zone = 0; zone < zones_; ++zone) {
      if (used_[zone] + at->second.cpus > kCpus) continue;
      used_[zone] += at->second.cpus;
      at->second.zone = static_cast<int>(zone);
      kubelet_[name] = at->second;
      ++admitted;
      return;
    }
    ++refused;  // TopologyAffinityError: the pod fails and is gone
    to_delete_.push_back(at->second);
    api_.erase(at);
  }

  void confirm() {
    if (to_confirm_.empty()) return;
    const std::string name = to_confirm_.front();
    to_confirm_.pop_front();
    if (const auto at = api_.find(name); at != api_.end()) {
      ledger_->pod_assigned(*at->second.object, "n1", now_);
    }
  }

  void erase() {
    if (kubelet_.empty()) return;
    auto at = std::next(kubelet_.begin(), static_cast<long>(random_() % kubelet_.size()));
    used_[static_cast<size_t>(at->second.zone)] -= at->second.cpus;
    to_delete_.push_back(at->second);
    api_.erase(at->first);
    kubelet_.erase(at);
  }

  void deliver_deletion() {
    if (to_delete_.empty()) return;
    ledger_->pod_removed(*to_delete_.front().object, now_);
    to_delete_.pop_front();
  }

  void report_now() {
    ReportSpec spec;
    spec.version = std::to_string(++versions_);
    for (size_t zone = 0; zone < zones_; ++zone) {
      spec.zones.push_back(
          {static_cast<int>(zone), {{"cpu", std::to_string(kCpus - used_[zone])}}});
    }
    if (options_.fingerprints) {
      std::vector<std::string> names;
      for (const auto& [name, pod] : kubelet_) names.push_back(name);
      spec.fingerprint = fingerprint_of(names);
    }
    reports_.push_back(spec);
  }

  void deliver_report() {
    if (reports_.empty()) return;
    latest_ = reports_.front();
    reports_.pop_front();
    ledger_->report(scene_.nrt(latest_), now_);
  }

  // kill -9 and a new start: the report and the pods of the API server, nothing else.
  void crash() {
    ledger_ = fresh_ledger();
    ledger_->report(scene_.nrt(latest_), now_);
    for (const auto& [name, pod] : api_) ledger_->pod_assigned(*pod.object, "n1", now_);
    to_confirm_.clear();
    to_delete_.clear();
  }

  // The ledger never believes in more than there is: what pods hold or were promised, and what it
  // says is free, are together at most the node.
  void check() {
    int64_t bound = 0;
    for (const auto& [name, pod] : api_) bound += pod.cpus;
    int64_t offered = 0;
    for (size_t zone = 0; zone < zones_; ++zone) {
      ASSERT_LE(free(zone), kCpus);
      offered += free(zone);
    }
    ASSERT_LE(offered + bound, static_cast<int64_t>(zones_) * kCpus);
  }

  std::mt19937 random_;
  Options options_;
  size_t zones_;
  TopologyScene scene_;
  std::unique_ptr<Ledger> ledger_;
  std::vector<int> used_;
  std::map<std::string, Pod> api_;
  std::map<std::string, Pod> kubelet_;
  std::deque<std::string> to_admit_, to_confirm_;
  std::deque<Pod> to_delete_;
  std::deque<ReportSpec> reports_;
  ReportSpec latest_;
  int64_t now_ = kYear2026Ms;
  int names_ = 0;
  int versions_ = 0;
};

struct Totals {
  int admitted = 0;
  int refused = 0;
};

Totals run(Options options, uint32_t seeds) {
  Totals totals;
  for (uint32_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    NodeLife life(seed, options);
    for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) life.step();
    life.quiesce();
    totals.admitted += life.admitted;
    totals.refused += life.refused;
  }
  return totals;
}

// A pod that went away may make the kubelet choose a lower zone than predicted, before any report
// says so. Then the next pod may find its zone taken: rare, and the report puts it right.
void expect_few_refused(const Totals& totals) {
  EXPECT_LE(totals.refused * 200, totals.admitted) << totals.refused << " of " << totals.admitted;
}

TEST(LedgerProperty, WithoutDeletionsEveryPodIsAdmitted) {
  const Totals totals = run({.deletions = false}, 60);
  EXPECT_GT(totals.admitted, 500);
  EXPECT_EQ(totals.refused, 0);
}

TEST(LedgerProperty, WithoutFingerprintsToo) {
  const Totals totals = run({.fingerprints = false, .deletions = false}, 60);
  EXPECT_GT(totals.admitted, 500);
  EXPECT_EQ(totals.refused, 0);
}

TEST(LedgerProperty, DeletionsNeverOverfill) {
  const Totals totals = run({}, 60);
  EXPECT_GT(totals.admitted, 500);
  expect_few_refused(totals);
}

TEST(LedgerProperty, DeletionsOfEqualPodsNeverOverfill) {
  const Totals totals = run({.fixed_cpus = 4}, 60);
  EXPECT_GT(totals.admitted, 500);
  EXPECT_EQ(totals.refused, 0);
}

TEST(LedgerProperty, CrashesForgetNothing) {
  const Totals totals = run({.deletions = false, .crashes = true}, 60);
  EXPECT_GT(totals.admitted, 500);
  EXPECT_EQ(totals.refused, 0);
}

TEST(LedgerProperty, DeletionsWithoutFingerprintsNeverOverfill) {
  const Totals totals = run({.fingerprints = false}, 60);
  expect_few_refused(totals);
  EXPECT_GT(totals.admitted, 500);
}

TEST(LedgerProperty, CrashesAndDeletionsNeverOverfill) {
  const Totals totals = run({.crashes = true}, 60);
  expect_few_refused(totals);
  EXPECT_GT(totals.admitted, 500);
}

}  // namespace
}  // namespace plimsoll::topology
