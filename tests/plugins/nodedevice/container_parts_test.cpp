// Pods of which several containers ask for devices, by how much of each: every container gets its
// own, and what the pod has of a device is what its containers have of it together.

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <optional>
#include <random>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"
#include "plugins/nodedevice/allocation/quick_check.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/plugin_instance.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::FakeCycle;
using test::FakeHost;
using test::FakeNode;
using test::FakePod;
using test::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMi = int64_t{1} << 20;
constexpr const char* kMem = "nvidia.com/gpumem";
constexpr const char* kPercent = "nvidia.com/gpumem-percentage";
constexpr const char* kCores = "nvidia.com/gpucores";

// Names of HAMi.
constexpr const char* kArgs = R"({"deviceTypes":[{"name":"gpu","combinations":[
  {"requests":["nvidia.com/gpu","nvidia.com/gpumem"],
   "count":{"kind":"Value","of":"nvidia.com/gpu"},
   "amounts":[{"resource":"koordinator.sh/gpu-memory","of":"nvidia.com/gpumem","factor":1048576,
               "perDevice":true}]},
  {"requests":["nvidia.com/gpu","nvidia.com/gpumem","nvidia.com/gpucores"],
   "count":{"kind":"Value","of":"nvidia.com/gpu"},
   "amounts":[{"resource":"koordinator.sh/gpu-memory","of":"nvidia.com/gpumem","factor":1048576,
               "perDevice":true},
              {"resource":"koordinator.sh/gpu-core","of":"nvidia.com/gpucores","perDevice":true}],
   "checks":[{"of":"nvidia.com/gpucores","atMost":100}]},
  {"requests":["nvidia.com/gpu","nvidia.com/gpumem-percentage","nvidia.com/gpucores"],
   "count":{"kind":"Value","of":"nvidia.com/gpu"},
   "amounts":[{"resource":"koordinator.sh/gpu-memory-ratio","of":"nvidia.com/gpumem-percentage",
               "perDevice":true},
              {"resource":"koordinator.sh/gpu-core","of":"nvidia.com/gpucores","perDevice":true}],
   "checks":[{"of":"nvidia.com/gpumem-percentage","atMost":100},
             {"of":"nvidia.com/gpucores","atMost":100}]}]}]})";

const DeviceTypes& hami_types() {
  static const DeviceTypes kTypes(parse_device_args(kArgs)->types);
  return kTypes;
}

struct Container {
  std::string name;
  Ask ask;
  ContainerKind kind = ContainerKind::kApp;
};
using Containers = std::vector<Container>;

// One container's devices and MiB of each.
Container app(const std::string& name, int64_t gpus, int64_t mib,
              ContainerKind kind = ContainerKind::kApp) {
  return {name, {{"nvidia.com/gpu", gpus}, {kMem, mib}}, kind};
}

// By Kubernetes' rule: the most of what is asked for at any time.
Ask requests_of_pod(const Containers& containers) {
  std::map<std::string, int64_t> most;
  std::map<std::string, int64_t> sidecars;
  std::map<std::string, int64_t> stay;
  for (const Container& container : containers) {
    for (const auto& [name, value] : container.ask) {
      if (container.kind == ContainerKind::kInit) {
        most[name] = std::max(most[name], sidecars[name] + value);
        continue;
      }
      stay[name] += value;
      if (container.kind == ContainerKind::kSidecar) sidecars[name] += value;
    }
  }
  for (const auto& [name, value] : stay) most[name] = std::max(most[name], value);
  return {most.begin(), most.end()};
}

// A pod's requests in the forms that the functions take; its texts live here.
struct Pod {
  explicit Pod(Containers list) : containers(std::move(list)), ask(requests_of_pod(containers)) {
    requests = test::quantities(ask);
    for (const Container& container : containers)
      parts.push_back({container.name, container.kind, test::quantities(container.ask)});
  }
  Pod(const Pod&) = delete;
  Pod& operator=(const Pod&) = delete;

  [[nodiscard]] Result<DeviceRequest> parsed() const {
    return parse_device_request(hami_types(), requests, parts);
  }
  [[nodiscard]] PodDemand demand(const DeviceHints& hints = {}) const {
    auto request = parsed();
    EXPECT_TRUE(request) << request.error();
    return {request ? *request : DeviceRequest{}, hints};
  }

