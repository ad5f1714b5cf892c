// ImageLocality: what the index keeps from events, held against counting all nodes afresh, and that
// no node whose score changes is forgotten. Single scores are held against kube-scheduler's by the
// vectors of kind `schedule`.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "plugins/builtin/columns/image_index.hpp"
#include "tests/plugins/builtin/support.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::builtin_test {
namespace {

constexpr uint32_t kSlots = 24;
constexpr uint32_t kImages = 6;
constexpr int64_t kMiB = 1024 * 1024;

TEST(ImageNames, GetTheTagThatNodesReport) {
  using builtin::normalized_image_name;
  EXPECT_EQ(normalized_image_name("app"), "app:latest");
  EXPECT_EQ(normalized_image_name("host:5000/app"), "host:5000/app:latest");
  EXPECT_EQ(normalized_image_name("host:5000/app:1"), "host:5000/app:1");
  EXPECT_EQ(normalized_image_name("host/app@sha256:00ff"), "host/app@sha256:00ff");
  EXPECT_EQ(normalized_image_name(""), ":latest");
}

using Images = std::map<std::string, int64_t>;

std::set<uint32_t>& touched() {
  static std::set<uint32_t> slots;
  return slots;
}

class ImageCluster {
 public:
  ImageCluster() {
    bench_.host.touch_node = [](plimsoll_host_ctx*, uint32_t slot, uint32_t aspects) {
      EXPECT_EQ(aspects, uint32_t{PLIMSOLL_ASPECT_IMAGES});
      touched().insert(slot);
    };
    EXPECT_FALSE(bench_.create("ImageLocality"));
  }

  void put(uint32_t slot, const Images& images) {
    std::string listed;
    for (const auto& [name, bytes] : images) {
      listed += (listed.empty() ? "" : ",") + (R"({"names": [")" + name + R"("], "sizeBytes": )") +
                std::to_string(bytes) + "}";
    }
    const bool known = images_.contains(slot);
    images_[slot] = images;
    objects_[slot] =
        bench_.node("n" + std::to_string(slot), R"("status": {"images": [)" + listed + "]}");
    tell(known ? PLIMSOLL_NODE_CHANGED : PLIMSOLL_NODE_ADDED, slot);
  }
  void remove(uint32_t slot) {
    if (images_.erase(slot) != 0) tell(PLIMSOLL_NODE_REMOVED, slot);
  }

  // Of all nodes at once, or of one after the other.
  std::map<uint32_t, int64_t> scores(const PodRef& pod, bool at_once) {
    std::vector<plimsoll_node_info> infos;
    for (const auto& [slot, _] : images_) infos.push_back(info(slot));
    std::vector<const plimsoll_node_info*> rows;
    std::vector<uint32_t> slots;
    for (const plimsoll_node_info& each : infos) {
      rows.push_back(&each);
      slots.push_back(each.slot);
    }
    const plimsoll_columns columns{};
    const plimsoll_nodes nodes{sizeof nodes, static_cast<uint32_t>(rows.size()), rows.data(),
                               at_once ? slots.data() : nullptr, at_once ? &columns : nullptr};
    std::vector<int64_t> found(rows.size(), -1);
    conformance::BenchCycle cycle;
    EXPECT_EQ(
        bench_.plugin.score(bench_.plugin.self, &cycle.abi(), pod.get(), &nodes, found.data()),
        PLIMSOLL_SUCCESS);
    std::map<uint32_t, int64_t> by_slot;
    for (size_t i = 0; i < slots.size(); ++i) by_slot[slots[i]] = found[i];
    return by_slot;
  }

  // Counted afresh: `names`, of as many images in all.
  std::map<uint32_t, int64_t> expected(const std::vector<std::string>& names, int64_t of) {
    std::map<uint32_t, int64_t> by_slot;
    for (const auto& [slot, images] : images_) {
      int64_t sum = 0;
      for (const std::string& name : names) {
        const auto here = images.find(name);
        if (here == images.end()) continue;
        size_t nodes = 0;
        for (const auto& [_, others] : images_) nodes += others.count(name);
        const double spread = static_cast<double>(nodes) / static_cast<double>(images_.size());
        sum += static_cast<int64_t>(static_cast<double>(here->second) * spread);
      }
      const int64_t most = 1000 * kMiB * of;
      sum = std::clamp(sum, 23 * kMiB, most);
      by_slot[slot] = 100 * (sum - 23 * kMiB) / (most - 23 * kMiB);
    }
    return by_slot;
  }

