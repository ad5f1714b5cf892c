// Plimsoll plugin SDK, for unit tests: a fake scheduler that only records the calls of a plugin,
// and a plugin that is called through the same C functions that the scheduler uses.
//
//   FakeHost host;
//   FakePlugin<ZoneBalance> plugin(host, R"({"key": "zone"})");
//   FakeCycle cycle;
//   EXPECT_EQ(plugin.filter(cycle, pod, node).reasons, "node(s) had no zone");
//
// Not thread-safe. Tests of a plugin need only this header and the SDK.
#pragma once

#include <plimsoll/fake_objects.hpp>
#include <plimsoll/plugin.hpp>

#include <functional>
#include <memory>
#include <unordered_map>

namespace plimsoll::sdk {

// One scheduling attempt.
class FakeCycle {
 public:
  FakeCycle() = default;
  FakeCycle(const FakeCycle&) = delete;
  FakeCycle& operator=(const FakeCycle&) = delete;

  plimsoll_cycle* get() { return reinterpret_cast<plimsoll_cycle*>(this); }
  static FakeCycle& of(plimsoll_cycle* cycle) { return *reinterpret_cast<FakeCycle*>(cycle); }
  static const FakeCycle& of(const plimsoll_cycle* cycle) {
    return *reinterpret_cast<const FakeCycle*>(cycle);
  }

  // The copy that a what-if works on.
  [[nodiscard]] std::unique_ptr<FakeCycle> clone() const {
    auto copy = std::make_unique<FakeCycle>();
    for (const auto& [key, state] : states) {
      auto value = state.value;
      if (state.clone != nullptr) {
        value = std::shared_ptr<void>(state.clone(state.value.get()), state.drop);
      }
      copy->states.insert_or_assign(key, State{value, state.clone, state.drop});
    }
    copy->annotations = annotations;
    return copy;
  }

  struct State {
    std::shared_ptr<void> value;
    void* (*clone)(const void*);
    void (*drop)(void*);
  };
  std::map<plimsoll_symbol, State> states;
  std::map<std::string, std::string> annotations;  // for the Binding
};

// A simulated copy of one node.
class FakeWhatIf {
 public:
  FakeWhatIf(const plimsoll_node_info& node, std::unique_ptr<FakeCycle> state)
      : cycle(std::move(state)),
        pods(node.pods, node.pods + node.pod_count),
        allocatable_(node.allocatable, node.allocatable + node.resource_count),
        requested_(node.requested, node.requested + node.resource_count),
        info_(node) {
    mirror();
  }
  FakeWhatIf(const FakeWhatIf&) = delete;
  FakeWhatIf& operator=(const FakeWhatIf&) = delete;

  [[nodiscard]] const plimsoll_node_info& node() const { return info_; }
  void add(const plimsoll_pod& pod) {
    pods.push_back(&pod);
    account(pod, 1);
  }
  // False if the pod was not there.
  bool remove(const plimsoll_pod& pod) {
    const auto same = [&](const plimsoll_pod* p) {
      return view(p->meta.uid) == view(pod.meta.uid);
    };
    const auto found = std::find_if(pods.begin(), pods.end(), same);
    if (found == pods.end()) return false;
    pods.erase(found);
    account(pod, -1);
    return true;
  }

  const std::unique_ptr<FakeCycle> cycle;  // a clone
  std::vector<const plimsoll_pod*> pods;

 private:
  void account(const plimsoll_pod& pod, int64_t sign) {
    for (const plimsoll_resource& used : Resources(pod.used)) {
      if (used.index >= requested_.size()) {
        allocatable_.resize(used.index + 1);
        requested_.resize(used.index + 1);
      }
      requested_[used.index] += sign * used.value;
    }
    mirror();
  }
  void mirror() {
    info_.pods = pods.data();
    info_.pod_count = static_cast<uint32_t>(pods.size());
    info_.resource_count = static_cast<uint32_t>(allocatable_.size());
    info_.allocatable = allocatable_.data();
    info_.requested = requested_.data();
  }

  std::vector<int64_t> allocatable_, requested_;
  plimsoll_node_info info_;
};

class FakeHost {
 public:
  struct Completion {
    plimsoll_token* token;
    int32_t code;
    std::string message;
  };

