// Filter and Score of the topology plugins allocate per call, never per node.

#include <gtest/gtest.h>

#include <deque>
#include <plimsoll/fake_host.hpp>

#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"
#include "plugins/topologyscore/topologyscore.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/allocation_count.hpp"

namespace plimsoll::topology {
namespace {

struct Counts {
  size_t filter = 0;
  size_t refusing_filter = 0;
  size_t score = 0;
  size_t topology_score = 0;
};

class Fleet {
 public:
  explicit Fleet(size_t size) : match_(host_), score_(host_), codes_(size), reasons_(size) {
    constexpr const char* kPolicies[] = {"best-effort", "restricted", "single-numa-node"};
    for (size_t i = 0; i < size; ++i) {
      const std::string name = "n" + std::to_string(i);
      sdk::FakeNode& node = nodes_.emplace_back(name, static_cast<uint32_t>(i));
      node.allocatable("cpu", 32'000).allocatable("memory", int64_t{128} << 30);
      host_.add(node);
      rows_.push_back(&node.get());
      match_.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(rows_.back()), 0);
      ReportSpec report;
      report.node = name;
      report.policy = kPolicies[i % 3];
      report.scope = i % 2 == 0 ? "container" : "pod";
      for (int zone = 0; zone < 4; ++zone) {
        report.zones.push_back(
            {zone, {{"cpu", std::to_string(4 + (i + 3) % 5)}, {"memory", "32Gi"}}});
      }
      match_.plugin().object_event(
          {sdk::ObjectEvent::kUpsert, kNrtResource, name, "", nrt_json(report)});
    }
    all_.size = sizeof all_;
    all_.count = static_cast<uint32_t>(rows_.size());
    all_.rows = rows_.data();
  }

  size_t filter(const PodSpec& spec) {
    const PodRef pod = scene_.pod(spec);
    const auto& slots = match_.slots();
    std::fill(codes_.begin(), codes_.end(), uint8_t{PLIMSOLL_SUCCESS});
    const uint64_t before = test::allocations_of_this_thread();
    EXPECT_EQ(
        slots.filter(slots.self, cycle_.get(), pod.get(), &all_, codes_.data(), reasons_.data()),
        PLIMSOLL_SUCCESS);
    return test::allocations_of_this_thread() - before;
  }
  size_t score(const plimsoll_plugin& slots, const PodSpec& spec) {
    const PodRef pod = scene_.pod(spec);
    std::vector<int64_t> scores(rows_.size());
    const uint64_t before = test::allocations_of_this_thread();
    EXPECT_EQ(slots.score(slots.self, cycle_.get(), pod.get(), &all_, scores.data()),
              PLIMSOLL_SUCCESS);
    EXPECT_GT(*std::max_element(scores.begin(), scores.end()), 0);
    return test::allocations_of_this_thread() - before;
  }

  // Of the last of some pods, each different.
  Counts counts() {
    Counts counts;
    for (int i = 0; i < 4; ++i) {
      const std::string memory = std::to_string(1'000'000 + i) + "Ki";
      const PodSpec pod = guaranteed("p" + std::to_string(i), 2, memory);
      counts.filter = filter(pod);
      counts.score = score(match_.slots(), pod);
      counts.topology_score = score(score_.slots(), pod);
      counts.refusing_filter = filter(guaranteed("q" + std::to_string(i), 7, memory));
      EXPECT_TRUE(std::any_of(codes_.begin(), codes_.end(),
                              [](uint8_t code) { return code == PLIMSOLL_UNSCHEDULABLE; }));
    }
    return counts;
  }

 private:
  TopologyScene scene_;
  sdk::FakeHost host_;
  sdk::FakeCycle cycle_;
  sdk::FakePlugin<NodeResourceTopologyMatch> match_;
  sdk::FakePlugin<TopologyScore> score_;
  std::deque<sdk::FakeNode> nodes_;
  std::vector<const plimsoll_node_info*> rows_;
  plimsoll_nodes all_{};
  std::vector<uint8_t> codes_;
  std::vector<uint32_t> reasons_;
};

TEST(TopologyAllocations, ATenfoldClusterCostsNoMoreOfThem) {
  const Counts few = Fleet(100).counts();
  const Counts many = Fleet(1000).counts();
  EXPECT_EQ(many.filter, few.filter);
  EXPECT_EQ(many.score, few.score);
  EXPECT_EQ(many.topology_score, few.topology_score);
  EXPECT_EQ(many.refusing_filter, few.refusing_filter);
  EXPECT_GT(few.filter, 0u);
}

}  // namespace
}  // namespace plimsoll::topology
