// Plimsoll plugin SDK: statuses, and the functions of the scheduler that a plugin may call.
//
//   return host.unschedulable("node(s) had no free seat");
//   host.state<Demand>(cycle)->seats
#pragma once

#include <plimsoll/plugin_abi.h>
#include <plimsoll/metrics.hpp>
#include <plimsoll/views.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

// The result of a call: a code of the Kubernetes scheduling framework and, for a rejection, the id
// of a list of reasons (Host::reason).
struct [[nodiscard]] Status {
  int32_t code = PLIMSOLL_SUCCESS;
  uint32_t reason = 0;

  [[nodiscard]] constexpr bool ok() const { return code == PLIMSOLL_SUCCESS; }

  static constexpr Status success() { return {}; }
  static constexpr Status skip() { return {PLIMSOLL_SKIP, 0}; }
  static constexpr Status wait() { return {PLIMSOLL_WAIT, 0}; }
  // Rejections whose reason id was created before: cheap enough for every node.
  static constexpr Status unschedulable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE, reason};
  }
  static constexpr Status unresolvable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, reason};
  }
  static constexpr Status pending(uint32_t reason) { return {PLIMSOLL_PENDING, reason}; }

  friend constexpr bool operator==(const Status&, const Status&) = default;
};

// Lets pre_bind or bind finish later: return Status::wait(), then call Host::complete exactly once,
// from any thread.
struct Token {
  plimsoll_token* raw = nullptr;
};

namespace detail {

template <typename T>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

// Pass any callable across the ABI as a function and a pointer. The other side calls the function
// exactly once, and that call frees the callable.
template <typename Call>
void* boxed(Call&& call) {
  return new std::decay_t<Call>(std::forward<Call>(call));
}
template <typename Call>
std::unique_ptr<Call> unboxed(void* user) {
  return std::unique_ptr<Call>(static_cast<Call*>(user));
}

// Identifies a type by its address.
template <typename T>
inline constexpr char kTypeTag = 0;

// The state keys that this plugin has used. Calls on several threads find them without a lock.
class StateKeys {
 public:
  template <typename Make>
  plimsoll_symbol get(const void* tag, const Make& make) {
    for (Entry& entry : entries_) {
      const void* seen = entry.tag.load(std::memory_order_acquire);
      if (seen == tag) return entry.symbol;
      if (seen == nullptr) break;
    }
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      const void* seen = entry.tag.load(std::memory_order_relaxed);
      if (seen == tag) return entry.symbol;
      if (seen != nullptr) continue;
      entry.symbol = make();
      entry.tag.store(tag, std::memory_order_release);
      return entry.symbol;
    }
    return make();
  }

 private:
  struct Entry {
    std::atomic<const void*> tag{nullptr};
    plimsoll_symbol symbol = 0;
  };
  std::array<Entry, 16> entries_;
  std::mutex mutex_;
};

}  // namespace detail

// A simulated copy of one node, for the pod of one attempt (Host::what_if). Loop only. It must not
// outlive the plugin call that made it. Added pods must outlive it.
class WhatIf {
 public:
  WhatIf(const plimsoll_host* table, plimsoll_what_if* raw) : raw_(raw, End{table}) {}

  // False if there is no such node.
  explicit operator bool() const { return raw_ != nullptr; }

  // Adds the pod to the copy, or removes it. Return an error unchanged: the host already has its
  // text.
  Status add_pod(Pod pod) const { return {table().what_if_add_pod(ctx(), raw_.get(), &*pod), 0}; }
  Status remove_pod(Pod pod) const {
    return {table().what_if_remove_pod(ctx(), raw_.get(), &*pod), 0};
  }
  // The verdict of all filters on the copy in its present state. The filters run with the nominated
  // pods that this pod yields to, and without them; both runs must pass.
  Status filter() const {
    uint32_t reason = 0;
    const int32_t code = table().what_if_filter(ctx(), raw_.get(), &reason);
    return {code, reason};
  }
  [[nodiscard]] Node node() const { return Node(table().what_if_node(ctx(), raw_.get())); }

