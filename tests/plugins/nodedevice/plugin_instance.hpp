#pragma once
// NodeDevice through its table of C functions, in the words of tests.

#include <gtest/gtest.h>

#include <plimsoll/state_source.h>

#include <optional>
#include <plimsoll/fake_host.hpp>
#include <string>
#include <vector>

#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/kept_state.hpp"

extern "C" int32_t plimsoll_plugin_create_v1(const plimsoll_host* host, plimsoll_str args_json,
                                             plimsoll_plugin* out) noexcept;

namespace plimsoll::devices::test {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using sdk::str;

inline constexpr const char* kResource = "devices.v1alpha1.scheduling.koordinator.sh";
inline constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";

// The accounts as `plimsoll debug dump` shows them; with a slot, of that node alone.
inline std::string dumped_text(FakeHost& host, std::optional<uint32_t> slot = {}) {
  const auto* source = static_cast<const plimsoll_state_source*>(
      host.table()->find_service(host.table()->ctx, str("plimsoll.io/state/NodeDevice"), 1));
  std::string text;
  if (source == nullptr) return text;
  const auto put = [](void* sink, const void* bytes, size_t len) {
    static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
  };
  if (slot) return kept_state(*source, {*slot});
  source->describe(source->self, put, &text);
  return text;
}
inline Json dumped(FakeHost& host) {
  return Json::parse(dumped_text(host), nullptr, false);
}

// One instance of the plugin.
class Instance {
 public:
  explicit Instance(FakeHost& host, const std::string& args = "") : host_(host) {
    slots_.size = sizeof slots_;
    code_ = plimsoll_plugin_create_v1(host.table(), str(args), &slots_);
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance() {
    if (code_ == PLIMSOLL_SUCCESS) slots_.destroy(slots_.self);
  }
  [[nodiscard]] bool made() const { return code_ == PLIMSOLL_SUCCESS; }

  void node(FakeNode& node, uint32_t type = PLIMSOLL_NODE_ADDED) {
    slots_.node_event(slots_.self, type, &node.get(), 0);
  }
  void device(const std::string& name, const Json& object) {
    const std::string json = object.dump();
    slots_.object_event(slots_.self, PLIMSOLL_OBJECT_UPSERT, str(kResource), str(name), str(""),
                        str(json));
  }
  void no_device(const std::string& name) {
    slots_.object_event(slots_.self, PLIMSOLL_OBJECT_DELETE, str(kResource), str(name), str(""),
                        str("{}"));
  }
  void pod(FakePod& pod, uint32_t type = PLIMSOLL_POD_ASSIGNED) {
    const plimsoll_pod& object = pod.get();
    slots_.pod_event(slots_.self, type, &object, object.node_name);
  }

  std::string pre_filter(FakeCycle& cycle, FakePod& pod) {
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        slots_.pre_filter(slots_.self, cycle.get(), &pod.get(), &reason, &names, &narrowed);
    return text(code, reason);
  }
  std::string filter(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    const plimsoll_node_info* row = &node.get();
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    uint8_t code = 0;
    uint32_t reason = 0;
    EXPECT_EQ(slots_.filter(slots_.self, cycle.get(), &pod.get(), &nodes, &code, &reason), 0);
    return text(code, reason);
  }
  // PreFilter and Filter: "ok", or what refused.
  std::string filter_once(FakePod& pod, FakeNode& node) {
    FakeCycle cycle;
    const std::string said = pre_filter(cycle, pod);
    return said == "ok" ? filter(cycle, pod, node) : said;
  }
  // PreFilter, Filter and Reserve; the annotation that the Binding carries, or what refused.
  std::string place(FakePod& pod, FakeNode& node, const char* annotation = kAllocated) {
    FakeCycle cycle;
    if (std::string said = pre_filter(cycle, pod); said != "ok") return said;
    if (std::string said = filter(cycle, pod, node); said != "ok") return said;
    uint32_t reason = 0;
    const int32_t code = slots_.reserve(slots_.self, cycle.get(), &pod.get(), &node.get(), &reason);
    if (code != 0) return text(code, reason);
    return cycle.annotations.count(annotation) != 0 ? cycle.annotations[annotation] : "none";
  }
  void what_if(FakeCycle& cycle, FakePod& pod, FakePod& other, FakeNode& node, bool added) {
    const auto call = added ? slots_.add_pod : slots_.remove_pod;
    EXPECT_EQ(call(slots_.self, cycle.get(), &pod.get(), &other.get(), &node.get()), 0);
  }
  std::vector<int64_t> scores(FakePod& pod, const std::vector<FakeNode*>& nodes) {
    FakeCycle cycle;
    EXPECT_EQ(pre_filter(cycle, pod), "ok");
    std::vector<const plimsoll_node_info*> rows;
    for (FakeNode* node : nodes) rows.push_back(&node->get());
    const plimsoll_nodes all{sizeof all, static_cast<uint32_t>(rows.size()), rows.data(), nullptr,
                             nullptr};
    std::vector<int64_t> scores(rows.size());
    EXPECT_EQ(slots_.score(slots_.self, cycle.get(), &pod.get(), &all, scores.data()), 0);
    EXPECT_EQ(slots_.normalize(slots_.self, cycle.get(), &pod.get(), &all, scores.data()), 0);
    return scores;
  }
  void unreserve(FakePod& pod, const std::string& node) {
    FakeCycle cycle;
    slots_.unreserve(slots_.self, cycle.get(), &pod.get(), str(node));
  }
  int32_t hint(FakePod& pod, const plimsoll_event& event) {
    return slots_.hint(slots_.self, &pod.get(), &event);
  }
  std::string explain(FakePod& pod, FakeNode& node) {
    FakeCycle cycle;
    EXPECT_EQ(pre_filter(cycle, pod), "ok");
    return explain_in(cycle, pod, node);
  }
  int64_t raw_score(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    const plimsoll_node_info* row = &node.get();
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    int64_t score = -1;
    EXPECT_EQ(slots_.score(slots_.self, cycle.get(), &pod.get(), &nodes, &score), 0);
    return score;
  }
  std::string explain_in(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    std::string out;
    slots_.explain(slots_.self, cycle.get(), &pod.get(), &node.get(), &append, &out);
    return out;
  }
  std::string sign(FakePod& pod) {
    std::string out;
    EXPECT_EQ(slots_.sign(slots_.self, &pod.get(), &append, &out), PLIMSOLL_SUCCESS);
    return out;
  }
  [[nodiscard]] const plimsoll_plugin& slots() const { return slots_; }

 private:
  static void append(void* sink, const void* bytes, size_t len) {
    static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), len);
  }
  [[nodiscard]] std::string text(int32_t code, uint32_t reason) const {
    const std::string why = reason == 0 ? host_.error : host_.reasons(reason);
    switch (code) {
      case PLIMSOLL_SUCCESS:
        return "ok";
      case PLIMSOLL_SKIP:
        return "skip";
      case PLIMSOLL_UNSCHEDULABLE:
        return why;
      case PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE:
        return why + " (unresolvable)";
      default:
        return "error: " + host_.error;
    }
  }

  FakeHost& host_;
  plimsoll_plugin slots_{};
  int32_t code_ = 0;
};

}  // namespace plimsoll::devices::test
