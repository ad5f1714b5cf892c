// The functions that the host offers to plugins.

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/runtime/cycle_context.hpp"
#include "framework/runtime/plugin_instance.hpp"

namespace plimsoll {

namespace {

template <typename T>
plimsoll_list list_of(const std::vector<T>& values) {
  return {values.data(), static_cast<uint32_t>(values.size()), sizeof(T)};
}

thread_local std::string plugin_error;
thread_local ArgsWarnings* args_warnings = nullptr;

bool keeps_for_args(std::string_view message) {
  constexpr std::string_view kArgs = "args.";
  if (args_warnings == nullptr || message.rfind(kArgs, 0) != 0) return false;
  args_warnings->texts.emplace_back(message.substr(kArgs.size()));
  return true;
}

void host_log(plimsoll_host_ctx* ctx, uint32_t level, plimsoll_str message) {
  switch (level) {
    case PLIMSOLL_LOG_DEBUG:
      return log_debug(view(message), {{"plugin", ctx->plugin}});
    case PLIMSOLL_LOG_WARN:
      if (keeps_for_args(view(message))) return;
      return log_warn(view(message), {{"plugin", ctx->plugin}});
    case PLIMSOLL_LOG_ERROR:
      return log_error(view(message), {{"plugin", ctx->plugin}});
    default:
      return log_info(view(message), {{"plugin", ctx->plugin}});
  }
}

uint32_t host_reason(plimsoll_host_ctx* ctx, const plimsoll_str* texts, uint32_t count) {
  std::vector<std::string_view> views;
  views.reserve(count);
  for (uint32_t i = 0; i < count; ++i) views.push_back(view(texts[i]));
  return ctx->env->reasons.intern(views);
}

int32_t host_watch(plimsoll_host_ctx* ctx, plimsoll_str group, plimsoll_str version,
                   plimsoll_str plural) {
  if (auto watched = ctx->env->backend().watch(view(group), view(version), view(plural));
      !watched) {
    log_error("a kind cannot be watched",
              {{"plugin", ctx->plugin}, {"error", watched.error().message}});
    return PLIMSOLL_ERROR;
  }
  std::string resource(view(plural));
  if (group.len != 0) {
    resource.append(".").append(view(version)).append(".").append(view(group));
  }
  ctx->watched.insert(std::move(resource));
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

void add_state_functions(plimsoll_host& table) {
  table.set_state = [](plimsoll_host_ctx*, plimsoll_cycle* cycle, plimsoll_symbol key, void* value,
                       void* (*clone)(const void*),
                       void (*drop)(void*)) { cycle->set_state(key, value, clone, drop); };
  table.get_state = [](plimsoll_host_ctx*, const plimsoll_cycle* cycle, plimsoll_symbol key) {
    return cycle->get_state(key);
  };
  table.annotate = [](plimsoll_host_ctx*, plimsoll_cycle* cycle, plimsoll_str key,
                      plimsoll_str value) { cycle->annotate(view(key), view(value)); };
}

void add_loop_functions(plimsoll_host& table) {
  table.node_by_name = [](plimsoll_host_ctx* ctx, plimsoll_str name) {
    return ctx->env->backend().node_by_name(view(name));
  };
  table.node_by_slot = [](plimsoll_host_ctx* ctx, uint32_t slot) {
    return ctx->env->backend().node_by_slot(slot);
  };
  table.slot_count = [](plimsoll_host_ctx* ctx) { return ctx->env->backend().slot_count(); };
  table.touch_node = [](plimsoll_host_ctx* ctx, uint32_t slot, uint32_t aspects) {
    ctx->env->backend().touch_node(slot, aspects);
  };
  table.watch = host_watch;
  table.publish = host_publish;
  table.find_service = [](plimsoll_host_ctx* ctx, plimsoll_str name, uint32_t min_version) {
    return ctx->env->services.find(view(name), min_version);
  };
  table.requeue_rejected = [](plimsoll_host_ctx* ctx) {
    ctx->env->backend().requeue_rejected(ctx->plugin);
  };
  table.emit_event = host_emit_event;
}

// A function of a plugin that waits to run on the loop. If it is dropped, it is called as
// cancelled, so that the plugin can free what it owns.
class Deferred {
 public:
  Deferred(void (*fn)(void*, uint32_t), void* user) : fn_(fn), user_(user) {}
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;
  ~Deferred() {
    if (fn_ != nullptr) fn_(user_, 1);
  }
  void run() { std::exchange(fn_, nullptr)(user_, 0); }

 private:
  void (*fn_)(void*, uint32_t);
  void* user_;
};

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
  thread_local std::vector<plimsoll_str> texts;
  texts.clear();
  for (const std::string& text : ctx->env->reasons.texts(reason)) texts.push_back(str(text));
  return list_of(texts);
}

void host_api_request(plimsoll_host_ctx* ctx, const plimsoll_api_request* request,
                      void (*done)(void*, int32_t, plimsoll_str), void* user) {
  ctx->env->backend().api_request(
      {std::string(view(request->method)), std::string(view(request->path)),
       std::string(view(request->content_type)), std::string(view(request->body))},
      [done, user](int status, std::string_view body) { done(user, status, str(body)); });
}

plimsoll_metric* host_metric(plimsoll_host_ctx* ctx, const plimsoll_metric_spec* spec) {
  const auto metric = ctx->env->plugin_metrics.add(*spec, ctx->builtin);
  if (metric) return *metric;
  // The SDK's exception replaces the error text, so the text is logged too.
  plugin_error = metric.error().message;
  log_error("a plugin's metric is refused", {{"plugin", ctx->plugin}, {"error", plugin_error}});
  return nullptr;
}

void add_functions_of_1_1(plimsoll_host& table) {
  table.pod_by_uid = [](plimsoll_host_ctx* c, plimsoll_str uid) {
    return c->env->backend().pod_by_uid(view(uid));
  };
  table.waiting_pods = host_waiting_pods;
  table.cancel_binding = [](plimsoll_host_ctx* c, plimsoll_str pod_uid, plimsoll_str message) {
    return c->env->backend().cancel_binding(view(pod_uid), view(message)) ? 1U : 0U;
  };
  table.activate = [](plimsoll_host_ctx* c, plimsoll_str pod_uid) {
    c->env->backend().activate(view(pod_uid));
  };
  table.run_on_loop = [](plimsoll_host_ctx* c, int64_t delay_ms, void (*fn)(void*, uint32_t),
                         void* user) {
    c->env->backend().run_on_loop(
        delay_ms, [deferred = std::make_shared<Deferred>(fn, user)] { deferred->run(); });
  };
  table.api_request = host_api_request;
  table.reason_texts = host_reason_texts;
  table.metric = host_metric;
  table.metric_observe = [](plimsoll_host_ctx*, plimsoll_metric* metric, const plimsoll_str* values,
                            uint32_t count, double value) {
    if (metric != nullptr) PluginMetrics::observe(*metric, {values, count}, value);
  };
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
void set_plugin_error(std::string text) {
  plugin_error = std::move(text);
}

plimsoll_host make_host_table(plimsoll_host_ctx* ctx) {
  plimsoll_host table{};
  table.size = sizeof table;
  table.abi_major = PLIMSOLL_ABI_MAJOR;
  table.abi_minor = PLIMSOLL_ABI_MINOR;
  table.ctx = ctx;
  table.log = host_log;
  table.set_error = [](plimsoll_host_ctx*, plimsoll_str text) { plugin_error = view(text); };
  table.intern = [](plimsoll_host_ctx* c, plimsoll_str text) {
    return c->env->symbols.intern(view(text));
  };
  table.resource_index = [](plimsoll_host_ctx* c, plimsoll_str name) {
    return c->env->symbols.resource_index(view(name));
  };
  table.reason = host_reason;
  table.now_ms = [](plimsoll_host_ctx* c) { return c->env->backend().now_ms(); };
  add_state_functions(table);
  add_loop_functions(table);
  table.allow_waiting = [](plimsoll_host_ctx* c, plimsoll_str pod_uid) {
    c->env->backend().allow_waiting(c->plugin, view(pod_uid));
  };
  table.reject_waiting = [](plimsoll_host_ctx* c, plimsoll_str pod_uid, plimsoll_str message) {
    c->env->backend().reject_waiting(c->plugin, view(pod_uid), view(message));
  };
  table.complete = [](plimsoll_host_ctx* c, plimsoll_token* token, int32_t code,
                      plimsoll_str message) {
    c->env->tokens.complete(token, code, view(message));
  };
  table.post_binding = host_post_binding;
  add_functions_of_1_1(table);
  add_what_if_functions(table);
  return table;
}

}  // namespace plimsoll