 private:
  struct End {
    const plimsoll_host* table;
    void operator()(plimsoll_what_if* raw) const { table->what_if_end(table->ctx, raw); }
  };
  [[nodiscard]] const plimsoll_host& table() const { return *raw_.get_deleter().table; }
  [[nodiscard]] plimsoll_host_ctx* ctx() const { return table().ctx; }

  std::unique_ptr<plimsoll_what_if, End> raw_;
};

// A small handle for the scheduler: copy it and keep it. <plimsoll/plugin_abi.h> says which thread
// may call what; unless noted, any thread may.
class Host {
 public:
  Host(const plimsoll_host* table, std::string_view scope)
      : table_(table), shared_(std::make_shared<Shared>()) {
    shared_->scope = scope;
  }

  [[nodiscard]] const plimsoll_host& table() const { return *table_; }
  // The plugin's own name.
  [[nodiscard]] std::string_view scope() const { return shared_->scope; }

  void debug(std::string_view message) const { log(PLIMSOLL_LOG_DEBUG, message); }
  void info(std::string_view message) const { log(PLIMSOLL_LOG_INFO, message); }
  void warn(std::string_view message) const { log(PLIMSOLL_LOG_WARN, message); }
  void error_log(std::string_view message) const { log(PLIMSOLL_LOG_ERROR, message); }
  void log(uint32_t level, std::string_view message) const {
    table_->log(table_->ctx, level, str(message));
  }

  // ---- statuses
  // An id for a list of reasons; the same list gets the same id. Take the texts from a bounded set:
  // they must not contain the name of a pod.
  [[nodiscard]] uint32_t reason(std::string_view text) const {
    const plimsoll_str one = str(text);
    return table_->reason(table_->ctx, &one, 1);
  }
  [[nodiscard]] uint32_t reason(std::span<const std::string_view> texts) const {
    std::vector<plimsoll_str> all;
    all.reserve(texts.size());
    for (std::string_view text : texts) all.push_back(str(text));
    return table_->reason(table_->ctx, all.data(), static_cast<uint32_t>(all.size()));
  }
  [[nodiscard]] uint32_t reason(std::initializer_list<std::string_view> texts) const {
    return reason(std::span(texts.begin(), texts.size()));
  }
  Status unschedulable(std::string_view text) const { return Status::unschedulable(reason(text)); }
  Status unresolvable(std::string_view text) const { return Status::unresolvable(reason(text)); }
  Status pending(std::string_view text) const { return Status::pending(reason(text)); }
  // For failures that are not a verdict on the pod. The text may contain any name.
  Status error(std::string_view text) const { return failed(PLIMSOLL_ERROR, text); }
  // For pre_bind and bind, which report a text instead of reasons.
  Status failed(int32_t code, std::string_view text) const {
    table_->set_error(table_->ctx, str(text));
    return {code, 0};
  }

  // ---- names
  // The interned form of the text. It is never freed: intern bounded sets of names only.
  [[nodiscard]] plimsoll_str intern(std::string_view text) const {
    return table_->intern(table_->ctx, str(text));
  }
  [[nodiscard]] uint32_t resource_index(std::string_view name) const {
    return table_->resource_index(table_->ctx, str(name));
  }
  [[nodiscard]] int64_t now_ms() const { return table_->now_ms(table_->ctx); }

  // ---- state of one scheduling attempt: at most one value per type; copied for what-ifs
  template <typename T>
  T& set_state(plimsoll_cycle& cycle, T value) const {
    static_assert(std::is_copy_constructible_v<T>, "cycle state is copied for what-ifs");
    auto owned = std::make_unique<T>(std::move(value));
    T& kept = *owned;
    table_->set_state(table_->ctx, &cycle, state_key<T>(), owned.release(), &clone<T>, &drop<T>);
    return kept;
  }
  // Null if this cycle has none.
  template <typename T>
  [[nodiscard]] const T* state(const plimsoll_cycle& cycle) const {
    return static_cast<const T*>(table_->get_state(table_->ctx, &cycle, state_key<T>()));
  }
  template <typename T>
  [[nodiscard]] T* state(plimsoll_cycle& cycle) const {
    return static_cast<T*>(table_->get_state(table_->ctx, &cycle, state_key<T>()));
  }
  // Adds an annotation to the Binding. Allowed from reserve to pre_bind.
  void annotate(plimsoll_cycle& cycle, std::string_view key, std::string_view value) const {
    table_->annotate(table_->ctx, &cycle, str(key), str(value));
  }

