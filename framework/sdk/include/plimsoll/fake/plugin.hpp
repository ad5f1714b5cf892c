// Plimsoll plugin SDK, for unit tests: a plugin that is called through the same C functions that
// the scheduler uses.
#pragma once

#include <plimsoll/fake/scheduler.hpp>
#include <plimsoll/plugin.hpp>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

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

  // The table of functions. A function below whose slot the class does not fill must not be called.
  [[nodiscard]] const plimsoll_plugin& slots() const { return slots_; }
  [[nodiscard]] Class& plugin() { return detail::of<Class>(slots_.self).plugin; }

  // ---- queue
  // Does nothing if the class has no start(). Throws if it fails.
  void start() {
    if (slots_.start != nullptr) check(slots_.start(slots_.self));
  }
  Verdict pre_enqueue(Pod pod) {
    uint32_t reason = 0;
    const int32_t code = slots_.pre_enqueue(slots_.self, &*pod, &reason);
    return verdict(code, reason);
  }
  std::array<uint8_t, 24> sort_key(Pod pod, int64_t queued_ms) {
    std::array<uint8_t, 24> key{};
    check(slots_.sort_key(slots_.self, &*pod, queued_ms, key.data()));
    return key;
  }
  List<plimsoll_event_interest> events() {
    return List<plimsoll_event_interest>(slots_.events(slots_.self));
  }
  int32_t hint(Pod pod, const plimsoll_event& event) {
    return slots_.hint(slots_.self, &*pod, &event);
  }

  // ---- scheduling cycle

  Verdict pre_filter(FakeCycle& cycle, Pod pod) {
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        slots_.pre_filter(slots_.self, cycle.get(), &*pod, &reason, &names, &narrowed);
    return verdict(code, reason);
  }
  Verdict add_pod(FakeCycle& cycle, Pod pod, Pod added, Node node) {
    return verdict(slots_.add_pod(slots_.self, cycle.get(), &*pod, &*added, &*node), 0);
  }
  Verdict remove_pod(FakeCycle& cycle, Pod pod, Pod removed, Node node) {
    return verdict(slots_.remove_pod(slots_.self, cycle.get(), &*pod, &*removed, &*node), 0);
  }
  Verdict filter(FakeCycle& cycle, Pod pod, Node node) {
    const plimsoll_node_info* row = &*node;
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    uint8_t row_code = PLIMSOLL_SUCCESS;
    uint32_t reason = 0;
    const int32_t code = slots_.filter(slots_.self, cycle.get(), &*pod, &nodes, &row_code, &reason);
    return code == PLIMSOLL_SUCCESS ? verdict(row_code, reason) : verdict(code, 0);
  }
  // `codes`: the verdicts on these nodes. `nominated`: what it writes there; untouched without.
  Verdict post_filter(FakeCycle& cycle, Pod pod, const std::vector<FakeNode*>& nodes,
                      const std::vector<uint8_t>& codes,
                      std::optional<std::string>* nominated = nullptr) {
    const std::vector<const plimsoll_node_info*> rows = rows_of(nodes);
    const plimsoll_nodes all = nodes_of(rows);
    plimsoll_str name{};
    uint32_t reason = 0;
    const int32_t code =
        slots_.post_filter(slots_.self, cycle.get(), &*pod, &all, codes.data(), &name, &reason);
    if (nominated != nullptr && name.data != nullptr) *nominated = view(name);
    return verdict(code, reason);
  }
  // The scores of several nodes, normalized if the plugin implements that. Throws if the plugin
  // fails.
  std::vector<int64_t> score(FakeCycle& cycle, Pod pod, const std::vector<FakeNode*>& candidates) {
    const std::vector<const plimsoll_node_info*> rows = rows_of(candidates);
    const plimsoll_nodes nodes = nodes_of(rows);
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
  Verdict permit(FakeCycle& cycle, Pod pod, Node node, int64_t* timeout_ms = nullptr) {
    uint32_t reason = 0;
    int64_t timeout = 0;
    const int32_t code = slots_.permit(slots_.self, cycle.get(), &*pod, &*node, &timeout, &reason);
    if (timeout_ms != nullptr) *timeout_ms = timeout;
    return verdict(code, reason);
  }

  // ---- binding cycle; what is completed later is in FakeRecords::completed
  Verdict pre_bind_pre_flight(FakeCycle& cycle, Pod pod, std::string_view node_name) {
    uint32_t parallel = 0;
    return verdict(
        slots_.pre_bind_pre_flight(slots_.self, cycle.get(), &*pod, str(node_name), &parallel), 0);
  }
  Verdict pre_bind(FakeCycle& cycle, Pod pod, std::string_view node_name) {
    return verdict(slots_.pre_bind(slots_.self, cycle.get(), &*pod, str(node_name), token()), 0);
  }
  Verdict bind(FakeCycle& cycle, Pod pod, std::string_view node_name) {
    return verdict(slots_.bind(slots_.self, cycle.get(), &*pod, str(node_name), token()), 0);
  }
  void post_bind(FakeCycle& cycle, Pod pod, std::string_view node_name) {
    slots_.post_bind(slots_.self, cycle.get(), &*pod, str(node_name));
  }

  // ---- at any time; events that the class has no function for are nothing
  void node_event(uint32_t type, Node node, uint32_t aspects = 0) {
    if (slots_.node_event != nullptr) slots_.node_event(slots_.self, type, &*node, aspects);
  }
  void pod_event(uint32_t type, Pod pod, std::string_view node_name) {
    if (slots_.pod_event != nullptr) slots_.pod_event(slots_.self, type, &*pod, str(node_name));
  }
  void object_event(uint32_t type, std::string_view resource, std::string_view name = {},
                    std::string_view ns = {}, std::string_view json = {}) {
    if (slots_.object_event == nullptr) return;
    slots_.object_event(slots_.self, type, str(resource), str(name), str(ns), str(json));
  }
  std::string explain(FakeCycle& cycle, Pod pod, Node node) {
    std::string text;
    slots_.explain(slots_.self, cycle.get(), &*pod, &*node, append, &text);
    return text;
  }
  bool rests_on(Pod pod, std::string_view resource) {
    return slots_.rests_on(slots_.self, &*pod, str(resource)) != 0;
  }
  // The bytes that sign() writes; nothing if the pod cannot be signed.
  std::optional<std::string> sign(Pod pod) {
    std::string bytes;
    if (slots_.sign(slots_.self, &*pod, append, &bytes) != PLIMSOLL_SUCCESS) return std::nullopt;
    return bytes;
  }

 private:
  static void append(void* sink, const void* data, size_t len) {
    static_cast<std::string*>(sink)->append(static_cast<const char*>(data), len);
  }
  static std::vector<const plimsoll_node_info*> rows_of(const std::vector<FakeNode*>& nodes) {
    std::vector<const plimsoll_node_info*> rows;
    for (FakeNode* node : nodes) rows.push_back(&node->get());
    return rows;
  }
  static plimsoll_nodes nodes_of(const std::vector<const plimsoll_node_info*>& rows) {
    return {sizeof(plimsoll_nodes), static_cast<uint32_t>(rows.size()), rows.data(), nullptr,
            nullptr};
  }
  plimsoll_token* token() { return reinterpret_cast<plimsoll_token*>(this); }
  Verdict verdict(int32_t code, uint32_t reason) {
    const bool worded =
        code != PLIMSOLL_SUCCESS && code != PLIMSOLL_SKIP && code != PLIMSOLL_WAIT && reason == 0;
    return {code, worded ? host_.error : host_.reasons(reason)};
  }
  void check(int32_t code) {
    if (code == PLIMSOLL_ERROR) throw std::runtime_error(host_.error);
  }

  FakeHost& host_;
  plimsoll_plugin slots_{};
};

}  // namespace plimsoll::sdk