  FakeHost() : table_(make_table(this)) {}
  // Like a scheduler that stops: cancels the tasks that have not run, so that they free what they
  // own.
  ~FakeHost() { drop_deferred(); }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] const plimsoll_host* table() const { return &table_; }
  // For plugin classes that are tested without FakePlugin.
  [[nodiscard]] Host handle(std::string_view scope = "test") const { return {&table_, scope}; }

  // Plugins then find the node by name and by slot. The node must outlive the host.
  void add(FakeNode& node) { nodes_.push_back(&node); }
  [[nodiscard]] std::string reasons(uint32_t id) const {
    std::string joined;
    for (const std::string& text : reason_lists_.at(id)) {
      joined += (joined.empty() ? "" : ", ") + text;
    }
    return joined;
  }

  // ---- recorded calls of plugins, for tests to check
  std::vector<std::string> logs;
  std::string error;                 // the last error text that was set
  std::vector<std::string> watched;  // "<plural>.<version>.<group>"
  std::map<std::string, std::pair<uint32_t, const void*>> services;
  std::vector<std::pair<uint32_t, uint32_t>> touched;  // slot, aspects
  std::vector<std::string> events;                     // "Warning Reason: note"
  std::vector<std::string> allowed;                    // pod UIDs
  std::vector<std::pair<std::string, std::string>> rejected;
  std::vector<Completion> completed;
  std::vector<std::string> bindings;   // "namespace/name -> node"
  std::vector<std::string> activated;  // pod UIDs
  std::vector<std::string> requests;   // to the API server: "METHOD path body"
  struct Deferred {
    int64_t delay_ms;
    void (*fn)(void*, uint32_t);  // null once it has run
    void* user;
    void run(uint32_t cancelled = 0) {
      if (auto* once = std::exchange(fn, nullptr)) once(user, cancelled);
    }
  };
  std::vector<Deferred> deferred;  // tasks passed to run_on_loop; the test runs them: d.run()
  void drop_deferred() {
    for (Deferred& task : std::exchange(deferred, {})) task.run(1);
  }
  int requeued = 0;
  // Metrics by name and label values: metrics["seats_refused_total{west}"]. Holds the sum of a
  // counter, the last value of a gauge, and all observations of a histogram in order.
  std::map<std::string, std::vector<double>> metrics;

  std::map<std::string, std::string> nominations;  // pod name -> node, after the last nominate
  std::vector<std::string> cancelled;              // pod UIDs of cancelled bindings

  // ---- answers to plugins, set by tests
  // The verdict of all filters on a node in a what-if: a reason text, empty if the pod fits.
  std::function<std::string(const FakeWhatIf&)> what_if_verdict;
  std::map<std::string, std::vector<const plimsoll_pod*>> nominated;  // by node
  bool bindings_can_be_cancelled = false;
  std::vector<const plimsoll_pod*> pods;      // found by UID
  std::vector<plimsoll_waiting_pod> waiting;  // on Permit
  int32_t answer_status = 200;                // for every request to the API server
  std::string answer_body = "{}";
  int64_t now = 0;

 private:
  static FakeHost& of(plimsoll_host_ctx* ctx) { return *reinterpret_cast<FakeHost*>(ctx); }

  plimsoll_str intern(std::string_view text) {
    auto found = symbols_.find(std::string(text));
    if (found == symbols_.end()) {
      found = symbols_.emplace(text, static_cast<plimsoll_symbol>(symbols_.size() + 5)).first;
    }
    return {found->first.data(), static_cast<uint32_t>(found->first.size()), found->second};
  }
  uint32_t reason(const plimsoll_str* texts, uint32_t count) {
    std::vector<std::string> list;
    for (uint32_t i = 0; i < count; ++i) list.emplace_back(view(texts[i]));
    for (uint32_t id = 1; id < reason_lists_.size(); ++id) {
      if (reason_lists_[id] == list) return id;
    }
    reason_lists_.push_back(std::move(list));
    return static_cast<uint32_t>(reason_lists_.size() - 1);
  }
  const plimsoll_node_info* node(std::string_view name) {
    for (FakeNode* node : nodes_) {
      if (node->name() == name) return &node->get();
    }
    return nullptr;
  }
  const plimsoll_node_info* node(uint32_t slot) {
    for (FakeNode* node : nodes_) {
      if (node->slot() == slot) return &node->get();
    }
    return nullptr;
  }
  uint32_t slot_count() const {
    uint32_t count = 0;
    for (const FakeNode* node : nodes_) count = std::max(count, node->slot() + 1);
    return count;
  }