  Containers containers;
  Ask ask;
  std::vector<ResourceQuantity> requests;
  std::vector<ContainerRequests> parts;
};

class ContainerPartsTest : public ::testing::Test {
 protected:
  void cards(int count, const std::string& memory = "16384Mi") {
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i) devices.push_back(test::gpu(i, memory));
    accounts_.node_added("n", 0);
    accounts_.device_changed("n", test::device_object("n", devices).dump());
  }
  const NodeState& node() { return *accounts_.at_slot(0); }
  // MiB and percent of the cores of each card that the pod gets, "0: 3000Mi", in short; or why not.
  // The accounts hold them from then on.
  std::string place(const std::string& uid, const Containers& containers, const char* hint = "") {
    const Pod pod(containers);
    const auto request = pod.parsed();
    if (!request) return request.error();
    const auto hints = parse_device_hints(hami_types(), hint, "", "");
    const PodDemand demand{*request, *hints};
    Allocation given;
    const Allocator allocator(hami_types(), nullptr);
    const Verdict verdict = allocator.allocate(node(), {}, demand, given);
    EXPECT_EQ(allocator.check(node(), {}, demand), verdict);
    if (!verdict.fits()) return reason_text(hami_types(), verdict.reason, verdict.type);
    annotation_ = write_allocation(hami_types(), given, node());
    accounts_.reserve(uid, "n", given);
    return short_form(annotation_);
  }
  static std::string short_form(const std::string& annotation) {
    std::string text;
    const Json object = Json::parse(annotation);
    for (const Json& entry : object["gpu"]) {
      const Json& gives = entry["resources"];
      text += (text.empty() ? "" : ", ") + entry["minor"].dump() + ":";
      for (const char* name : {"koordinator.sh/gpu-core", "koordinator.sh/gpu-memory",
                               "koordinator.sh/gpu-memory-ratio"})
        if (gives.contains(name)) text += " " + gives[name].get<std::string>();
    }
    return text;
  }
  // A pod that somebody placed; what is wrong with its annotation.
  std::vector<std::string> assigned(const std::string& uid, const Containers& containers,
                                    const std::string& annotation) {
    const Pod pod(containers);
    return accounts_.pod_assigned({uid, "n", annotation, pod.requests, uid, nullptr, pod.parts})
        .unreadable;
  }
  int64_t free_mib(int minor) { return node().type(0).find(minor)->free.get(1) / kMi; }

  Accounts accounts_{hami_types(), nullptr};
  std::string annotation_;
};

TEST_F(ContainerPartsTest, UnlikeContainersHaveACardEach) {
  cards(2);
  EXPECT_EQ(place("a", {app("x", 1, 3000), app("y", 1, 10000)}), "0: 10000Mi 62, 1: 3000Mi 19");
  EXPECT_EQ(free_mib(0), 6384);
  EXPECT_EQ(free_mib(1), 13384);
}

TEST_F(ContainerPartsTest, WhereThereIsOneCardTheyShareIt) {
  cards(1);
  EXPECT_EQ(place("a", {app("x", 1, 3000), app("y", 1, 10000)}), "0: 13000Mi 80");
  EXPECT_EQ(place("b", {app("x", 1, 3384)}), "0: 3384Mi 20") << "all that is left, and percent too";
  EXPECT_EQ(place("c", {app("x", 1, 1)}), "Insufficient gpu devices");
}

TEST_F(ContainerPartsTest, TogetherTheyNeverHaveMoreThanACard) {
  cards(1);
  EXPECT_EQ(place("a", {app("x", 1, 10000), app("y", 1, 6385)}), "Insufficient gpu devices");
  EXPECT_EQ(place("a", {app("x", 2, 1), app("y", 1, 1)}), "Insufficient gpu devices")
      << "no container has a card twice";
  EXPECT_EQ(place("a", {app("x", 1, 10000), app("y", 1, 6384)}), "0: 16Gi 100");
}

