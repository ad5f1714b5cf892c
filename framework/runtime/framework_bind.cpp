// PreBind, Bind and PostBind: steps that may end on another thread.

#include <algorithm>
#include <mutex>

#include "framework/base/log.hpp"
#include "framework/metrics/scheduler_metrics.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin_call.hpp"

namespace plimsoll {

namespace {

using BindSlot = int32_t (*)(void*, plimsoll_cycle*, const plimsoll_pod*, plimsoll_str,
                             plimsoll_token*);
using StepEnd = std::function<void(int32_t code, std::string text)>;

// Calls a plugin's pre_bind or bind. `end` hears of it once: at once, or when the token is
// completed.
void run_step(Environment& env, const PluginInstance& plugin, const char* name, BindSlot slot,
              const BindTarget& target, StepEnd end) {
  plimsoll_token* token = env.tokens.issue(
      plugin.name(),
      [end](int32_t code, std::string_view message) { end(code, std::string(message)); });
  forget_plugin_error();
  const int32_t code = call_slot<LooseCall>(plugin, name, slot, target.cycle.get(),
                                            target.pod.get(), str(target.node_name), token);
  if (code == PLIMSOLL_WAIT) return;
  std::string text = take_plugin_error();
  if (env.tokens.withdraw(token)) {
    end(code, std::move(text));
    return;
  }
  log_warn("a plugin completed its token and returned a code besides; the code is ignored",
           {{"plugin", plugin.name()}, {"code", code_name(code)}});
}

}  // namespace

// The progress of one pod's PreBind or Bind plugins.
struct Framework::BindRun {
  BindRun(BindTarget t, Post p, Done d)
      : target(std::move(t)), post(std::move(p)), done(std::move(d)) {}

  [[nodiscard]] bool has_failed() {
    if (target.gate && target.gate->cancelled()) return true;
    std::lock_guard lock(mutex);
    return !failed.ok();
  }

