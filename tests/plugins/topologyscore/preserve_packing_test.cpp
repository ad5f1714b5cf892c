// PreserveLargeZones at work: a small cluster in which narrow, ordinary and wide pods come and go.
// The same arrivals are placed with each strategy; what counts is how many wide pods found a place.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/plugins/topologyscore/zone_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology {
namespace {

constexpr int kZones = 4;
constexpr int kZoneCpus = 16;
constexpr int kPerPolicy = 8;
constexpr int kSteps = 4'000;
constexpr int kLongestLife = 720;  // the cluster is about nine tenths full
constexpr unsigned kRuns = 2;
constexpr int kWeight = 5;  // of TopologyScore, beside NodeResourcesFit

struct Shape {
  int cpus = 0;
  PodRef pod;
};

// Who runs where until when.
struct Running {
  size_t node = 0;
  int64_t milli = 0;
  std::vector<int64_t> taken;  // by cell
  kubelet::Allocation held;
};

struct SimulatedNode {
  CountedNode node;
  int64_t requested = 0;
  [[nodiscard]] int64_t allocatable() const { return kZones * kZoneCpus * 1000; }
};

struct Outcome {
  int wide = 0;  // admitted
  int wide_offered = 0;
  int others = 0;  // admitted

  [[nodiscard]] int refused() const { return wide_offered - wide; }
};

class Cluster {
 public:
  // `fit`: 1 NodeResourcesFit packs nodes, -1 it spreads pods, 0 it is not there.
  Cluster(Strategy type, int fit) : fit_(fit) {
    strategy_.type = type;
    for (const char* policy : {"single-numa-node", "restricted", "best-effort"}) {
      for (int i = 0; i < kPerPolicy; ++i) {
        ReportSpec report;
        report.policy = policy;
        report.scope = i % 2 == 0 ? "container" : "pod";
        report.allocatable = std::to_string(kZoneCpus);
        for (int zone = 0; zone < kZones; ++zone) {
          report.zones.push_back({zone, {{"cpu", std::to_string(kZoneCpus)}}});
        }
        nodes_.push_back({scene_.counted(report), 0});
      }
    }
    for (const int cpus : {1, 2, 4}) {
      shapes_.push_back({cpus, scene_.pod(guaranteed("narrow", cpus))});
    }
    for (const int cpus : {1, 2, 4}) {
      PodSpec spec = guaranteed("ordinary", cpus);
      spec.burstable = true;
      shapes_.push_back({cpus, scene_.pod(spec)});
    }
    for (const int cpus : {12, 16}) {
      shapes_.push_back({cpus, scene_.pod(guaranteed("wide", cpus))});
    }
  }

  Outcome run(unsigned seed) {
    std::mt19937 random(seed);
    Outcome outcome;
    for (int step = 0; step < kSteps; ++step) {
      for (auto it = running_.begin(); it != running_.end() && it->first <= step;) {
        leave(it->second);
        it = running_.erase(it);
      }
      const bool wide = random() % 8 == 0;
      const size_t kind = wide ? 6 + random() % 2 : random() % 6;
      const int life = 1 + static_cast<int>(random() % kLongestLife);
      const bool admitted = place(shapes_[kind], step + life);
      outcome.wide_offered += wide;
      (wide ? outcome.wide : outcome.others) += admitted;
    }
    return outcome;
  }

 private:
  bool place(const Shape& shape, int until) {
    const kubelet::PodDemand demand(*shape.pod);
    const ZoneScore score(strategy_, *shape.pod, demand.asks);
    const int64_t milli = int64_t{1000} * shape.cpus;
    size_t best = nodes_.size();
    int64_t best_score = INT64_MIN;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const SimulatedNode& node = nodes_[i];
      const int64_t after = node.requested + milli;
      if (after > node.allocatable()) continue;
      const plimsoll_numa_use* use = scene_.use(demand, node.node);
      if (use == nullptr) continue;
      const int64_t full = after * 100 / node.allocatable();  // as NodeResourcesFit sees it
      const int64_t total =
          kWeight * score.on(&node.node.zones.view(), use, {node.requested}) + fit_ * full;
      if (total <= best_score) continue;
      best_score = total;
      best = i;
    }
    if (best == nodes_.size()) return false;
    SimulatedNode& node = nodes_[best];
    const plimsoll_numa_node& view = node.node.zones.view();
    const plimsoll_numa_use* use = scene_.use(demand, node.node);
    Running pod{best, milli, {}, {}};
    auto* free = const_cast<int64_t*>(view.free);
    for (size_t cell = 0; cell < size_t{view.zone_count} * view.resource_count; ++cell) {
      pod.taken.push_back(free[cell] - use->free[cell]);
      free[cell] = use->free[cell];
    }
    pod.held = kubelet::admit(*node.node.model, node.node.state, demand, scratch_).allocation;
    node.requested += milli;
    running_.emplace(until, std::move(pod));
    return true;
  }

  void leave(const Running& pod) {
    SimulatedNode& node = nodes_[pod.node];
    node.requested -= pod.milli;
    auto* free = const_cast<int64_t*>(node.node.zones.view().free);
    for (size_t cell = 0; cell < pod.taken.size(); ++cell) free[cell] += pod.taken[cell];
    kubelet::release(*node.node.model, node.node.state, pod.held);
  }

  int fit_;
  ScoringStrategy strategy_;
  ZoneScene scene_;
  kubelet::Scratch scratch_;
  std::vector<SimulatedNode> nodes_;
  std::vector<Shape> shapes_;
  std::multimap<int, Running> running_;
};

Outcome run(Strategy type, int fit) {
  Outcome sum;
  const unsigned first = test::test_seed();
  for (unsigned seed = first; seed < first + kRuns; ++seed) {
    const Outcome one = Cluster(type, fit).run(seed);
    sum.wide += one.wide;
    sum.wide_offered += one.wide_offered;
    sum.others += one.others;
  }
  return sum;
}

// What each strategy refuses, beside NodeResourcesFit with LeastAllocated, the default.
TEST(PreservePacking, WidePodsFindAPlaceWhereOtherStrategiesHaveNoneLeft) {
  const Outcome least = run(Strategy::kLeastAllocated, -1);
  const Outcome most = run(Strategy::kMostAllocated, -1);
  const Outcome preserve = run(Strategy::kPreserveLargeZones, -1);
  EXPECT_GT(preserve.wide_offered, 900);
  EXPECT_GT(least.refused(), 50);
  EXPECT_LT(preserve.refused() * 2, least.refused());
  EXPECT_LT(preserve.refused() * 2, most.refused());
  // Not at the expense of the others.
  EXPECT_GE(preserve.others * 100, most.others * 99);
}

// Where nodes are packed anyway, the zones still make a difference.
TEST(PreservePacking, PackingNodesIsNotEnough) {
  for (const int fit : {0, 1}) {
    const Outcome least = run(Strategy::kLeastAllocated, fit);
    const Outcome preserve = run(Strategy::kPreserveLargeZones, fit);
    EXPECT_LT(preserve.refused(), least.refused());
    EXPECT_GE(preserve.others * 100, least.others * 99);
  }
}

}  // namespace
}  // namespace plimsoll::topology