TEST_F(ContainerPartsTest, PercentAndCoresAreTheContainersToo) {
  cards(2);
  const Containers sixty = {{"x", {{"nvidia.com/gpu", 1}, {kPercent, 60}, {kCores, 60}}},
                            {"y", {{"nvidia.com/gpu", 1}, {kPercent, 60}, {kCores, 60}}}};
  EXPECT_EQ(place("a", sixty), "0: 60 10307921510 60, 1: 60 10307921510 60");
  EXPECT_EQ(place("b", sixty), "Insufficient gpu devices");
  const Containers twenty = {{"x", {{"nvidia.com/gpu", 2}, {kPercent, 20}, {kCores, 10}}},
                             {"y", {{"nvidia.com/gpu", 1}, {kPercent, 20}, {kCores, 30}}}};
  EXPECT_EQ(place("c", twenty).substr(0, 5), "0: 40") << "cores: 10 and 30";
}

TEST_F(ContainerPartsTest, AContainerThatSaysNoAmountHasWholeCards) {
  cards(2);
  const Containers mixed = {app("x", 1, 3000), {"whole", {{"nvidia.com/gpu", 1}}}};
  EXPECT_EQ(place("a", mixed), "0: 100 16Gi 100, 1: 3000Mi 19");
  EXPECT_EQ(place("b", mixed), "Insufficient gpu devices");
}

TEST_F(ContainerPartsTest, BytesAndPercentOfAPodAreOnDifferentCards) {
  const Containers mixed = {{"x", {{"nvidia.com/gpu", 1}, {kPercent, 30}, {kCores, 30}}},
                            app("y", 1, 3000)};
  cards(1);
  EXPECT_EQ(place("a", mixed), "Insufficient gpu devices");
  cards(2);
  EXPECT_EQ(place("a", mixed), "0: 3000Mi 19, 1: 30 5153960755 30");
}

TEST_F(ContainerPartsTest, InitContainersLeaveTheirDevicesToTheOthers) {
  cards(1);
  EXPECT_EQ(
      place("a", {app("i", 1, 9000, ContainerKind::kInit), app("x", 1, 4000), app("y", 1, 4000)}),
      "0: 9000Mi 55")
      << "the most at any time, not the sum";
  cards(2);
  accounts_.unreserve("a");
  EXPECT_EQ(place("b", {app("i", 2, 1000, ContainerKind::kInit), app("x", 1, 12000)}),
            "0: 12000Mi 74, 1: 1000Mi 7");
  accounts_.unreserve("b");
  EXPECT_EQ(place("c", {app("i", 1, 2000, ContainerKind::kInit), app("x", 1, 3000)}),
            "0: 3000Mi 19");
  const Pod pod({app("i", 1, 2000, ContainerKind::kInit), app("x", 1, 3000)});
  EXPECT_THAT(pod.demand().request.types.at(0).parts, IsEmpty()) << "one container's is enough";
}

TEST_F(ContainerPartsTest, SidecarsRunBesideWhatComesLater) {
  cards(1);
  const Container side = app("s", 1, 6000, ContainerKind::kSidecar);
  const Container init = app("i", 1, 9000, ContainerKind::kInit);
  EXPECT_EQ(place("a", {side, init, app("x", 1, 1000)}), "0: 15000Mi 92") << "beside the init one";
  accounts_.unreserve("a");
  EXPECT_EQ(place("b", {init, side, app("x", 1, 1000)}), "0: 9000Mi 55") << "it starts later";
  accounts_.unreserve("b");
  EXPECT_EQ(place("c", {side, app("x", 1, 9000)}), "0: 15000Mi 92");
}

TEST_F(ContainerPartsTest, RoomIsFoundWhereOneAfterTheOtherFindsNone) {
  cards(2, "10000Mi");
  ASSERT_EQ(place("first", {app("x", 1, 10000)}), "0: 10000Mi 100");
  ASSERT_EQ(place("second", {app("x", 1, 4000)}), "1: 4000Mi 40");
  accounts_.unreserve("first");
  // 10000 and 6000 are left. The largest container, were it on card 0, would leave no room.
  EXPECT_EQ(place("a", {app("x", 1, 5000), app("y", 1, 6000), app("z", 1, 5000)}),
            "0: 10000Mi 100, 1: 6000Mi 60");
}

