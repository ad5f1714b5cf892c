// A pod that needs CPUs of one NUMA zone, a GPU there and a local volume: it goes where all three
// agree, and when any step fails, it gives all three back. The topology plugins, NodeDevice and the
// volume plugins in one scheduler.

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cycle/full_scheduler.hpp"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNumaSpec = "scheduling.koordinator.sh/numa-topology-spec";

std::string next_version() {
  static std::atomic<int> version{100};
  return std::to_string(++version);
}

// Keeps each write that a binding waits for, until the test answers it.
class Writes final : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    set(bound_, request);
    hold([done = std::move(done)](bool good) {
      done(good ? Result<void>() : fail(ErrorCode::kConflict, "the pod has changed"));
    });
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    set(refusal_, patch.message);
    done({});
  }
  void request(ApiRequest request, Answered done) override {
    set(written_, request.path);
    hold([done = std::move(done)](bool good) {
      // The version that the watch will show later.
      const Json answer = good ? Json{{"metadata", {{"resourceVersion", next_version()}}}}
                               : Json{{"message", "no"}};
      done(good ? 200 : 500, answer.dump());
    });
  }

  [[nodiscard]] bool any_held() {
    const std::lock_guard lock(mutex_);
    return !held_.empty();
  }
  void answer(bool good) {
    std::vector<Answer> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_);
    }
    for (const Answer& each : held) each(good);
  }
  // From now on every write fails at once.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    answer(false);
  }
  [[nodiscard]] BindRequest bound() { return get(bound_); }
  [[nodiscard]] std::string written() { return get(written_); }
  [[nodiscard]] std::string refusal() { return get(refusal_); }

 private:
  using Answer = std::function<void(bool good)>;

  template <typename Value>
  Value get(const Value& value) {
    const std::lock_guard lock(mutex_);
    return value;
  }
  template <typename Value>
  void set(Value& at, const Value& value) {
    const std::lock_guard lock(mutex_);
    at = value;
  }
  void hold(Answer answer) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_) return held_.push_back(std::move(answer));
    }
    answer(false);
  }

  std::mutex mutex_;
  std::vector<Answer> held_;
  bool ended_ = false;
  BindRequest bound_;
  std::string written_;
  std::string refusal_;
};

Json meta(const std::string& name) {
  return {{"name", name}, {"uid", "uid-" + name}, {"resourceVersion", next_version()}};
}

Json node(const std::string& name, bool cordoned = false) {
  Json made = {{"metadata", meta(name)},
               {"spec", {{"unschedulable", cordoned}}},
               {"status",
                {{"allocatable",
                  {{"cpu", "16"}, {"memory", "32Gi"}, {"pods", "50"}, {"nvidia.com/gpu", "2"}}}}}};
  made["metadata"]["labels"] = {{"kubernetes.io/hostname", name}};
  return made;
}

// Two zones of eight CPUs; so many are free.
Json topology(const std::string& name, int free_in_zone_0, int free_in_zone_1) {
  const auto zone = [](int id, int free) -> Json {
    return {{"name", "node-" + std::to_string(id)},
            {"type", "Node"},
            {"resources", Json::array({Json{{"name", "cpu"},
                                            {"capacity", "8"},
                                            {"allocatable", "8"},
                                            {"available", std::to_string(free)}}})}};
  };
  return {{"metadata", meta(name)},
          {"zones", Json::array({zone(0, free_in_zone_0), zone(1, free_in_zone_1)})},
          {"attributes",
           Json::array({Json{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}},
                        Json{{"name", "topologyManagerScope"}, {"value", "container"}}})}};
}

Json devices(const std::string& name, std::vector<int> ill) {
  Json made = two_gpus(name, -1);
  made["metadata"] = meta(name);
  for (const int minor : ill) made["spec"]["devices"][minor]["health"] = false;
  return made;
}

// A volume on the disk of a node, and who has claimed it.
Json volume(const std::string& name, const std::string& node, const std::string& claim = "") {
  const Json expression = {
      {"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", {node}}};
  Json made = {{"metadata", meta(name)},
               {"spec",
                {{"capacity", {{"storage", "5Gi"}}},
                 {"accessModes", {"ReadWriteOnce"}},
                 {"storageClassName", "local"},
                 {"local", {{"path", "/mnt/disk"}}},
                 {"nodeAffinity",
                  {{"required",
                    {{"nodeSelectorTerms",
                      Json::array({Json{{"matchExpressions", Json::array({expression})}}})}}}}}}},
               {"status", {{"phase", claim.empty() ? "Available" : "Bound"}}}};
  if (!claim.empty()) {
    made["spec"]["claimRef"] = {{"namespace", "ns"}, {"name", claim}, {"uid", "uid-" + claim}};
  }
  return made;
}

Json claim(const std::string& name, const std::string& volume = "") {
  Json made = {{"metadata", meta(name)},
               {"spec",
                {{"accessModes", {"ReadWriteOnce"}},
                 {"storageClassName", "local"},
                 {"resources", {{"requests", {{"storage", "5Gi"}}}}}}},
               {"status", {{"phase", volume.empty() ? "Pending" : "Bound"}}}};
  made["metadata"]["namespace"] = "ns";
  if (volume.empty()) return made;
  made["spec"]["volumeName"] = volume;
  made["metadata"]["annotations"] = {{"pv.kubernetes.io/bind-completed", "yes"},
                                     {"pv.kubernetes.io/bound-by-controller", "yes"}};
  return made;
}

