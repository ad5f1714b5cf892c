// Decisions per second of the scheduler loop, without an API server. Every binding succeeds at
// once, and the watch shows it. The figure is the CPU time of the loop's thread, from the moment
// that all objects are known to the last binding; other work on the machine does not matter. For
// comparison, the same run measures the least time that any check of every node takes (timing.hpp).

#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/engine/hostile.hpp"
#include "bench/engine/world.hpp"
#include "bench/support/default_profile.hpp"
#include "bench/support/loop_thread.hpp"
#include "bench/support/plot.hpp"
#include "bench/support/stopwatch.hpp"
#include "bench/support/timing.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/inspect/snapshot.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"

namespace {

using namespace plimsoll;
using bench::Shape;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "engine_bench: %s\n", why.c_str());
  std::exit(1);
}

// Everything succeeds at once.
class Instant final : public ApiWriter {
 public:
  using Shown = std::function<void(const BindRequest&)>;
  explicit Instant(Shown shown) : shown_(std::move(shown)) {}
  void bind(BindRequest request, Done done) override {
    done({});
    shown_(request);
    ++bound;
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override {
    ++refused;
    done({});
  }
  void request(ApiRequest, Answered done) override { done(500, "{}"); }
  std::atomic<size_t> bound{0};
  std::atomic<size_t> refused{0};

 private:
  Shown shown_;
};

// With this many pods or more, only a part of the decisions is timed for the quantiles.
constexpr size_t kTimedPods = 10'000;
constexpr size_t kTimedOneIn = 16;

struct Case {
  size_t nodes = 5'000;
  size_t pods = 20'000;
  Shape shape = Shape::kIdentical;
  bool topology = false;
  bool classes = true;
  uint32_t check_every = ClassCacheOptions().check_every;
};

const char* name(Shape shape) {
  return bench::kShapes.at(static_cast<size_t>(shape)).data();
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

ProfileSpec profile_of(const Case& run, const Modules& modules) {
  std::vector<std::string> further = {"Stopwatch"};
  if (run.topology) {
    further.insert(further.end(), {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"});
  }
  auto profile = bench::default_profile(modules, "topo", further);
  if (!profile) give_up(profile.error().message);
  return std::move(*profile);
}

// A scheduler with the nodes of a case.
class World {
 public:
  World(const Case& run, const Modules& modules)
      : run_(run), writer([this](const BindRequest& request) {
          const size_t number =
              std::strtoul(request.name.c_str() + std::strlen("pod-"), nullptr, 10);
          told_->post(PodUpserted{make_pod(number, {request.node, request.annotations})});
        }) {
    SchedulerOptions options;
    options.profiles.push_back(profile_of(run, modules));
    options.binder_threads = 1;
    options.classes.enabled = run.classes;
    options.classes.check_every = run.check_every;
    auto made = Scheduler::create(std::move(options), modules, symbols, writer);
    if (!made) give_up(made.error().message);
    told_ = made->get();
    bytes_before = resident_bytes();
    scheduler.emplace(std::move(*made));
    for (size_t i = 0; i < run.nodes; ++i) {
      told_->post(NodeUpserted{bench::make_node(i, symbols)});
      if (!run.topology) continue;
      told_->post(ObjectUpserted{bench::make_topology(i)});
      told_->post(ObjectUpserted{bench::make_devices(i)});
    }
  }
  [[nodiscard]] PodRef make_pod(size_t number, const bench::Bound& bound = {}) {
    return bench::make_pod(number, run_.shape, run_.topology, symbols, bound);
  }
  // Until so many pods were decided on.
  void wait_for(size_t pods) const {
    while (writer.bound + writer.refused < pods)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  const Case run_;
  Scheduler* told_ = nullptr;

 public:
  SymbolTable symbols;
  Instant writer;
  size_t bytes_before = 0;
  std::optional<bench::LoopThread> scheduler;
};

// Prints a line. Returns the decisions per second.
double measure(const Case& run, const Modules& modules) {
  World world(run, modules);
  bench::LoopThread& scheduler = *world.scheduler;
  const Instant& writer = world.writer;
  const size_t before = world.bytes_before;
  for (size_t i = 0; has_volumes(run.shape) && i < run.pods; ++i) {
    scheduler->post(ObjectUpserted{bench::make_volume(i, run.shape, run.nodes)});
    scheduler->post(ObjectUpserted{bench::make_claim(i)});
  }
  scheduler.on_loop([] {});
  const size_t with_nodes = resident_bytes();
  for (size_t i = 0; i < run.pods; ++i) {
    scheduler->post(PodUpserted{world.make_pod(i)});
  }
  // Of many decisions only some are timed: timing all would mostly measure the stopwatch itself.
  scheduler.on_loop(
      [&] { bench::Stopwatch::here().time_one_in(run.pods >= kTimedPods ? kTimedOneIn : 1); });
  const double began = scheduler.cpu_seconds();
  scheduler.all_synced();
  world.wait_for(run.pods);
  std::vector<double> decisions;
  scheduler.on_loop([&] { decisions = bench::Stopwatch::here().microseconds(); });
  const double took = scheduler.cpu_seconds() - began;
  const SchedulerStats stats = scheduler->stats();
  const size_t after = resident_bytes();
  scheduler.stop();
  const double floor = bench::floor_ms(run.nodes, 8) * 1e3;
  const double each = took * 1e6 / static_cast<double>(run.pods);
  std::printf(
      "%8zu  %-9s  %-8s  %-7s  %9.0f  %9.2f  %9.2f  %9.2f  %9.2f  %9zu  %8.1f  %8.1f  %7.1f\n",
      run.nodes, name(run.shape), run.topology ? "topology" : "default", run.classes ? "on" : "off",
      static_cast<double>(run.pods) / took, each, each / floor, bench::quantile(decisions, 0.5),
      bench::quantile(decisions, 0.99), writer.bound.load(),
      static_cast<double>(with_nodes - before) / 1024 / static_cast<double>(run.nodes),
      static_cast<double>(after - with_nodes) / 1024 / static_cast<double>(run.pods),
      static_cast<double>(stats.classes.bytes) / (1 << 20));
  std::fflush(stdout);
  return static_cast<double>(run.pods) / took;
}

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// What pages that show all nodes (docs/ui.md) cost the loop while pods come and go. A page waits
// 3,000 times as long as its answer took, and 2 s at least.
void measure_watched(const Modules& modules) {
  constexpr size_t kPods = 20'000;  // on the nodes at a time
  const Case run{5'000, kPods, Shape::kMixed, true};
  World world(run, modules);
  bench::LoopThread& scheduler = *world.scheduler;
  scheduler.all_synced();
  StateChoice choice{.plugins = true, .queue = false, .kinds = false};
  size_t came = 0;
  size_t nodes = 0;
  const auto come_and_go = [&](size_t pods) {
    for (size_t i = 0; i < pods; ++i, ++came) {
      scheduler->post(PodUpserted{world.make_pod(came)});
      if (came >= kPods) scheduler->post(PodDeleted{world.make_pod(came - kPods)});
    }
    bool settled = false;  // a pod that fits nowhere waits, and that is all
    while (!settled) {
      scheduler.on_loop([] {});
      const SchedulerStats now = scheduler->stats();
      settled = now.queue.active == 0 && now.queue.in_flight == 0 && now.inbox == 0;
    }
  };
  const auto ask = [&] {
    double took = 0;
    scheduler.on_loop([&] {
      const double began = thread_ms();
      const StateSnapshot said = scheduler->snapshot(choice);
      took = thread_ms() - began;
      choice.since = said.mark;
      nodes = said.nodes.size();
    });
    return took;
  };
  come_and_go(kPods);
  std::printf("%8s  %14s  %9s  %12s  %19s\n", "pods/s", "asked after, s", "nodes", "ms an answer",
              "ms/s of three pages");
  const double whole = ask();
  std::printf("%8s  %14s  %9zu  %12.2f\n", "whole", "", nodes, whole);
  for (const size_t rate : {0U, 1U, 10U, 50U, 200U}) {
    double pause = 2;
    double took = 0;
    for (int round = 0; round < 6; ++round) {  // until the pause is that of its own answer
      come_and_go(static_cast<size_t>(static_cast<double>(rate) * pause));
      took = ask();
      pause = std::max(2.0, 3'000 * took / 1e3);
    }
    std::printf("%8zu  %14.1f  %9zu  %12.3f  %19.3f\n", rate, pause, nodes, took, 3 * took / pause);
    std::fflush(stdout);
  }
}

// Measures everything, and writes a plot if a file is named.
void measure_all(const Modules& modules, const std::string& plot_file) {
  bench::Plot plot{"Decisions per second (CPU time of the loop)",
                   "nodes",
                   "pods/s",
                   3,
                   5,
                   1,
                   1,
                   6,
                   1,
                   {},
                   true,
                   true};
  for (const bool topology : {false, true}) {
    for (const Shape shape : {Shape::kIdentical, Shape::kMixed, Shape::kDifferent}) {
      bench::Curve& curve = plot.curves.emplace_back();
      curve.name = std::string(name(shape)) + (topology ? ", topology and devices" : ", default");
      for (const size_t nodes : {size_t{1'000}, size_t{5'000}, size_t{20'000}, size_t{100'000}}) {
        // Enough pods for a stable figure, but no more than fit.
        size_t pods = shape == Shape::kDifferent ? 20'000'000 / nodes : 50'000;
        pods = std::min(pods, nodes * 15);
        curve.points.emplace_back(nodes, measure({nodes, pods, shape, topology, true}, modules));
      }
    }
  }
  if (plot_file.empty()) return;
  std::ofstream file(plot_file);
  file << bench::svg_of(plot);
  if (!file.flush()) give_up(plot_file + ": cannot be written");
}

Shape shape_of(const std::string& text) {
  const auto found = std::find(bench::kShapes.begin(), bench::kShapes.end(), text);
  if (found != bench::kShapes.end()) return static_cast<Shape>(found - bench::kShapes.begin());
  std::string known;
  for (const std::string_view shape : bench::kShapes) known.append(" ").append(shape);
  give_up("--shape: \"" + text + "\" is none of" + known);
}

}  // namespace

int main(int argc, char** argv) {
  log_to_stderr(LogLevel::kError, LogFormat::kText);
  std::string folder = "build/release/plugins";
  std::string plot_file;
  std::vector<size_t> hostile;
  bool watched = false;
  std::optional<Case> single;
  const auto one = [&]() -> Case& {
    if (!single) single.emplace();
    return *single;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--no-classes") {
      one().classes = false;
      continue;
    }
    if (option == "--hostile") {
      hostile = {100, 1'000, 4'000, 10'000};
      continue;
    }
    if (option == "--watched") {
      watched = true;
      continue;
    }
    if (i + 1 == argc) give_up(option + " needs a value");
    const std::string value = argv[++i];
    if (option == "--plugin-dir") {
      folder = value;
    } else if (option == "--plot") {
      plot_file = value;
    } else if (option == "--nodes") {
      one().nodes = std::strtoul(value.c_str(), nullptr, 10);
    } else if (option == "--pods") {
      one().pods = std::strtoul(value.c_str(), nullptr, 10);
    } else if (option == "--shape") {
      one().shape = shape_of(value);
    } else if (option == "--class-check") {
      one().check_every = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    } else if (option == "--profile") {
      if (value != "default" && value != "topology") give_up("--profile: default or topology");
      one().topology = value == "topology";
    } else {
      give_up("unknown option " + option);
    }
  }
  if (single && (single->nodes == 0 || single->pods == 0)) give_up("no nodes or no pods");
  Modules modules;
  modules.add_builtin(builtin_modules());
  const StaticModule stopwatch = bench::stopwatch_module();
  modules.add_builtin({&stopwatch, 1});
  for (const char* file : {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"}) {
    const ModuleRecord& record =
        modules.load_file(std::filesystem::path(folder) / (std::string(file) + ".so"));
    if (!record.loaded) give_up(record.refusal);
  }
  if (watched) {
    measure_watched(modules);
    return 0;
  }
  if (!hostile.empty()) {
    bench::measure_hostile(modules, hostile);
    return 0;
  }
  std::printf("%8s  %-9s  %-8s  %-7s  %9s  %9s  %9s  %9s  %9s  %9s  %8s  %8s  %7s\n", "nodes",
              "pods", "profile", "classes", "pods/s", "us/pod", "x floor", "p50 us", "p99 us",
              "bound", "KiB/node", "KiB/pod", "tables");
  if (single)
    measure(*single, modules);
  else
    measure_all(modules, plot_file);
}
