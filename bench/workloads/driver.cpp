#include "bench/workloads/driver.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "bench/support/default_profile.hpp"
#include "bench/support/loop_thread.hpp"
#include "bench/support/memory_api.hpp"
#include "bench/support/stopwatch.hpp"
#include "bench/support/timing.hpp"
#include "bench/workloads/clock.hpp"
#include "bench/workloads/objects.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{1};
constexpr int64_t kStallPassesUs = 100'000;

Params scaled(Params params, double scale) {
  constexpr std::array<std::string_view, 3> kNodes = {"nodes", "third", "tainted"};
  for (auto& [name, count] : params) {
    const bool of_nodes = std::find(kNodes.begin(), kNodes.end(), name) != kNodes.end();
    const double times = of_nodes ? scale : std::min(scale, 1.0);
    count = std::max<int64_t>(1, std::llround(static_cast<double>(count) * times));
  }
  return params;
}

class Run {
 public:
  Run(const WorkloadFile& file, const Workload& workload, const RunOptions& options)
      : workload_(workload),
        options_(options),
        params_(scaled(options.small ? workload.small : workload.params, options.scale)),
        maker_(file, symbols_),
        file_(file),
        api_(symbols_) {
    if (workload.pods_per_second > 0) clock_.emplace(workload.pods_per_second);
  }

  Result<Outcome> go(const Modules& modules) {
    if (auto started = start(modules); !started) return fail(started.error());
    for (size_t i = 0; i < workload_.ops.size(); ++i) {
      if (auto done = carry_out(workload_.ops[i], i); !done) return fail(done.error());
      if (!outcome_.failures.empty()) break;
    }
    on_api([this] {
      if (clock_) clock_->stop_all();
    });
    finish();
    return std::move(outcome_);
  }

