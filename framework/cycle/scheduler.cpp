#include "framework/cycle/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/extender_waits.hpp"
#include "framework/cycle/group_cycle.hpp"
#include "framework/cycle/host.hpp"
#include "framework/cycle/intake.hpp"
#include "framework/metrics/scheduler_metrics.hpp"

namespace plimsoll {
namespace {

constexpr size_t kPodsPerTurn = 64;       // then the inbox is looked at again
constexpr int64_t kLongestWaitMs = 1000;  // without a timer that is due sooner
// So long the loop lets messages gather before the first lists are complete.
constexpr std::chrono::milliseconds kFirstListsPause{2};
// A pod that was placed waits no longer than this, and one more decision, for its binder.
constexpr std::chrono::microseconds kHandOverEvery{200};
// While there is no room for a further pod, nothing that is posted is urgent. The loop waits until
// this many messages are there, or for this long.
constexpr size_t kMostAtOnce = 64;
constexpr std::chrono::milliseconds kPausedWait{10};

}  // namespace

void Scheduler::show_gauges() const {
  const SchedulerStats now = stats();
  const auto pending = [this](std::string_view queue, size_t pods) {
    state_.metrics->pending_pods.with({queue}).set(static_cast<double>(pods));
    state_.metrics->queued_entities.with({queue, metrics::kEntity}).set(static_cast<double>(pods));
  };
  pending("active", now.queue.active);
  pending("backoff", now.queue.backoff);
  pending("unschedulable", now.queue.unschedulable);
  pending("gated", now.queue.gated);
  const auto cached = [this](std::string_view type, size_t count) {
    state_.metrics->cache_size.with({type}).set(static_cast<double>(count));
  };
  cached("nodes", now.nodes);
  cached("pods", now.pods);
  cached("assumed_pods", now.assumed_pods);
  state_.metrics->inflight_events.with({"PodPopped"}).set(static_cast<double>(now.queue.in_flight));
  state_.metrics->goroutines.with({"binding"}).set(static_cast<double>(now.binding));
  state_.metrics->waiting_pods.set(static_cast<double>(now.waiting_on_permit));
  state_.metrics->pods_waiting_for_kinds.set(static_cast<double>(now.waiting_for_kinds));
  state_.metrics->inbox_depth.set(static_cast<double>(now.inbox));
  state_.metrics->unbound_pods.set(static_cast<double>(now.binding));
  state_.metrics->unbound_limit.set(static_cast<double>(state_.options.max_unbound));
  state_.metrics->pauses.raise_to(static_cast<double>(now.pauses));
  state_.metrics->bind_errors.raise_to(static_cast<double>(now.bind_errors));
  state_.metrics->synced.set(now.synced ? 1 : 0);
  state_.metrics->class_decisions.with({"hit"}).raise_to(static_cast<double>(now.classes.hits));
  state_.metrics->class_decisions.with({"miss"}).raise_to(static_cast<double>(now.classes.misses));
  state_.metrics->class_checks.raise_to(static_cast<double>(now.classes.checked));
  state_.metrics->class_differences.raise_to(static_cast<double>(now.classes.different));
  state_.metrics->class_drops.raise_to(static_cast<double>(now.classes.dropped));
  state_.metrics->class_tables.set(static_cast<double>(now.classes.tables));
  state_.metrics->class_table_bytes.set(static_cast<double>(now.classes.bytes));
}

// In an order in which each part outlives those that use it.
struct Scheduler::Parts {
  Parts(SchedulerOptions options, SymbolTable& symbols, ApiWriter& writer, Inbox& inbox,
        std::unique_ptr<PreparedPlugins> prepared)
      : state(std::move(options), symbols, writer, inbox, std::move(prepared)) {}

