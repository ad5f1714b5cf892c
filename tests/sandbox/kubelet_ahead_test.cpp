// Kubelets whose clock is moved by hand, and pods that are admitted before their binding.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/sandbox/admission/pod_rules.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

class KubeletAheadTest : public testing::Test {
 protected:
  // One node with two zones of four CPUs.
  KubeletAheadTest() {
    const json machine{{"hwlocSynthetic", "pack:2 [numa(memory=8GiB)] core:5 pu:1"},
                       {"kubelet",
                        {{"topologyManagerPolicy", "single-numa-node"},
                         {"cpuManagerPolicy", "static"},
                         {"reservedSystemCPUs", "0,5"}}}};
    const json node{
        {"metadata",
         {{"name", "n"}, {"annotations", {{"sandbox.plimsoll.io/machine", machine.dump()}}}}}};
    EXPECT_TRUE(store.create(kNodes, node));
    options.clock = clock;
    options.start_delay = 1000ms;
    options.reports.delay = 10000ms;
  }

  json create(const std::string& name, const char* cpu, const char* runs = "30") {
    json pod{{"metadata",
              {{"name", name},
               {"namespace", "default"},
               {"annotations", {{kRunSecondsAnnotation, runs}}}}},
             {"spec",
              {{"containers",
                {{{"name", "c"},
                  {"image", "i"},
                  {"resources", {{"limits", {{"cpu", cpu}, {"memory", "1Gi"}}}}}}}}}}};
    set_pod_defaults(pod);
    return (*store.create(kPods, std::move(pod)))->parse();
  }

  void bind(const std::string& name) {
    ASSERT_TRUE(store.modify(kPods, {"default", name}, {}, [](json& pod) -> ApiResult<void> {
      pod["spec"]["nodeName"] = "n";
      return {};
    }));
  }

  json pod(const std::string& name) const {
    return (*store.get(kPods, {"default", name}))->parse();
  }
  std::string phase(const std::string& name) const {
    return pod(name)["status"].value("phase", "");
  }

  // Moves the clock in small steps, each when everything due was done.
  void pass(SimulatedKubelets& kubelets, double seconds) {
    for (double left = seconds; left > 1e-9; left -= 0.5) {
      clock->advance(std::min(left, 0.5));
      settle(kubelets);
    }
  }
  static void settle(SimulatedKubelets& kubelets) {
    while (!kubelets.quiet()) {
      kubelets.wake();
      ASSERT_TRUE(kubelets.wait_handled(20s));
    }
  }

  ObjectStore store{{.seed = 3}};
  std::shared_ptr<SimulatedClock> clock = std::make_shared<SimulatedClock>();
  KubeletOptions options;
};

TEST_F(KubeletAheadTest, NothingIsDueUntilTheClockMoves) {
  SimulatedKubelets kubelets(store, options);
  create("a", "2", "5");
  bind("a");
  settle(kubelets);
  EXPECT_EQ(kubelets.stats().admitted, 1U);
  EXPECT_EQ(phase("a"), "Pending");
  pass(kubelets, 1);
  EXPECT_EQ(phase("a"), "Running");
  pass(kubelets, 4.5);
  EXPECT_EQ(phase("a"), "Running");
  pass(kubelets, 0.5);
  EXPECT_EQ(phase("a"), "Succeeded");
  EXPECT_EQ(kubelets.stats().pods, 0U);
  EXPECT_EQ(kubelets.stats().reports, 0U);
  pass(kubelets, 10);
  EXPECT_GE(kubelets.stats().reports, 1U);
  kubelets.stop();
  ASSERT_EQ(kubelets.lives().size(), 1U);
  const PodLife life = kubelets.lives().front();
  EXPECT_EQ(life.pod, "default/a");
  EXPECT_EQ(life.node, "n");
  EXPECT_NEAR(life.admitted, 0, 1e-9);
  EXPECT_NEAR(life.ended, 6, 1e-9);
  EXPECT_TRUE(life.exclusive);
  EXPECT_FALSE(life.cross_zone);
}

TEST_F(KubeletAheadTest, APodThatWasTakenCountsBeforeItsBinding) {
  SimulatedKubelets kubelets(store, options);
  settle(kubelets);
  const json a = create("a", "4");
  const json b = create("b", "3");
  const json c = create("c", "3");
  const auto question = kubelets.question_of(b);
  ASSERT_NE(question, nullptr);
  EXPECT_TRUE(kubelets.takes("n", *question));
  EXPECT_FALSE(kubelets.takes("nowhere", *question));
  const auto before = kubelets.version_of("n");
  EXPECT_TRUE(kubelets.take("n", a));
  EXPECT_GT(kubelets.version_of("n"), before);
  EXPECT_TRUE(kubelets.take("n", b));
  EXPECT_FALSE(kubelets.takes("n", *question)) << "one CPU is left";
  EXPECT_FALSE(kubelets.take("n", c));

  bind("a");
  settle(kubelets);
  EXPECT_EQ(kubelets.stats().admitted, 1U) << "it is noted, not admitted again";
  EXPECT_EQ(kubelets.stats().rejected, 0U);
  kubelets.give_back("n", b["metadata"]["uid"]);
  kubelets.give_back("n", a["metadata"]["uid"]);  // bound: it keeps its CPUs
  EXPECT_TRUE(kubelets.take("n", c));
  EXPECT_FALSE(kubelets.takes("n", *question));
  EXPECT_EQ(kubelets.version_of("nowhere"), 0U);
}

TEST_F(KubeletAheadTest, ObjectsAreStampedWithTheClocksTime) {
  const TimestampScope stamps(clock);
  const std::string first = create("a", "1")["metadata"]["creationTimestamp"];
  EXPECT_EQ(create("b", "1")["metadata"]["creationTimestamp"], first);
  clock->advance(3600);
  EXPECT_GT(create("c", "1")["metadata"]["creationTimestamp"].get<std::string>(), first);
}

}  // namespace
}  // namespace plimsoll::sandbox