  // Ends in an order in which the loop's last bindings are answered while the scheduler still
  // exists.
  ~Run() {
    if (loop_) loop_->stop();
    api_.stop();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  Result<void> start(const Modules& modules) {
    auto profile = default_profile(modules, kSchedulerName);
    if (!profile) return fail(profile.error());
    // The watch is started first.
    for (const ExtensionPoint point : {ExtensionPoint::kPreFilter, ExtensionPoint::kReserve}) {
      auto& entries = profile->at(point);
      entries.insert(entries.begin(), PluginEntry{stopwatch_module().name});
    }
    SchedulerOptions scheduling;
    scheduling.profiles.push_back(std::move(*profile));
    scheduling.binder_threads = 1;
    scheduling.classes.check_every = options_.check_every;
    scheduling.classes.enabled = options_.classes;
    if (clock_) scheduling.clock = [this] { return clock_->now_ms(); };
    auto made = Scheduler::create(std::move(scheduling), modules, symbols_, api_);
    if (!made) return fail(made.error());
    api_.on_bound([this] {
      if (clock_) clock_->pod_bound();
    });
    api_.start(**made);
    loop_.emplace(std::move(*made));
    loop_->all_synced();
    return {};
  }

  Result<void> carry_out(const Op& op, size_t group) {
    switch (op.kind) {
      case Op::Kind::kCreateNodes:
        return create_nodes(op);
      case Op::Kind::kCreateObjects:
        return create_objects(op);
      case Op::Kind::kCreatePods:
        return create_pods(op, group);
      case Op::Kind::kDeletePods:
        delete_pods(op);
        return {};
      case Op::Kind::kChurn:
        churn(op, group);
        return {};
      case Op::Kind::kSettle:
        settle();
        return {};
    }
    return {};
  }

  Result<void> create_nodes(const Op& op) {
    const auto count = workload_.count_of(op, params_);
    if (!count) return fail(count.error());
    for (size_t i = 0; i < *count; ++i) {
      auto node = maker_.node(op.templates.front(), op.labels);
      if (!node) return fail(node.error());
      api_.submit([this, made = std::move(*node), beside = made_beside(op, "")] {
        post_all(beside);
        api_.create_node(made);
      });
    }
    outcome_.nodes += *count;
    settle();
    return {};
  }

  // The objects that go with one node or pod of the op.
  std::vector<RawRef> made_beside(const Op& op, const std::string& ns) {
    std::vector<RawRef> made;
    for (const std::string& from : op.with) made.push_back(maker_.object(from, ns));
    return made;
  }

  void post_all(const std::vector<RawRef>& objects) {
    for (const RawRef& object : objects) api_.create_object(object);
  }

  Result<void> create_objects(const Op& op) {
    const auto count = workload_.count_of(op, params_);
    if (!count) return fail(count.error());
    for (size_t i = 0; i < *count; ++i) {
      api_.submit(
          [this, made = maker_.object(op.templates.front(), op.ns)] { api_.create_object(made); });
    }
    return {};
  }

  Result<void> create_pods(const Op& op, size_t group) {
    const auto count = workload_.count_of(op, params_);
    const auto namespaces = workload_.number(op.ns_count.empty() ? "1" : op.ns_count, params_);
    if (!count || !namespaces) return fail(count ? namespaces.error() : count.error());
    auto pods = std::make_shared<std::vector<NewPod>>();
    auto beside = std::make_shared<std::vector<std::vector<RawRef>>>();
    for (size_t i = 0; i < *count; ++i) {
      const std::string ns =
          op.ns_count.empty() ? op.ns : op.ns + "-" + std::to_string(i % *namespaces);
      auto pod = maker_.pod(op.templates.front(), group, ns);
      if (!pod) return fail(pod.error());
      pods->push_back(std::move(*pod));
      beside->push_back(made_beside(op, ns));
    }
    const auto create = [this, pods, beside] {
      api_.submit([this, pods, beside] {
        for (size_t i = 0; i < pods->size(); ++i) {
          post_all((*beside)[i]);
          api_.create_pod(std::move((*pods)[i]));
        }
      });
    };
    if (!op.measure) {
      create();
      if (op.wait) wait_until_bound(group, *count);
      return {};
    }
    settle();
    loop_->on_loop([] { Stopwatch::here().reset(); });
    const SchedulerStats before = (*loop_)->stats();
    const size_t deleted = api_.counts().deleted;
    const double cpu = loop_->cpu_seconds();
    const Clock::time_point began = Clock::now();
    create();
    wait_until_bound(group, *count);
    std::vector<double> decisions;
    loop_->on_loop([&] { decisions = Stopwatch::here().microseconds(); });
    outcome_.loop_seconds += loop_->cpu_seconds() - cpu;
    const MemoryApi::Counts counts = api_.counts();
    outcome_.wall_seconds += std::chrono::duration<double>(counts.last_bound - began).count();
    outcome_.pods += *count;
    outcome_.deleted_pods += counts.deleted - deleted;
    decisions_.insert(decisions_.end(), decisions.begin(), decisions.end());
    settle();
    const SchedulerStats after = (*loop_)->stats();
    outcome_.attempts += after.attempts - before.attempts;
    outcome_.unschedulable += after.unschedulable - before.unschedulable;
    return {};
  }

  void delete_pods(const Op& op) {
    size_t group = 0;
    while (workload_.ops[group].as != op.of) ++group;
    on_api([&] {
      clock_->every(1'000'000 / op.per_second, [this, group, next = size_t{0}]() mutable {
        const auto& pods = api_.pods_of(group);
        if (next == pods.size()) return;
        const auto& [ns, name] = pods[next++];
        api_.delete_pod(ns, name);
      });
    });
  }

  void churn(const Op& op, size_t group) {
    on_api([&] {
      clock_->every(op.every_ms * 1000, [this, &op, group, turn = size_t{0}]() mutable {
        const bool deletes = op.recreate && turn++ % 2 == 1;
        for (const std::string& from : op.templates) {
          deletes ? delete_churned() : create_churned(from, group);
        }
      });
    });
  }

  // A Service is not reported: it selects no pod of these workloads.
  void create_churned(const std::string& from, size_t group) {
    const std::string& kind = file_.templates.at(from).kind;
    if (kind == "Node") {
      if (auto node = maker_.node(from)) {
        churned_.push_back(
            [this, name = std::string(view((*node)->meta.name))] { api_.delete_node(name); });
        api_.create_node(std::move(*node));
        ++outcome_.churned;
      }
    } else if (kind == "Pod") {
      if (auto pod = maker_.pod(from, group)) {
        churned_.push_back(
            [this, ns = std::string(view(pod->pod->meta.ns)),
             name = std::string(view(pod->pod->meta.name))] { api_.delete_pod(ns, name); });
        api_.create_pod(std::move(*pod));
        ++outcome_.churned;
      }
    }
  }

  void delete_churned() {
    if (churned_.empty()) return;
    churned_.front()();
    churned_.pop_front();
    ++outcome_.churned;
  }

  // Measures how long there has been no progress.
  class Patience {
   public:
    explicit Patience(Run& run)
        : run_(&run), cpu_(run.loop_->cpu_seconds()), began_(Clock::now()) {}
    [[nodiscard]] bool is_over() const {
      const std::chrono::seconds most = run_->options_.patience;
      return run_->loop_->cpu_seconds() - cpu_ > static_cast<double>(most.count()) ||
             Clock::now() - began_ > 10 * most;
    }

   private:
    Run* run_;
    double cpu_;
    Clock::time_point began_;
  };

  // Runs the task on the API's thread, and waits for it.
  void on_api(const std::function<void()>& task) {
    std::promise<void> done;
    api_.submit([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  // The clock stops while nothing is bound. Advances it, so that nothing waits for ever.
  void pass_a_stall() {
    on_api([this] { clock_->pass(kStallPassesUs); });
    outcome_.stalled_ms += kStallPassesUs / 1000;
    (*loop_)->post(Task{[] {}});
  }

  // Whether there is nothing left to try, not even after a backoff, and nothing was written since
  // `before`: an eviction is several writes, and its preemptor is tried again after the last.
  bool is_at_rest_since(const MemoryApi::Counts& before) {
    if (!is_settled() || (*loop_)->stats().queue.backoff != 0) return false;
    on_api([] {});
    return api_.counts() == before;
  }

  void wait_until_bound(size_t group, size_t count) {
    size_t last = 0;
    Patience patience(*this);
    Clock::time_point passed = Clock::now();
    while (true) {
      const MemoryApi::Counts counts = api_.counts();
      const size_t bound = group < counts.bound_by_group.size() ? counts.bound_by_group[group] : 0;
      if (bound == count) return;
      const Clock::time_point now = Clock::now();
      if (bound != last) {
        last = bound;
        patience = Patience(*this);
        passed = now;
      }
      const bool is_stall = now - passed > options_.stall;
      // Without a clock nothing comes later that could make room.
      const bool is_at_rest = is_stall && !clock_ && is_at_rest_since(counts);
      if (is_at_rest || patience.is_over()) {
        outcome_.failures.push_back(
            std::to_string(count - bound) + " of " + std::to_string(count) +
            " pods were not bound; the last refusal: " + api_.last_refusal());
        return;
      }
      if (is_stall && clock_) {
        pass_a_stall();
        passed = now;
      }
      std::this_thread::sleep_for(kPoll);
    }
  }

  // Whether the scheduler has received and tried everything that was submitted.
  bool is_settled() {
    on_api([] {});
    loop_->on_loop([] {});
    loop_->on_loop([] {});  // the figures of the previous turn are published
    const SchedulerStats stats = (*loop_)->stats();
    return stats.queue.active + stats.queue.in_flight + stats.binding + stats.inbox == 0;
  }
  void settle() {
    const Patience patience(*this);
    while (!is_settled()) {
      if (patience.is_over()) {
        outcome_.failures.push_back("the scheduler does not come to rest");
        return;
      }
      std::this_thread::sleep_for(kPoll);
    }
  }

  void finish() {
    for (std::string& wrong : api_.wrongs()) outcome_.failures.push_back(std::move(wrong));
    const SchedulerStats stats = (*loop_)->stats();
    if (stats.classes.different != 0) {
      outcome_.failures.push_back(std::to_string(stats.classes.different) +
                                  " decisions differed from those made without classes");
    }
    if (stats.errors != 0) {
      outcome_.failures.push_back(std::to_string(stats.errors) + " attempts ended in an error");
    }
    outcome_.decision_p50_us = quantile(decisions_, 0.5);
    outcome_.decision_p99_us = quantile(decisions_, 0.99);
    outcome_.decision_max_us = quantile(decisions_, 1);
    outcome_.floor_us = floor_ms(outcome_.nodes, 8) * 1e3;
  }

  const Workload& workload_;
  const RunOptions& options_;
  const Params params_;
  SymbolTable symbols_;
  ObjectMaker maker_;
  const WorkloadFile& file_;
  std::optional<PodClock> clock_;
  MemoryApi api_;
  std::optional<LoopThread> loop_;
  std::deque<std::function<void()>> churned_;  // delete the created objects, in order of creation
  std::vector<double> decisions_;
  Outcome outcome_;
};

}  // namespace

Modules workload_modules() {
  Modules modules;
  modules.add_builtin(builtin_modules());
  const std::array further = {stopwatch_module()};
  modules.add_builtin(further);
  return modules;
}

Result<Outcome> run_workload(const WorkloadFile& file, const Workload& workload,
                             const Modules& modules, const RunOptions& options) {
  return Run(file, workload, options).go(modules);
}

}  // namespace plimsoll::bench
