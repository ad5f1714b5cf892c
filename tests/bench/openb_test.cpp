// The comparison of docs/openb.md with a small made-up trace: the files are read, the load is the
// same for one seed, and the real scheduler fills the cluster, better with FragmentationGradient
// than with LeastAllocated.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "bench/openb/objects.hpp"
#include "bench/openb/one_run.hpp"
#include "bench/openb/policies.hpp"
#include "bench/support/plot.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::openb {
namespace {

class Openb : public testing::Test {
 protected:
  Openb() {
    folder_ = std::filesystem::temp_directory_path() / ("openb-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    write("openb_node_list_gpu_node.csv",
          "sn,cpu_milli,memory_mib,gpu,model\n"
          "n-0,16000,65536,2,T4\nn-1,16000,65536,2,T4\nn-2,32000,65536,4,G2\nn-3,64000,65536,8,G2\n"
          "n-4,64000,65536,8,G2\n");
    std::string pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos\n";
    for (int i = 0; i < 12; ++i) {
      pods += "a,2000,1024,1,470,,LS\na,2000,1024,1,530,,LS\na,4000,1024,1,1000,,LS\n";
      if (i % 4 == 0) pods += "a,32000,1024,8,1000,G2,LS\na,1000,1024,0,0,,LS\n";
      if (i % 6 == 0) pods += "a,2000,1024,1,1000,T4|P100,LS\n";
    }
    write("openb_pod_list_default.csv", pods);
    write("openb_pod_list_broken.csv", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,x,1,1,1\n");
  }
  ~Openb() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  Outcome outcome_of(const Trace& trace, const std::vector<Job>& load,
                     const std::string& policy) const {
    const std::string profile = folder_ / (policy + ".yaml");
    std::ofstream(profile) << profile_of(policy, trace);
    auto result = run(trace, load, {profile, {std::getenv("PLIMSOLL_PLUGIN_DIR")}});
    EXPECT_TRUE(result.has_value()) << policy << ": " << result.error().message;
    return result ? *result : Outcome{};
  }

  std::filesystem::path folder_;
};

TEST_F(Openb, ReadsTheTraceAndDrawsTheSameLoadForOneSeed) {
  EXPECT_EQ(workloads_in(folder_), (std::vector<std::string>{"default", "broken"}));
  const auto trace = read_trace(folder_, "default");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(trace->capacity(), 24000);
  EXPECT_EQ(trace->jobs.back().models, (std::vector<std::string>{}));
  const std::vector<Job> load = make_load(*trace, 42);
  int64_t asked = 0;
  for (const Job& job : load) asked += job.gpu_total();
  EXPECT_LE(asked, 31200);
  EXPECT_GT(asked, 31200 - 8000) << "as much as one more pod is missing at most";
  const auto names = [](const std::vector<Job>& jobs) {
    std::string all;
    for (size_t i = 0; i < jobs.size(); ++i) all += pod_object(i, jobs[i]);
    return all;
  };
  EXPECT_EQ(names(load), names(make_load(*trace, 42)));
  EXPECT_NE(names(load), names(make_load(*trace, 43)));
  const auto broken = read_trace(folder_, "broken");
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().message.find("openb_pod_list_broken.csv:2: cpu_milli \"x\""),
            std::string::npos)
      << broken.error().message;
}

// How much a policy fills depends on the load: with many pods of 8 GPUs it is less. So amounts are
// compared on three loads that are always the same.
TEST_F(Openb, FillsTheClusterThroughTheRealScheduler) {
  const auto trace = read_trace(folder_, "default");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  std::map<std::string, double> filled;
  for (const Policy& policy : all_policies()) {
    for (const uint64_t seed : {42, 43, 44})
      filled[policy.name] +=
          outcome_of(*trace, make_load(*trace, seed), policy.name).allocated_at(130) / 3;
    EXPECT_GT(filled[policy.name], 60) << policy.name;
  }
  EXPECT_GT(filled["Lookahead"], filled["LeastAllocated"]);
}

TEST_F(Openb, NothingIsGivenTwiceAndAShareIsRefusedOnlyWhereNoGpuHasIt) {
  const auto trace = read_trace(folder_, "default");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  std::vector<Job> load = make_load(*trace, test::test_seed());
  // Two pods of 470 have room on each of the 24 GPUs at most.
  load.insert(load.end(), 60, trace->jobs.front());
  ASSERT_EQ(load.back().gpu_total(), 470);
  for (const Policy& policy : all_policies()) {
    const Outcome outcome = outcome_of(*trace, load, policy.name);
    ASSERT_EQ(outcome.points.size(), load.size());
    EXPECT_EQ(std::accumulate(outcome.came.begin(), outcome.came.end(), size_t{0}), load.size());
    const int64_t gpus = outcome.capacity / 1000;
    int64_t allocated = 0;
    size_t shares_refused = 0;
    for (size_t i = 0; i < load.size(); ++i) {
      const int64_t asked = load[i].gpu_total();
      const bool bound = asked > 0 && outcome.points[i].allocated > allocated;
      EXPECT_EQ(outcome.points[i].allocated, allocated + (bound ? asked : 0));
      allocated = outcome.points[i].allocated;
      EXPECT_LE(allocated, outcome.capacity);
      if (bound || asked == 0 || asked >= 1000) continue;
      ++shares_refused;
      EXPECT_LT(outcome.capacity - allocated, gpus * asked)
          << policy.name << " refuses pod " << i << " a share of " << asked;
    }
    EXPECT_GE(shares_refused, 12) << policy.name;
  }
}

TEST_F(Openb, DrawsEveryCurve) {
  const std::string svg = bench::svg_of({"title",
                                         "x",
                                         "y",
                                         0,
                                         10,
                                         5,
                                         0,
                                         10,
                                         5,
                                         {{"one", {{0, 0}, {10, 10}}}, {"two", {{5, 5}, {6, 5}}}}});
  EXPECT_NE(svg.find(">one</text>"), std::string::npos);
  EXPECT_NE(svg.find(">two</text>"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_NE(svg.find("M60.0 392.0L704.0 40.0"), std::string::npos) << svg;
}

TEST_F(Openb, LogarithmicAxesAreLabelledInTheUnitOfThePoints) {
  const std::vector<bench::Curve> line = {{"line", {{1, 10}, {100, 1000}}}};
  const std::string svg = bench::svg_of({"title", "x", "y", 0, 2, 1, 1, 3, 1, line, true, true});
  EXPECT_NE(svg.find("M60.0 392.0L704.0 40.0"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">1000</text>"), std::string::npos) << svg;
}

}  // namespace
}  // namespace plimsoll::openb