TEST_F(ContainerPartsTest, OneContainerIsReadAsBefore) {
  const Pod one({app("x", 2, 3000)});
  const auto alone = parse_device_request(hami_types(), one.requests);
  ASSERT_TRUE(alone);
  EXPECT_EQ(*one.parsed(), *alone);
  const Pod beside({app("x", 2, 3000), {"y", {{"koordinator.sh/rdma", 50}}}});
  EXPECT_EQ(beside.parsed()->types.at(0), alone->types.at(0));
  // Names that do not say how much of each device: the pod asks as a whole.
  const Pod whole({{"x", {{"nvidia.com/gpu", 1}}}, {"y", {{"nvidia.com/gpu", 1}}}});
  EXPECT_EQ(*whole.parsed(), *parse_device_request(hami_types(), whole.requests));
  const Pod halves({{"x", {{"koordinator.sh/gpu", 50}}}, {"y", {{"koordinator.sh/gpu", 50}}}});
  EXPECT_EQ(*halves.parsed(), *parse_device_request(hami_types(), halves.requests));
}

TEST_F(ContainerPartsTest, WhatIsWrongNamesTheContainer) {
  EXPECT_THAT(
      Pod({app("x", 1, 3000), {"y", {{kMem, 3000}}}}).parsed().error(),
      HasSubstr("container y: invalid resource device requests: [nvidia.com/gpumem]: legal is "));
  EXPECT_THAT(Pod({app("x", 1, 1), {"y", {{"nvidia.com/gpu", 1}, {kMem, 1}, {kCores, 101}}}})
                  .parsed()
                  .error(),
              HasSubstr("container y: "));
  Containers many;
  for (int i = 0; i < 33; ++i) many.push_back(app("c" + std::to_string(i), 1, 1));
  EXPECT_EQ(Pod(many).parsed().error(),
            "33 containers ask for devices of type gpu: must be at most 32");
  many.pop_back();
  EXPECT_TRUE(Pod(many).parsed());
}

TEST_F(ContainerPartsTest, AnAnnotationCountsIfItGivesEachContainerItsOwn) {
  cards(3);
  const Containers two = {app("x", 1, 3000), app("y", 1, 10000)};
  const auto says = [](const std::map<int, int64_t>& mib) {
    Json list = Json::array();
    for (const auto& [minor, amount] : mib)
      list.push_back(
          {{"minor", minor},
           {"resources", {{"koordinator.sh/gpu-memory", std::to_string(amount) + "Mi"}}}});
    return Json{{"gpu", list}}.dump();
  };
  EXPECT_THAT(assigned("a", two, says({{0, 3000}, {2, 10000}})), IsEmpty());
  EXPECT_THAT((std::array{free_mib(0), free_mib(1), free_mib(2)}), ElementsAre(13384, 16384, 6384));
  EXPECT_THAT(assigned("a", two, says({{1, 13000}})), IsEmpty());
  EXPECT_THAT((std::array{free_mib(0), free_mib(1), free_mib(2)}), ElementsAre(16384, 3384, 16384));
  // No containers have these amounts: what it names is its as a whole, and as many as it asks for.
  accounts_.pod_removed("a");
  EXPECT_THAT(assigned("a", two, says({{0, 1}, {1, 12999}})),
              ElementsAre("gpu: says other amounts than the pod's containers ask for"));
  EXPECT_THAT((std::array{free_mib(0), free_mib(1), free_mib(2)}), ElementsAre(0, 0, 16384));
  accounts_.pod_removed("a");
  EXPECT_THAT(assigned("a", two, says({{0, 3000}})), testing::SizeIs(1));
  EXPECT_THAT((std::array{free_mib(0), free_mib(1), free_mib(2)}), ElementsAre(0, 16384, 0))
      << "the other is not named: one is set aside";
  accounts_.pod_removed("a");
  EXPECT_THAT(assigned("a", two, says({{0, 3000}, {1, 10000}, {2, 1}})), testing::SizeIs(1));
}

