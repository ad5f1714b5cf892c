#include "framework/cycle/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/binder_pool.hpp"
#include "framework/cycle/columns.hpp"
#include "framework/cycle/queue_metrics.hpp"

namespace plimsoll {
namespace {

constexpr int kPodsPerTurn = 64;          // then the inbox is looked at again
constexpr int64_t kLongestWaitMs = 1000;  // without a timer that is due sooner
// So long the loop lets messages gather before the first lists are complete.
constexpr std::chrono::milliseconds kFirstListsPause{2};
constexpr int64_t kStopGraceMs = 10'000;  // for binds in flight
// A pod that was placed waits no longer than this, and one more decision, for its binder.
constexpr std::chrono::microseconds kHandOverEvery{200};
// While there is no room for a further pod, nothing that is posted is urgent: once something is,
// the loop waits until it is so much, or for so long.
constexpr size_t kMostAtOnce = 64;
constexpr std::chrono::milliseconds kPausedWait{10};

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, SymbolTable& symbols, ApiWriter& writer,
                     std::unique_ptr<PreparedPlugins> prepared)
    : options_(std::move(options)),
      writer_(writer),
      prepared_(prepared != nullptr ? std::move(prepared)
                                    : std::make_unique<PreparedPlugins>(symbols)),
      environment_(prepared_->env()),
      policy_(environment_.reasons),
      classes_(options_.classes),
      nominator_([this](std::string_view node_name) {
        const NodeInfo* node = cluster_.node(node_name);
        if (node != nullptr) cluster_.touch(node->slot(), PLIMSOLL_ASPECT_NOMINATED);
      }),
      queue_(policy_, options_.queue),
      unsynced_kinds_{"pods", "nodes"},
      on_binder_([this](std::function<void()> job) {
        if (loop_thread_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
          for_binders_.push_back(std::move(job));
        } else {
          binders_->submit(std::move(job));
        }
      }) {
  room_ = std::make_unique<Room>();
  standby_ = options_.standby;
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto since = [](auto clock_now) {
    return duration_cast<milliseconds>(clock_now.time_since_epoch()).count();
  };
  clock_offset_ms_ =
      since(std::chrono::system_clock::now()) - since(std::chrono::steady_clock::now());
  if (options_.metrics != nullptr) start_metrics();
}

void Scheduler::start_metrics() {
  metrics_ = std::make_unique<metrics::SchedulerMetrics>(*options_.metrics);
  queue_metrics_ = std::make_unique<QueueMetrics>(*metrics_, [this](const plimsoll_pod& pod) {
    const Framework* framework = framework_for(pod);
    return framework == nullptr ? nullptr : framework->metrics();
  });
  queue_.observe(queue_metrics_.get());
  policy_.measure(queue_metrics_.get());
  environment_.metrics = metrics_.get();
  environment_.plugin_metrics.show_in(*options_.metrics);
  gauges_ = options_.metrics->on_collect([this] { show_gauges(); });
}

void Scheduler::show_gauges() const {
  const SchedulerStats now = stats();
  const auto pending = [this](std::string_view queue, size_t pods) {
    metrics_->pending_pods.with({queue}).set(static_cast<double>(pods));
  };
  pending("active", now.queue.active);
  pending("backoff", now.queue.backoff);
  pending("unschedulable", now.queue.unschedulable);
  pending("gated", now.queue.gated);
  const auto cached = [this](std::string_view type, size_t count) {
    metrics_->cache_size.with({type}).set(static_cast<double>(count));
  };
  cached("nodes", now.nodes);
  cached("pods", now.pods);
  cached("assumed_pods", now.assumed_pods);
  metrics_->inflight_events.with({"PodPopped"}).set(static_cast<double>(now.queue.in_flight));
  metrics_->goroutines.with({"binding"}).set(static_cast<double>(now.binding));
  metrics_->waiting_pods.set(static_cast<double>(now.waiting_on_permit));
  metrics_->pods_waiting_for_kinds.set(static_cast<double>(now.waiting_for_kinds));
  metrics_->inbox_depth.set(static_cast<double>(now.inbox));
  metrics_->unbound_pods.set(static_cast<double>(now.binding));
  metrics_->unbound_limit.set(static_cast<double>(options_.max_unbound));
  metrics_->pauses.raise_to(static_cast<double>(now.pauses));
  metrics_->bind_errors.raise_to(static_cast<double>(now.bind_errors));
  metrics_->synced.set(now.synced ? 1 : 0);
  metrics_->class_decisions.with({"hit"}).raise_to(static_cast<double>(now.classes.hits));
  metrics_->class_decisions.with({"miss"}).raise_to(static_cast<double>(now.classes.misses));
  metrics_->class_checks.raise_to(static_cast<double>(now.classes.checked));
  metrics_->class_differences.raise_to(static_cast<double>(now.classes.different));
  metrics_->class_drops.raise_to(static_cast<double>(now.classes.dropped));
  metrics_->class_tables.set(static_cast<double>(now.classes.tables));
  metrics_->class_table_bytes.set(static_cast<double>(now.classes.bytes));
}

Scheduler::~Scheduler() {
  stop();
  if (binders_)
    binders_->stop();  // kept until the end: a plugin's own thread may still complete a token
}

Result<std::unique_ptr<Scheduler>> Scheduler::create(SchedulerOptions options,
                                                     const Modules& modules, SymbolTable& symbols,
                                                     ApiWriter& writer,
                                                     std::unique_ptr<PreparedPlugins> prepared) {
  std::unique_ptr<Scheduler> scheduler(
      new Scheduler(std::move(options), symbols, writer, std::move(prepared)));
  scheduler->prepared_->pass_on(*scheduler);
  if (auto made = scheduler->make_profiles(modules); !made) return fail(made.error());
  scheduler->binders_ = std::make_unique<BinderPool>(scheduler->options_.binder_threads);
  return scheduler;
}

Result<void> Scheduler::make_profiles(const Modules& modules) {
  std::string errors;
  const auto note = [&errors](const std::string& text) {
    errors += errors.empty() ? text : "\n" + text;
  };
  if (options_.profiles.empty()) note("at least one profile is required");
  for (const ProfileSpec& spec : options_.profiles) {
    auto made = Framework::create(spec, modules, environment_, prepared_.get());
    if (!made) {
      for (const Error& error : made.error()) note(error.message);
      continue;
    }
    if (!policy_.add(**made)) {
      note("duplicate profile with scheduler name \"" + spec.scheduler_name + "\"");
    }
    frameworks_.push_back(std::move(*made));
  }
  if (!errors.empty()) return fail(ErrorCode::kInvalid, errors);
  for (const auto& framework : frameworks_) {
    if (auto started = framework->start(); !started) note(started.error().message);
  }
  started_ = true;
  if (!errors.empty()) return fail(ErrorCode::kInvalid, errors);
  return {};
}

void Scheduler::post(Message message) {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    inbox_.push_back(std::move(message));
    wake = inbox_.size() >= wake_at_;
    if (wake) wake_at_ = kAwake;
  }
  if (wake) wake_.notify_one();
}