  // ---- the cluster; loop only. The Node is null if there is no such node.
  [[nodiscard]] Node node(std::string_view name) const {
    return Node(table_->node_by_name(table_->ctx, str(name)));
  }
  [[nodiscard]] Node node(uint32_t slot) const {
    return Node(table_->node_by_slot(table_->ctx, slot));
  }
  [[nodiscard]] uint32_t slot_count() const { return table_->slot_count(table_->ctx); }
  // Reports that the state which this plugin keeps about the node changed. Verdicts that depend on
  // these aspects become invalid.
  void touch_node(uint32_t slot, uint32_t aspects = PLIMSOLL_ASPECT_PLUGIN) const {
    table_->touch_node(table_->ctx, slot, aspects);
  }
  // Watches a kind: object_event is called for each of its objects. Kinds that are watched in the
  // constructor or in start are listed before the first pod is scheduled. Throws if the host cannot
  // watch the kind.
  void watch(std::string_view group, std::string_view version, std::string_view plural) const {
    if (table_->watch(table_->ctx, str(group), str(version), str(plural)) != PLIMSOLL_SUCCESS) {
      throw std::runtime_error("cannot watch " + std::string(plural) + "." + std::string(version) +
                               "." + std::string(group));
    }
  }
  // Requeues the pods that this plugin rejected.
  void requeue_rejected() const { table_->requeue_rejected(table_->ctx); }
  // Emits an event that kubectl describe shows. The pod must not be null.
  void emit_event(Pod pod, bool warning, std::string_view reason, std::string_view action,
                  std::string_view note) const {
    table_->emit_event(table_->ctx, &*pod, warning ? 1 : 0, str(reason), str(action), str(note));
  }

  // ---- services: tables of functions that plugins publish for each other; loop only
  // False if the name is taken. `table` must live as long as the process.
  bool publish(std::string_view name, uint32_t version, const void* table) const {
    return table_->publish(table_->ctx, str(name), version, table) == PLIMSOLL_SUCCESS;
  }
  // Null if no plugin publishes the service in this or a later version. Look it up in start: by
  // then all plugins have been created.
  template <typename Table>
  [[nodiscard]] const Table* find_service(std::string_view name, uint32_t min_version) const {
    return static_cast<const Table*>(table_->find_service(table_->ctx, str(name), min_version));
  }

  // ---- what-ifs and nominated pods; loop only, not within filter or score
  // A copy of the node of this slot and a clone of the cycle's state, for `pod`. Null if there is
  // no such node, or if the host is older than 1.1.
  [[nodiscard]] WhatIf what_if(const plimsoll_cycle& cycle, Pod pod, uint32_t slot) const {
    plimsoll_what_if* raw = nullptr;
    if (has(&plimsoll_host::what_if_begin)) {
      raw = table_->what_if_begin(table_->ctx, &cycle, &*pod, slot);
    }
    return {table_, raw};
  }
  // Nominates the pod to this node, in memory only. An empty name removes the nomination.
  void nominate(Pod pod, std::string_view node_name) const {
    if (has(&plimsoll_host::nominate)) table_->nominate(table_->ctx, &*pod, str(node_name));
  }
  [[nodiscard]] std::vector<Pod> nominated_pods(std::string_view node_name) const {
    std::vector<Pod> pods;
    if (!has(&plimsoll_host::nominated_pods)) return pods;
    const List<const plimsoll_pod*> list = table_->nominated_pods(table_->ctx, str(node_name));
    for (const plimsoll_pod* pod : list) pods.emplace_back(pod);
    return pods;
  }
  // The texts of a reason id, which may be another plugin's.
  [[nodiscard]] std::vector<std::string_view> reason_texts(uint32_t reason_id) const {
    std::vector<std::string_view> texts;
    if (!has(&plimsoll_host::reason_texts)) return texts;
    const Strings list = table_->reason_texts(table_->ctx, reason_id);
    for (const plimsoll_str& text : list) texts.push_back(view(text));
    return texts;
  }
  // Null if the pod is neither queued nor on a node. Loop only; valid until the plugin returns.
  [[nodiscard]] Pod pod_by_uid(std::string_view uid) const {
    return Pod(has(&plimsoll_host::pod_by_uid) ? table_->pod_by_uid(table_->ctx, str(uid))
                                               : nullptr);
  }