  using Ctx = plimsoll_host_ctx*;

  static void add_names(plimsoll_host& t) {
    t.log = [](Ctx c, uint32_t, plimsoll_str message) { of(c).logs.emplace_back(view(message)); };
    t.set_error = [](Ctx c, plimsoll_str text) { of(c).error = view(text); };
    t.intern = [](Ctx c, plimsoll_str text) { return of(c).intern(view(text)); };
    t.resource_index = [](Ctx, plimsoll_str name) { return fake_resource_index(view(name)); };
    t.reason = [](Ctx c, const plimsoll_str* texts, uint32_t n) { return of(c).reason(texts, n); };
    t.now_ms = [](Ctx c) { return of(c).now; };
  }
  static void add_state(plimsoll_host& t) {
    t.set_state = [](Ctx, plimsoll_cycle* cycle, plimsoll_symbol key, void* value,
                     void* (*clone)(const void*), void (*drop)(void*)) {
      auto owned = drop == nullptr ? std::shared_ptr<void>(value, [](void*) {})
                                   : std::shared_ptr<void>(value, drop);
      FakeCycle::of(cycle).states.insert_or_assign(key, FakeCycle::State{owned, clone, drop});
    };
    t.get_state = [](Ctx, const plimsoll_cycle* cycle, plimsoll_symbol key) -> void* {
      auto found = FakeCycle::of(cycle).states.find(key);
      return found == FakeCycle::of(cycle).states.end() ? nullptr : found->second.value.get();
    };
    t.annotate = [](Ctx, plimsoll_cycle* cycle, plimsoll_str key, plimsoll_str value) {
      FakeCycle::of(cycle).annotations[std::string(view(key))] = view(value);
    };
  }
  static void add_cluster(plimsoll_host& t) {
    t.node_by_name = [](Ctx c, plimsoll_str name) { return of(c).node(view(name)); };
    t.node_by_slot = [](Ctx c, uint32_t slot) { return of(c).node(slot); };
    t.slot_count = [](Ctx c) { return of(c).slot_count(); };
    t.touch_node = [](Ctx c, uint32_t slot, uint32_t aspects) {
      of(c).touched.emplace_back(slot, aspects);
    };
    t.watch = [](Ctx c, plimsoll_str group, plimsoll_str version, plimsoll_str plural) -> int32_t {
      of(c).watched.push_back(std::string(view(plural)) + "." + std::string(view(version)) + "." +
                              std::string(view(group)));
      return PLIMSOLL_SUCCESS;
    };
    t.publish = [](Ctx c, plimsoll_str name, uint32_t version, const void* table) -> int32_t {
      auto service = std::make_pair(version, table);
      const bool added = of(c).services.emplace(std::string(view(name)), service).second;
      return added ? PLIMSOLL_SUCCESS : PLIMSOLL_ERROR;
    };
    t.find_service = [](Ctx c, plimsoll_str name, uint32_t min_version) -> const void* {
      auto found = of(c).services.find(std::string(view(name)));
      if (found == of(c).services.end() || found->second.first < min_version) return nullptr;
      return found->second.second;
    };
    t.requeue_rejected = [](Ctx c) { ++of(c).requeued; };
    t.emit_event = [](Ctx c, const plimsoll_pod*, uint32_t warning, plimsoll_str reason,
                      plimsoll_str, plimsoll_str note) {
      of(c).events.push_back((warning != 0 ? "Warning " : "Normal ") + std::string(view(reason)) +
                             ": " + std::string(view(note)));
    };
  }
  static void add_binding(plimsoll_host& t) {
    t.allow_waiting = [](Ctx c, plimsoll_str uid) { of(c).allowed.emplace_back(view(uid)); };
    t.reject_waiting = [](Ctx c, plimsoll_str uid, plimsoll_str message) {
      of(c).rejected.emplace_back(view(uid), view(message));
    };
    t.complete = [](Ctx c, plimsoll_token* token, int32_t code, plimsoll_str message) {
      of(c).completed.push_back({token, code, std::string(view(message))});
    };
    t.post_binding = [](Ctx c, plimsoll_cycle*, const plimsoll_pod* pod, plimsoll_str node_name,
                        plimsoll_token* token) -> int32_t {
      of(c).bindings.push_back(std::string(view(pod->meta.ns)) + "/" +
                               std::string(view(pod->meta.name)) + " -> " +
                               std::string(view(node_name)));
      of(c).completed.push_back({token, PLIMSOLL_SUCCESS, ""});
      return PLIMSOLL_WAIT;
    };
  }
  static FakeWhatIf& of(plimsoll_what_if* what_if) {
    return *reinterpret_cast<FakeWhatIf*>(what_if);
  }
  static void add_what_ifs(plimsoll_host& t) {
    t.what_if_begin = [](Ctx c, const plimsoll_cycle* cycle, const plimsoll_pod*, uint32_t slot) {
      const plimsoll_node_info* node = of(c).node(slot);
      return reinterpret_cast<plimsoll_what_if*>(
          node == nullptr ? nullptr : new FakeWhatIf(*node, FakeCycle::of(cycle).clone()));
    };
    t.what_if_add_pod = [](Ctx, plimsoll_what_if* what_if, const plimsoll_pod* pod) -> int32_t {
      of(what_if).add(*pod);
      return PLIMSOLL_SUCCESS;
    };
    t.what_if_remove_pod = [](Ctx c, plimsoll_what_if* what_if,
                              const plimsoll_pod* pod) -> int32_t {
      if (of(what_if).remove(*pod)) return PLIMSOLL_SUCCESS;
      of(c).error = "no such pod in the what-if";
      return PLIMSOLL_ERROR;
    };
    t.what_if_filter = [](Ctx c, plimsoll_what_if* what_if, uint32_t* reason) -> int32_t {
      const std::string text = of(c).what_if_verdict ? of(c).what_if_verdict(of(what_if)) : "";
      if (text.empty()) return PLIMSOLL_SUCCESS;
      const plimsoll_str one = str(text);
      *reason = of(c).reason(&one, 1);
      return PLIMSOLL_UNSCHEDULABLE;
    };
    t.what_if_node = [](Ctx, const plimsoll_what_if* what_if) {
      return &reinterpret_cast<const FakeWhatIf*>(what_if)->node();
    };
    t.what_if_end = [](Ctx, plimsoll_what_if* what_if) { delete &of(what_if); };
    t.nominate = [](Ctx c, const plimsoll_pod* pod, plimsoll_str node_name) {
      of(c).nominations[std::string(view(pod->meta.name))] = view(node_name);
    };
    t.nominated_pods = [](Ctx c, plimsoll_str node_name) {
      const auto& pods = of(c).nominated[std::string(view(node_name))];
      return plimsoll_list{pods.data(), static_cast<uint32_t>(pods.size()), sizeof pods[0]};
    };
    t.cancel_binding = [](Ctx c, plimsoll_str uid, plimsoll_str) -> uint32_t {
      if (of(c).bindings_can_be_cancelled) of(c).cancelled.emplace_back(view(uid));
      return of(c).bindings_can_be_cancelled ? 1 : 0;
    };
  }
  static void add_since_1_1(plimsoll_host& t) {
    using Ctx = plimsoll_host_ctx*;
    t.pod_by_uid = [](Ctx c, plimsoll_str uid) -> const plimsoll_pod* {
      for (const plimsoll_pod* pod : of(c).pods) {
        if (view(pod->meta.uid) == view(uid)) return pod;
      }
      return nullptr;
    };
    t.waiting_pods = [](Ctx c) {
      const auto& rows = of(c).waiting;
      return plimsoll_list{rows.data(), static_cast<uint32_t>(rows.size()), sizeof rows[0]};
    };
    t.activate = [](Ctx c, plimsoll_str uid) { of(c).activated.emplace_back(view(uid)); };
    t.run_on_loop = [](Ctx c, int64_t delay_ms, void (*fn)(void*, uint32_t), void* user) {
      of(c).deferred.push_back({delay_ms, fn, user});
    };
    t.api_request = [](Ctx c, const plimsoll_api_request* request,
                       void (*done)(void*, int32_t, plimsoll_str), void* user) {
      of(c).requests.push_back(std::string(view(request->method)) + " " +
                               std::string(view(request->path)) + " " +
                               std::string(view(request->body)));
      done(user, of(c).answer_status, str(of(c).answer_body));
    };
    t.reason_texts = [](Ctx c, uint32_t id) {
      static thread_local std::vector<plimsoll_str> texts;
      texts.clear();
      if (id < of(c).reason_lists_.size()) {
        for (const std::string& text : of(c).reason_lists_[id]) texts.push_back(str(text));
      }
      return plimsoll_list{texts.data(), static_cast<uint32_t>(texts.size()), sizeof(plimsoll_str)};
    };
  }
  struct FakeMetric {
    uint32_t type;
    std::string name;
    std::vector<std::string> labels;
    std::vector<double> buckets;
  };
  template <typename T>
  static std::vector<T> elements(const plimsoll_list& list) {
    std::vector<T> out;
    for (uint32_t i = 0; i < list.count; ++i) {
      out.push_back(*reinterpret_cast<const T*>(static_cast<const char*>(list.data) +
                                                size_t{i} * list.stride));
    }
    return out;
  }
  plimsoll_metric* metric(const plimsoll_metric_spec& spec) {
    auto made = std::make_unique<FakeMetric>(
        FakeMetric{spec.type, std::string(view(spec.name)), {}, elements<double>(spec.buckets)});
    for (const plimsoll_str& label : elements<plimsoll_str>(spec.label_names)) {
      made->labels.emplace_back(view(label));
    }
    for (const auto& known : metric_specs_) {
      if (known->name != made->name) continue;
      const bool same = known->type == made->type && known->labels == made->labels &&
                        known->buckets == made->buckets;
      if (same) return reinterpret_cast<plimsoll_metric*>(known.get());
      error = "metric \"" + made->name + "\" is there already";
      return nullptr;
    }
    metric_specs_.push_back(std::move(made));
    return reinterpret_cast<plimsoll_metric*>(metric_specs_.back().get());
  }
  void observe(const FakeMetric& metric, std::span<const plimsoll_str> values, double value) {
    if (values.size() != metric.labels.size()) {
      throw std::invalid_argument("metric \"" + metric.name + "\": one value for each label");
    }
    std::string key = metric.name;
    for (size_t i = 0; i < values.size(); ++i) {
      key += (i == 0 ? "{" : ",") + std::string(view(values[i]));
    }
    if (!values.empty()) key += "}";
    std::vector<double>& seen = metrics[key];
    if (metric.type == PLIMSOLL_METRIC_COUNTER && !seen.empty()) value += seen.back();
    if (metric.type != PLIMSOLL_METRIC_HISTOGRAM) seen.clear();
    seen.push_back(value);
  }
  static void add_metrics(plimsoll_host& t) {
    t.metric = [](Ctx c, const plimsoll_metric_spec* spec) { return of(c).metric(*spec); };
    t.metric_observe = [](Ctx c, plimsoll_metric* metric, const plimsoll_str* values,
                          uint32_t count, double value) {
      of(c).observe(*reinterpret_cast<FakeMetric*>(metric), {values, count}, value);
    };
  }
  static plimsoll_host make_table(FakeHost* self) {
    plimsoll_host t{};
    t.size = sizeof t;
    t.abi_major = PLIMSOLL_ABI_MAJOR;
    t.abi_minor = PLIMSOLL_ABI_MINOR;
    t.ctx = reinterpret_cast<plimsoll_host_ctx*>(self);
    add_names(t);
    add_state(t);
    add_cluster(t);
    add_binding(t);
    add_since_1_1(t);
    add_what_ifs(t);
    add_metrics(t);
    return t;
  }

