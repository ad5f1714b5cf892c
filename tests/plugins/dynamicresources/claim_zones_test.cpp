// CPUs that pods have by claims (KEP-5517), in the zones of the NUMA ledger.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/topology/service/ledger_owner.hpp"
#include "tests/plugins/dynamicresources/plugin_world.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::dra::test {
namespace {

constexpr size_t kZones = 2;
constexpr int kCpus = 32;       // of each zone
constexpr int kClaimable = 16;  // of these
using ByZone = std::array<int64_t, kZones>;

// Nodes with one device per zone, as dra-driver-cpu makes them, and a ledger that has reports of
// counts. Pods have CPUs of their own, and more by a claim; where the gate is off they ask for the
// latter by hand, too.
class ClaimedZones {
 public:
  explicit ClaimedZones(bool gate, uint32_t nodes = 1)
      : gate_(gate),
        world_(gate ? R"({"featureGates":{"DRANodeAllocatableResources":true}})" : "{}"),
        owner_(std::make_shared<topology::LedgerOwner>(world_.host.handle())) {
    owner_->forecast = std::make_unique<topology::PublishedForecast>(world_.host.handle(), *owner_);
    world_.plugin->start();
    world_.show(std::string(sdk::kDeviceClasses.resource),
                {{"metadata", {{"name", "cpus"}}},
                 {"spec", {{"selectors", {{{"cel", {{"expression", "true"}}}}}}}}});
    for (uint32_t i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      world_.add_node({{"metadata", {{"name", name}}},
                       {"status", {{"allocatable", {{"cpu", "1000"}, {"memory", "1Ti"}}}}}});
      owner_->ledger.node_added(name, i);
      topology::ReportSpec report =
          topology::cpu_report(1, {"32", "32"}, topology::fingerprint_of({}), "single-numa-node");
      report.node = name;
      report.allocatable = std::to_string(kCpus);
      owner_->ledger.report(topology::parse_nrt(topology::nrt_json(report)).value(),
                            world_.host.now);
      publish(i, {0, 1});
    }
  }
  ClaimedZones(const ClaimedZones&) = delete;
  ClaimedZones& operator=(const ClaimedZones&) = delete;
  ~ClaimedZones() { world_.plugin.reset(); }

