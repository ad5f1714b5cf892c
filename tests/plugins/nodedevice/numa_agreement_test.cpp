// Devices in the zones that the kubelet gives the pod: policies, sets of zones, and random nodes
// against plain counting.

#include "plugins/nodedevice/zones/numa_agreement.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>

#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Json;
using ::testing::ElementsAre;

constexpr ZoneSet kUnknown = 0;

NumaSpec spec(NumaPolicy policy, bool exclusive_required = false) {
  return {policy, exclusive_required};
}

// "gpu 4 5; rdma 3", or the reason.
std::string outcome(const NodeState& node, const PodDemand& demand, const NumaTerms& terms) {
  const Allocator allocator(test::types(), nullptr);
  Allocation given;
  const Verdict verdict = allocate_in_zones(allocator, node, {}, demand, terms, given);
  if (!verdict.fits()) {
    EXPECT_TRUE(given.empty());
    return reason_text(test::types(), verdict.reason, verdict.type) +
           (verdict.unresolvable ? " (unresolvable)" : "");
  }
  std::string text;
  int last = -1;
  for (const DeviceShare& share : given) {
    if (share.type != last)
      text += (text.empty() ? "" : "; ") + test::types().type(share.type).name;
    last = share.type;
    text += " " + std::to_string(share.minor);
  }
  return text;
}

NumaTerms terms(NumaPolicy policy, ZoneSet cpus, bool spread = false) {
  NumaTerms terms;
  terms.spec = spec(policy);
  terms.pod.all = cpus;
  terms.pod.spread = spread;
  return terms;
}

// Fixture A of the reference: four GPUs and two NICs in each of zones 0 and 1.
NodeState fixture(const std::vector<int>& used_gpus = {}) {
  NodeState node = test::node_of(test::fixture_a());
  Allocation used;
  for (const int minor : used_gpus) used.push_back(test::whole_gpu(minor));
  node.add(used);
  return node;
}

constexpr const char* kUnaligned =
    "Unaligned NUMA Hint cause no gpu devices in the NUMA nodes of the pod";
constexpr const char* kSpread =
    "Unaligned NUMA Hint cause the kubelet spreads the pod over NUMA nodes";
constexpr const char* kScoped = "Insufficient NUMA Scoped Devices";
constexpr const char* kExclusive = "Unaligned NUMA Hint cause singleNUMANodeExclusive";

TEST(NumaSpecTest, ReadsWhatKoordinatorWrites) {
  struct Case {
    const char* text;
    NumaSpec spec;
  };
  const Case cases[] = {
      {"", {}},
      {"null", {}},
      {"{}", {}},
      {R"({"numaTopologyPolicy":""})", {}},
      {R"({"numaTopologyPolicy":"None"})", {}},
      {R"({"numaTopologyPolicy":"BestEffort"})", spec(NumaPolicy::kBestEffort)},
      {R"({"numaTopologyPolicy":"Restricted","singleNUMANodeExclusive":"Preferred"})",
       spec(NumaPolicy::kRestricted)},
      {R"({"numaTopologyPolicy":"SingleNUMANode","singleNUMANodeExclusive":"Required"})",
       spec(NumaPolicy::kSingleNode, true)},
      {R"({"singleNUMANodeExclusive":"Required"})", spec(NumaPolicy::kNone, true)},
  };
  for (const Case& each : cases) {
    const auto read = parse_numa_spec(each.text);
    ASSERT_TRUE(read.has_value()) << each.text << ": " << read.error();
    EXPECT_EQ(*read, each.spec) << each.text;
  }
}

TEST(NumaSpecTest, RefusesWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "it is not JSON"},
      {"[]", "it must be a JSON object"},
      {R"({"numaTopologyPolicy":1})", "numaTopologyPolicy must be a string"},
      {R"({"numaTopologyPolicy":"single-numa-node"})",
       "numaTopologyPolicy must be one of SingleNUMANode, Restricted, BestEffort"},
      {R"({"singleNUMANodeExclusive":"Never"})",
       "singleNUMANodeExclusive must be one of Required, Preferred"},
  };
  for (const auto& [text, error] : cases) {
    const auto read = parse_numa_spec(text);
    ASSERT_FALSE(read.has_value()) << text;
    EXPECT_EQ(read.error(), "invalid NUMATopologySpec annotation, err: " + std::string(error));
  }
}

