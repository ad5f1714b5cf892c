// The comparison of docs/topology.md, smaller: model Kubelet with late reports packs nearly what
// perfect knowledge packs, and no kubelet refuses a pod.

#include <gtest/gtest.h>

#include <cstdlib>

#include "bench/packing/runs.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::packing {
namespace {

class Packing : public testing::Test {
 protected:
  Packing() {
    options_.nodes = 40;
    options_.pods = 1200;
    options_.scheduler_name = "packing";
    options_.seed = test::test_seed();
    load_ = make_load(options_);
    runs_.seed = options_.seed;
    runs_.plugin_directories = {std::getenv("PLIMSOLL_PLUGIN_DIR")};
  }

  Figures figures(const std::string& name) const {
    for (const Way& way : all_ways()) {
      if (way.name != name) continue;
      const auto result = run(way, load_, runs_);
      EXPECT_TRUE(result.has_value()) << result.error().message;
      return result.value_or(Figures());
    }
    ADD_FAILURE() << "no way is called " << name;
    return {};
  }

  LoadOptions options_;
  Load load_;
  RunOptions runs_;
};

TEST_F(Packing, TheLoadIsTheSameForOneSeed) {
  const Load again = make_load(options_);
  EXPECT_EQ(again.cluster, load_.cluster);
  EXPECT_EQ(again.pods, load_.pods);
  options_.seed += 1;
  EXPECT_NE(make_load(options_).pods, load_.pods);
}

TEST_F(Packing, LateReportsCostNoAdmissionAndLittleRoom) {
  const Figures oracle = figures("oracle");
  EXPECT_EQ(oracle.topology_errors + oracle.other_refusals, 0U) << "it knows all";
  EXPECT_GT(oracle.cpus, 0.75 * load_.cpus) << "the cluster is not full: nothing is compared";
  const Figures kubelet = figures("Kubelet");
  EXPECT_EQ(kubelet.topology_errors, 0U);
  EXPECT_EQ(kubelet.other_refusals, 0U);
  for (const std::string& pod : kubelet.refused) ADD_FAILURE() << pod;
  EXPECT_GE(kubelet.cpus, 0.98 * oracle.cpus);
  EXPECT_GE(kubelet.pinned, 0.98 * oracle.pinned);
}

}  // namespace
}  // namespace plimsoll::packing
