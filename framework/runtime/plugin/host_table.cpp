// The functions that the host offers to plugins.

#include <array>

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/runtime/plugin/cycle_context.hpp"
#include "framework/runtime/plugin/plugin_errors.hpp"
#include "framework/runtime/plugin/plugin_instance.hpp"
#include "framework/runtime/plugin/what_if.hpp"

namespace plimsoll {

namespace {

template <typename T>
plimsoll_list list_of(const std::vector<T>& values) {
  return {values.data(), static_cast<uint32_t>(values.size()),
          sizeof(T)};  // NOLINT: of pointers too
}

// What a plugin passes, as HostBackend takes it.
std::string_view taken(plimsoll_str text) {
  return view(text);
}
template <typename Object>
const Object& taken(const Object* object) {
  return *object;
}
template <typename Number>
Number taken(Number number) {
  return number;
}

// Fills a slot with a call of HostBackend's function that has the same arguments, perhaps with the
// plugin's name in front.
template <auto kFunction, typename Result, typename... Args>
void pass_on(Result (*&slot)(plimsoll_host_ctx*, Args...)) {
  slot = [](plimsoll_host_ctx* ctx, Args... args) -> Result {
    HostBackend& backend = ctx->env->backend();
    if constexpr (std::is_invocable_v<decltype(kFunction), HostBackend&,
                                      decltype(taken(args))...>) {
      return (backend.*kFunction)(taken(args)...);
    } else {
      return (backend.*kFunction)(ctx->plugin, taken(args)...);
    }
  };
}

thread_local std::string plugin_error;
thread_local ArgsWarnings* args_warnings = nullptr;

// "args.PATH: text", or "args: text" of the args as a whole.
bool keeps_for_args(std::string_view message) {
  if (args_warnings == nullptr) return false;
  for (const std::string_view prefix : {"args.", "args: "}) {
    if (!message.starts_with(prefix)) continue;
    args_warnings->texts.emplace_back(message.substr(prefix.size()));
    return true;
  }
  return false;
}

void host_log(plimsoll_host_ctx* ctx, uint32_t level, plimsoll_str message) {
  switch (level) {
    case PLIMSOLL_LOG_DEBUG:
      return log_debug(view(message), {{"plugin", ctx->plugin}});
    case PLIMSOLL_LOG_WARN:
      if (keeps_for_args(view(message))) return;
      return log_warn(view(message), {{"plugin", ctx->plugin}});
    case PLIMSOLL_LOG_ERROR:
      if (PluginErrors::keep(ctx->plugin, view(message))) return;
      return log_error(view(message), {{"plugin", ctx->plugin}});
    default:
      return log_info(view(message), {{"plugin", ctx->plugin}});
  }
}

uint32_t host_reason(plimsoll_host_ctx* ctx, const plimsoll_str* texts, uint32_t count) {
  std::vector<std::string_view> views;
  views.reserve(count);
  for (uint32_t i = 0; i < count; ++i) views.push_back(view(texts[i]));
  return ctx->env->reasons.intern(views, &ctx->reasons);
}

int32_t host_watch(plimsoll_host_ctx* ctx, plimsoll_str group, plimsoll_str version,
                   plimsoll_str plural) {
  const WantedKind kind{std::string(view(group)), std::string(view(version)),
                        std::string(view(plural))};
  if (auto watched = ctx->env->backend().watch(kind); !watched) {
    log_error("a kind cannot be watched",
              {{"plugin", ctx->plugin}, {"error", watched.error().message}});
    return PLIMSOLL_ERROR;
  }
  ctx->watched.insert(kind.resource());
  return PLIMSOLL_SUCCESS;
}

int32_t host_publish(plimsoll_host_ctx* ctx, plimsoll_str name, uint32_t version,
                     const void* table) {
  return ctx->env->services.publish(view(name), version, table) ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR;
}

void host_emit_event(plimsoll_host_ctx* ctx, const plimsoll_pod* pod, uint32_t warning,
                     plimsoll_str reason, plimsoll_str action, plimsoll_str note) {
  ctx->env->backend().emit_event(ctx->scheduler_name, *pod, warning != 0, view(reason),
                                 view(action), view(note));
}

int32_t host_post_binding(plimsoll_host_ctx* ctx, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                          plimsoll_str node_name, plimsoll_token* token) {
  BindingPost post;
  post.ns = view(pod->meta.ns);
  post.name = view(pod->meta.name);
  post.uid = view(pod->meta.uid);
  post.node = view(node_name);
  post.annotations = cycle->annotations();
  post.resource_version =
      cycle->pod_version.empty() ? view(pod->meta.resource_version) : cycle->pod_version;
  TokenTable& tokens = ctx->env->tokens;
  ctx->env->backend().post_binding(std::move(post), [&tokens, token](const Result<void>& posted) {
    tokens.complete(token, posted ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR,
                    posted ? std::string_view() : std::string_view(posted.error().message));
  });
  return PLIMSOLL_WAIT;
}

// A function of a plugin that waits to run on the loop. If it is dropped, it is called as
// cancelled, so that the plugin can free what it owns.
class Deferred {
 public:
  Deferred(plimsoll_host_ctx* ctx, void (*fn)(void*, uint32_t), void* user)
      : plugin_(ctx->running()), fn_(fn), user_(user) {}
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  ~Deferred() {
    if (fn_ != nullptr) call(1);
  }
  void run() { call(0); }