TEST(NumaSpecTest, ReadsLabelsOfNodes) {
  EXPECT_EQ(numa_policy_of_label("SingleNUMANode"), NumaPolicy::kSingleNode);
  EXPECT_EQ(numa_policy_of_label("Restricted"), NumaPolicy::kRestricted);
  EXPECT_EQ(numa_policy_of_label("BestEffort"), NumaPolicy::kBestEffort);
  EXPECT_EQ(numa_policy_of_label("None"), NumaPolicy::kNone);
  EXPECT_EQ(numa_policy_of_label(""), NumaPolicy::kNone);
  EXPECT_EQ(numa_policy_of_label("whatever"), NumaPolicy::kNone);
}

TEST(ZoneSetsTest, ComeByWidthAndTheLowestFirst) {
  std::vector<ZoneSet> seen;
  int left = kMaxZoneSets;
  const auto note = [&](ZoneSet set) {
    seen.push_back(set);
    return false;
  };
  EXPECT_FALSE(for_each_zone_set(0b1101, 2, left, note));
  EXPECT_THAT(seen, ElementsAre(0b0101, 0b1001, 0b1100));
  seen.clear();
  EXPECT_FALSE(for_each_zone_set(0b1101, 0, left, note));
  EXPECT_FALSE(for_each_zone_set(0b1101, 3, left, note));
  EXPECT_FALSE(for_each_zone_set(0b1101, 4, left, note));
  EXPECT_THAT(seen, ElementsAre(0, 0b1101));
  EXPECT_EQ(left, kMaxZoneSets - 5);
  // Every set of every width, once, and no more than that.
  seen.clear();
  for (int width = 0; width <= 8; ++width) for_each_zone_set(0xFF00, width, left, note);
  EXPECT_EQ(seen.size(), 256U);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  left = 3;
  seen.clear();
  EXPECT_FALSE(for_each_zone_set(~ZoneSet{0}, 5, left, note));
  EXPECT_EQ(seen.size(), 3U);
}

TEST(NumaAgreementTest, PoliciesDecideByTheKubeletsZones) {
  struct Case {
    const char* what;
    NumaPolicy policy;
    ZoneSet cpus;
    int gpus;
    std::vector<int> used;
    const char* expected;
    bool spread = false;
  };
  constexpr auto kNone = NumaPolicy::kNone;
  constexpr auto kBest = NumaPolicy::kBestEffort;
  constexpr auto kRestricted = NumaPolicy::kRestricted;
  constexpr auto kSingle = NumaPolicy::kSingleNode;
  const std::vector<Case> cases = {
      {"nothing is known", kNone, kUnknown, 1, {}, "gpu 0"},
      {"devices go where the CPUs are", kNone, 0b10, 1, {}, "gpu 4"},
      {"a preference refuses nothing", kNone, 0b10, 1, {4, 5, 6, 7}, "gpu 0"},
      {"more than the zone has", kNone, 0b10, 5, {}, "gpu 0 1 2 3 4"},
      {"before packing into what is used", kNone, 0b01, 1, {4}, "gpu 0"},
      {"a zone without devices", kNone, 0b100, 1, {}, "gpu 0"},
      {"", kBest, 0b10, 2, {}, "gpu 4 5"},
      {"refuses nothing", kBest, 0b10, 2, {4, 5, 6}, "gpu 0 1"},
      {"fewest zones", kBest, kUnknown, 3, {0, 1}, "gpu 4 5 6"},
      {"all of them", kBest, kUnknown, 8, {}, "gpu 0 1 2 3 4 5 6 7"},
      {"spread pods too", kBest, 0b11, 2, {0, 1, 2, 3}, "gpu 4 5", true},
      {"the same zone", kRestricted, 0b10, 2, {}, "gpu 4 5"},
      {"no other zone", kRestricted, 0b10, 2, {4, 5, 6}, kUnaligned},
      {"both zones are needed", kRestricted, 0b11, 8, {}, "gpu 0 1 2 3 4 5 6 7"},
      {"devices need more zones than CPUs", kRestricted, 0b01, 8, {}, kUnaligned},
      {"devices need fewer zones than CPUs", kRestricted, 0b11, 2, {}, kUnaligned},
      {"CPUs need not be spread so far", kRestricted, 0b11, 8, {}, kSpread, true},
      {"only the devices' zones count", kRestricted, kUnknown, 2, {0, 1, 2}, "gpu 4 5"},
      {"as few as there are now", kRestricted, kUnknown, 2, {0, 1, 2, 4, 5, 6}, "gpu 3 7"},
      {"the same zone", kSingle, 0b10, 4, {}, "gpu 4 5 6 7"},
      {"no other zone", kSingle, 0b10, 4, {4}, kUnaligned},
      {"no zone", kSingle, 0b10, 4, {0, 4}, kScoped},
      {"CPUs in two zones", kSingle, 0b11, 1, {}, kSpread},
      {"any one zone", kSingle, kUnknown, 4, {0}, "gpu 4 5 6 7"},
      {"no zone has them now", kSingle, kUnknown, 4, {0, 4}, kScoped},
      {"no zone ever has",
       kSingle,
       kUnknown,
       5,
       {},
       "Insufficient NUMA Scoped Devices (unresolvable)"},
      {"a zone without devices", kSingle, 0b100, 1, {}, kUnaligned},
      {"too few anywhere", kSingle, 0b10, 8, {0}, "Insufficient GPU Devices"},
  };
  for (const Case& each : cases) {
    const PodDemand demand = test::demand_of({{"nvidia.com/gpu", each.gpus}});
    EXPECT_EQ(outcome(fixture(each.used), demand, terms(each.policy, each.cpus, each.spread)),
              each.expected)
        << name_of(each.policy) << ": " << each.what << ", zones of CPUs " << each.cpus;
  }
}

