// A pod's devices and its CPUs in the same NUMA zone: the topology plugins and NodeDevice from
// their .so files in one scheduler, one node of two zones with a GPU each.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "tests/cycle/full_scheduler.hpp"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNumaSpec = "scheduling.koordinator.sh/numa-topology-spec";
constexpr const char* kDeviceHint = "scheduling.koordinator.sh/device-allocate-hint";

// Takes every binding, and remembers what it says.
class Bindings final : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [key, value] : request.annotations) bound_[request.name][key] = value;
      bound_[request.name]["node"] = request.node;
    }
    done({});
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    {
      const std::lock_guard lock(mutex_);
      refused_[patch.name] = patch.message;
    }
    done({});
  }
  void request(ApiRequest, Answered done) override { done(200, "{}"); }

  // "cpu 1, gpu 1": zones of the CPUs and minors of the GPUs; or why it is not bound.
  std::string place(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    const auto found = bound_.find(pod);
    if (found == bound_.end()) return refused_[pod];
    const Json zones = Json::parse(found->second["topology.plimsoll.io/zones"], nullptr, false);
    const Json devices =
        Json::parse(found->second["scheduling.koordinator.sh/device-allocated"], nullptr, false);
    std::string text = "cpu";
    if (zones.is_object() && zones.contains("main"))
      for (const Json& zone : zones["main"]["cpu"]) text += " " + zone.dump();
    text += ", gpu";
    if (devices.is_object())
      for (const Json& device : devices["gpu"]) text += " " + device["minor"].dump();
    return text;
  }
  std::map<std::string, std::string> annotations(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return bound_[pod];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<std::string, std::string>> bound_;
  std::map<std::string, std::string> refused_;
};

// Two zones of eight CPUs; of zone 0 so many are free.
Json topology(const std::string& policy, int free_in_zone_0, int free_in_zone_1 = 8) {
  const auto zone = [](int id, int free) -> Json {
    const auto amounts = [](const char* name, int all, int available, const char* unit) -> Json {
      return {{"name", name},
              {"capacity", std::to_string(all) + unit},
              {"allocatable", std::to_string(all) + unit},
              {"available", std::to_string(available) + unit}};
    };
    return {
        {"name", "node-" + std::to_string(id)},
        {"type", "Node"},
        {"resources", Json::array({amounts("cpu", 8, free, ""), amounts("memory", 16, 16, "Gi")})}};
  };
  static int version = 100;
  return {
      {"apiVersion", "topology.node.k8s.io/v1alpha2"},
      {"kind", "NodeResourceTopology"},
      {"metadata", {{"name", "n1"}, {"uid", "t1"}, {"resourceVersion", std::to_string(++version)}}},
      {"zones", Json::array({zone(0, free_in_zone_0), zone(1, free_in_zone_1)})},
      {"attributes",
       Json::array({Json{{"name", "topologyManagerPolicy"}, {"value", policy}},
                    Json{{"name", "topologyManagerScope"}, {"value", "container"}}})}};
}

Json node(const std::string& label = "") {
  Json labels = Json::object();
  if (!label.empty()) labels["node.koordinator.sh/numa-topology-policy"] = label;
  return {
      {"metadata", {{"name", "n1"}, {"uid", "n1"}, {"resourceVersion", "1"}, {"labels", labels}}},
      {"spec", Json::object()},
      {"status",
       {{"allocatable",
         {{"cpu", "16"}, {"memory", "32Gi"}, {"pods", "50"}, {"nvidia.com/gpu", "2"}}}}}};
}

// A GPU in each zone; `ill` of them is not healthy.
Json devices(int ill = -1) {
  static int version = 100;
  Json made = two_gpus("n1", ill);
  made["metadata"]["uid"] = "d1";
  made["metadata"]["resourceVersion"] = std::to_string(++version);
  return made;
}

Json pod(const std::string& name, int cpus, int gpus, const Json& annotations = Json::object()) {
  Json amounts = {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}};
  if (gpus > 0) amounts["nvidia.com/gpu"] = std::to_string(gpus);
  return {{"metadata",
           {{"name", name},
            {"namespace", "ns"},
            {"uid", name},
            {"resourceVersion", "10"},
            {"annotations", annotations}}},
          {"spec",
           {{"schedulerName", "topo"},
            {"containers",
             Json::array({Json{{"name", "main"},
                               {"image", "i"},
                               {"resources", {{"requests", amounts}, {"limits", amounts}}}}})}}},
          {"status", {{"phase", "Pending"}}}};
}

const Json kSingle = {{kNumaSpec, R"({"numaTopologyPolicy":"SingleNUMANode"})"}};

class DeviceZonesTest : public ::testing::TestWithParam<bool> {
 protected:
  void start(const std::string& args = "{}") {
    scheduler_ = std::make_unique<FullScheduler>(FullScheduler::Role::kLiving, bindings_, 1'000'000,
                                                 FullScheduler::Setup{args, GetParam()});
    scheduler_->sync();
  }
  void deliver(Kind kind, Json object) {
    scheduler_->deliver(Change{kind, false, std::move(object)});
    ASSERT_TRUE(scheduler_->settle());
  }
  std::string place(const Json& object) {
    deliver(Kind::kPods, object);
    return bindings_.place(object["metadata"]["name"]);
  }

  Bindings bindings_;
  std::unique_ptr<FullScheduler> scheduler_;
};

INSTANTIATE_TEST_SUITE_P(PluginOrder, DeviceZonesTest, ::testing::Bool(), [](const auto& order) {
  return order.param ? "DevicesFirst" : "TopologyFirst";
});