TEST_F(ContainerPartsTest, ExplainSaysItByContainer) {
  cards(2);
  const Pod fits({app("x", 1, 3000), app("y", 1, 10000)});
  EXPECT_EQ(explain_devices(hami_types(), node(), fits.demand()),
            "gpu of container y: 1 wanted, enough: of 2 devices 2 fit\n"
            "gpu of container x: 1 wanted, enough: of 2 devices 2 fit\n"
            "gpu: there is room for all containers together\n");
  ASSERT_EQ(place("a", {app("x", 2, 6384)}), "0: 6384Mi 39, 1: 6384Mi 39");
  const Pod three({app("x", 1, 6000), app("y", 1, 6000), app("z", 1, 6000)});
  EXPECT_THAT(explain_devices(hami_types(), node(), three.demand()),
              HasSubstr("gpu: there is no room for all containers together\n"));
  const Pod large({app("x", 1, 3000), app("y", 1, 10001)});
  EXPECT_EQ(explain_devices(hami_types(), node(), large.demand()),
            "gpu of container y: 1 wanted, 1 short: of 2 devices 0 fit\n"
            "  minor 0: has koordinator.sh/gpu-memory 10000Mi free, 10001Mi wanted\n"
            "  minor 1: has koordinator.sh/gpu-memory 10000Mi free, 10001Mi wanted\n"
            "gpu of container x: 1 wanted, enough: of 2 devices 2 fit\n");
}

TEST_F(ContainerPartsTest, FragmentationForeseesAllContainers) {
  cards(2);
  const Pod pod({app("x", 1, 3000), app("y", 1, 10000)});
  const PodDemand demand = pod.demand();
  const TypeState& gpus = node().type(0);
  const auto left =
      outcomes(hami_types().type(0), gpus, free_gpus(gpus), &demand.request.types.at(0), 0);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].left.total(), 2000 - 184 - 611);
}

// ---- at random

using Laid = std::vector<std::vector<size_t>>;  // by card: positions in the list of containers

// MiB that a card has to give for these containers, by the definition: the most at any time.
int64_t mib_of(const Containers& containers, const std::vector<size_t>& here) {
  int64_t most = 0;
  for (size_t time = 0; time <= containers.size(); ++time) {
    // While the init container `time` runs; at the end: once all have ended.
    const bool init = time < containers.size();
    if (init && containers[time].kind != ContainerKind::kInit) continue;
    int64_t sum = 0;
    for (const size_t i : here) {
      const ContainerKind kind = containers[i].kind;
      const bool runs = init ? i == time || (kind == ContainerKind::kSidecar && i < time)
                             : kind != ContainerKind::kInit;
      if (runs) sum += containers[i].ask[1].second;
    }
    most = std::max(most, sum);
  }
  return most;
}

// What the pod asks for at any one time.
int64_t most_gpus(const Containers& containers) {
  for (const auto& [name, value] : requests_of_pod(containers))
    if (name == "nvidia.com/gpu") return value;
  return 0;
}

// Whether all containers have a place, every way being tried.
bool has_place(const Containers& containers, const std::vector<int64_t>& free, Laid& laid,
               size_t next = 0) {
  const auto used =
      std::count_if(laid.begin(), laid.end(), [](const auto& on) { return !on.empty(); });
  if (used > most_gpus(containers)) return false;
  if (next == containers.size()) return true;
  const auto gpus = static_cast<int>(containers[next].ask[0].second);
  for (uint32_t set = 0; set < 1U << free.size(); ++set) {
    if (__builtin_popcount(set) != gpus) continue;
    bool fits = true;
    for (size_t card = 0; card < free.size(); ++card) {
      if ((set >> card & 1U) == 0) continue;
      laid[card].push_back(next);
      fits = fits && mib_of(containers, laid[card]) <= free[card];
    }
    if (fits && has_place(containers, free, laid, next + 1)) return true;
    for (size_t card = 0; card < free.size(); ++card)
      if ((set >> card & 1U) != 0) laid[card].pop_back();
  }
  return false;
}

// The amounts that an annotation gives are those of some way to lay containers on its cards.
bool explains(const Containers& containers, const std::vector<int64_t>& given, Laid& laid,
              size_t next = 0) {
  if (next == containers.size()) {
    for (size_t card = 0; card < given.size(); ++card)
      if (mib_of(containers, laid[card]) != given[card]) return false;
    return true;
  }
  for (uint32_t set = 0; set < 1U << given.size(); ++set) {
    if (__builtin_popcount(set) != containers[next].ask[0].second) continue;
    for (size_t card = 0; card < given.size(); ++card)
      if ((set >> card & 1U) != 0) laid[card].push_back(next);
    if (explains(containers, given, laid, next + 1)) return true;
    for (size_t card = 0; card < given.size(); ++card)
      if ((set >> card & 1U) != 0) laid[card].pop_back();
  }
  return false;
}