  // The node's devices, with the zones that the driver says they are in.
  void publish(uint32_t node, ByZone zones) {
    const std::string name = "n" + std::to_string(node);
    Json devices = Json::array();
    for (size_t i = 0; i < kZones; ++i) {
      devices.push_back({{"name", "cpus-" + std::to_string(i)},
                         {"allowMultipleAllocations", true},
                         {"attributes", {{"resource.kubernetes.io/numaNode", {{"int", zones[i]}}}}},
                         {"capacity", {{"dra.cpu/cpu", {{"value", std::to_string(kClaimable)}}}}},
                         {"nodeAllocatableResources",
                          {{"cpu", {{"mapping", {{"capacityKey", "dra.cpu/cpu"}}}}}}}});
    }
    world_.show(std::string(sdk::kResourceSlices.resource),
                {{"metadata", {{"name", "slice-" + name}}},
                 {"spec",
                  {{"driver", "dra.cpu"},
                   {"nodeName", name},
                   {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
                   {"devices", devices}}}});
    zones_[node] = zones;
  }

  void take_slices_away(uint32_t node) {
    const std::string name = "slice-n" + std::to_string(node);
    const std::string resource(sdk::kResourceSlices.resource);
    world_.host.objects[resource].erase({"", name});
    world_.plugin->object_event(PLIMSOLL_OBJECT_DELETE, resource, name, "");
  }

  // A claim with these devices that somebody has allocated; of dra.cpu's four CPUs of each.
  void show_claim(const std::string& name, const Json& results) {
    world_.show(std::string(sdk::kResourceClaims.resource),
                {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "of-" + name}}},
                 {"spec", {{"devices", {{"requests", Json::array()}}}}},
                 {"status", {{"allocation", {{"devices", {{"results", results}}}}}}}});
  }
  [[nodiscard]] uint64_t replayed() const { return owner_->ledger.replayed(); }

  struct Placed {
    uint32_t node = 0;
    uint32_t own = 0, claimed = 0;
    Json object;
  };
  // From PreFilter to the end of PreBind. False: it does not fit, and nothing is left of it.
  bool place(const std::string& name, uint32_t node, uint32_t own, uint32_t claimed,
             bool ledger_first) {
    const Json pod = pod_of(name, own, claimed);
    if (claimed != 0) add_claim(name, claimed);
    const plimsoll_pod& read = world_.pod(pod);
    sdk::FakeCycle cycle;
    (void)world_.plugin->pre_filter(cycle, sdk::Pod(&read));
    sdk::FakeNode& at = *world_.nodes[node];
    if (world_.plugin->filter(cycle, sdk::Pod(&read), at).code != PLIMSOLL_SUCCESS) return false;
    const auto promise = [&] {
      std::vector<plimsoll_numa_charge> where;
      return owner_->reserve(node, read, false, where);
    };
    if (ledger_first && !promise()) return false;
    EXPECT_EQ(world_.plugin->reserve(cycle, sdk::Pod(&read), at).code, PLIMSOLL_SUCCESS);
    if (!ledger_first && !promise()) {
      world_.plugin->unreserve(cycle, sdk::Pod(&read), at.name());
      world_.settle();
      return false;
    }
    world_.host.completed.clear();
    (void)world_.plugin->pre_bind(cycle, sdk::Pod(&read), at.name());
    world_.settle();
    pods_[name] = {node, own, claimed, pod};
    return true;
  }
  // The watch shows that it is bound, with what its status says of claims.
  void bind(const std::string& name) {
    Placed& placed = pods_.at(name);
    const std::string at = world_.nodes[placed.node]->name();
    placed.object["spec"]["nodeName"] = at;
    if (gate_ && placed.claimed != 0) {
      placed.object["status"]["nodeAllocatableResourceClaimStatuses"] = {
          {{"resourceClaimName", name},
           {"mapping", {{{"name", "cpu"}, {"quantity", std::to_string(placed.claimed)}}}}}};
    }
    owner_->ledger.pod_assigned(world_.pod(placed.object), at, world_.host.now);
  }
  void remove(const std::string& name, bool claim_first) {
    const Placed placed = pods_.at(name);
    const auto forget_claim = [&] {
      if (placed.claimed == 0) return;
      Json& claim = world_.claim("default/" + name);
      claim["status"] = Json::object();
      claim["metadata"]["resourceVersion"] = std::to_string(++version_);
      world_.show(std::string(sdk::kResourceClaims.resource), claim);
    };
    if (claim_first) forget_claim();
    owner_->ledger.pod_removed(world_.pod(placed.object), world_.host.now);
    if (!claim_first) forget_claim();
    pods_.erase(name);
  }

  // What the ledger has free, and what it should have: by the claims at the API server, and by what
  // each pod has beside them.
  [[nodiscard]] ByZone free(uint32_t node) const {
    const plimsoll_numa_node* view = owner_->ledger.ask().node(node);
    ByZone zones{};
    for (size_t zone = 0; zone < kZones; ++zone) zones[zone] = view->free[zone] / 1000;
    return zones;
  }
  [[nodiscard]] ByZone recounted(uint32_t node) {
    static const std::vector<topology::Charge> none;
    ByZone zones;
    zones.fill(kCpus);
    for (const auto& [name, placed] : pods_) {
      if (placed.node != node) continue;
      int64_t own = 0;
      const auto* charges = owner_->ledger.ask().charges_of(uid_of(name));
      if (charges == nullptr) charges = &none;  // no kubelet ties it to zones
      for (const topology::Charge& each : *charges) {
        if (each.resource != PLIMSOLL_RESOURCE_CPU) continue;
        zones[each.zone_id] -= each.amount / 1000;
        own += each.amount / 1000;
      }
      EXPECT_EQ(own, placed.own) << name << ": what the kubelet is asked for";
      if (placed.claimed == 0) continue;
      int64_t claimed = 0;
      const Json& status = world_.claim("default/" + name)["status"];
      for (const Json& result : status["allocation"]["devices"]["results"]) {
        const int64_t cpus =
            std::stoi(result["consumedCapacity"]["dra.cpu/cpu"].get<std::string>());
        const auto device = static_cast<size_t>(result["device"].get<std::string>().back() - '0');
        zones[zones_.at(node)[device]] -= cpus;
        claimed += cpus;
      }
      EXPECT_EQ(claimed, placed.claimed) << name;
      // What its node counts of it: as much as the zones lose by it.
      const auto& added = world_.host.amounts_added[uid_of(name)];
      EXPECT_EQ(added.size(), gate_ ? 1U : 0U) << name;
      if (gate_ && !added.empty()) {
        EXPECT_EQ(added[0].mapped, int64_t{placed.claimed} * 1000) << name;
      }
    }
    return zones;
  }
  [[nodiscard]] const std::map<std::string, Placed>& pods() const { return pods_; }

 private:
  static std::string uid_of(const std::string& name) { return name + "-uid"; }
  Json pod_of(const std::string& name, uint32_t own, uint32_t claimed) const {
    const auto container = [](const char* of, uint32_t cpus) {
      const Json amounts{{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}};
      return Json{{"name", of}, {"resources", {{"requests", amounts}, {"limits", amounts}}}};
    };
    Json pod{{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", uid_of(name)}}},
             {"spec", {{"containers", {container("c", own + (gate_ ? 0 : claimed))}}}}};
    if (claimed != 0)
      pod["spec"]["resourceClaims"] = {{{"name", "c"}, {"resourceClaimName", name}}};
    return pod;
  }
  void add_claim(const std::string& name, uint32_t cpus) {
    world_.add_claim(
        {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "of-" + name}}},
         {"spec",
          {{"devices",
            {{"requests",
              {{{"name", "r"},
                {"exactly",
                 {{"deviceClassName", "cpus"},
                  {"capacity", {{"requests", {{"dra.cpu/cpu", std::to_string(cpus)}}}}}}}}}}}}}}});
  }

  const bool gate_;
  PluginWorld world_;
  std::shared_ptr<topology::LedgerOwner> owner_;
  std::map<uint32_t, ByZone> zones_;  // of devices, by node
  std::map<std::string, Placed> pods_;
  int version_ = 1'000'000;
};

class ClaimZonesTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Gate, ClaimZonesTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "On" : "Off"; });

TEST_P(ClaimZonesTest, AClaimIsInItsZoneFromReserveUntilItIsGivenBack) {
  ClaimedZones at(GetParam());
  ASSERT_TRUE(at.place("first", 0, 0, 12, true));
  EXPECT_EQ(at.free(0), (ByZone{20, 32})) << "from Reserve on";
  ASSERT_TRUE(at.place("second", 0, 2, 4, false));
  EXPECT_EQ(at.free(0), (ByZone{14, 32})) << "its own two beside them";
  at.bind("second");
  EXPECT_EQ(at.free(0), (ByZone{14, 32}));
  at.publish(0, {1, 0});
  EXPECT_EQ(at.free(0), (ByZone{30, 16})) << "the driver says that its devices are elsewhere";
  at.take_slices_away(0);
  EXPECT_EQ(at.free(0), (ByZone{30, 16})) << "the driver is started again";
  at.publish(0, {0, 1});
  EXPECT_EQ(at.free(0), (ByZone{14, 32}));
  at.remove("second", true);
  EXPECT_EQ(at.free(0), (ByZone{20, 32}));
  at.remove("first", false);
  EXPECT_EQ(at.free(0), (ByZone{32, 32}));
}

