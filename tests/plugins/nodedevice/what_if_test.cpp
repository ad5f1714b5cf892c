// AddPod and RemovePod of NodeDevice: what they make of Filter, and that they leave no trace.

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "plugins/nodedevice/store/device_store.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/plugin_instance.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::Instance;
using test::Json;
using test::kAllocated;
using testing::HasSubstr;

class DeviceWhatIf : public ::testing::Test {
 protected:
  explicit DeviceWhatIf(size_t nodes = 2) {
    for (size_t i = 0; i < nodes; ++i) {
      nodes_.push_back(std::make_unique<FakeNode>(name(i), static_cast<uint32_t>(i)));
      host_.add(*nodes_.back());
      plugin_.node(*nodes_.back());
    }
  }
  static std::string name(size_t node) { return "node-" + std::to_string(node); }

  void cards(size_t node, int count) {
    std::vector<Json> devices;
    for (int i = 0; i < count; ++i) devices.push_back(test::gpu(i, "16Gi"));
    plugin_.device(name(node), test::device_object(name(node), devices));
  }
  using Ask = std::vector<std::pair<const char*, int64_t>>;
  FakePod& pod(const std::string& name, const Ask& ask, int priority = 0) {
    auto& made = pods_.emplace_back(std::make_unique<FakePod>("ns/" + name));
    made->priority(priority);
    for (const auto& [resource, amount] : ask) made->request(resource, amount);
    return *made;
  }
  // Placed by the plugin and bound.
  FakePod& placed(size_t node, const std::string& name, const Ask& ask) {
    FakePod& made = pod(name, ask);
    const std::string annotation = plugin_.place(made, *nodes_[node]);
    EXPECT_THAT(annotation, HasSubstr("minor"));
    made.annotation(kAllocated, annotation).on_node(this->name(node));
    plugin_.pod(made);
    return made;
  }
  void start(FakeCycle& cycle, FakePod& pod) { EXPECT_EQ(plugin_.pre_filter(cycle, pod), "ok"); }
  void add(FakeCycle& cycle, FakePod& pod, FakePod& other, size_t node) {
    plugin_.what_if(cycle, pod, other, *nodes_[node], true);
  }
  void remove(FakeCycle& cycle, FakePod& pod, FakePod& other, size_t node) {
    plugin_.what_if(cycle, pod, other, *nodes_[node], false);
  }
  std::string filter(FakeCycle& cycle, FakePod& pod, size_t node) {
    return plugin_.filter(cycle, pod, *nodes_[node]);
  }

  FakeHost host_;
  Instance plugin_{host_};
  std::vector<std::unique_ptr<FakeNode>> nodes_;
  std::vector<std::unique_ptr<FakePod>> pods_;
};

constexpr const char* kFull = "Insufficient gpu devices";
constexpr const char* kFullTree = "Insufficient GPU Devices";
constexpr const char* kNoNic = "Insufficient rdma devices";

TEST_F(DeviceWhatIf, AVictimsMinorsAreFreeInTheCopyOnly) {
  cards(0, 4);
  FakePod& first = placed(0, "first", {{"nvidia.com/gpu", 3}});
  FakePod& last = placed(0, "last", {{"nvidia.com/gpu", 1}});
  FakePod& one = pod("one", {{"nvidia.com/gpu", 1}}, 100);
  FakePod& two = pod("two", {{"nvidia.com/gpu", 2}}, 100);
  FakeCycle cycle;
  start(cycle, one);
  EXPECT_EQ(filter(cycle, one, 0), kFull);
  const auto copy = cycle.clone();
  remove(*copy, one, last, 0);
  EXPECT_EQ(filter(*copy, one, 0), "ok");
  EXPECT_EQ(filter(cycle, one, 0), kFull);
  FakeCycle other;
  start(other, two);
  remove(other, two, last, 0);
  EXPECT_EQ(filter(other, two, 0), kFull);
  remove(other, two, first, 0);
  EXPECT_EQ(filter(other, two, 0), "ok");
  add(other, two, last, 0);
  EXPECT_EQ(filter(other, two, 0), "ok") << "the three suffice";
}

TEST_F(DeviceWhatIf, SharesAndNicsComeFreeToo) {
  plugin_.device("node-0", test::fixture_a("node-0"));
  std::vector<FakePod*> halves, nics;
  for (int i = 0; i < 16; ++i)
    halves.push_back(&placed(0, "half" + std::to_string(i), {{"koordinator.sh/gpu", 50}}));
  for (int i = 0; i < 4; ++i)
    nics.push_back(&placed(0, "nic" + std::to_string(i), {{"koordinator.sh/rdma", 100}}));
  FakePod& half = pod("half", {{"koordinator.sh/gpu", 50}}, 100);
  FakePod& whole = pod("whole", {{"koordinator.sh/gpu", 100}, {"koordinator.sh/rdma", 50}}, 100);
  FakeCycle halves_cycle;
  start(halves_cycle, half);
  remove(halves_cycle, half, *halves[5], 0);
  EXPECT_EQ(filter(halves_cycle, half, 0), "ok");
  FakeCycle cycle;
  start(cycle, whole);
  remove(cycle, whole, *halves[0], 0);
  EXPECT_EQ(filter(cycle, whole, 0), kFullTree) << "half a card is not a whole one";
  for (int i = 1; i < 16; ++i) remove(cycle, whole, *halves[static_cast<size_t>(i)], 0);
  EXPECT_EQ(filter(cycle, whole, 0), kNoNic);
  remove(cycle, whole, *nics[3], 0);
  EXPECT_EQ(filter(cycle, whole, 0), "ok");
}