  LoopState state;
  Bindings bindings{state};
  Host host{state, bindings};
  Intake intake{state, bindings};
  std::unique_ptr<ExtenderWaits> extenders;  // null: there are none
};

Scheduler::Scheduler(SchedulerOptions options, SymbolTable& symbols, ApiWriter& writer,
                     std::unique_ptr<PreparedPlugins> prepared)
    : parts_(
          std::make_unique<Parts>(std::move(options), symbols, writer, *this, std::move(prepared))),
      state_(parts_->state),
      bindings_(parts_->bindings),
      intake_(parts_->intake) {
  if (!state_.options.extenders.empty()) {
    parts_->extenders = std::make_unique<ExtenderWaits>(
        state_, [this](std::unique_ptr<Attempt> attempt) { consider(std::move(attempt)); },
        [this](Attempt& attempt, const Status& status) {
          fail_attempt(attempt, status, {}, Nominating::keep());
        });
  }
  extenders_ = parts_->extenders.get();
  if (state_.metrics) gauges_ = state_.options.metrics->on_collect([this] { show_gauges(); });
}

// The plugins go first: until then all that they may call is there.
Scheduler::~Scheduler() {
  stop();
  gauges_ = {};
  group_ = nullptr;
  if (extenders_ != nullptr) extenders_->clear();
  bindings_.stop_binders();
  state_.prepared->env().tokens.close();
  bindings_.clear();
  state_.timers.clear();
  state_.frameworks.clear();
}

const std::vector<WantedKind>& Scheduler::wanted_kinds() const {
  return state_.wanted_kinds;
}

void Scheduler::on_kind_wanted(std::function<void(const WantedKind&)> callback) {
  state_.kind_wanted = std::move(callback);
}

Result<std::unique_ptr<Scheduler>> Scheduler::create(SchedulerOptions options,
                                                     const Modules& modules, SymbolTable& symbols,
                                                     ApiWriter& writer,
                                                     std::unique_ptr<PreparedPlugins> prepared) {
  std::unique_ptr<Scheduler> scheduler(
      new Scheduler(std::move(options), symbols, writer, std::move(prepared)));
  scheduler->state_.prepared->pass_on(scheduler->parts_->host);
  if (auto made = scheduler->make_profiles(modules); !made) return fail(made.error());
  return scheduler;
}

Result<void> Scheduler::make_profiles(const Modules& modules) {
  std::string errors;
  const auto note = [&errors](const std::string& text) {
    errors += errors.empty() ? text : "\n" + text;
  };
  if (state_.options.profiles.empty()) note("at least one profile is required");
  for (const ProfileSpec& spec : state_.options.profiles) {
    auto made = Framework::create(spec, modules, state_.environment, state_.prepared.get());
    if (!made) {
      for (const Error& error : made.error()) note(error.message);
      continue;
    }
    if (!state_.policy.add(**made, !state_.options.extenders.empty(), spec.args)) {
      note("duplicate profile with scheduler name \"" + spec.scheduler_name + "\"");
    }
    state_.frameworks.push_back(std::move(*made));
  }
  if (!errors.empty()) return fail(ErrorCode::kInvalid, errors);
  state_.cluster.know_groups(state_.policy.group_kinds());
  for (const auto& framework : state_.frameworks) {
    if (auto started = framework->start(); !started) note(started.error().message);
  }
  state_.started = true;
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
  post(Task{[this] { state_.standby = false; }});
}

void Scheduler::step() {
  post(Task{[this] { step_ = true; }});
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  state_.environment.ask_to_stop();
  wake_.notify_one();
}

void Scheduler::run() {
  state_.loop_thread = std::this_thread::get_id();
  while (!stop_asked()) {
    if (!turn(true)) wait_for_work();
  }
  if (group_ != nullptr) group_->finish_binding();
  end_group();
  bindings_.drop_waiting();
  // Binds that left the loop are heard to the end, so that nothing is reported as failed that
  // succeeded.
  // By the machine's clock: a simulated one may stand still by now.
  const auto deadline = std::chrono::steady_clock::now() + state_.options.stop_grace;
  while (bindings_.any_under_way() && std::chrono::steady_clock::now() < deadline) {
    if (!turn(false)) wait_for_work();
  }
  bindings_.stop_binders();
  turn(false);
  state_.step_began.store(0, std::memory_order_relaxed);
  // What goes with them may be a plugin's code, which may post once more: not under the lock.
  std::vector<Message> unheard;
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  unheard.swap(inbox_);
}

std::chrono::nanoseconds Scheduler::busy_for() const {
  const std::chrono::nanoseconds began(state_.step_began.load(std::memory_order_relaxed));
  if (began.count() == 0) return {};
  return std::max(std::chrono::steady_clock::now().time_since_epoch() - began,
                  std::chrono::nanoseconds(0));
}

bool Scheduler::turn(bool may_schedule) {
  state_.begin_step();
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(inbox_);
  }
  for (Message& message : messages) hear(message);
  state_.begin_step();
  intake_.place_resources();  // a plugin may have named one since
  bindings_.hand_over();
  const int64_t now = state_.now_ms();
  if (now >= next_flush_ms_) {
    next_flush_ms_ = state_.queue.flush(now);
    state_.group_conditions->repeat(state_.environment.objects, now);
  }
  if (!state_.watch_waits_since) run_timers();
  intake_.give_back_room();
  size_t scheduled = 0;
  if (group_ != nullptr && may_schedule) {
    scheduled = group_->size();
    go_on_with_group();
  }
  if (group_ == nullptr && state_.synced && !state_.standby && may_schedule &&
      !state_.lost_kinds.blind()) {
    auto handed_over = std::chrono::steady_clock::now();
    const size_t most = state_.options.stepwise ? (step_ ? 1 : 0) : kPodsPerTurn;
    while (scheduled < most && !stop_asked() && has_room()) {
      const size_t decided = schedule_one();
      if (decided == 0) break;
      state_.begin_step();
      scheduled += decided;
      if (group_ != nullptr) break;
      if (!bindings_.has_jobs()) continue;
      const auto time = std::chrono::steady_clock::now();
      if (time - handed_over < kHandOverEvery) continue;
      bindings_.hand_over();
      handed_over = time;
    }
  }
  step_ = false;
  bindings_.hand_over();
  publish_stats();
  return !messages.empty() || scheduled != 0;
}