  // ---- metrics: see <plimsoll/metrics.hpp>. The same spec gives the same metric again. They throw
  // if the spec is wrong or clashes with another. On a host older than 1.1 the metrics do nothing.
  [[nodiscard]] CounterMetric counter(std::string_view name, std::string_view help,
                                      std::initializer_list<std::string_view> labels = {}) const {
    return {table_, metric(PLIMSOLL_METRIC_COUNTER, name, help, labels, {})};
  }
  [[nodiscard]] GaugeMetric gauge(std::string_view name, std::string_view help,
                                  std::initializer_list<std::string_view> labels = {}) const {
    return {table_, metric(PLIMSOLL_METRIC_GAUGE, name, help, labels, {})};
  }
  // `buckets`: upper bounds, ascending.
  [[nodiscard]] HistogramMetric histogram(
      std::string_view name, std::string_view help, std::initializer_list<double> buckets,
      std::initializer_list<std::string_view> labels = {}) const {
    return {table_, metric(PLIMSOLL_METRIC_HISTOGRAM, name, help, labels, buckets)};
  }

  // ---- waiting pods and binding
  // The pods that wait on Permit. Loop only; valid until the plugin returns or a wait ends.
  struct WaitingPod {
    Pod pod;
    std::string node_name;
    std::vector<std::string> pending_plugins;  // plugins that have not allowed the pod yet
  };
  [[nodiscard]] std::vector<WaitingPod> waiting_pods() const {
    std::vector<WaitingPod> pods;
    if (!has(&plimsoll_host::waiting_pods)) return pods;
    const List<plimsoll_waiting_pod> list = table_->waiting_pods(table_->ctx);
    for (const plimsoll_waiting_pod& row : list) {
      WaitingPod& pod = pods.emplace_back();
      pod.pod = Pod(row.pod);
      pod.node_name = view(row.node_name);
      for (const plimsoll_str& name : Strings(row.pending_plugins)) {
        pod.pending_plugins.emplace_back(view(name));
      }
    }
    return pods;
  }
  // Cancels a binding that has not reached Bind yet. False if it is too late or the pod is not
  // being bound. Loop only.
  bool cancel_binding(std::string_view pod_uid, std::string_view message) const {
    return has(&plimsoll_host::cancel_binding) &&
           table_->cancel_binding(table_->ctx, str(pod_uid), str(message)) != 0;
  }
  // Moves a waiting pod to the active queue and ignores its backoff.
  void activate(std::string_view pod_uid) const {
    if (has(&plimsoll_host::activate)) table_->activate(table_->ctx, str(pod_uid));
  }
  // Runs `task` (any callable without arguments) on the loop after at least `delay_ms`. If the
  // scheduler stops earlier, `task` is destroyed and does not run. An exception is logged.
  template <typename Task>
  void run_on_loop(int64_t delay_ms, Task&& task) const {
    struct Deferred {
      Host host;
      std::decay_t<Task> task;
    };
    require(has(&plimsoll_host::run_on_loop), "run_on_loop");
    table_->run_on_loop(
        table_->ctx, delay_ms,
        [](void* user, uint32_t cancelled) {
          const auto deferred = detail::unboxed<Deferred>(user);
          if (cancelled == 0) deferred->host.guard("run_on_loop", [&] { deferred->task(); });
        },
        detail::boxed(Deferred{*this, std::forward<Task>(task)}));
  }
  // Sends a request to the API server with the scheduler's credential. It is retried according to
  // the class of error. `answered(int status, std::string_view body)` is called once, on any
  // thread, and must not block. It gets the HTTP status and the body, or 0 and the reason why there
  // is no answer.
  struct ApiRequest {
    std::string method;
    std::string path;          // "/api/v1/namespaces/a/pods/b", percent-encoded
    std::string content_type;  // of the body; empty: application/json
    std::string body;
  };
  template <typename Answered>
  void api_request(const ApiRequest& request, Answered&& answered) const {
    struct Open {
      Host host;
      std::decay_t<Answered> answered;
    };
    require(has(&plimsoll_host::api_request), "api_request");
    const plimsoll_api_request raw{
        sizeof raw,       0, str(request.method), str(request.path), str(request.content_type),
        str(request.body)};
    table_->api_request(
        table_->ctx, &raw,
        [](void* user, int32_t status, plimsoll_str body) {
          const auto open = detail::unboxed<Open>(user);
          open->host.guard("api_request",
                           [&] { open->answered(static_cast<int>(status), view(body)); });
        },
        detail::boxed(Open{*this, std::forward<Answered>(answered)}));
  }
  void allow_waiting(std::string_view pod_uid) const {
    table_->allow_waiting(table_->ctx, str(pod_uid));
  }
  void reject_waiting(std::string_view pod_uid, std::string_view message) const {
    table_->reject_waiting(table_->ctx, str(pod_uid), str(message));
  }
  void complete(Token token, int32_t code, std::string_view message = {}) const {
    table_->complete(table_->ctx, token.raw, code, str(message));
  }
  // Posts the Binding. Return its status from bind; with wait(), the host completes the token.
  Status post_binding(plimsoll_cycle& cycle, Pod pod, std::string_view node_name,
                      Token token) const {
    return {table_->post_binding(table_->ctx, &cycle, &*pod, str(node_name), token.raw), 0};
  }