TEST_F(DeviceWhatIf, DevicesThatNobodyNamedComeFree) {
  cards(0, 2);
  FakePod& foreign = pod("foreign", {{"nvidia.com/gpu", 2}});
  foreign.on_node("node-0");
  plugin_.pod(foreign);
  FakePod& asking = pod("asking", {{"nvidia.com/gpu", 2}}, 100);
  FakeCycle cycle;
  start(cycle, asking);
  EXPECT_EQ(filter(cycle, asking, 0), kFull);
  remove(cycle, asking, foreign, 0);
  EXPECT_EQ(filter(cycle, asking, 0), "ok");
}

TEST_F(DeviceWhatIf, RoomIsKeptForNominatedPods) {
  cards(0, 4);
  placed(0, "there", {{"nvidia.com/gpu", 2}});
  FakePod& nominated = pod("nominated", {{"nvidia.com/gpu", 1}}, 100);
  FakePod& one = pod("one", {{"nvidia.com/gpu", 1}});
  FakePod& two = pod("two", {{"nvidia.com/gpu", 2}});
  FakeCycle cycle;
  start(cycle, two);
  EXPECT_EQ(filter(cycle, two, 0), "ok");
  add(cycle, two, nominated, 0);
  EXPECT_EQ(filter(cycle, two, 0), kFull);
  FakeCycle ones;
  start(ones, one);
  add(ones, one, nominated, 0);
  EXPECT_EQ(filter(ones, one, 0), "ok");
  // Its victims are still there: what is free already is kept for it.
  FakePod& large = pod("large", {{"nvidia.com/gpu", 3}}, 100);
  add(ones, one, large, 0);
  EXPECT_EQ(filter(ones, one, 0), kFull);
  remove(ones, one, large, 0);
  EXPECT_EQ(filter(ones, one, 0), "ok");
}

TEST_F(DeviceWhatIf, ScoresAndExplanationsAreThoseOfTheChangedNode) {
  cards(0, 2);
  FakePod& victim = placed(0, "victim", {{"nvidia.com/gpu", 2}});
  FakePod& asking = pod("asking", {{"nvidia.com/gpu", 1}}, 100);
  FakeCycle cycle;
  start(cycle, asking);
  EXPECT_THAT(plugin_.explain_in(cycle, asking, *nodes_[0]), HasSubstr("1 wanted, 1 short"));
  const int64_t before = plugin_.raw_score(cycle, asking, *nodes_[0]);
  remove(cycle, asking, victim, 0);
  EXPECT_THAT(plugin_.explain_in(cycle, asking, *nodes_[0]), HasSubstr("2 fit"));
  EXPECT_GT(plugin_.raw_score(cycle, asking, *nodes_[0]), before);
}

// Nodes in every state: with and without objects, unhealthy devices, pods without annotations,
// annotations that cannot be read.
class DeviceWhatIfProperty : public DeviceWhatIf {
 protected:
  DeviceWhatIfProperty() : DeviceWhatIf(8) {}

  static Ask any_ask(std::mt19937& random) {
    switch (random() % 6) {
      case 0:
        return {{"nvidia.com/gpu", 1 + static_cast<int64_t>(random() % 3)}};
      case 1:
        return {{"koordinator.sh/gpu", 10 * (1 + static_cast<int64_t>(random() % 9))}};
      case 2:
        return {{"koordinator.sh/rdma", 25}};
      case 3:
        return {{"koordinator.sh/gpu", 100}, {"koordinator.sh/rdma", 50}};
      case 4:
        return {{"koordinator.sh/gpu-memory", int64_t{4} << 30}};
      default:
        return {{"cpu", 100}};
    }
  }

  void fill(std::mt19937& random) {
    for (size_t n = 0; n < nodes_.size(); ++n) {
      if (n != 0) {
        if (n % 2 == 0) {
          plugin_.device(name(n), test::fixture_a(name(n)));
        } else {
          cards(n, 1 + static_cast<int>(random() % 4));
        }
      }
      for (int i = 0; i < 6; ++i) {
        FakePod& made = pod("p" + std::to_string(n) + "-" + std::to_string(i), any_ask(random));
        if (random() % 4 != 0) {
          const std::string annotation = plugin_.place(made, *nodes_[n]);
          if (annotation.find("minor") == std::string::npos) continue;
          if (random() % 5 == 0) {
            known_.emplace_back(n, &made);
            continue;  // not bound yet
          }
          made.annotation(kAllocated, random() % 8 == 0 ? "{" : annotation);
        }
        made.on_node(name(n));
        plugin_.pod(made);
        known_.emplace_back(n, &made);
      }
    }
    for (int i = 0; i < 20; ++i)
      known_.emplace_back(random() % nodes_.size(), &pod("new" + std::to_string(i), any_ask(random),
                                                         static_cast<int>(random() % 3)));
    asking_ = {&pod("whole", {{"nvidia.com/gpu", 1}}), &pod("two", {{"nvidia.com/gpu", 2}}),
               &pod("half", {{"koordinator.sh/gpu", 50}}),
               &pod("nic", {{"koordinator.sh/rdma", 50}}),
               &pod("both", {{"koordinator.sh/gpu", 100}, {"koordinator.sh/rdma", 100}})};
  }

