// The recount finds what it is there to find: it is the judge of the end-to-end tests.

#include "tests/e2e/recount.hpp"

#include <gmock/gmock.h>

#include "tests/e2e/load.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kUs = "us";

// A node of two zones with 4 CPUs and 8 Gi each and two GPUs.
ClusterObjects cluster(const std::string& policy = "single-numa-node",
                       const std::string& scope = "container") {
  const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
  ClusterObjects objects;
  objects.nodes = {node_object(
      "n", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "3"}, {"koordinator.sh/gpu", "200"}})};
  objects.nrts = {
      nrt_object({.node = "n", .policy = policy, .scope = scope, .zones = {zone, zone}})};
  objects.devices = {device_object("n", {gpu_device(0, 0), gpu_device(1, 1)})};
  return objects;
}

json pod(const std::string& name, const Resources& requests, bool bound) {
  json object = pod_object({.name = name, .scheduler = kUs, .requests = requests});
  object["metadata"]["namespace"] = "t";
  object["status"] = {{"qosClass", "Guaranteed"}};
  if (bound) object["spec"]["nodeName"] = "n";
  return object;
}

json in_zone(json object, int zone) {
  const json zones = {{"main", {{"cpu", {zone}}, {"memory", {zone}}}}};
  object["metadata"]["annotations"]["topology.plimsoll.io/zones"] = zones.dump();
  return object;
}

json on_gpu(json object, int minor, const std::string& percent) {
  const json given = {
      {"gpu",
       {{{"minor", minor},
         {"resources",
          {{"koordinator.sh/gpu-core", percent}, {"koordinator.sh/gpu-memory-ratio", percent}}}}}}};
  object["metadata"]["annotations"]["scheduling.koordinator.sh/device-allocated"] = given.dump();
  return object;
}

Recount count(ClusterObjects objects, std::vector<json> pods) {
  objects.pods = std::move(pods);
  return recount(objects);
}

TEST(RecountTest, QuantitiesAreReadAsKubernetesMeansThem) {
  EXPECT_EQ(amount_of("cpu", "1.5"), 1500);
  EXPECT_EQ(amount_of("cpu", "100u"), 1);
  EXPECT_EQ(amount_of("memory", "1.5Gi"), 1610612736);
  EXPECT_EQ(amount_of("memory", "3E"), 3'000'000'000'000'000'000);
  EXPECT_EQ(amount_of("memory", "1e3"), 1000);
  EXPECT_EQ(amount_of("memory", "100m"), 1);
  EXPECT_EQ(amount_of("nvidia.com/gpu", "4"), 4);
}

TEST(RecountTest, PodsWithinTheirZonesAndDevicesAreNoFault) {
  const Recount result =
      count(cluster(), {in_zone(pod("a", {{"cpu", "4"}, {"memory", "8Gi"}}, true), 0),
                        in_zone(pod("b", {{"cpu", "4"}, {"memory", "1Gi"}}, true), 1),
                        on_gpu(pod("c", {{"koordinator.sh/gpu", "50"}}, true), 1, "50")});
  EXPECT_THAT(result.faults, IsEmpty());
  EXPECT_EQ(result.bound(), 3U);
  EXPECT_EQ(result.pending(), 0U);
}

TEST(RecountTest, AnOverfullZoneIsFound) {
  const Recount result =
      count(cluster(), {in_zone(pod("a", {{"cpu", "3"}, {"memory", "1Gi"}}, true), 1),
                        in_zone(pod("b", {{"cpu", "2"}, {"memory", "1Gi"}}, true), 1)});
  EXPECT_THAT(result.faults, ElementsAre(HasSubstr("n zone 1 is promised beyond what it has")));
}

TEST(RecountTest, AnInitContainerCountsWhereItNeedsMore) {
  json one = in_zone(pod("a", {{"cpu", "1"}, {"memory", "1Gi"}}, true), 0);
  json init = one["spec"]["containers"][0];
  init["name"] = "init";
  init["resources"]["requests"]["cpu"] = "4";
  one["spec"]["initContainers"] = json::array({init});
  const json zones = {{"init", {{"cpu", {0}}, {"memory", {0}}}},
                      {"main", {{"cpu", {0}}, {"memory", {0}}}}};
  one["metadata"]["annotations"]["topology.plimsoll.io/zones"] = zones.dump();
  EXPECT_THAT(count(cluster(), {one}).faults, IsEmpty());
  const json other = in_zone(pod("b", {{"cpu", "1"}, {"memory", "1Gi"}}, true), 0);
  EXPECT_THAT(count(cluster(), {one, other}).faults, ElementsAre(HasSubstr("n zone 0")));
}

TEST(RecountTest, AnOverfullNodeAndTooManyPodsAreFound) {
  const Recount result =
      count(cluster("none"), {pod("a", {{"cpu", "5"}}, true), pod("b", {{"cpu", "2"}}, true),
                              pod("c", {{"cpu", "2"}}, true), pod("d", {{"memory", "1Gi"}}, true)});
  EXPECT_THAT(result.faults, ElementsAre(HasSubstr("n is promised beyond"), HasSubstr("4 pods")));
}

TEST(RecountTest, AContainerOutsideOneZoneIsFound) {
  const Resources asked{{"cpu", "2"}, {"memory", "1Gi"}};
  EXPECT_THAT(count(cluster(), {pod("a", asked, true)}).faults,
              ElementsAre(HasSubstr("no zone for cpu"), HasSubstr("no zone for memory")));
  json spread = pod("a", asked, true);
  spread["metadata"]["annotations"]["topology.plimsoll.io/zones"] =
      R"({"main":{"cpu":[0],"memory":[1]}})";
  EXPECT_THAT(count(cluster(), {spread}).faults, ElementsAre(HasSubstr("spread over zones")));
  EXPECT_THAT(count(cluster("restricted"), {spread}).faults, IsEmpty());
}