void Scheduler::lead() {
  post(Task{[this] { standby_ = false; }});
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
}

void Scheduler::run() {
  loop_thread_ = std::this_thread::get_id();
  const auto stopping = [this] {
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  while (!stopping()) {
    if (!turn(true)) wait_for_work();
  }
  drop_waiting_pods();
  // Binds that left the loop are heard to the end, so that nothing is reported as failed that
  // succeeded.
  const int64_t deadline = now_ms() + kStopGraceMs;
  const auto binding = [this] {
    return std::any_of(attempts_.begin(), attempts_.end(),
                       [](const auto& entry) { return entry.second->binding; });
  };
  while (binding() && now_ms() < deadline) {
    if (!turn(false)) wait_for_work();
  }
  binders_->stop();
  turn(false);
  step_began_.store(0, std::memory_order_relaxed);
  // What goes with them may be a plugin's code, which may post once more: not under the lock.
  std::vector<Message> unheard;
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  unheard.swap(inbox_);
}

void Scheduler::begin_step() {
  step_began_.store(std::chrono::steady_clock::now().time_since_epoch().count(),
                    std::memory_order_relaxed);
}

std::chrono::nanoseconds Scheduler::busy_for() const {
  const std::chrono::nanoseconds began(step_began_.load(std::memory_order_relaxed));
  if (began.count() == 0) return {};
  return std::max(std::chrono::steady_clock::now().time_since_epoch() - began,
                  std::chrono::nanoseconds(0));
}

bool Scheduler::turn(bool may_schedule) {
  begin_step();
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(inbox_);
  }
  for (Message& message : messages) handle(message);
  begin_step();
  place_resources();  // a plugin may have named one since
  hand_over();
  const int64_t now = now_ms();
  if (now >= next_flush_ms_) next_flush_ms_ = queue_.flush(now);
  run_timers();
  int scheduled = 0;
  if (synced_ && !standby_ && may_schedule && !lost_kinds_.blind()) {
    auto handed_over = std::chrono::steady_clock::now();
    while (scheduled < kPodsPerTurn && has_room() && schedule_one()) {
      begin_step();
      ++scheduled;
      if (for_binders_.empty()) continue;
      const auto time = std::chrono::steady_clock::now();
      if (time - handed_over < kHandOverEvery) continue;
      hand_over();
      handed_over = time;
    }
  }
  hand_over();
  publish_stats();
  return !messages.empty() || scheduled != 0;
}