// Devices that nobody has published, whoever's, and those for admins hide none of the others.
TEST_P(ClaimZonesTest, AnUnknownDeviceIsNoneOfTheOthers) {
  ClaimedZones at(GetParam());
  const auto device = [](const char* driver, const char* pool, const char* name, bool admin) {
    Json result{{"request", "r"}, {"driver", driver}, {"pool", pool}, {"device", name}};
    if (admin) result["adminAccess"] = true;
    if (driver == std::string_view("dra.cpu")) result["consumedCapacity"] = {{"dra.cpu/cpu", "4"}};
    return result;
  };
  at.show_claim(
      "c", {device("other", "pool", "admins", true), device("other", "pool", "x", false),
            device("dra.cpu", "n0", "cpus-0", false), device("dra.cpu", "n0", "cpus-1", true)});
  EXPECT_EQ(at.free(0), (ByZone{28, 32}));
  at.take_slices_away(0);
  EXPECT_EQ(at.free(0), (ByZone{28, 32})) << "it stays where it was";
  at.publish(0, {1, 0});
  EXPECT_EQ(at.free(0), (ByZone{32, 28}));
  at.show_claim("c", {device("other", "pool", "x", false)});
  EXPECT_EQ(at.free(0), (ByZone{32, 32}));
}

// The profiles' plugins share what they know of claims.
TEST(ClaimProfiles, AgreeOnTheGates) {
  const std::string on = R"({"featureGates":{"DRANodeAllocatableResources":true}})";
  PluginWorld with(on), without;
  EXPECT_NO_THROW(Plugin(with.host, on));
  EXPECT_THROW(Plugin(with.host, "{}"), std::runtime_error);
  EXPECT_THROW(Plugin(without.host, on), std::runtime_error);
}

// A change of a slice plays a node through once, however many claims share its devices.
TEST_P(ClaimZonesTest, WorkGrowsWithTheClaims) {
  for (const int claims : {3, 12}) {
    ClaimedZones at(GetParam());
    for (int i = 0; i < claims; ++i) {
      const std::string name = "p" + std::to_string(i);
      ASSERT_TRUE(at.place(name, 0, 1, 1, true));
      at.bind(name);
    }
    const uint64_t before = at.replayed();
    at.publish(0, {1, 0});
    EXPECT_EQ(at.replayed() - before, static_cast<uint64_t>(claims));
  }
}

// Lives of nodes; after each event every zone has what the API server's claims and the pods' own
// CPUs leave.
TEST_P(ClaimZonesTest, NoCpuIsCountedTwiceNorLost) {
  constexpr uint32_t kNodes = 4;
  const uint32_t seed = plimsoll::test::test_seed();
  for (uint32_t life = 0; life < 10; ++life) {
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed + life));
    std::mt19937 random(seed + life);
    const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
    ClaimedZones at(GetParam(), kNodes);
    int made = 0, placed = 0;
    for (int event = 0; event < 60 && !HasFailure(); ++event) {
      const uint32_t what = draw(10);
      if (what < 4 || at.pods().empty()) {
        const bool claims = draw(3) != 0;
        placed += at.place("p" + std::to_string(made++), draw(kNodes), draw(3),
                           claims ? 1 + draw(6) : 0, draw(2) != 0);
      } else if (what == 9) {
        at.publish(draw(kNodes), draw(2) != 0 ? ByZone{0, 1} : ByZone{1, 0});
      } else {
        const std::string name =
            std::next(at.pods().begin(), draw(static_cast<uint32_t>(at.pods().size())))->first;
        if (what < 6) {
          at.bind(name);
        } else {
          at.remove(name, draw(2) != 0);
        }
      }
      for (uint32_t node = 0; node < kNodes; ++node)
        EXPECT_EQ(at.free(node), at.recounted(node)) << "node " << node << ", event " << event;
    }
    EXPECT_GT(placed, 5);
  }
}

}  // namespace
}  // namespace plimsoll::dra::test
