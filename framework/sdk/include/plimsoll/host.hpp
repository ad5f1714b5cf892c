// Plimsoll plugin SDK: the functions of the scheduler that a plugin may call.
//
//   return host.unschedulable("node(s) had no free seat");
//   host.state<Demand>(cycle)->seats
#pragma once

#include <plimsoll/detail/state_keys.hpp>
#include <plimsoll/host_binding.hpp>
#include <plimsoll/kinds.hpp>
#include <plimsoll/metrics.hpp>
#include <plimsoll/what_if.hpp>

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

// A small handle for the scheduler: copy it and keep it. <plimsoll/plugin_abi.h> says which thread
// may call what; unless noted, any thread may. The log and statuses are in HostCalls, waiting
// pods, binding and what happens later in HostBinding. A function that an older host lacks does
// nothing and finds nothing, unless it says that it throws.
class Host : public HostBinding {
 public:
  Host(const plimsoll_host* table, std::string_view scope)
      : HostBinding(table), shared_(std::make_shared<Shared>()) {
    shared_->scope = scope;
  }

  // The plugin's own name.
  [[nodiscard]] std::string_view scope() const { return shared_->scope; }

  // ---- names
  // The interned form of the text. It is never freed: intern bounded sets of names only.
  [[nodiscard]] plimsoll_str intern(std::string_view text) const {
    return call(&plimsoll_host::intern, text);
  }
  [[nodiscard]] uint32_t resource_index(std::string_view name) const {
    return call(&plimsoll_host::resource_index, name);
  }
  [[nodiscard]] int64_t now_ms() const { return call(&plimsoll_host::now_ms); }

  // ---- state of one scheduling attempt: at most one value per type; copied for what-ifs
  template <typename T>
  T& set_state(plimsoll_cycle& cycle, T value) const {
    static_assert(std::is_copy_constructible_v<T>, "cycle state is copied for what-ifs");
    T* kept = new T(std::move(value));
    const auto clone = [](const void* from) -> void* {
      return new T(*static_cast<const T*>(from));
    };
    const auto drop = [](void* state) { delete static_cast<T*>(state); };
    call(&plimsoll_host::set_state, &cycle, state_key<T>(), kept, +clone, +drop);
    return *kept;
  }
  // Null if this cycle has none.
  template <typename T>
  [[nodiscard]] const T* state(const plimsoll_cycle& cycle) const {
    return static_cast<const T*>(call(&plimsoll_host::get_state, &cycle, state_key<T>()));
  }
  template <typename T>
  [[nodiscard]] T* state(plimsoll_cycle& cycle) const {
    return static_cast<T*>(call(&plimsoll_host::get_state, &cycle, state_key<T>()));
  }
  // Adds an annotation to the Binding. Allowed from reserve to pre_bind.
  void annotate(plimsoll_cycle& cycle, std::string_view key, std::string_view value) const {
    call(&plimsoll_host::annotate, &cycle, key, value);
  }

  // ---- the cluster; loop only. A Node or Pod is null if there is none.
  [[nodiscard]] Node node(std::string_view name) const {
    return Node(call(&plimsoll_host::node_by_name, name));
  }
  [[nodiscard]] Node node(uint32_t slot) const {
    return Node(call(&plimsoll_host::node_by_slot, slot));
  }
  [[nodiscard]] uint32_t slot_count() const { return call(&plimsoll_host::slot_count); }
  // A pod that is queued or on a node; valid until the plugin returns.
  [[nodiscard]] Pod pod_by_uid(std::string_view uid) const {
    return Pod(call(&plimsoll_host::pod_by_uid, uid));
  }
  // Reports that the state which this plugin keeps about the node changed. Verdicts that depend on
  // these aspects become invalid.
  void touch_node(uint32_t slot, uint32_t aspects = PLIMSOLL_ASPECT_PLUGIN) const {
    call(&plimsoll_host::touch_node, slot, aspects);
  }
  // Watches a kind: object_event is called for each of its objects. Kinds that are watched in the
  // constructor or in start are listed before the first pod is scheduled. Throws if the host cannot
  // watch the kind.
  void watch(std::string_view group, std::string_view version, std::string_view plural) const {
    if (call(&plimsoll_host::watch, group, version, plural) == PLIMSOLL_SUCCESS) return;
    throw std::runtime_error("cannot watch " + std::string(plural) + "." + std::string(version) +
                             "." + std::string(group));
  }
  // Throws on a host older than 1.4, which decodes no objects.
  template <typename Object>
  void watch(const Kind<Object>& kind) const {
    require(&plimsoll_host::object, "object");
    watch(kind.group, kind.version, kind.plural);
  }
  // An object of a kind that some plugin watches, as it is now; null: there is none. Valid until
  // object_event has told of its next change.
  template <typename Object>
  [[nodiscard]] const Object* object(const Kind<Object>& kind, std::string_view ns,
                                     std::string_view name) const {
    return reinterpret_cast<const Object*>(call(&plimsoll_host::object, kind.resource, ns, name));
  }
  // All of them, by namespace and name; of one namespace only if it is not empty.
  template <typename Object>
  [[nodiscard]] std::vector<const Object*> objects(const Kind<Object>& kind,
                                                   std::string_view ns = {}) const {
    std::vector<const Object*> all;
    const auto list = call(&plimsoll_host::objects, kind.resource, ns);
    for (const plimsoll_object* each : List<const plimsoll_object*>(list)) {
      all.push_back(reinterpret_cast<const Object*>(each));
    }
    return all;
  }
  // Requeues the pods that this plugin rejected.
  void requeue_rejected() const { call(&plimsoll_host::requeue_rejected); }
  // Emits an event that kubectl describe shows. The pod must not be null.
  void emit_event(Pod pod, bool warning, std::string_view reason, std::string_view action,
                  std::string_view note) const {
    call(&plimsoll_host::emit_event, pod, warning ? 1U : 0U, reason, action, note);
  }