  plimsoll_host table_;
  std::vector<FakeNode*> nodes_;
  std::unordered_map<std::string, plimsoll_symbol> symbols_;
  std::vector<std::vector<std::string>> reason_lists_{{}};
  std::vector<std::unique_ptr<FakeMetric>> metric_specs_;
};

// A plugin that is created and called as the scheduler does it.
template <typename Class>
class FakePlugin {
 public:
  struct Verdict {
    int32_t code = PLIMSOLL_SUCCESS;
    std::string reasons;  // joined by ", "; for an error, its text
  };

  // Throws std::runtime_error with the plugin's text if its constructor throws.
  explicit FakePlugin(FakeHost& host, std::string_view args_json = "{}",
                      std::string_view name = "test")
      : host_(host) {
    slots_.size = sizeof slots_;
    if (detail::create<Class>(host.table(), str(args_json), &slots_, name) != PLIMSOLL_SUCCESS) {
      throw std::runtime_error(host.error);
    }
  }
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;
  ~FakePlugin() { slots_.destroy(slots_.self); }

  // The table of functions, for slots that have no helper in this class.
  [[nodiscard]] const plimsoll_plugin& slots() const { return slots_; }
  [[nodiscard]] Class& plugin() { return detail::of<Class>(slots_.self).plugin; }

