#include "bench/openb/one_run.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "bench/openb/objects.hpp"
#include "cli/run/wiring.hpp"
#include "framework/api/decode/decode.hpp"

namespace plimsoll::openb {
namespace {

constexpr std::chrono::seconds kPatience{60};
constexpr const char* kDevices = "devices.v1alpha1.scheduling.koordinator.sh";

// Replaces the API server: accepts every write, and reports the outcome of the pod that the run
// waits for.
class Answers final : public ApiWriter {
 public:
  void bind(BindRequest request, Done done) override {
    done({});
    const std::lock_guard lock(mutex_);
    bound_ = std::move(request);
    woken_.notify_one();
  }
  void record_event(EventRecord event) override {
    if (event.reason != "FailedScheduling") return;
    const std::lock_guard lock(mutex_);
    refused_ = std::move(event.note);
    woken_.notify_one();
  }
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override { done(404, "{}"); }

  // The next binding, or nothing if the pod was rejected.
  Result<std::optional<BindRequest>> next() {
    std::unique_lock lock(mutex_);
    if (!woken_.wait_for(lock, kPatience, [&] { return bound_ || refused_; }))
      return fail(ErrorCode::kUnavailable, "the scheduler does not answer");
    std::optional<BindRequest> bound = std::move(bound_);
    bound_.reset();
    refused_.reset();
    return bound;
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  std::optional<BindRequest> bound_;
  std::optional<std::string> refused_;
};

// The scheduler on its own thread.
class Running {
 public:
  explicit Running(std::unique_ptr<Scheduler> scheduler)
      : scheduler_(std::move(scheduler)), loop_([this] { scheduler_->run(); }) {}
  ~Running() {
    scheduler_->stop();
    loop_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Scheduler& operator*() { return *scheduler_; }

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

Result<void> post_cluster(const Trace& trace, SymbolTable& symbols, Scheduler& scheduler) {
  for (const Machine& machine : trace.machines) {
    const auto node = decode_node(node_object(machine), symbols);
    if (!node) return fail(node.error().within(machine.name));
    scheduler.post(NodeUpserted{*node});
    auto device = std::make_shared<RawObject>();
    device->resource = kDevices;
    device->name = machine.name;
    device->uid = "uid-device-" + machine.name;
    device->resource_version = "1";
    device->json = device_object(machine);
    scheduler.post(ObjectUpserted{std::move(device)});
  }
  for (const WantedKind& kind : scheduler.wanted_kinds())
    scheduler.post(KindSynced{kind.resource(), true});
  scheduler.post(KindSynced{"nodes", true});
  scheduler.post(KindSynced{"pods", true});
  return {};
}

Result<void> play(const std::vector<Job>& load, SymbolTable& symbols, Answers& answers,
                  Scheduler& scheduler, Outcome& outcome) {
  Point now;
  for (size_t i = 0; i < load.size(); ++i) {
    const Job& job = load[i];
    const auto pod = decode_pod(pod_object(i, job), symbols);
    if (!pod) return fail(pod.error().within(pod_name(i)));
    scheduler.post(PodUpserted{*pod});
    const auto answer = answers.next();
    if (!answer) return fail(answer.error().within(pod_name(i)));
    now.arrived += job.gpu_total();
    ++outcome.came[class_of(job)];
    if (const std::optional<BindRequest>& bound = *answer) {
      now.allocated += job.gpu_total();
      const auto there = decode_pod(pod_object(i, job, bound->node, bound->annotations), symbols);
      if (!there) return fail(there.error().within(pod_name(i)));
      scheduler.post(PodUpserted{*there});
    } else {
      ++outcome.refused[class_of(job)];
      scheduler.post(PodDeleted{*pod});
    }
    outcome.points.push_back(now);
  }
  return {};
}

}  // namespace

double Outcome::allocated_at(double percent) const {
  int64_t allocated = 0;
  for (const Point& point : points) {
    if (static_cast<double>(point.arrived) > percent / 100 * static_cast<double>(capacity)) break;
    allocated = point.allocated;
  }
  return 100 * static_cast<double>(allocated) / static_cast<double>(capacity);
}

Result<Outcome> run(const Trace& trace, const std::vector<Job>& load, const RunOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto modules = cli::load_modules(options.plugin_directories);
  if (!modules) return fail(modules.error());
  const auto configuration = cli::load_configuration(options.profile, *modules);
  if (!configuration) return fail(configuration.error());
  SchedulerOptions scheduling = cli::scheduler_options(*configuration);
  scheduling.binder_threads = 1;
  SymbolTable symbols;
  Answers answers;
  auto made = Scheduler::create(std::move(scheduling), *modules, symbols, answers);
  if (!made) return fail(made.error());
  Outcome outcome;
  outcome.capacity = trace.capacity();
  Running scheduler(std::move(*made));
  if (auto posted = post_cluster(trace, symbols, *scheduler); !posted) return fail(posted.error());
  if (auto played = play(load, symbols, answers, *scheduler, outcome); !played)
    return fail(played.error());
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

}  // namespace plimsoll::openb
