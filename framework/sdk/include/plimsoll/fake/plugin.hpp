// Plimsoll plugin SDK, for unit tests: a plugin that is called through the same C functions that
// the scheduler uses.
#pragma once

#include <plimsoll/fake/scheduler.hpp>
#include <plimsoll/plugin.hpp>

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
    const bool worded = code != PLIMSOLL_SUCCESS && code != PLIMSOLL_SKIP && reason == 0;
    return {code, worded ? host_.error : host_.reasons(reason)};
  }
  void check(int32_t code) {
    if (code == PLIMSOLL_ERROR) throw std::runtime_error(host_.error);
  }

  FakeHost& host_;
  plimsoll_plugin slots_{};
};

}  // namespace plimsoll::sdk