TEST_F(ContainerPartsTest, RefusedOnlyIfThereIsNoWayAndCountedAsGiven) {
  int fitted = 0;
  int refused = 0;
  int by_search = 0;
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto pick = [&](int below) {
      return static_cast<int>(random() % static_cast<uint32_t>(below));
    };
    const int count = 1 + pick(4);
    Accounts accounts(hami_types(), nullptr);
    accounts.node_added("n", 0);
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i) devices.push_back(test::gpu(i, "10000Mi"));
    const std::string object = test::device_object("n", devices).dump();
    accounts.device_changed("n", object);
    const Allocator allocator(hami_types(), nullptr);
    for (int i = pick(3); i > 0; --i) {
      const Pod other({app("x", 1, 500 * (1 + pick(12)))});
      Allocation given;
      if (allocator.allocate(*accounts.at_slot(0), {}, other.demand(), given).fits())
        accounts.reserve("before-" + std::to_string(i), "n", given);
    }
    const NodeState before = *accounts.at_slot(0);
    std::vector<int64_t> free;
    for (const DeviceState& device : before.type(0).devices)
      free.push_back(device.free.get(1) / kMi);
    Containers containers;
    for (int i = pick(3); i > 0; --i)
      containers.push_back(app("i" + std::to_string(i), 1 + pick(2), 500 * (1 + pick(14)),
                               pick(2) == 0 ? ContainerKind::kInit : ContainerKind::kSidecar));
    for (int i = 1 + pick(3); i > 0; --i)
      containers.push_back(app("a" + std::to_string(i), 1 + pick(2), 500 * (1 + pick(14))));
    const Pod pod(containers);
    const PodDemand demand = pod.demand();
    Allocation given;
    const Verdict verdict = allocator.allocate(before, {}, demand, given);
    Laid laid(free.size());
    ASSERT_EQ(verdict.fits(), has_place(containers, free, laid));
    ASSERT_EQ(allocator.check(before, {}, demand), verdict);
    ShapeTable shapes;
    QuickCheck quick(hami_types(), allocator, shapes);
    const QuickPlan plan = quick.prepare(demand);
    ASSERT_EQ(quick.check(before, {}, demand, plan), verdict);
    ASSERT_EQ(quick.check_state(before, {}, demand, plan), verdict);
    if (!verdict.fits()) {
      ++refused;
      continue;
    }
    ++fitted;
    std::vector<int64_t> amounts;
    for (const DeviceShare& share : given) {
      amounts.push_back(share.amounts.get(1) / kMi);
      ASSERT_LE(amounts.back(), free[static_cast<size_t>(share.minor)]);
    }
    Laid way(amounts.size());
    ASSERT_TRUE(explains(containers, amounts, way));
    by_search += given.size() < static_cast<size_t>(demand.request.types[0].count) ? 1 : 0;
    // Reserve, a restart, and the end of the pod.
    const std::string annotation = write_allocation(hami_types(), given, before);
    accounts.reserve("pod", "n", given);
    for (const DeviceState& device : accounts.at_slot(0)->type(0).devices)
      ASSERT_GE(device.total.get(1), device.used.get(1));
    const std::string counted = test::accounts_text(accounts);
    ASSERT_THAT(
        accounts.pod_assigned({"pod", "n", annotation, pod.requests, {}, nullptr, pod.parts})
            .unreadable,
        IsEmpty())
        << annotation;
    ASSERT_EQ(test::accounts_text(accounts), counted);
    accounts.pod_removed("pod");
    ASSERT_EQ(accounts.at_slot(0)->type(0).summary.free, before.type(0).summary.free);
  }
  EXPECT_GT(fitted, 300) << "the cases must be of both kinds to say anything";
  EXPECT_GT(refused, 300);
  EXPECT_GT(by_search, 50) << "and some must share";
}

// ---- through the plugin

// Asks for what its containers come to.
void fill(FakePod& pod, const Containers& containers) {
  for (const auto& [name, value] : requests_of_pod(containers)) pod.request(name, value);
  for (const Container& container : containers)
    pod.container(container.name, {container.ask.begin(), container.ask.end()},
                  container.kind == ContainerKind::kApp    ? PLIMSOLL_CONTAINER_APP
                  : container.kind == ContainerKind::kInit ? PLIMSOLL_CONTAINER_INIT
                                                           : PLIMSOLL_CONTAINER_SIDECAR);
}