  // ---- services: tables of functions that plugins publish for each other; loop only
  // False if the name is taken. `table` must live until the file's last instance ends, and nobody
  // calls it after that.
  bool publish(std::string_view name, uint32_t version, const void* table) const {
    return call(&plimsoll_host::publish, name, version, table) == PLIMSOLL_SUCCESS;
  }
  // Null if no plugin publishes the service in this or a later version. Look it up in start: by
  // then all plugins have been created.
  template <typename Table>
  [[nodiscard]] const Table* find_service(std::string_view name, uint32_t min_version) const {
    return static_cast<const Table*>(call(&plimsoll_host::find_service, name, min_version));
  }

  // ---- what-ifs and nominated pods; loop only, not within filter or score
  // A copy of the node of this slot and a clone of the cycle's state, for `pod`. Null if there is
  // no such node.
  [[nodiscard]] WhatIf what_if(const plimsoll_cycle& cycle, Pod pod, uint32_t slot) const {
    return {&table(), call(&plimsoll_host::what_if_begin, &cycle, pod, slot)};
  }
  // Nominates the pod to this node, in memory only. An empty name removes the nomination.
  void nominate(Pod pod, std::string_view node_name) const {
    call(&plimsoll_host::nominate, pod, node_name);
  }
  [[nodiscard]] std::vector<Pod> nominated_pods(std::string_view node_name) const {
    std::vector<Pod> pods;
    const auto list = call(&plimsoll_host::nominated_pods, node_name);
    for (const plimsoll_pod* pod : List<const plimsoll_pod*>(list)) pods.emplace_back(pod);
    return pods;
  }

  // ---- metrics: see <plimsoll/metrics.hpp>. The same spec gives the same metric again. They throw
  // if the spec is wrong or clashes with another.
  using LabelNames = std::initializer_list<std::string_view>;
  [[nodiscard]] CounterMetric counter(std::string_view name, std::string_view help,
                                      LabelNames labels = {}) const {
    return metric<CounterMetric>(PLIMSOLL_METRIC_COUNTER, name, help, labels);
  }
  [[nodiscard]] GaugeMetric gauge(std::string_view name, std::string_view help,
                                  LabelNames labels = {}) const {
    return metric<GaugeMetric>(PLIMSOLL_METRIC_GAUGE, name, help, labels);
  }
  // `buckets`: upper bounds, ascending.
  [[nodiscard]] HistogramMetric histogram(std::string_view name, std::string_view help,
                                          std::initializer_list<double> buckets,
                                          LabelNames labels = {}) const {
    return metric<HistogramMetric>(PLIMSOLL_METRIC_HISTOGRAM, name, help, labels, buckets);
  }

 private:
  struct Shared {
    std::string scope;
    detail::StateKeys keys;
  };

  template <typename Metric>
  Metric metric(uint32_t type, std::string_view name, std::string_view help, LabelNames labels,
                std::initializer_list<double> buckets = {}) const {
    if (!has(&plimsoll_host::metric)) return {};
    plimsoll_metric* made = detail::make_metric(&table(), type, name, help, labels, buckets);
    if (made != nullptr) return {&table(), made};
    throw std::invalid_argument("the scheduler refuses the metric \"" + std::string(name) +
                                "\"; its log says why");
  }
  template <typename T>
  plimsoll_symbol state_key() const {
    return shared_->keys.get(&detail::kTypeTag<T>, [this] {
      return intern(shared_->scope + "/" + std::string(detail::type_name<T>())).symbol;
    });
  }

  std::shared_ptr<Shared> shared_;
};

}  // namespace plimsoll::sdk