// On the way out only what tells how a binding ended counts.
void Scheduler::hear(Message& message) {
  if (!stop_asked() || std::holds_alternative<Task>(message)) intake_.handle(message);
}

bool Scheduler::stop_asked() const {
  return state_.environment.stop_asked();
}

// Whether a further pod may be decided on: else the bindings under way have to end first, each of
// which wakes the loop.
bool Scheduler::has_room() {
  if (bindings_.unbound() < state_.options.max_unbound) {
    paused_ = false;
    return true;
  }
  if (!paused_ && state_.queue.sizes().active > 0) {
    paused_ = true;
    ++state_.counters.pauses;
  }
  return false;
}

void Scheduler::run_timers() {
  const int64_t now = state_.now_ms();
  while (!state_.timers.empty() && state_.timers.begin()->first <= now) {
    state_.begin_step();
    state_.timers.extract(state_.timers.begin()).mapped()();  // it may set further timers
  }
}

int64_t Scheduler::next_due_ms() const {
  if (state_.timers.empty()) return next_flush_ms_;
  return std::min(next_flush_ms_, state_.timers.begin()->first);
}

void Scheduler::wait_for_work() {
  state_.step_began.store(0, std::memory_order_relaxed);
  const auto longest = std::chrono::milliseconds(
      std::clamp<int64_t>(next_due_ms() - state_.now_ms(), 1, kLongestWaitMs));
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
    if (!state_.synced && !inbox_.empty() && !stopping_) {
      // Objects of the first lists come one by one, 100,000 and more, and nothing is decided before
      // the last: waking for each would cost more than to take it.
      wake_at_ = kAwake;
      wake_.wait_for(lock, kFirstListsPause, [this] { return stopping_; });
    } else if (paused_ && !inbox_.empty() && !stopping_) {
      const size_t enough = std::clamp<size_t>(state_.options.max_unbound / 16, 1, kMostAtOnce);
      wake_at_ = enough;
      wake_.wait_for(lock, std::min(longest, kPausedWait),
                     [&] { return inbox_.size() >= enough || stopping_; });
    }
  }
  wake_at_ = kAwake;
}

void Scheduler::publish_stats() {
  state_.counters.nodes = state_.cluster.node_count();
  state_.counters.pods = state_.cluster.pod_count();
  state_.counters.assumed_pods = state_.cluster.assumed_count();
  state_.counters.queue = state_.queue.sizes();
  state_.counters.deciding_on_group = group_ != nullptr;
  if (group_ != nullptr) state_.counters.queue.active += group_->undecided();
  state_.counters.classes = state_.placer.class_stats();
  state_.counters.waiting_on_permit = bindings_.waiting();
  state_.counters.binding = bindings_.unbound();
  if (extenders_ != nullptr) state_.counters.waiting_for_extenders = extenders_->waiting();
  state_.counters.synced = state_.synced;
  state_.counters.blind = state_.lost_kinds.blind();
  state_.counters.waiting_for_kinds = state_.lost_kinds.waiting();
  state_.counters.next_due_ms = next_due_ms();
  state_.counters.inbox = state_.deferred.size();
  const std::lock_guard lock(mutex_);
  published_ = state_.counters;
}

SchedulerStats Scheduler::stats() const {
  const std::lock_guard lock(mutex_);
  SchedulerStats stats = published_;
  stats.inbox += inbox_.size();
  return stats;
}

}  // namespace plimsoll