TEST(NumaAgreementTest, DevicesWithoutAZoneFitAny) {
  std::vector<Json> devices;
  for (int i = 0; i < 4; ++i) devices.push_back(test::gpu(i, "80Gi", i < 2 ? 0 : -1, "p"));
  const NodeState node = test::node_of(test::device_object("node-1", devices));
  const PodDemand one = test::demand_of({{"nvidia.com/gpu", 1}});
  const PodDemand three = test::demand_of({{"nvidia.com/gpu", 3}});
  for (const auto policy : {NumaPolicy::kNone, NumaPolicy::kRestricted, NumaPolicy::kSingleNode}) {
    EXPECT_EQ(outcome(node, one, terms(policy, 0b10)), "gpu 2") << name_of(policy);
    EXPECT_EQ(outcome(node, three, terms(policy, 0b01)), "gpu 0 1 2") << name_of(policy);
  }
  EXPECT_EQ(outcome(node, three, terms(NumaPolicy::kSingleNode, 0b10)), kUnaligned);
  // Devices without zones alone: CPUs must be in one all the same.
  const NodeState plain =
      test::node_of(test::device_object("node-1", {test::gpu(0, "80Gi"), test::gpu(1, "80Gi")}));
  EXPECT_EQ(outcome(plain, one, terms(NumaPolicy::kSingleNode, kUnknown)), "gpu 0");
  EXPECT_EQ(outcome(plain, one, terms(NumaPolicy::kSingleNode, 0b10)), "gpu 0");
  EXPECT_EQ(outcome(plain, one, terms(NumaPolicy::kSingleNode, 0b11)), kSpread);
  EXPECT_EQ(outcome(plain, one, terms(NumaPolicy::kRestricted, 0b11)), "gpu 0");
}

TEST(NumaAgreementTest, EachTypeGoesToTheContainersThatAskForIt) {
  NumaTerms terms;
  terms.pod.all = 0b11;
  const auto near = [&](const char* type, ZoneSet zones) {
    terms.pod.of_type[static_cast<size_t>(test::types().find_type(type))] = zones;
  };
  near("gpu", 0b10);
  near("rdma", 0b01);
  const PodDemand demand = test::demand_of({{"nvidia.com/gpu", 1}, {"koordinator.sh/rdma", 100}});
  EXPECT_EQ(outcome(fixture(), demand, terms), "gpu 4; rdma 1");
  // What one type cannot have does not keep the other from its zone.
  EXPECT_EQ(outcome(fixture({4, 5, 6, 7}), demand, terms), "gpu 0; rdma 1");
  near("rdma", 0b10);
  EXPECT_EQ(outcome(fixture({4, 5, 6, 7}), demand, terms), "gpu 0; rdma 3");
}