Json pod(const std::string& name) {
  const Json amounts = {{"cpu", "4"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}};
  Json made = {
      {"metadata", meta(name)},
      {"spec",
       {{"schedulerName", "topo"},
        {"volumes",
         Json::array({Json{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}})},
        {"containers",
         Json::array({Json{{"name", "main"},
                           {"image", "i"},
                           {"resources", {{"requests", amounts}, {"limits", amounts}}}}})}}},
      {"status", {{"phase", "Pending"}}}};
  made["metadata"]["namespace"] = "ns";
  made["metadata"]["annotations"] = {{kNumaSpec, R"({"numaTopologyPolicy":"SingleNUMANode"})"}};
  return made;
}

class AgreementTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scheduler_.sync();
    put(Kind::kClasses, {{"metadata", meta("local")},
                         {"provisioner", "kubernetes.io/no-provisioner"},
                         {"volumeBindingMode", "WaitForFirstConsumer"}});
    put(Kind::kClaims, claim("data"));
    for (const char* name : {"no-zone", "no-gpu", "no-volume", "all"}) {
      put(Kind::kNodes, node(name));
      const bool full = name == std::string("no-zone");
      put(Kind::kTopologies, topology(name, 2, full ? 2 : 8));
      if (name != std::string("no-volume")) {
        put(Kind::kVolumes, volume(std::string("disk-of-") + name, name));
      }
    }
    put(Kind::kDevices, devices("no-zone", {}));
    // The healthy one is in the zone that has no CPUs.
    put(Kind::kDevices, devices("no-gpu", {1}));
    put(Kind::kDevices, devices("no-volume", {}));
    put(Kind::kDevices, devices("all", {}));
  }
  // A scheduler that ends waits for its writes.
  void TearDown() override { writes_.end(); }
  void put(Kind kind, Json object) {
    scheduler_.deliver(Change{kind, false, std::move(object)});
    scheduler_.on_loop([] {});
  }
  // Until the scheduler has asked for a write, and waits for its answer.
  void wait_for_write() {
    EXPECT_TRUE(eventually([this] { return writes_.any_held(); })) << writes_.refusal();
  }
  static bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  // What the volume controller does once the volume names its claim.
  void bind_volume() {
    put(Kind::kVolumes, volume("disk-of-all", "all", "data"));
    put(Kind::kClaims, claim("data", "disk-of-all"));
  }
  // CPUs of zone 1 and GPUs that are free on the node where all three agree.
  struct Free {
    int64_t cpus, gpus;
    bool operator==(const Free&) const = default;
  };
  static constexpr Free kAll{8000, 2};
  static constexpr Free kPromised{4000, 1};
  Free free() {
    const NodeView seen = scheduler_.view().at("all");
    return {seen.zones.at("node-1 cpu"), seen.unused_gpus};
  }

  Writes writes_;
  FullScheduler scheduler_{FullScheduler::Role::kLiving, writes_, 1'000'000};
};

TEST_F(AgreementTest, GoesWhereAllThreeAgree) {
  put(Kind::kPods, pod("p"));
  wait_for_write();
  EXPECT_THAT(writes_.written(), HasSubstr("/persistentvolumes/disk-of-all"));
  EXPECT_EQ(free(), kPromised) << "while the volume is written";
  writes_.answer(true);
  bind_volume();
  wait_for_write();
  const BindRequest bound = writes_.bound();
  EXPECT_EQ(bound.node, "all");
  std::map<std::string, std::string> annotations(bound.annotations.begin(),
                                                 bound.annotations.end());
  EXPECT_EQ(annotations["topology.plimsoll.io/zones"], R"({"main":{"cpu":[1]}})");
  EXPECT_THAT(annotations["scheduling.koordinator.sh/device-allocated"], HasSubstr(R"("minor":1)"));
}

TEST_F(AgreementTest, AVolumeThatCannotBeWrittenGivesZoneAndDeviceBack) {
  put(Kind::kPods, pod("p"));
  wait_for_write();
  put(Kind::kNodes, node("all", true));  // so that it does not go there again at once
  writes_.answer(false);
  EXPECT_TRUE(eventually([this] { return free() == kAll; }));
  EXPECT_TRUE(eventually([this] {
    return writes_.refusal().find("1 node(s) were unschedulable") != std::string::npos;
  })) << writes_.refusal();
  EXPECT_EQ(writes_.bound().node, "");
  // So is the volume.
  put(Kind::kNodes, node("all"));
  wait_for_write();
  EXPECT_EQ(free(), kPromised);
  writes_.answer(true);
  bind_volume();
  wait_for_write();
  EXPECT_EQ(writes_.bound().node, "all");
}

TEST_F(AgreementTest, ABindingThatIsRefusedGivesAllBackButTheBoundVolume) {
  put(Kind::kPods, pod("p"));
  wait_for_write();
  writes_.answer(true);
  bind_volume();
  wait_for_write();
  ASSERT_EQ(writes_.bound().node, "all");
  put(Kind::kNodes, node("all", true));
  writes_.answer(false);
  EXPECT_TRUE(eventually([this] { return free() == kAll; }));
  // Its volume holds it there.
  EXPECT_TRUE(eventually([this] {
    return writes_.refusal().find("didn't match PersistentVolume's node affinity") !=
           std::string::npos;
  })) << writes_.refusal();
  put(Kind::kNodes, node("all"));
  wait_for_write();
  EXPECT_EQ(free(), kPromised);
}

TEST_F(AgreementTest, APodThatIsDeletedMeanwhileGivesAllThreeBack) {
  const Json first = pod("p");
  put(Kind::kPods, first);
  wait_for_write();
  scheduler_.deliver(Change{Kind::kPods, true, first});
  writes_.answer(false);
  EXPECT_TRUE(eventually([this] { return free() == kAll; }));
  put(Kind::kPods, pod("q"));
  wait_for_write();
  EXPECT_EQ(free(), kPromised);
}

}  // namespace
}  // namespace plimsoll::testing