 private:
  // Whether the host has this function. An older host has a shorter table.
  template <typename Function>
  [[nodiscard]] bool has(Function plimsoll_host::*slot) const {
    const auto* begin = reinterpret_cast<const std::byte*>(table_);
    const auto* end = reinterpret_cast<const std::byte*>(&(table_->*slot)) + sizeof(Function);
    return static_cast<size_t>(end - begin) <= table_->size && table_->*slot != nullptr;
  }
  void require(bool there, const char* function) const {
    if (!there) throw std::runtime_error(std::string("the scheduler is too old for ") + function);
  }
  // Runs a callback of the host. An exception is logged and goes no further.
  template <typename Call>
  void guard(std::string_view function, const Call& call) const noexcept {
    try {
      call();
    } catch (const std::exception& problem) {
      error_log(std::string(function) + ": " + problem.what());
    } catch (...) {
      error_log("an exception that is no std::exception");
    }
  }

  struct Shared {
    std::string scope;
    detail::StateKeys keys;
  };

  plimsoll_metric* metric(uint32_t type, std::string_view name, std::string_view help,
                          std::initializer_list<std::string_view> labels,
                          std::initializer_list<double> buckets) const {
    if (!has(&plimsoll_host::metric)) return nullptr;
    plimsoll_metric* made = detail::make_metric(table_, type, name, help, labels, buckets);
    if (made == nullptr) {
      throw std::invalid_argument("the scheduler refuses the metric \"" + std::string(name) +
                                  "\"; its log says why");
    }
    return made;
  }
  template <typename T>
  static void* clone(const void* value) {
    return new T(*static_cast<const T*>(value));
  }
  template <typename T>
  static void drop(void* value) {
    delete static_cast<T*>(value);
  }
  template <typename T>
  plimsoll_symbol state_key() const {
    return shared_->keys.get(&detail::kTypeTag<T>, [this] {
      return intern(shared_->scope + "/" + std::string(detail::type_name<T>())).symbol;
    });
  }

  const plimsoll_host* table_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace plimsoll::sdk