TEST(RecountTest, APodOutsideOneZoneIsFoundInPodScope) {
  json two = pod("a", {{"cpu", "1"}}, true);
  json second = two["spec"]["containers"][0];
  second["name"] = "second";
  two["spec"]["containers"].push_back(second);
  two["metadata"]["annotations"]["topology.plimsoll.io/zones"] =
      R"({"main":{"cpu":[0]},"second":{"cpu":[1]}})";
  EXPECT_THAT(count(cluster(), {two}).faults, IsEmpty());
  EXPECT_THAT(count(cluster("single-numa-node", "pod"), {two}).faults,
              ElementsAre(HasSubstr("whose scope is pod")));
}

TEST(RecountTest, ADeviceGivenTwiceOrNotAsAskedIsFound) {
  const Resources asked{{"koordinator.sh/gpu", "60"}};
  const Recount twice = count(
      cluster(), {on_gpu(pod("a", asked, true), 0, "60"), on_gpu(pod("b", asked, true), 0, "60")});
  EXPECT_THAT(twice.faults, ElementsAre(HasSubstr("n gpu 0 is promised beyond")));
  EXPECT_THAT(count(cluster(), {pod("a", asked, true)}).faults,
              ElementsAre(HasSubstr("was given {}")));
  EXPECT_THAT(count(cluster(), {on_gpu(pod("a", asked, true), 0, "50")}).faults,
              ElementsAre(HasSubstr("asked for 1 gpu")));
  EXPECT_THAT(count(cluster(), {on_gpu(pod("a", asked, true), 7, "60")}).faults,
              ::testing::Contains(HasSubstr("not there")));
  ClusterObjects sick = cluster();
  sick.devices[0]["spec"]["devices"][0]["health"] = false;
  EXPECT_THAT(count(sick, {on_gpu(pod("a", asked, true), 0, "60")}).faults,
              ElementsAre(HasSubstr("n gpu 0 is promised beyond")));
}

TEST(RecountTest, APendingPodThatFitsIsHeldBack) {
  const json whole = in_zone(pod("a", {{"cpu", "4"}, {"memory", "1Gi"}}, true), 0);
  EXPECT_THAT(held_back(count(cluster(), {whole, pod("b", {{"cpu", "4"}}, false)}), kUs),
              ElementsAre(HasSubstr("t/b (cpu=4000) fits n")));
  EXPECT_THAT(held_back(count(cluster(), {whole, pod("b", {{"cpu", "4"}}, false)}), "them"),
              IsEmpty());
  // Two CPUs are left in each zone: four on the node, but not in one zone.
  const std::vector<json> halves{in_zone(pod("a", {{"cpu", "2"}}, true), 0),
                                 in_zone(pod("b", {{"cpu", "2"}}, true), 1),
                                 pod("c", {{"cpu", "4"}}, false)};
  EXPECT_THAT(held_back(count(cluster(), halves), kUs), IsEmpty());
  EXPECT_THAT(held_back(count(cluster("none"), halves), kUs), ElementsAre(HasSubstr("t/c")));
}

// Without alignment a kubelet does not always use what init containers leave: whether the node has
// as many CPUs as the requests say is not certain.
TEST(RecountTest, LeftoversOfInitContainersMayBeWhatAPodWaitsFor) {
  const json pending = pod("c", {{"cpu", "4"}}, false);
  const auto with_init = [](json object) {
    object["spec"]["initContainers"] = object["spec"]["containers"];
    object["spec"]["initContainers"][0]["name"] = "init";
    return object;
  };
  const json plain = pod("a", {{"cpu", "2"}}, true);
  EXPECT_THAT(held_back(count(cluster("none"), {plain, pending}), kUs),
              ElementsAre(HasSubstr("t/c")));
  EXPECT_THAT(held_back(count(cluster("none"), {with_init(plain), pending}), kUs), IsEmpty());
  EXPECT_THAT(held_back(count(cluster("none"), {plain, with_init(pending)}), kUs), IsEmpty());
}

TEST(RecountTest, APendingPodThatWaitsForDevicesIsNotHeldBack) {
  const json pending = pod("b", {{"koordinator.sh/gpu", "100"}}, false);
  const auto half = [](const std::string& name, int minor) {
    return on_gpu(pod(name, {{"koordinator.sh/gpu", "50"}}, true), minor, "50");
  };
  EXPECT_THAT(held_back(count(cluster(), {half("a", 0), half("c", 1), pending}), kUs), IsEmpty());
  EXPECT_THAT(held_back(count(cluster(), {half("a", 0), half("c", 0), pending}), kUs),
              ElementsAre(HasSubstr("t/b")));
}

TEST(LoadTest, TheSameSeedMakesTheSameLoad) {
  const LoadShape shape{.nodes = 30, .pods = 100, .scheduler = kUs, .ns = "t"};
  const Load one = make_load(7, shape);
  const Load two = make_load(7, shape);
  ASSERT_EQ(one.pods.size(), 100U);
  for (std::size_t i = 0; i < one.pods.size(); ++i) EXPECT_EQ(one.pods[i].body, two.pods[i].body);
  EXPECT_NE(one.pods[0].body + one.pods[1].body,
            make_load(8, shape).pods[0].body + make_load(8, shape).pods[1].body);
}

}  // namespace
}  // namespace plimsoll::test
