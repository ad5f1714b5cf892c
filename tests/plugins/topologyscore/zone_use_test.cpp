// The zones that scores suppose, against the kubelet's whole algorithm on the same counts.

#include "plugins/topology/zone_use.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/kubelet/facts.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {
namespace {

struct Tally {
  int admitted = 0;   // by the kubelet
  int missed = 0;     // of these refused here
  int elsewhere = 0;  // of these with CPUs or devices in other zones
};

// CPUs and devices by zone that a pod takes, in whole units.
using Taken = std::vector<int64_t>;

Taken taken_here(const plimsoll_numa_node& node, const ZoneUse& use, uint32_t resource,
                 int64_t unit) {
  Taken taken(node.zone_count);
  const uint32_t row = row_of(node, resource);
  for (uint32_t zone = 0; row != kNoRow && zone < node.zone_count; ++zone) {
    const size_t cell = size_t{row} * node.zone_count + zone;
    taken[zone] = (node.free[cell] - use.free[cell]) / unit;
  }
  return taken;
}

class ZoneUseProperty : public testing::Test {
 protected:
  int pick(int n) { return static_cast<int>(random_() % n); }

  ReportSpec report(const char* policy, int zones) {
    ReportSpec report;
    report.policy = policy;
    report.scope = pick(2) == 0 ? "pod" : "container";
    report.allocatable = "16";
    for (int zone = 0; zone < zones; ++zone) {
      report.zones.push_back(
          {zone, {{"cpu", std::to_string(pick(17))}, {"vendor.com/gpu", std::to_string(pick(5))}}});
    }
    return report;
  }

  PodSpec pod() {
    PodSpec pod;
    const auto container = [&] {
      std::string requests = R"({"memory":"1","cpu":")" + std::to_string(1 + pick(10)) + "\"";
      if (pick(3) == 0) requests += R"(,"vendor.com/gpu":")" + std::to_string(1 + pick(3)) + "\"";
      return requests + "}";
    };
    if (pick(4) == 0) pod.init.push_back(container());
    if (pick(6) == 0) pod.sidecars.push_back(container());
    for (int i = 1 + pick(2); i > 0; --i) pod.apps.push_back(container());
    return pod;
  }

  void compare(const ReportSpec& report, const PodSpec& spec, Tally& tally) {
    const NrtObject nrt = scene_.nrt(report);
    kubelet::NodeFacts facts = kubelet::from_counts(nrt, scene_.index());
    const kubelet::NodeState before = facts.state;
    const PodRef object = scene_.pod(spec);
    const kubelet::PodDemand demand(*object);
    // Only NodeResourcesFit knows of devices without a zone; there are none.
    for (const kubelet::Need& need : demand.totals.devices) {
      const uint32_t at = facts.model->device_row(need.resource);
      if (at == kubelet::kNoResourceRow) continue;
      const auto free = before.devices(*facts.model, at);
      if (std::accumulate(free.begin(), free.end(), int64_t{0}) < need.amount) return;
    }
    if (!kubelet::admit(*facts.model, facts.state, demand, scratch_).admitted()) return;
    ++tally.admitted;
    const NumaNode node = scene_.node(report);
    if (!ZonePredictor(PodRequest(*object)).predict(node.view(), use_)) {
      ++tally.missed;
      return;
    }
    const auto difference = [](std::span<const int64_t> was, std::span<const int64_t> is) {
      Taken taken(was.size());
      for (size_t i = 0; i < was.size(); ++i) taken[i] = was[i] - is[i];
      return taken;
    };
    const uint32_t gpu = scene_.resource("vendor.com/gpu");
    const uint32_t row = facts.model->device_row(gpu);
    const auto& model = *facts.model;
    const auto& state = facts.state;
    bool same = taken_here(node.view(), use_, PLIMSOLL_RESOURCE_CPU, 1000) ==
                difference(before.cpu(model), state.cpu(model));
    if (row != kubelet::kNoResourceRow) {
      same = same && taken_here(node.view(), use_, gpu, 1) ==
                         difference(before.devices(model, row), state.devices(model, row));
    }
    tally.elsewhere += same ? 0 : 1;
  }

  TopologyScene scene_;
  ZoneUse use_;
  kubelet::Scratch scratch_;
  std::mt19937 random_;
};

// Pods that the kubelet admits have their zones here too, and mostly the same ones. The kubelet's
// choice among sets that it does not prefer (best-effort) is only approached, and under policy none
// every manager takes what it likes.
TEST_F(ZoneUseProperty, IsWhatTheKubeletChooses) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  random_.seed(seed);
  struct Row {
    const char* policy;
    int missed_percent;
    int elsewhere_percent;
  };
  for (const Row& row : {Row{"single-numa-node", 0, 0}, Row{"restricted", 0, 3},
                         Row{"best-effort", 2, 20}, Row{"none", 2, 100}}) {
    Tally tally;
    for (int i = 0; i < 1'000; ++i) compare(report(row.policy, 1 + pick(5)), pod(), tally);
    EXPECT_GT(tally.admitted, 300) << row.policy;
    EXPECT_LE(tally.missed * 100, tally.admitted * row.missed_percent) << row.policy;
    EXPECT_LE(tally.elsewhere * 100, tally.admitted * row.elsewhere_percent) << row.policy;
  }
}

}  // namespace
}  // namespace plimsoll::topology