TEST_P(DeviceZonesTest, DevicesAreWhereTheCpusWillBe) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node()},
                                     {Kind::kTopologies, topology("best-effort", 1)},
                                     {Kind::kDevices, devices()}})
    deliver(kind, object);
  EXPECT_EQ(place(pod("a", 4, 1)), "cpu 1, gpu 1");
  // The GPU of that zone is gone; that is only a preference.
  EXPECT_EQ(place(pod("b", 4, 1)), "cpu 1, gpu 0");
}

TEST_P(DeviceZonesTest, WithoutAgreementTheyAreApart) {
  start(R"({"disableDeviceNUMATopologyAlignment":true})");
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node("SingleNUMANode")},
                                     {Kind::kTopologies, topology("best-effort", 1)},
                                     {Kind::kDevices, devices()}})
    deliver(kind, object);
  EXPECT_EQ(place(pod("a", 4, 1, kSingle)), "cpu 1, gpu 0");
}

TEST_P(DeviceZonesTest, APolicyRefusesAndWaitsForAReport) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node()},
                                     {Kind::kTopologies, topology("single-numa-node", 1)},
                                     {Kind::kDevices, devices(1)}})
    deliver(kind, object);
  EXPECT_THAT(place(pod("a", 4, 1, kSingle)),
              HasSubstr("Unaligned NUMA Hint cause no gpu devices in the NUMA nodes of the pod"));
  EXPECT_THAT(
      place(pod("b", 4, 1, {{kDeviceHint, R"({"gpu":{"requiredTopologyScope":"NUMANode"}})"}})),
      HasSubstr("Unaligned NUMA Hint"));
  // Zone 0 has room now: the kubelet will take it.
  deliver(Kind::kTopologies, topology("single-numa-node", 4));
  const std::string a = bindings_.place("a");
  const std::string b = bindings_.place("b");
  EXPECT_TRUE((a == "cpu 0, gpu 0") != (b == "cpu 0, gpu 0")) << a << "; " << b;
}

TEST_P(DeviceZonesTest, WhoComesMayLeaveOthersTheirZone) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node()},
                                     {Kind::kTopologies, topology("single-numa-node", 4)},
                                     {Kind::kDevices, devices(0)}})
    deliver(kind, object);
  EXPECT_THAT(place(pod("a", 4, 1, kSingle)), HasSubstr("Unaligned NUMA Hint"));
  // Another pod fills zone 0, and so the kubelet will give this one zone 1.
  EXPECT_EQ(place(pod("b", 4, 0)), "cpu 0, gpu");
  Json bound = pod("b", 4, 0, bindings_.annotations("b"));
  bound["spec"]["nodeName"] = "n1";
  bound["metadata"]["resourceVersion"] = "20";
  deliver(Kind::kPods, bound);
  EXPECT_EQ(bindings_.place("a"), "cpu 1, gpu 1");
}

TEST_P(DeviceZonesTest, TheNodesPolicyIsTheDefault) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node("SingleNUMANode")},
                                     {Kind::kTopologies, topology("best-effort", 1)},
                                     {Kind::kDevices, devices(1)}})
    deliver(kind, object);
  EXPECT_THAT(place(pod("a", 4, 1)), HasSubstr("Unaligned NUMA Hint"));
  EXPECT_THAT(place(pod("b", 4, 1, {{kNumaSpec, R"({"numaTopologyPolicy":"Restricted"})"}})),
              HasSubstr("node(s) NUMA Topology policy not match"));
  EXPECT_EQ(place(pod("c", 1, 1)), "cpu 0, gpu 0");
}

TEST_P(DeviceZonesTest, SpreadCpusBreakAPolicy) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node()},
                                     {Kind::kTopologies, topology("best-effort", 3, 3)},
                                     {Kind::kDevices, devices()}})
    deliver(kind, object);
  for (const char* policy : {"SingleNUMANode", "Restricted"})
    EXPECT_THAT(
        place(pod(policy, 5, 1, {{kNumaSpec, Json{{"numaTopologyPolicy", policy}}.dump()}})),
        HasSubstr("Unaligned NUMA Hint cause the kubelet spreads the pod over NUMA nodes"));
  EXPECT_EQ(place(pod("c", 5, 1, {{kNumaSpec, R"({"numaTopologyPolicy":"BestEffort"})"}})),
            "cpu 0 1, gpu 0");
}

TEST_P(DeviceZonesTest, VictimsMakeRoomInTheRightZone) {
  start();
  for (const auto& [kind, object] : {std::pair{Kind::kNodes, node()},
                                     {Kind::kTopologies, topology("single-numa-node", 8, 8)},
                                     {Kind::kDevices, devices(1)}})
    deliver(kind, object);
  // Fills zone 0, where the only healthy GPU is.
  EXPECT_EQ(place(pod("low", 6, 0)), "cpu 0, gpu");
  Json bound = pod("low", 6, 0, bindings_.annotations("low"));
  bound["spec"]["nodeName"] = "n1";
  bound["metadata"]["resourceVersion"] = "20";
  deliver(Kind::kPods, bound);
  Json high = pod("high", 6, 1, kSingle);
  high["spec"]["priority"] = 100;
  EXPECT_THAT(place(high), HasSubstr("Unaligned NUMA Hint"));
  // Whom preemption chose goes.
  scheduler_->deliver(Change{Kind::kPods, true, bound});
  ASSERT_TRUE(scheduler_->settle());
  EXPECT_EQ(bindings_.place("high"), "cpu 0, gpu 0");
}

}  // namespace
}  // namespace plimsoll::testing
