// What a decision costs the loop besides time: no allocation for each node, with classes or
// without; and which pods of one template are of one class.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "bench/engine/world.hpp"
#include "bench/support/default_profile.hpp"
#include "bench/support/loop_thread.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/support/allocation_count.hpp"

namespace plimsoll {
namespace {

using bench::Shape;

// Binds at once, and says when so many pods are bound or refused.
class CountingWriter final : public ApiWriter {
 public:
  std::function<void(const BindRequest&)> shown = [](const BindRequest&) {};  // as by a watch
  void bind(BindRequest request, Done done) override {
    done({});
    shown(request);
    count();
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override {
    done({});
    count();
  }
  void request(ApiRequest, Answered done) override { done(500, "{}"); }
  [[nodiscard]] bool await(size_t pods) {
    std::unique_lock lock(mutex_);
    return grown_.wait_for(lock, std::chrono::seconds(60), [&] { return pods_ >= pods; });
  }

 private:
  void count() {
    const std::lock_guard lock(mutex_);
    ++pods_;
    grown_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable grown_;
  size_t pods_ = 0;
};

class Engine {
 public:
  Engine(size_t nodes, bool topology, bool classes) : nodes_(nodes), topology_(topology) {
    log_to_stderr(LogLevel::kError, LogFormat::kText);
    modules_.add_builtin(builtin_modules());
    std::vector<std::string> further;
    if (topology) {
      const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
      EXPECT_NE(folder, nullptr) << "PLIMSOLL_PLUGIN_DIR is not set";
      for (const char* name : {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"}) {
        const ModuleRecord& record = modules_.load_file(
            std::filesystem::path(folder == nullptr ? "" : folder) / (std::string(name) + ".so"));
        EXPECT_TRUE(record.loaded) << record.refusal;
        further.emplace_back(name);
      }
    }
    SchedulerOptions options;
    options.binder_threads = 1;
    options.classes.enabled = classes;
    options.classes.check_every = 0;
    auto profile = bench::default_profile(modules_, "topo", further);
    EXPECT_TRUE(profile.has_value()) << profile.error().message;
    options.profiles.push_back(std::move(*profile));
    auto made = Scheduler::create(std::move(options), modules_, symbols, writer_);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    Scheduler* told = made->get();
    // Else each pod of the benchmark would stay a binding under way.
    writer_.shown = [this, told](const BindRequest& request) {
      if (!request.name.starts_with(kBenchPod)) return;
      const size_t number = std::strtoul(request.name.c_str() + kBenchPod.size(), nullptr, 10);
      told->post(PodUpserted{bench::make_pod(number, shape_, topology_, symbols,
                                             {request.node, request.annotations})});
    };
    scheduler_.emplace(std::move(*made));
    for (size_t i = 0; i < nodes; ++i) {
      loop().post(NodeUpserted{bench::make_node(i, symbols)});
      if (!topology) continue;
      loop().post(ObjectUpserted{bench::make_topology(i)});
      loop().post(ObjectUpserted{bench::make_devices(i)});
    }
    scheduler_->all_synced();
  }
  ~Engine() { scheduler_->stop(); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void place(PodRef pod) {
    loop().post(PodUpserted{std::move(pod)});
    ++posted_;
  }
  void place(Shape shape, size_t pods) {
    shape_ = shape;
    for (; pods > 0; --pods) {
      if (bench::has_volumes(shape)) {
        loop().post(ObjectUpserted{bench::make_volume(posted_, shape, nodes_)});
        loop().post(ObjectUpserted{bench::make_claim(posted_)});
      }
      place(bench::make_pod(posted_, shape, topology_, symbols));
    }
  }
  // Until every pod has a node or a message, and the loop knows.
  [[nodiscard]] bool settle() { return writer_.await(posted_) && allocations() != 0; }
  // Of the loop, since it began.
  uint64_t allocations() {
    uint64_t all = 0;
    scheduler_->on_loop([&all] { all = test::allocations_of_this_thread(); });
    return all;
  }
  [[nodiscard]] SchedulerStats stats() {
    static_cast<void>(allocations());  // the statistics are those of the turn before
    static_cast<void>(allocations());
    return loop().stats();
  }

  SymbolTable symbols;

 private:
  static constexpr std::string_view kBenchPod = "pod-";

  [[nodiscard]] Scheduler& loop() const { return **scheduler_; }

  size_t nodes_;
  bool topology_;
  std::atomic<Shape> shape_ = Shape::kIdentical;
  Modules modules_;
  CountingWriter writer_;
  size_t posted_ = 0;
  std::optional<bench::LoopThread> scheduler_;
};

struct Case {
  const char* name;
  Shape shape;
  bool topology;
  bool classes;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name;
}

class Allocations : public ::testing::TestWithParam<Case> {
 protected:
  // Of the loop for each pod, once everything has its room.
  static double each(size_t nodes) {
    constexpr size_t kPods = 120;
    const Case& of = GetParam();
    Engine engine(nodes, of.topology, of.classes);
    engine.place(of.shape, kPods);
    EXPECT_TRUE(engine.settle());
    const uint64_t before = engine.allocations();
    // One after the other: what a binding under way costs the pods behind it is another matter.
    for (size_t pod = 0; pod < kPods; ++pod) {
      engine.place(of.shape, 1);
      EXPECT_TRUE(engine.settle());
    }
    const uint64_t after = engine.allocations();
    EXPECT_EQ(engine.stats().scheduled, 2 * kPods);
    return static_cast<double>(after - before) / static_cast<double>(kPods);
  }
};

TEST_P(Allocations, DoNotGrowWithTheNumberOfNodes) {
  const double few = each(100);
  const double many = each(1'000);
  RecordProperty("at_100", std::to_string(few));
  RecordProperty("at_1000", std::to_string(many));
  // A node's first pods make its lists, and how messages are gathered into turns differs from run
  // to run; one allocation for each node, or for each that passes a filter, would be 900.
  EXPECT_LT(many - few, 20) << few << " allocations a pod at 100 nodes, " << many << " at 1,000";
  EXPECT_GT(few, 1);
  EXPECT_LT(few, 500);  // or they would be for each of 100 nodes
}

INSTANTIATE_TEST_SUITE_P(
    Engine, Allocations,
    ::testing::Values(Case{"identical", Shape::kIdentical, false, true},
                      Case{"identical_no_classes", Shape::kIdentical, false, false},
                      Case{"different", Shape::kDifferent, false, true},
                      Case{"mixed", Shape::kMixed, false, true},
                      Case{"volumes", Shape::kVolumes, false, true},
                      Case{"local_volumes", Shape::kLocalVolumes, false, true},
                      Case{"spread", Shape::kSpread, false, true},
                      Case{"affinity", Shape::kAffinity, false, true},
                      Case{"affinity_no_classes", Shape::kAffinity, false, false},
                      Case{"topology_identical", Shape::kIdentical, true, true},
                      Case{"topology_different", Shape::kDifferent, true, true}),
    [](const auto& test) { return std::string(test.param.name); });

// What the controllers put on each pod of a template tells none of them apart for any plugin.
TEST(Classes, PodsOfAStatefulSetOrAnIndexedJobShareOne) {
  for (const bool topology : {false, true}) {
    Engine engine(20, topology, true);
    constexpr size_t kPods = 20;
    for (size_t i = 0; i < kPods; ++i) {
      const std::string number = std::to_string(i);
      auto pod = decode_pod(
          R"({"metadata":{"name":"web-)" + number + R"(","namespace":"default","uid":"uid-)" +
              number + R"(","labels":{"app":"web","statefulset.kubernetes.io/pod-name":"web-)" +
              number + R"(","apps.kubernetes.io/pod-index":")" + number +
              R"(","batch.kubernetes.io/job-completion-index":")" + number +
              R"(","controller-revision-hash":"r)" + number + R"("},"annotations":{)" +
              R"("batch.kubernetes.io/job-completion-index":")" + number +
              R"("}},"spec":{"schedulerName":"topo","hostname":"web-)" + number +
              R"(","containers":[{"name":"main","env":[{"name":"INDEX","value":")" + number +
              R"("}],"resources":{"requests":{"cpu":"1","memory":"1Gi"},)"
              R"("limits":{"cpu":"1","memory":"1Gi"}}}]},"status":{"phase":"Pending"}})",
          engine.symbols);
      ASSERT_TRUE(pod.has_value()) << pod.error().message;
      engine.place(*pod);
    }
    ASSERT_TRUE(engine.settle());
    const SchedulerStats stats = engine.stats();
    EXPECT_EQ(stats.scheduled, kPods);
    EXPECT_EQ(stats.classes.tables, 1U);
    EXPECT_EQ(stats.classes.misses, 2U);  // a table is made for the second
    EXPECT_EQ(stats.classes.hits, kPods - 2);
  }
}

// So that the tables of a hundred templates fit into the room for them at 100,000 nodes.
TEST(Classes, TakeFewBytesANode) {
  for (const bool topology : {false, true}) {
    constexpr size_t kNodes = 1'000;
    Engine engine(kNodes, topology, true);
    engine.place(Shape::kMixed, 300);
    ASSERT_TRUE(engine.settle());
    const ClassCache::Stats classes = engine.stats().classes;
    ASSERT_GE(classes.tables, 20U);
    EXPECT_LE(classes.bytes / classes.tables / kNodes, 25U) << "with topology: " << topology;
  }
}

}  // namespace
}  // namespace plimsoll