class ContainerPartsPlugin : public ::testing::Test {
 protected:
  ContainerPartsPlugin() {
    plugin_.node(node_);
    plugin_.device("n",
                   test::device_object("n", {test::gpu(0, "16384Mi"), test::gpu(1, "16384Mi")}));
  }
  FakeHost host_;
  test::Instance plugin_{host_, kArgs};
  FakeNode node_{"n"};
};

TEST_F(ContainerPartsPlugin, TheBindingSaysWhatAllContainersHave) {
  FakePod two("default/two");
  fill(two, {app("x", 1, 3000), app("y", 1, 10000)});
  const std::string annotation = plugin_.place(two, node_);
  EXPECT_EQ(Json::parse(annotation)["gpu"][0]["resources"]["koordinator.sh/gpu-memory"], "10000Mi");
  EXPECT_EQ(Json::parse(annotation)["gpu"][1]["resources"]["koordinator.sh/gpu-memory"], "3000Mi");
  FakePod rest("default/rest");
  fill(rest, {app("x", 1, 13384), app("y", 1, 6384)});
  EXPECT_EQ(plugin_.filter_once(rest, node_), "ok") << "exactly what is left";
  FakePod more("default/more");
  fill(more, {app("x", 1, 13384), app("y", 1, 6385)});
  EXPECT_EQ(plugin_.filter_once(more, node_), "Insufficient gpu devices");
  // The same after a restart.
  FakeHost other;
  test::Instance again(other, kArgs);
  FakeNode node("n");
  again.node(node);
  again.device("n", test::device_object("n", {test::gpu(0, "16384Mi"), test::gpu(1, "16384Mi")}));
  two.on_node("n").annotation(test::kAllocated, annotation);
  again.pod(two);
  EXPECT_EQ(again.filter_once(rest, node), "ok");
  EXPECT_EQ(again.filter_once(more, node), "Insufficient gpu devices");
  EXPECT_THAT(again.explain(more, node), HasSubstr("gpu of container x: 1 wanted"));
}

TEST_F(ContainerPartsPlugin, WhoeverIsEvictedGivesBackWhatItsContainersHave) {
  FakePod victim("default/victim");
  fill(victim, {app("x", 2, 8000), app("y", 1, 8000)});
  const std::string annotation = plugin_.place(victim, node_);
  victim.on_node("n").annotation(test::kAllocated, annotation);
  plugin_.pod(victim);
  FakePod pod("default/pod");
  fill(pod, {app("x", 1, 16000), app("y", 1, 9000)});
  FakeCycle cycle;
  ASSERT_EQ(plugin_.pre_filter(cycle, pod), "ok");
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "Insufficient gpu devices");
  plugin_.what_if(cycle, pod, victim, node_, false);
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "ok");
  plugin_.what_if(cycle, pod, victim, node_, true);
  EXPECT_EQ(plugin_.filter(cycle, pod, node_), "Insufficient gpu devices");
}

TEST_F(ContainerPartsPlugin, PodsWithTheSameSumAreNotAlike) {
  FakePod one("default/one");
  fill(one, {app("x", 1, 3000), app("y", 1, 3000)});
  FakePod other("default/other");
  fill(other, {app("x", 1, 1000), app("y", 1, 5000)});
  EXPECT_EQ(one.requests(), other.requests());
  EXPECT_NE(plugin_.sign(one), plugin_.sign(other));
}

TEST_F(ContainerPartsPlugin, WhatIsNotServedIsRefused) {
  FakePod pod("default/pod");
  fill(pod,
       {app("x", 1, 3000), {"y", {{"nvidia.com/gpu", 1}, {kMem, 1}, {"koordinator.sh/rdma", 1}}}});
  pod.annotation("scheduling.koordinator.sh/device-joint-allocate",
                 R"({"deviceTypes":["gpu","rdma"]})");
  EXPECT_EQ(
      plugin_.filter_once(pod, node_),
      "scheduling.koordinator.sh/device-joint-allocate is not served for devices of type gpu: "
      "several containers ask for them, each for itself (unresolvable)");
}

}  // namespace
}  // namespace plimsoll::devices
