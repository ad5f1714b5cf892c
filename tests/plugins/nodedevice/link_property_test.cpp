// Random graphs, tables and loads: the figures of sets are those of trying every order, the choice
// is the best of all sets, and where partitions must be honoured nothing else is ever given.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "plugins/nodedevice/allocation/link_choice.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Json;

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<uint32_t>(limit)); }
  bool one_in(int many) { return below(many) == 0; }

 private:
  std::mt19937 engine_;
};

using Rates = std::vector<std::vector<int64_t>>;

Rates random_rates(Random& random, int size) {
  Rates rates(static_cast<size_t>(size), std::vector<int64_t>(static_cast<size_t>(size), 0));
  const int speeds = 1 + random.below(5);
  const int sparse = 1 + random.below(3);
  for (size_t a = 0; a < rates.size(); ++a)
    for (size_t b = a + 1; b < rates.size(); ++b)
      if (random.one_in(sparse)) rates[a][b] = rates[b][a] = 10 * (1 + random.below(speeds));
  return rates;
}

// Every order of the members is tried.
int64_t ring_of(const Rates& rates, std::vector<size_t> members) {
  if (members.size() < 2) return 0;
  std::sort(members.begin(), members.end());
  int64_t best = 0;
  do {
    int64_t slowest = INT64_MAX;
    for (size_t i = 0; i < members.size(); ++i)
      slowest = std::min(slowest, rates[members[i]][members[(i + 1) % members.size()]]);
    best = std::max(best, slowest);
  } while (std::next_permutation(members.begin() + 1, members.end()));
  return best;
}

std::vector<size_t> members_of(uint32_t set) {
  std::vector<size_t> members;
  for (size_t i = 0; i < 32; ++i)
    if ((set >> i & 1U) != 0) members.push_back(i);
  return members;
}

// All figures of all sets of one graph, by brute force.
struct Figures {
  std::vector<int64_t> ring, pairs, offer;

  explicit Figures(const Rates& rates) {
    const uint32_t sets = 1U << rates.size();
    for (uint32_t set = 0; set < sets; ++set) {
      const auto members = members_of(set);
      ring.push_back(ring_of(rates, members));
      int64_t sum = 0;
      for (const size_t a : members)
        for (const size_t b : members) sum += a < b ? rates[a][b] : 0;
      pairs.push_back(sum);
    }
    for (uint32_t set = 0; set < sets; ++set) {
      int64_t sum = 0;
      for (int size = 2; size <= std::popcount(set); size *= 2) {
        int64_t best = 0;
        for (uint32_t part = set; part != 0; part = (part - 1) & set)
          if (std::popcount(part) == size) best = std::max(best, ring[part]);
        sum += size * best;
      }
      offer.push_back(sum);
    }
  }
  [[nodiscard]] LinkRank rank(uint32_t chosen, uint32_t unused) const {
    const uint32_t rest = unused & ~chosen;
    return {ring[chosen], pairs[chosen], offer[rest], pairs[rest]};
  }
};

std::string annotation_of(Random& random, const Rates& rates) {
  Json links = Json::array();
  for (size_t a = 0; a < rates.size(); ++a) {
    for (size_t b = a + 1; b < rates.size(); ++b) {
      if (rates[a][b] == 0) continue;
      const auto minors = random.one_in(2) ? std::vector{a, b} : std::vector{b, a};
      links.push_back({{"minors", minors}, {"bandwidth", std::to_string(rates[a][b])}});
      if (random.one_in(8)) links.push_back({{"minors", {a, b}}, {"bandwidth", "1"}});
    }
  }
  return Json{{"gpu", links}}.dump();
}

TEST(LinkProperty, FiguresAreThoseOfTryingEverything) {
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const int size = 1 + random.below(seed % 8 == 0 ? 8 : 6);
    const Rates rates = random_rates(random, size);
    std::vector<int64_t> matrix;
    for (const auto& row : rates) matrix.insert(matrix.end(), row.begin(), row.end());
    const auto graph = LinkGraph::of(size, matrix);
    ASSERT_EQ(graph, LinkGraph::of(size, matrix)) << "equal graphs are one object";
    const Figures expected(rates);
    for (uint32_t set = 0; set < 1U << size; ++set) {
      ASSERT_EQ(graph->ring(set), expected.ring[set]) << "set " << set;
      ASSERT_EQ(graph->pair_sum(set), expected.pairs[set]) << "set " << set;
      ASSERT_EQ(graph->offer(set), expected.offer[set]) << "set " << set;
    }
  }
}

// A node of random links, of which some cards are in use, unhealthy or shared.
struct Scene {
  Rates rates;
  NodeState node;
  uint32_t unused = 0;