TEST(NumaAgreementTest, ARequiredZoneIsTheOneOfTheContainer) {
  const PodDemand demand =
      test::demand_of({{"nvidia.com/gpu", 2}}, R"({"gpu":{"requiredTopologyScope":"NUMANode"}})");
  EXPECT_TRUE(zones_may_refuse({}, demand));
  EXPECT_EQ(outcome(fixture(), demand, terms(NumaPolicy::kNone, 0b10)), "gpu 4 5");
  EXPECT_EQ(outcome(fixture({4, 5, 6}), demand, terms(NumaPolicy::kNone, 0b10)), kUnaligned);
  EXPECT_EQ(outcome(fixture({4, 5, 6}), demand, terms(NumaPolicy::kBestEffort, 0b10)), kUnaligned);
  EXPECT_EQ(outcome(fixture({4, 5, 6}), demand, terms(NumaPolicy::kNone, kUnknown)), "gpu 0 1");
  // Pods without such a wish are never refused for zones.
  EXPECT_FALSE(
      zones_may_refuse(spec(NumaPolicy::kBestEffort), test::demand_of({{"nvidia.com/gpu", 2}})));
}

TEST(NumaAgreementTest, PodsInOneZoneAndSpreadPodsKeepApart) {
  struct Case {
    const char* what;
    NumaPolicy policy;
    bool required;
    ZoneSet cpus;
    int gpus;
    OtherPods others;
    const char* expected;
  };
  constexpr auto kBest = NumaPolicy::kBestEffort;
  constexpr auto kRestricted = NumaPolicy::kRestricted;
  constexpr auto kSingle = NumaPolicy::kSingleNode;
  const std::vector<Case> cases = {
      {"a spread pod is there", kSingle, true, 0b01, 1, {0, 0b11}, kExclusive},
      {"which is preferred only", kSingle, false, 0b01, 1, {0, 0b11}, "gpu 0"},
      {"another one-zone pod is welcome", kSingle, true, 0b01, 1, {0b01, 0}, "gpu 0"},
      {"the other zone is preferred", kSingle, false, kUnknown, 1, {0, 0b01}, "gpu 4"},
      {"the other zone is required", kSingle, true, kUnknown, 1, {0, 0b01}, "gpu 4"},
      {"no zone is left", kSingle, true, kUnknown, 1, {0, 0b11}, kExclusive},
      {"a one-zone pod is there", kRestricted, true, 0b11, 8, {0b10, 0}, kExclusive},
      {"other spread pods are welcome",
       kRestricted,
       true,
       0b11,
       8,
       {0, 0b11},
       "gpu 0 1 2 3 4 5 6 7"},
      {"", kRestricted, true, kUnknown, 8, {0b10, 0}, kExclusive},
      {"best effort refuses nothing", kBest, true, kUnknown, 8, {0b10, 0}, "gpu 0 1 2 3 4 5 6 7"},
      {"", kBest, true, kUnknown, 1, {0, 0b01}, "gpu 4"},
      {"", kBest, true, kUnknown, 1, {0, 0b11}, "gpu 0"},
  };
  for (const Case& each : cases) {
    NumaTerms on = terms(each.policy, each.cpus);
    on.spec.exclusive_required = each.required;
    on.others = each.others;
    const PodDemand demand = test::demand_of({{"nvidia.com/gpu", each.gpus}});
    EXPECT_EQ(outcome(fixture(), demand, on), each.expected)
        << name_of(each.policy) << ": " << each.what;
  }
}

TEST(NumaAgreementTest, SaysWhatItRestsOn) {
  NumaTerms on = terms(NumaPolicy::kRestricted, 0b11, true);
  on.pod.of_type[0] = 0b10;
  const PodDemand demand = test::demand_of({{"nvidia.com/gpu", 1}});
  EXPECT_EQ(explain_zones(fixture({0, 1, 2, 3}), demand, on),
            "NUMA policy Restricted: the kubelet gives the pod zones 0,1, more than their sizes "
            "call for\n  gpu: unused devices in zone 1, wanted in zone 1\n");
  EXPECT_EQ(explain_zones(fixture(), demand, terms(NumaPolicy::kSingleNode, kUnknown)),
            "NUMA policy SingleNUMANode: it is not known which zones the kubelet gives the pod, if "
            "any: devices' zones count\n  gpu: unused devices in zones 0,1\n");
}