  Bench& bench() { return bench_; }

 private:
  plimsoll_node_info info(uint32_t slot) {
    plimsoll_node_info made{};
    made.size = sizeof made;
    made.slot = slot;
    made.node = objects_[slot].get();
    return made;
  }
  void tell(uint32_t type, uint32_t slot) {
    const plimsoll_node_info row = info(slot);
    bench_.plugin.node_event(bench_.plugin.self, type, &row, PLIMSOLL_ASPECT_IMAGES);
  }

  Bench bench_;
  std::map<uint32_t, Images> images_;
  std::map<uint32_t, NodeRef> objects_;
};

TEST(ImageLocality, CountsInitContainersAndImageVolumes) {
  ImageCluster cluster;
  cluster.put(0, {{"app:1", 300 * kMiB}, {"init:latest", 500 * kMiB}, {"files:2", 700 * kMiB}});
  cluster.put(1, {});
  const PodRef pod = cluster.bench().pod("p", R"({
    "containers": [{"name": "c", "image": "app:1"}],
    "initContainers": [{"name": "i", "image": "init"}],
    "volumes": [{"name": "v", "image": {"reference": "files:2"}}, {"name": "w", "emptyDir": {}}]})");
  const auto expected = cluster.expected({"app:1", "init:latest", "files:2"}, 3);
  EXPECT_GT(expected.at(0), 0);
  EXPECT_EQ(cluster.scores(pod, true), expected);
  EXPECT_EQ(cluster.scores(pod, false), expected);
}

// Since Kubernetes 1.37: an image volume that a node lacks is as far from it as a container's
// image.
TEST(ImageLocality, AnImageVolumeThatIsMissingCounts) {
  ImageCluster cluster;
  cluster.put(0, {{"app:1", 800 * kMiB}});
  const auto score = [&](const std::string& volumes) {
    const PodRef pod = cluster.bench().pod(
        "p", R"({"containers": [{"name": "c", "image": "app:1"}], "volumes": [)" + volumes + "]}");
    return cluster.scores(pod, true).at(0);
  };
  EXPECT_EQ(score(""), 79);
  EXPECT_EQ(score(R"({"name": "v", "image": {"reference": "files:2"}})"), 39);
  EXPECT_EQ(score(R"({"name": "w", "emptyDir": {}})"), 79);
}

TEST(ImageLocality, KeepsUpWithNodesThatChange) {
  std::mt19937_64 engine(test::test_seed());
  const auto below = [&](uint64_t limit) { return engine() % limit; };
  ImageCluster cluster;
  const std::vector<std::string> names = {"app0:latest", "app1:latest", "app1:latest"};
  const PodRef pod = cluster.bench().pod("p", R"({"containers": [
    {"name": "a", "image": "app0"}, {"name": "b", "image": "app1"},
    {"name": "c", "image": "app1:latest"}]})");
  std::map<uint32_t, int64_t> known;  // what a class of pods has kept
  touched().clear();
  for (size_t round = 0; round < 2'000; ++round) {
    for (size_t changes = 1 + below(3); changes > 0; --changes) {
      const auto other = static_cast<uint32_t>(below(kSlots));
      touched().insert(other);  // the change itself is logged
      if (below(4) == 0) {
        cluster.remove(other);
        continue;
      }
      Images images;
      for (uint32_t image = 0; image < kImages; ++image) {
        if (below(2) == 0) continue;
        images["app" + std::to_string(image) + ":latest"] =
            static_cast<int64_t>(below(3000)) * kMiB;
      }
      cluster.put(other, images);
    }
    if (below(3) == 0) continue;  // nobody asks
    const auto expected = cluster.expected(names, 3);
    for (const auto& [slot, score] : expected) {
      if (touched().contains(slot)) known[slot] = score;
      ASSERT_EQ(known[slot], score) << "nobody was told of node " << slot;
    }
    touched().clear();
    ASSERT_EQ(cluster.scores(pod, below(2) == 0), expected);
  }
}

}  // namespace
}  // namespace plimsoll::builtin_test
