// Plimsoll plugin SDK: statuses, and the scheduler as a plugin sees it.
//
//   return host.unschedulable("node(s) had no free seat");
//   host.state<Demand>(cycle)->seats
#pragma once

#include <plimsoll/plugin_abi.h>
#include <plimsoll/views.hpp>

#include <array>
#include <atomic>
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

// What a call came to: a code of the Kubernetes scheduling framework and, for a rejection, an
// interned list of reasons (Host::reason).
struct [[nodiscard]] Status {
  int32_t code = PLIMSOLL_SUCCESS;
  uint32_t reason = 0;

  [[nodiscard]] constexpr bool ok() const { return code == PLIMSOLL_SUCCESS; }

  static constexpr Status success() { return {}; }
  static constexpr Status skip() { return {PLIMSOLL_SKIP, 0}; }
  static constexpr Status wait() { return {PLIMSOLL_WAIT, 0}; }
  // Rejections with a reason made before: cheap enough for every node.
  static constexpr Status unschedulable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE, reason};
  }
  static constexpr Status unresolvable(uint32_t reason) {
    return {PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, reason};
  }
  static constexpr Status pending(uint32_t reason) { return {PLIMSOLL_PENDING, reason}; }

  friend constexpr bool operator==(const Status&, const Status&) = default;
};

// A pre_bind or bind that finishes later: return Status::wait() and call Host::complete from any
// thread, once.
struct Token {
  plimsoll_token* raw = nullptr;
};

namespace detail {

template <typename T>
constexpr std::string_view type_name() {
  return __PRETTY_FUNCTION__;
}

// Distinct for every type; only its address counts.
template <typename T>
inline constexpr char kTypeTag = 0;

// State keys that this plugin asked for, found again without a lock by calls on several threads.
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

// The scheduler. A small handle: copy it and keep it. Which thread may call what is said in
// <plimsoll/plugin_abi.h>; unless noted, any thread.
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
  // An id for a list of reasons, the same for the same list. From a bounded set of texts only:
  // never a pod's name in it.
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
  // Something is broken. The text may name anything.
  Status error(std::string_view text) const { return failed(PLIMSOLL_ERROR, text); }
  // A failure of pre_bind or bind, which have texts instead of reasons.
  Status failed(int32_t code, std::string_view text) const {
    table_->set_error(table_->ctx, str(text));
    return {code, 0};
  }

  // ---- names
  // The interned form; lives for ever, so for bounded sets of names only.
  [[nodiscard]] plimsoll_str intern(std::string_view text) const {
    return table_->intern(table_->ctx, str(text));
  }
  [[nodiscard]] uint32_t resource_index(std::string_view name) const {
    return table_->resource_index(table_->ctx, str(name));
  }
  [[nodiscard]] int64_t now_ms() const { return table_->now_ms(table_->ctx); }

  // ---- state of one scheduling attempt: at most one value per type. What-ifs copy it.
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
  // An annotation that the Binding will carry. From reserve to pre_bind.
  void annotate(plimsoll_cycle& cycle, std::string_view key, std::string_view value) const {
    table_->annotate(table_->ctx, &cycle, str(key), str(value));
  }

  // ---- the cluster; loop only. A null Node: there is none.
  [[nodiscard]] Node node(std::string_view name) const {
    return Node(table_->node_by_name(table_->ctx, str(name)));
  }
  [[nodiscard]] Node node(uint32_t slot) const {
    return Node(table_->node_by_slot(table_->ctx, slot));
  }
  [[nodiscard]] uint32_t slot_count() const { return table_->slot_count(table_->ctx); }
  // What this plugin keeps about the node changed: verdicts that rest on these aspects are void.
  void touch_node(uint32_t slot, uint32_t aspects = PLIMSOLL_ASPECT_PLUGIN) const {
    table_->touch_node(table_->ctx, slot, aspects);
  }
  // Asks for a kind: object_event hears of each of its objects. Those asked for
  // in the constructor or start are listed before the first pod is scheduled; throws
  // if the host cannot watch it.
  void watch(std::string_view group, std::string_view version, std::string_view plural) const {
    if (table_->watch(table_->ctx, str(group), str(version), str(plural)) != PLIMSOLL_SUCCESS) {
      throw std::runtime_error("cannot watch " + std::string(plural) + "." + std::string(version) +
                               "." + std::string(group));
    }
  }
  // Wakes pods that this plugin rejected.
  void requeue_rejected() const { table_->requeue_rejected(table_->ctx); }
  // An event that kubectl describe shows. A null pod is not allowed.
  void emit_event(Pod pod, bool warning, std::string_view reason, std::string_view action,
                  std::string_view note) const {
    table_->emit_event(table_->ctx, &*pod, warning ? 1 : 0, str(reason), str(action), str(note));
  }

  // ---- services: tables of functions that plugins publish for one another; loop only.
  // False if the name is taken. `table` lives as long as the process.
  bool publish(std::string_view name, uint32_t version, const void* table) const {
    return table_->publish(table_->ctx, str(name), version, table) == PLIMSOLL_SUCCESS;
  }
  // Null if nobody publishes it in this or a later version. Look up in start, when all are there.
  template <typename Table>
  [[nodiscard]] const Table* find_service(std::string_view name, uint32_t min_version) const {
    return static_cast<const Table*>(table_->find_service(table_->ctx, str(name), min_version));
  }

  // ---- waiting pods and binding
  void allow_waiting(std::string_view pod_uid) const {
    table_->allow_waiting(table_->ctx, str(pod_uid));
  }
  void reject_waiting(std::string_view pod_uid, std::string_view message) const {
    table_->reject_waiting(table_->ctx, str(pod_uid), str(message));
  }
  void complete(Token token, int32_t code, std::string_view message = {}) const {
    table_->complete(table_->ctx, token.raw, code, str(message));
  }
  // Posts the Binding; return its status from bind (wait: the token will be completed).
  Status post_binding(plimsoll_cycle& cycle, Pod pod, std::string_view node_name,
                      Token token) const {
    return {table_->post_binding(table_->ctx, &cycle, &*pod, str(node_name), token.raw), 0};
  }

 private:
  struct Shared {
    std::string scope;
    detail::StateKeys keys;
  };

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