// Random nodes of up to five zones, whole GPUs and NICs, against counting.
class Counted {
 public:
  Counted(const NodeState& node, const PodDemand& demand) : demand_(demand) {
    for (const TypeRequest& request : demand.request.types)
      for (const DeviceState& device : node.type(request.type).devices)
        if (device.available && !device.in_use) ++free_[request.type][device.numa];
  }
  [[nodiscard]] bool fits(ZoneSet zones) const {
    return std::all_of(demand_.request.types.begin(), demand_.request.types.end(),
                       [&](const TypeRequest& each) {
                         int64_t count = 0;
                         if (const auto of_type = free_.find(each.type); of_type != free_.end())
                           for (const auto& [zone, free] : of_type->second)
                             if (zone < 0 || (zones >> zone & 1) != 0) count += free;
                         return count >= each.count;
                       });
  }
  // The least number of zones that do; -1: all are too few.
  [[nodiscard]] int fewest(int zone_count) const {
    int fewest = -1;
    for (ZoneSet set = 0; set < (ZoneSet{1} << zone_count); ++set)
      if (fits(set) && (fewest < 0 || std::popcount(set) < fewest)) fewest = std::popcount(set);
    return fewest;
  }

 private:
  const PodDemand& demand_;
  std::map<int, std::map<int, int64_t>> free_;
};

TEST(NumaAgreementPropertyTest, AgreesWithCounting) {
  std::mt19937_64 random(plimsoll::test::test_seed());
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  int refused = 0;
  for (int round = 0; round < 800; ++round) {
    const int zones = 1 + upto(4);
    std::vector<Json> devices;
    const int gpus = 1 + upto(7);
    for (int i = 0; i < gpus; ++i)
      devices.push_back(test::gpu(i, "8Gi", upto(9) == 0 ? -1 : upto(zones - 1),
                                  std::to_string(upto(3)), upto(9) != 0));
    const int nics = upto(3);
    for (int i = 0; i < nics; ++i)
      devices.push_back(test::rdma(i, "0000:" + std::to_string(10 + i) + ":00", upto(zones - 1),
                                   std::to_string(upto(3)), 0));
    NodeState node = test::node_of(test::device_object("node-1", devices));
    Allocation used;
    for (int i = 0; i < gpus; ++i)
      if (upto(2) == 0) used.push_back(test::whole_gpu(i, int64_t{8} << 30));
    node.add(used);
    test::Ask ask = {{"nvidia.com/gpu", 1 + upto(3)}};
    if (nics > 0 && upto(1) == 0) ask.emplace_back("koordinator.sh/rdma", 100 * (1 + upto(1)));
    const PodDemand demand = test::demand_of(ask);
    const ZoneSet cpus = random() % (ZoneSet{1} << zones);
    const auto policy = static_cast<NumaPolicy>(upto(3));
    const Counted counted(node, demand);
    const int fewest = counted.fewest(zones);

    const Allocator allocator(test::types(), nullptr);
    Allocation given;
    const Verdict verdict =
        allocate_in_zones(allocator, node, {}, demand, terms(policy, cpus), given);
    bool expected = fewest >= 0;
    if (policy == NumaPolicy::kSingleNode)
      expected =
          expected && (cpus == 0 ? fewest <= 1 : std::popcount(cpus) == 1 && counted.fits(cpus));
    if (policy == NumaPolicy::kRestricted && cpus != 0)
      expected = expected && counted.fits(cpus) && (fewest == 0 || fewest == std::popcount(cpus));
    const std::string what = Json(devices).dump() + " asked for " + Json(ask).dump() + ", " +
                             std::string(name_of(policy)) + ", zones of CPUs " +
                             std::to_string(cpus) + ": ";
    ASSERT_EQ(verdict.fits(), expected)
        << what << reason_text(test::types(), verdict.reason, verdict.type);
    refused += expected ? 0 : 1;
    if (!expected) continue;
    const ZoneSet taken = zones_of(node, given);
    // Whoever can be near the CPUs is.
    if (cpus != 0 && counted.fits(cpus)) {
      ASSERT_EQ(taken & ~cpus, 0U) << what;
    }
    if (policy == NumaPolicy::kSingleNode) {
      ASSERT_LE(std::popcount(taken), 1) << what;
    }
    const bool fewest_count =
        policy == NumaPolicy::kRestricted || policy == NumaPolicy::kBestEffort;
    if (fewest_count && (cpus == 0 || !counted.fits(cpus))) {
      ASSERT_LE(std::popcount(taken), fewest) << what;
    }
  }
  EXPECT_GT(refused, 80);
}

}  // namespace
}  // namespace plimsoll::devices