  BindTarget target;
  Post post;
  Done done;
  size_t position = 0;  // next slot; touched by one step at a time
  std::mutex mutex;     // guards the two below
  size_t outstanding = 0;
  Status failed;
};

Status Framework::run_pre_bind_pre_flight(CycleContext& cycle, const plimsoll_pod& pod,
                                          std::string_view node_name) {
  cycle.skip_pre_bind.reset();
  cycle.parallel_pre_bind.reset();
  Status outcome;
  outcome.code = Code::kSkip;
  for (const Slot& slot : at(ExtensionPoint::kPreBind)) {
    PluginInstance& run = plugin(slot);
    if (run.slots().pre_bind_pre_flight == nullptr) {  // it does not say, so it has work to do
      outcome.code = Code::kSuccess;
      continue;
    }
    uint32_t parallel = 0;
    const int32_t code = call_plugin(
        {metrics_.get(), cycle.time_plugins, slot.plugin, metrics::Point::kPreBindPreFlight}, run,
        run.slots().pre_bind_pre_flight, &cycle, &pod, str(node_name), &parallel);
    if (parallel != 0) cycle.parallel_pre_bind.set(slot.plugin);
    if (code == PLIMSOLL_SUCCESS) {
      outcome.code = Code::kSuccess;
    } else if (code == PLIMSOLL_SKIP) {
      cycle.skip_pre_bind.set(slot.plugin);
    } else if (code == PLIMSOLL_ERROR) {
      return failure(slot.plugin, code, "running PreBindPreFlight " + in_quotes(run.name()));
    } else {
      return named(error_status("PreBindPreFlight " + run.name() + " returned " +
                                in_quotes(code_name(code)) +
                                ", which is unsupported. It is supposed to return Success, Skip, "
                                "or Error status"),
                   slot.plugin);
    }
  }
  return outcome;
}

void Framework::run_pre_binds(BindTarget target, Post post, Done done) {
  target.cycle->begin_binding();
  const auto has_work = [&](const Slot& slot) {
    return !target.cycle->skip_pre_bind.test(slot.plugin);
  };
  const auto slots = at(ExtensionPoint::kPreBind);
  if (std::none_of(slots.begin(), slots.end(), has_work)) return done(passed(target));
  next_pre_bind(std::make_shared<BindRun>(std::move(target), std::move(post), std::move(done)));
}

// The end of all PreBind plugins.
Status Framework::passed(const BindTarget& target) {
  const bool go_on = !target.gate || target.gate->pass();
  return go_on ? Status() : error_status(target.gate->message());
}

// Starts the next group: one plugin, or neighbours that may run in parallel. A plugin that may not
// ends a group even if it has nothing to do.
void Framework::next_pre_bind(std::shared_ptr<BindRun> run) {
  const auto slots = at(ExtensionPoint::kPreBind);
  const CycleContext& cycle = *run->target.cycle;
  std::vector<Slot> group;
  while (run->position < slots.size()) {
    const Slot slot = slots[run->position];
    const bool parallel = cycle.parallel_pre_bind.test(slot.plugin);
    if (!parallel && !group.empty()) break;
    ++run->position;
    if (!cycle.skip_pre_bind.test(slot.plugin)) group.push_back(slot);
    if (!parallel && !group.empty()) break;
  }
  if (group.empty()) return run->done(passed(run->target));
  run->outstanding = group.size();
  for (const Slot& slot : group) {
    run->post([this, run, slot] {
      if (run->has_failed()) return pre_bind_ended(run, slot.plugin, PLIMSOLL_SUCCESS, {});
      const PluginInstance& step = plugin(slot);
      const metrics::PluginTimer timer(metrics_.get(), run->target.cycle->time_plugins, slot.plugin,
                                       metrics::Point::kPreBind);
      run_step(env_, step, "PreBind", step.slots().pre_bind, run->target,
               [this, run, slot, timer](int32_t code, std::string text) {
                 timer.end(code);
                 pre_bind_ended(run, slot.plugin, code, std::move(text));
               });
    });
  }
}

void Framework::pre_bind_ended(const std::shared_ptr<BindRun>& run, PluginIndex index, int32_t code,
                               std::string text) {
  Status status = bind_status(index, code, std::move(text), "PreBind");
  {
    std::lock_guard lock(run->mutex);
    if (!status.ok() && run->failed.ok()) run->failed = std::move(status);
    if (--run->outstanding != 0) return;
  }
  if (!run->failed.ok()) return run->done(std::move(run->failed));
  if (run->has_failed()) return run->done(error_status(run->target.gate->message()));
  next_pre_bind(run);
}

void Framework::run_binds(BindTarget target, Post post, Done done) {
  target.cycle->begin_binding();
  next_bind(std::make_shared<BindRun>(std::move(target), std::move(post), std::move(done)));
}

void Framework::next_bind(std::shared_ptr<BindRun> run) {
  const auto slots = at(ExtensionPoint::kBind);
  if (run->position == slots.size()) {
    Status skipped;
    skipped.code = Code::kSkip;
    return run->done(std::move(skipped));
  }
  const Slot slot = slots[run->position++];
  run->post([this, run, slot] {
    const PluginInstance& step = plugin(slot);
    const metrics::PluginTimer timer(metrics_.get(), run->target.cycle->time_plugins, slot.plugin,
                                     metrics::Point::kBind);
    run_step(env_, step, "Bind", step.slots().bind, run->target,
             [this, run, slot, timer](int32_t code, std::string text) {
               timer.end(code);
               if (code == PLIMSOLL_SKIP) return next_bind(run);
               run->done(bind_status(slot.plugin, code, std::move(text), "Bind"));
             });
  });
}

Status Framework::bind_status(PluginIndex index, int32_t code, std::string text,
                              std::string_view point) const {
  if (code == PLIMSOLL_SUCCESS) return {};
  if (code > 0 && code <= PLIMSOLL_PENDING && is_rejected(static_cast<Code>(code))) {
    Status status;
    status.code = static_cast<Code>(code);
    status.error = text.empty() ? "rejected by plugin " + plugins_[index]->name() : std::move(text);
    return named(std::move(status), index);
  }
  if (code != PLIMSOLL_ERROR) {
    text = "it returned " + code_name(code) + ", which it must not return here";
  } else if (text.empty()) {
    text = "it failed without saying why";
  }
  return named(error_status("running " + std::string(point) + " plugin " +
                            in_quotes(plugins_[index]->name()) + ": " + text),
               index);
}

void Framework::run_post_bind(const BindTarget& target) {
  for (const Slot& slot : at(ExtensionPoint::kPostBind)) {
    PluginInstance& run = plugin(slot);
    const metrics::PluginTimer timer(metrics_.get(), target.cycle->time_plugins, slot.plugin,
                                     metrics::Point::kPostBind);
    call_slot<LooseCall>(run, "PostBind", run.slots().post_bind, target.cycle.get(),
                         target.pod.get(), str(target.node_name));
    timer.end(PLIMSOLL_SUCCESS);
  }
}

}  // namespace plimsoll