  // One attempt for each of the pods that ask; changes are made to all of them.
  struct Attempts {
    std::vector<std::unique_ptr<FakeCycle>> cycles;

    [[nodiscard]] Attempts clone() const {
      Attempts copy;
      for (const auto& cycle : cycles) copy.cycles.push_back(cycle->clone());
      return copy;
    }
  };
  Attempts attempts() {
    Attempts made;
    for (FakePod* pod : asking_) {
      made.cycles.push_back(std::make_unique<FakeCycle>());
      start(*made.cycles.back(), *pod);
    }
    return made;
  }
  void change(Attempts& attempts, size_t node, FakePod& other, bool added) {
    for (size_t i = 0; i < asking_.size(); ++i)
      plugin_.what_if(*attempts.cycles[i], *asking_[i], other, *nodes_[node], added);
  }
  std::vector<std::string> verdicts(Attempts& attempts) {
    std::vector<std::string> all;
    for (size_t i = 0; i < asking_.size(); ++i) {
      for (size_t n = 0; n < nodes_.size(); ++n) {
        all.push_back(filter(*attempts.cycles[i], *asking_[i], n));
        all.push_back(
            std::to_string(plugin_.raw_score(*attempts.cycles[i], *asking_[i], *nodes_[n])));
      }
    }
    return all;
  }
  std::string dump() {
    const auto* service = host_.handle().find_service<plimsoll_device_accounts>(
        PLIMSOLL_DEVICE_ACCOUNTS_SERVICE, PLIMSOLL_DEVICE_ACCOUNTS_VERSION);
    return test::accounts_text(static_cast<DeviceStore*>(service->self)->accounts());
  }

  std::vector<std::pair<size_t, FakePod*>> known_;
  std::vector<FakePod*> asking_;
};

class DeviceWhatIfSeeds : public DeviceWhatIfProperty,
                          public ::testing::WithParamInterface<uint32_t> {
 protected:
  static void TearDownTestSuite() { EXPECT_TRUE(changed_anything_) << "whatever the seed"; }
  static inline bool changed_anything_ = false;
};

TEST_P(DeviceWhatIfSeeds, UndoneInAnyOrderNothingIsLeft) {
  std::mt19937 random(plimsoll::test::test_seed() + GetParam());
  fill(random);
  Attempts real = attempts();
  const std::vector<std::string> before = verdicts(real);
  const std::string accounts = dump();
  Attempts copy = real.clone();
  struct Step {
    size_t node;
    FakePod* pod;
    bool added;
  };
  std::vector<Step> to_undo;
  for (int i = 0; i < 80; ++i) {
    if (random() % 8 == 0) copy = copy.clone();
    if (to_undo.empty() || random() % 3 != 0) {
      auto [on, other] = known_[random() % known_.size()];
      if (random() % 4 == 0) on = random() % nodes_.size();  // not where it is
      const bool added = random() % 2 == 0;
      change(copy, on, *other, added);
      to_undo.push_back({on, other, added});
    } else {
      std::swap(to_undo[random() % to_undo.size()], to_undo.back());
      change(copy, to_undo.back().node, *to_undo.back().pod, !to_undo.back().added);
      to_undo.pop_back();
    }
    if (i % 20 == 19) changed_anything_ |= verdicts(copy) != before;
  }
  EXPECT_EQ(verdicts(real), before) << "the copy's changes are its own";
  std::shuffle(to_undo.begin(), to_undo.end(), random);
  for (const Step& step : to_undo) change(copy, step.node, *step.pod, !step.added);
  EXPECT_EQ(verdicts(copy), before);
  EXPECT_EQ(dump(), accounts);

  // The same changes in another order are the same what-if.
  std::vector<std::string> first;
  for (int round = 0; round < 3; ++round) {
    std::shuffle(known_.begin(), known_.end(), random);
    Attempts fresh = real.clone();
    for (const auto& [on, other] : known_) {
      const bool is_new = sdk::view(other->get().meta.name).starts_with("new");
      change(fresh, on, *other, is_new);
    }
    const std::vector<std::string> now = verdicts(fresh);
    if (round == 0) first = now;
    EXPECT_EQ(now, first);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, DeviceWhatIfSeeds, ::testing::Range(0u, 12u));

}  // namespace
}  // namespace plimsoll::devices