  Scene(Random& random, bool with_topology) {
    const int size = 2 + random.below(5);
    rates = random_rates(random, size);
    std::vector<Json> cards;
    for (int i = 0; i < size; ++i)
      cards.push_back(test::gpu(i, "16Gi", random.below(2),
                                with_topology ? std::to_string(random.below(3)) : "",
                                !random.one_in(8)));
    Json object = test::device_object("n", cards);
    object["metadata"]["annotations"][kLinksAnnotation] = annotation_of(random, rates);
    node = test::node_of(object);
    for (int i = 0; i < size; ++i) {
      const DeviceState& card = node.type(0).devices[static_cast<size_t>(i)];
      if (!card.healthy) continue;
      if (random.one_in(4))
        node.add({test::share("gpu", i, {{"koordinator.sh/gpu-core", 10 + random.below(90)}})});
      else
        unused |= 1U << i;
    }
  }
};

std::vector<size_t> given_to(const NodeState& node, int64_t count) {
  Allocation given;
  std::vector<size_t> minors;
  const Allocator allocator(test::types(), nullptr);
  const PodDemand demand = test::demand_of({{"nvidia.com/gpu", count}});
  const Verdict verdict = allocator.allocate(node, {}, demand, given);
  EXPECT_EQ(verdict, allocator.check(node, {}, demand));
  for (const DeviceShare& share : given) minors.push_back(static_cast<size_t>(share.minor));
  return minors;
}

// How far apart: 0 at one PCIe id, 1 in one zone, 2 anywhere.
int distance(const NodeState& node, const std::vector<size_t>& minors) {
  int apart = 0;
  const DeviceState& first = node.type(0).devices[minors[0]];
  for (const size_t minor : minors) {
    const DeviceState& other = node.type(0).devices[minor];
    apart = std::max(apart, first.numa != other.numa ? 2 : first.pcie != other.pcie ? 1 : 0);
  }
  return apart;
}

TEST(LinkProperty, TheChoiceIsTheBestOfAllSets) {
  int chosen_by_links = 0;
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const bool with_topology = !random.one_in(3);
    const Scene scene(random, with_topology);
    if (!scene.node.links(0)->matter()) continue;
    const Figures figures(scene.rates);
    for (int count = 1; count <= std::popcount(scene.unused); ++count) {
      const auto given = given_to(scene.node, count);
      ASSERT_EQ(given.size(), static_cast<size_t>(count));
      uint32_t taken = 0;
      for (const size_t minor : given) taken |= 1U << minor;
      ASSERT_EQ(taken & ~scene.unused, 0U);
      const LinkRank rank = figures.rank(taken, scene.unused);
      for (uint32_t set = 1; set < 1U << scene.rates.size(); ++set) {
        if (std::popcount(set) != count || (set & ~scene.unused) != 0 || set == taken) continue;
        const LinkRank other = figures.rank(set, scene.unused);
        ASSERT_FALSE(rank < other) << "set " << set << " is better than " << taken;
        chosen_by_links += other < rank ? 1 : 0;
        if (other != rank) continue;
        const auto members = members_of(set);
        if (with_topology)
          ASSERT_LE(distance(scene.node, given), distance(scene.node, members)) << "set " << set;
        else
          ASSERT_LT(given, members) << "the lowest minors among equals";
      }
    }
  }
  EXPECT_GT(chosen_by_links, 500);
}

struct Table {
  std::vector<std::vector<Json>> partitions;  // by number of cards
  std::string policy;

  Table(Random& random, int cards) : partitions(static_cast<size_t>(cards) + 1) {
    policy = random.one_in(3) ? "Prefer" : "Honor";
    for (int i = 3 + random.below(12); i > 0; --i) {
      std::vector<int> minors(static_cast<size_t>(cards));
      std::iota(minors.begin(), minors.end(), 0);
      const int size = 1 + random.below(std::min(cards, 4));
      for (int k = 0; k < size; ++k)
        std::swap(minors[static_cast<size_t>(k)],
                  minors[static_cast<size_t>(k + random.below(cards - k))]);
      minors.resize(static_cast<size_t>(size));
      Json partition = {{"minors", minors}, {"allocationScore", random.below(3)}};
      if (!random.one_in(3)) partition["ringBusBandwidth"] = 100 * (1 + random.below(3));
      if (random.one_in(2)) partition["gpuLinkType"] = "NVLink";
      partitions[static_cast<size_t>(size)].push_back(partition);
    }
  }
  [[nodiscard]] std::string text() const {
    Json table = Json::object();
    for (size_t size = 1; size < partitions.size(); ++size)
      if (!partitions[size].empty()) table[std::to_string(size)] = partitions[size];
    return table.dump();
  }
  [[nodiscard]] bool has(std::vector<int> minors, int64_t ring) const {
    std::sort(minors.begin(), minors.end());
    for (const Json& partition : partitions[minors.size()]) {
      auto of_it = partition["minors"].get<std::vector<int>>();
      std::sort(of_it.begin(), of_it.end());
      if (of_it == minors && partition.value("ringBusBandwidth", int64_t{-1}) >= ring) return true;
    }
    return false;
  }
};

