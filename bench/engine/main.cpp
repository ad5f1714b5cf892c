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
#include "cli/ask/picture.hpp"
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

// A member of the head of an answer, as text without quotes.
std::string member_of(const std::string& answer, const std::string& name) {
  const size_t at = answer.find("\"" + name + "\":");
  if (at == std::string::npos) give_up("an answer has no " + name);
  const size_t begin = answer.find_first_not_of('"', at + name.size() + 3);
  return answer.substr(begin, answer.find_first_of("\",}", begin) - begin);
}

// What three pages that look at all nodes (docs/ui.md) cost the loop while pods come and go. Their
// time is a made one, so that it goes as fast as the loop can. Each asks every 2 s, half a second
// after another, and shows 60 nodes of its own.
void measure_watched(const Modules& modules) {
  constexpr size_t kPods = 20'000;  // on the nodes at a time
  constexpr size_t kPages = 3;
  constexpr size_t kShown = 60;
  constexpr size_t kApart = 1'000;  // the first nodes that two pages show
  constexpr int64_t kTickMs = 500;
  constexpr int64_t kEveryMs = 2'000;
  constexpr int64_t kSettledMs = 120'000;  // from then on it is measured,
  constexpr int64_t kEndMs = 300'000;      // until then
  const Case run{5'000, kPods, Shape::kMixed, true};
  World world(run, modules);
  bench::LoopThread& scheduler = *world.scheduler;
  scheduler.all_synced();
  size_t came = 0;
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
  struct Told {
    double took_ms = 0;
    size_t nodes = 0;
    std::vector<uint32_t> untold;  // slots, which are the numbers of the nodes here
  };
  const auto ask = [&](cli::Picture& picture, const StateChoice& choice, int64_t now_ms) {
    Told told;
    scheduler.on_loop([&] {
      const double began = thread_ms();
      StateSnapshot said = scheduler->snapshot(choice);
      told.nodes = said.nodes.size();
      told.untold = said.mark.untold;
      picture.arrived(std::move(said), now_ms);
      told.took_ms = thread_ms() - began;
    });
    return told;
  };
  come_and_go(kPods);
  std::printf("%8s  %8s  %12s  %14s  %16s  %17s\n", "pods/s", "nodes/s", "ms an answer",
              "ms/s of 3 pages", "oldest shown, s", "oldest of all, s");
  for (const size_t rate : {0U, 1U, 10U, 50U, 200U}) {
    cli::Picture picture("bench.");
    std::string state;
    Told sum;
    size_t questions = 0;
    std::vector<int64_t> as_of_ms(run.nodes);  // each node, in the picture
    int64_t asked_ms = 0;
    double oldest_shown = 0;
    double oldest = 0;
    for (int64_t now_ms = 1'000'000, end = now_ms + kEndMs; now_ms < end; now_ms += kTickMs) {
      come_and_go(rate * static_cast<size_t>(kTickMs) / 1'000 +
                  (rate == 1 && now_ms % 1'000 == 0 ? 1 : 0));
      const auto page = static_cast<size_t>(now_ms % kEveryMs / kTickMs);
      if (page >= kPages) continue;
      std::vector<std::string> shown;
      for (size_t i = 0; i < kShown; ++i) shown.push_back(bench::node_name(page * kApart + i));
      const bool settled = now_ms > end - kEndMs + kSettledMs;
      if (const auto choice = picture.question(now_ms, shown)) {
        const Told told = ask(picture, *choice, now_ms);
        if (!choice->since && rate == 0)
          std::printf("%8s  %8zu  %12.2f  %8.1f MB\n", "whole", told.nodes, told.took_ms,
                      static_cast<double>(picture.answer("", now_ms).size()) / 1e6);
        std::vector<int64_t> before(run.nodes, now_ms);
        for (const uint32_t node : told.untold) before[node] = std::min(as_of_ms[node], asked_ms);
        as_of_ms = std::move(before);
        asked_ms = now_ms;
        if (settled) {
          sum.took_ms += told.took_ms;
          sum.nodes += told.nodes;
          ++questions;
        }
      }
      const std::string answer = picture.answer(state, now_ms);
      state = member_of(answer, "state");
      if (!settled) continue;
      // Until its next answer the page shows this one.
      for (size_t i = 0; i < kShown; ++i)
        oldest_shown =
            std::max(oldest_shown,
                     static_cast<double>(now_ms + kEveryMs - as_of_ms[page * kApart + i]) / 1'000);
      oldest = std::max(oldest, std::strtod(member_of(answer, "age").c_str(), nullptr) +
                                    static_cast<double>(kEveryMs) / 1'000);
    }
    const double seconds = static_cast<double>(kEndMs - kSettledMs) / 1'000;
    std::printf("%8zu  %8.1f  %12.3f  %14.3f  %16.1f  %17.1f\n", rate,
                static_cast<double>(sum.nodes) / seconds,
                sum.took_ms / static_cast<double>(std::max<size_t>(questions, 1)),
                sum.took_ms / seconds, oldest_shown, oldest);
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