  Verdict pre_filter(FakeCycle& cycle, Pod pod) {
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        slots_.pre_filter(slots_.self, cycle.get(), &*pod, &reason, &names, &narrowed);
    return verdict(code, reason);
  }
  Verdict filter(FakeCycle& cycle, Pod pod, Node node) {
    const plimsoll_node_info* row = &*node;
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    uint8_t row_code = PLIMSOLL_SUCCESS;
    uint32_t reason = 0;
    const int32_t code = slots_.filter(slots_.self, cycle.get(), &*pod, &nodes, &row_code, &reason);
    return code == PLIMSOLL_SUCCESS ? verdict(row_code, reason) : verdict(code, 0);
  }
  // The scores of several nodes, normalized if the plugin implements that. Throws if the plugin
  // fails.
  std::vector<int64_t> score(FakeCycle& cycle, Pod pod, const std::vector<FakeNode*>& candidates) {
    std::vector<const plimsoll_node_info*> rows;
    for (FakeNode* node : candidates) rows.push_back(&node->get());
    const plimsoll_nodes nodes{sizeof nodes, static_cast<uint32_t>(rows.size()), rows.data(),
                               nullptr, nullptr};
    std::vector<int64_t> scores(rows.size());
    if (slots_.pre_score != nullptr) {
      check(slots_.pre_score(slots_.self, cycle.get(), &*pod, &nodes));
    }
    check(slots_.score(slots_.self, cycle.get(), &*pod, &nodes, scores.data()));
    if (slots_.normalize != nullptr) {
      check(slots_.normalize(slots_.self, cycle.get(), &*pod, &nodes, scores.data()));
    }
    return scores;
  }
  Verdict reserve(FakeCycle& cycle, Pod pod, Node node) {
    uint32_t reason = 0;
    const int32_t code = slots_.reserve(slots_.self, cycle.get(), &*pod, &*node, &reason);
    return verdict(code, reason);
  }
  void unreserve(FakeCycle& cycle, Pod pod, std::string_view node_name) {
    slots_.unreserve(slots_.self, cycle.get(), &*pod, str(node_name));
  }
  // The bytes that sign() writes; nothing if the pod cannot be signed.
  std::optional<std::string> sign(Pod pod) {
    std::string bytes;
    const auto put = [](void* sink, const void* data, size_t len) {
      static_cast<std::string*>(sink)->append(static_cast<const char*>(data), len);
    };
    if (slots_.sign(slots_.self, &*pod, put, &bytes) != PLIMSOLL_SUCCESS) return std::nullopt;
    return bytes;
  }

 private:
  Verdict verdict(int32_t code, uint32_t reason) {
    return {code, code == PLIMSOLL_ERROR ? host_.error : host_.reasons(reason)};
  }
  void check(int32_t code) {
    if (code == PLIMSOLL_ERROR) throw std::runtime_error(host_.error);
  }

  FakeHost& host_;
  plimsoll_plugin slots_{};
};

}  // namespace plimsoll::sdk