// Several at once: each time a thread may have to be woken.
void Scheduler::hand_over() {
  if (!for_binders_.empty()) binders_->submit_all(for_binders_);
}

// Whether a further pod may be decided on: else the bindings under way have to end first, each of
// which wakes the loop.
bool Scheduler::has_room() {
  if (unbound() < options_.max_unbound) {
    paused_ = false;
    return true;
  }
  if (!paused_ && queue_.sizes().active > 0) {
    paused_ = true;
    ++counters_.pauses;
  }
  return false;
}

void Scheduler::run_timers() {
  const int64_t now = now_ms();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    begin_step();
    timers_.extract(timers_.begin()).mapped()();  // it may set further timers
  }
}

void Scheduler::wait_for_work() {
  step_began_.store(0, std::memory_order_relaxed);
  int64_t next = next_flush_ms_;
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  const auto longest =
      std::chrono::milliseconds(std::clamp<int64_t>(next - now_ms(), 1, kLongestWaitMs));
  std::unique_lock lock(mutex_);
  // During a stop the flag is set for good, so only messages and the clock end the wait.
  if (stopping_) {
    wake_at_ = 1;
    wake_.wait_for(lock,
                   std::min<std::chrono::milliseconds>(longest, std::chrono::milliseconds(20)),
                   [this] { return !inbox_.empty(); });
  } else {
    wake_at_ = 1;
    wake_.wait_for(lock, longest, [this] { return !inbox_.empty() || stopping_; });
    if (!synced_ && !inbox_.empty() && !stopping_) {
      // Objects of the first lists come one by one, 100,000 and more, and nothing is decided before
      // the last: waking for each would cost more than to take it.
      wake_at_ = kAwake;
      wake_.wait_for(lock, kFirstListsPause, [this] { return stopping_; });
    } else if (paused_ && !inbox_.empty() && !stopping_) {
      const size_t enough = std::clamp<size_t>(options_.max_unbound / 16, 1, kMostAtOnce);
      wake_at_ = enough;
      wake_.wait_for(lock, std::min(longest, kPausedWait),
                     [&] { return inbox_.size() >= enough || stopping_; });
    }
  }
  wake_at_ = kAwake;
}

void Scheduler::publish_stats() {
  counters_.nodes = cluster_.node_count();
  counters_.pods = cluster_.pod_count();
  counters_.assumed_pods = cluster_.assumed_count();
  counters_.queue = queue_.sizes();
  counters_.classes = classes_.stats();
  counters_.waiting_on_permit = waiting_.size();
  counters_.binding = unbound();
  counters_.synced = synced_;
  counters_.blind = lost_kinds_.blind();
  counters_.waiting_for_kinds = lost_kinds_.waiting();
  const std::lock_guard lock(mutex_);
  published_ = counters_;
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  SchedulerStats stats = published_;
  stats.inbox = inbox_.size();
  return stats;
}

}  // namespace plimsoll