// One node under one table, with pods that come and go.
class Load {
 public:
  Load(Random& random, int cards)
      : random_(random), table_(random, cards), object_(test::device_object("n", {})) {
    for (int i = 0; i < cards; ++i)
      object_["spec"]["devices"].push_back(test::gpu(i, "16Gi", i / 4, std::to_string(i / 2)));
    auto& meta = object_["metadata"];
    meta["labels"]["node.koordinator.sh/gpu-partition-policy"] = table_.policy;
    meta["annotations"]["scheduling.koordinator.sh/gpu-partitions"] = table_.text();
    if (random.one_in(2))
      meta["annotations"][kLinksAnnotation] = annotation_of(random, random_rates(random, cards));
    node_ = test::node_of(object_);
  }

  void step() {
    if (!pods_.empty() && random_.one_in(3)) {
      const auto gone = pods_.begin() + random_.below(static_cast<int>(pods_.size()));
      node_.remove(*gone);
      pods_.erase(gone);
      return;
    }
    if (random_.one_in(6)) return report();
    const bool with_spec = random_.one_in(3);
    const bool restricted = with_spec && random_.one_in(2);
    const int64_t ring = with_spec && random_.one_in(2) ? 200 : -1;
    ask(1 + random_.below(4), with_spec, restricted, ring);
  }

  int given = 0;
  int refused = 0;

 private:
  // Cards fall ill and get well again.
  void report() {
    for (Json& card : object_["spec"]["devices"]) card["health"] = !random_.one_in(5);
    auto devices = parse_device_object(test::types(), object_.dump());
    ASSERT_TRUE(devices.has_value());
    node_.set_object(std::make_shared<const NodeDevices>(*std::move(devices)));
  }

  void ask(int count, bool with_spec, bool restricted, int64_t ring) {
    std::string spec;
    if (with_spec) {
      Json text = {{"allocatePolicy", restricted ? "Restricted" : "BestEffort"}};
      if (ring > 0) text["ringBusBandwidth"] = ring;
      spec = text.dump();
    }
    const PodDemand demand = test::demand_of({{"nvidia.com/gpu", count}}, "", "", spec);
    Allocation got;
    const Allocator allocator(test::types(), nullptr);
    const Verdict verdict = allocator.allocate(node_, {}, demand, got);
    ASSERT_EQ(allocator.check(node_, {}, demand), verdict);
    const bool enforced = with_spec || table_.policy == "Honor";
    if (enforced && !restricted) {
      ASSERT_EQ(verdict.fits(), some_partition_is_free(count, ring));
    }
    if (!verdict.fits()) {
      ++refused;
      return;
    }
    std::vector<int> minors;
    for (const DeviceShare& share : got) {
      const DeviceState* card = node_.type(0).find(share.minor);
      ASSERT_TRUE(card != nullptr && card->healthy && !card->in_use);
      minors.push_back(share.minor);
    }
    ASSERT_EQ(minors.size(), static_cast<size_t>(count));
    if (enforced) {
      ASSERT_TRUE(table_.has(minors, ring)) << Json(minors).dump() << " of " << table_.text();
      ++given;
    }
    node_.add(got);
    pods_.push_back(std::move(got));
  }

  bool some_partition_is_free(int count, int64_t ring) {
    for (const Json& partition : table_.partitions[static_cast<size_t>(count)]) {
      if (partition.value("ringBusBandwidth", int64_t{-1}) < ring) continue;
      bool free = true;
      for (const int minor : partition["minors"].get<std::vector<int>>()) {
        const DeviceState* card = node_.type(0).find(minor);
        free = free && card != nullptr && card->healthy && !card->in_use;
      }
      if (free) return true;
    }
    return false;
  }

  Random& random_;
  Table table_;
  Json object_;
  NodeState node_;
  std::vector<Allocation> pods_;
};

TEST(LinkProperty, HonouredPartitionsAreAllThatIsGiven) {
  int given = 0;
  int refused = 0;
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Load load(random, 4 + random.below(5));
    for (int step = 0; step < 60 && !HasFatalFailure(); ++step) load.step();
    ASSERT_FALSE(HasFatalFailure());
    given += load.given;
    refused += load.refused;
  }
  EXPECT_GT(given, 300) << "the cases must be of both kinds to say anything";
  EXPECT_GT(refused, 300);
}

}  // namespace
}  // namespace plimsoll::devices