 private:
  void call(uint32_t cancelled) {
    const RunningCall running(plugin_, "run_on_loop");
    std::exchange(fn_, nullptr)(user_, cancelled);
  }

  RunningCall::Plugin plugin_;
  void (*fn_)(void*, uint32_t);
  void* user_;
};

void host_run_on_loop(plimsoll_host_ctx* ctx, int64_t delay_ms, void (*fn)(void*, uint32_t),
                      void* user) {
  ctx->env->backend().run_on_loop(
      delay_ms, [deferred = std::make_shared<Deferred>(ctx, fn, user)] { deferred->run(); });
}

plimsoll_list host_waiting_pods(plimsoll_host_ctx* ctx) {
  // What the returned list points to, until the next call.
  struct Answer {
    std::vector<WaitingPod> pods;
    std::vector<std::vector<plimsoll_str>> plugins;
    std::vector<plimsoll_waiting_pod> rows;
  };
  thread_local Answer answer;
  answer = {};
  answer.pods = ctx->env->backend().waiting_pods();
  answer.plugins.reserve(answer.pods.size());
  for (const WaitingPod& waiting : answer.pods) {
    std::vector<plimsoll_str>& names = answer.plugins.emplace_back();
    for (const std::string& name : waiting.pending_plugins) names.push_back(str(name));
    answer.rows.push_back(
        {sizeof(plimsoll_waiting_pod), 0, waiting.pod, str(waiting.node), list_of(names)});
  }
  return list_of(answer.rows);
}

plimsoll_list host_reason_texts(plimsoll_host_ctx* ctx, uint32_t reason) {
  // A plugin may look at several at once, of which those with words of strangers go.
  constexpr size_t kAtOnce = 64;
  struct Texts {
    std::vector<std::string> kept;
    std::vector<plimsoll_str> views;
  };
  thread_local std::array<Texts, kAtOnce> latest;
  thread_local size_t next = 0;
  Texts& texts = latest.at(next++ % kAtOnce);
  const std::vector<std::string>* kept = ctx->env->reasons.lasting_texts(reason);
  if (kept == nullptr) {
    texts.kept = ctx->env->reasons.texts(reason);
    kept = &texts.kept;
  }
  texts.views.clear();
  for (const std::string& text : *kept) texts.views.push_back(str(text));
  return list_of(texts.views);
}

void host_api_request(plimsoll_host_ctx* ctx, const plimsoll_api_request* request,
                      void (*done)(void*, int32_t, plimsoll_str), void* user) {
  ctx->env->backend().api_request(
      {std::string(view(request->method)), std::string(view(request->path)),
       std::string(view(request->content_type)), std::string(view(request->body))},
      [plugin = ctx->running(), done, user](int status, std::string_view body) {
        const LooseCall running(plugin, "the answer to api_request");
        done(user, status, str(body));
      });
}

plimsoll_metric* host_metric(plimsoll_host_ctx* ctx, const plimsoll_metric_spec* spec) {
  const auto metric = ctx->env->plugin_metrics.add(*spec, ctx->builtin);
  if (metric) return *metric;
  // The SDK's exception replaces the error text, so the text is logged too.
  plugin_error = metric.error().message;
  log_error("a plugin's metric is refused", {{"plugin", ctx->plugin}, {"error", plugin_error}});
  return nullptr;
}

// Returns Success, or Error after it has set the plugin's error text.
int32_t tell(plimsoll_host_ctx* ctx, const Status& status) {
  if (status.is_error()) plugin_error = status.message(ctx->env->reasons);
  return static_cast<int32_t>(status.code);
}

int32_t host_what_if_filter(plimsoll_host_ctx* ctx, plimsoll_what_if* what_if, uint32_t* reason) {
  const Status status = what_if->filter();
  *reason = status.reason;
  return tell(ctx, status);
}

plimsoll_list host_nominated_pods(plimsoll_host_ctx* ctx, plimsoll_str node_name) {
  thread_local std::vector<const plimsoll_pod*> pods;
  pods = ctx->env->backend().nominated_pods(view(node_name));
  return list_of(pods);
}

plimsoll_list host_objects(plimsoll_host_ctx* ctx, plimsoll_str resource, plimsoll_str ns) {
  thread_local std::vector<const plimsoll_object*> objects;
  objects = ctx->env->objects.list(view(resource), view(ns));
  return list_of(objects);
}

// Functions that need no scheduler.
void add_own_functions(plimsoll_host& table) {
  using Ctx = plimsoll_host_ctx*;
  table.log = host_log;
  table.set_error = [](Ctx, plimsoll_str text) { plugin_error = view(text); };
  table.intern = [](Ctx c, plimsoll_str text) { return c->env->symbols.intern(view(text)); };
  table.resource_index = [](Ctx c, plimsoll_str name) {
    return c->env->symbols.resource_index(view(name));
  };
  table.reason = host_reason;
  table.reason_texts = host_reason_texts;
  table.set_state = [](Ctx, plimsoll_cycle* cycle, plimsoll_symbol key, void* value,
                       void* (*clone)(const void*),
                       void (*drop)(void*)) { cycle->set_state(key, value, clone, drop); };
  table.get_state = [](Ctx, const plimsoll_cycle* cycle, plimsoll_symbol key) {
    return cycle->get_state(key);
  };
  table.annotate = [](Ctx, plimsoll_cycle* cycle, plimsoll_str key, plimsoll_str value) {
    cycle->annotate(view(key), view(value));
  };
  table.publish = host_publish;
  table.find_service = [](Ctx c, plimsoll_str name, uint32_t min_version) {
    return c->env->services.find(view(name), min_version);
  };
  table.complete = [](Ctx c, plimsoll_token* token, int32_t code, plimsoll_str message) {
    c->env->tokens.complete(token, code, view(message));
  };
  table.object = [](Ctx c, plimsoll_str resource, plimsoll_str ns, plimsoll_str name) {
    return c->env->objects.find(view(resource), view(ns), view(name));
  };
  table.objects = host_objects;
  table.metric = host_metric;
  table.metric_observe = [](Ctx, plimsoll_metric* metric, const plimsoll_str* values,
                            uint32_t count, double value) {
    if (metric != nullptr) PluginMetrics::observe(*metric, {values, count}, value);
  };
}

void add_functions_of_the_scheduler(plimsoll_host& table) {
  pass_on<&HostBackend::now_ms>(table.now_ms);
  pass_on<&HostBackend::node_by_name>(table.node_by_name);
  pass_on<&HostBackend::node_by_slot>(table.node_by_slot);
  pass_on<&HostBackend::slot_count>(table.slot_count);
  pass_on<&HostBackend::touch_node>(table.touch_node);
  table.watch = host_watch;
  pass_on<&HostBackend::requeue_rejected>(table.requeue_rejected);
  table.emit_event = host_emit_event;
  pass_on<&HostBackend::pod_by_uid>(table.pod_by_uid);
  table.waiting_pods = host_waiting_pods;
  pass_on<&HostBackend::allow_waiting>(table.allow_waiting);
  pass_on<&HostBackend::reject_waiting>(table.reject_waiting);
  pass_on<&HostBackend::cancel_binding>(table.cancel_binding);
  pass_on<&HostBackend::binding_cancelled>(table.binding_cancelled);
  pass_on<&HostBackend::add_amounts>(table.add_amounts);
  pass_on<&HostBackend::activate>(table.activate);
  table.post_binding = host_post_binding;
  table.run_on_loop = host_run_on_loop;
  table.api_request = host_api_request;
  pass_on<&HostBackend::nominate>(table.nominate);
  table.nominated_pods = host_nominated_pods;
}

void add_what_if_functions(plimsoll_host& table) {
  using Ctx = plimsoll_host_ctx*;
  table.what_if_begin = [](Ctx c, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                           uint32_t slot) {
    return c->env->backend().what_if(*cycle, *pod, slot).release();
  };
  table.what_if_add_pod = [](Ctx c, WhatIf* what_if, const plimsoll_pod* pod) {
    return tell(c, what_if->add_pod(*pod));
  };
  table.what_if_remove_pod = [](Ctx c, WhatIf* what_if, const plimsoll_pod* pod) {
    return tell(c, what_if->remove_pod(*pod));
  };
  table.what_if_filter = host_what_if_filter;
  table.what_if_node = [](Ctx, const WhatIf* what_if) { return &what_if->node(); };
  table.what_if_end = [](Ctx, WhatIf* what_if) { delete what_if; };
}

}  // namespace

std::string take_plugin_error() {
  return std::exchange(plugin_error, {});
}
ArgsWarnings::ArgsWarnings() {
  args_warnings = this;
}
ArgsWarnings::~ArgsWarnings() {
  args_warnings = nullptr;
}
void forget_plugin_error() {
  plugin_error.clear();
}

plimsoll_host make_host_table(plimsoll_host_ctx* ctx) {
  plimsoll_host table{};
  table.size = sizeof table;
  table.abi_major = PLIMSOLL_ABI_MAJOR;
  table.abi_minor = PLIMSOLL_ABI_MINOR;
  table.ctx = ctx;
  add_own_functions(table);
  add_functions_of_the_scheduler(table);
  add_what_if_functions(table);
  return table;
}

}  // namespace plimsoll
