#pragma once
// A queue with a clock in hand, and four plugins that say what the test wants.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/queue/scheduling_queue.hpp"

namespace plimsoll {

inline constexpr int64_t kStart = 1'767'225'600'000;  // a whole second
inline constexpr PluginIndex kFit = 7;                // registered Node
inline constexpr PluginIndex kPorts = 8;              // registered Pod/Delete
inline constexpr PluginIndex kGates = 9;    // PreEnqueue; registered Pod/SchedulingGatesEliminated
inline constexpr PluginIndex kClosed = 10;  // PreEnqueue; registered Node/Delete
inline constexpr PluginIndex kGroups = 11;  // of groups that are not complete; registered nothing

class FakePolicy : public QueuePolicy {
 public:
  explicit FakePolicy(SymbolTable& symbols) {
    const auto on = [&](PluginIndex plugin, std::string_view resource, uint32_t actions) {
      registered.push_back({plugin_key(0, plugin), {symbols.intern(resource), actions, 0}});
    };
    on(kFit, kResourceNode, PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE);
    on(kPorts, kResourcePod, PLIMSOLL_ACTION_DELETE);
    on(kGates, kResourcePod, PLIMSOLL_ACTION_UPDATE_POD_GATES_ELIMINATED);
    on(kClosed, kResourceNode, PLIMSOLL_ACTION_DELETE);
  }

  ProfileIndex profile(const plimsoll_pod& pod) override {
    return view(pod.scheduler_name) == "other" ? 1 : 0;
  }
  std::optional<PluginIndex> gate(const plimsoll_pod& pod) override {
    ++gates_run;
    if (pod.scheduling_gates.count != 0) return kGates;
    return closed_for.contains(std::string(view(pod.meta.name))) ? std::optional(kClosed)
                                                                 : std::nullopt;
  }
  bool wakes_whom_it_gates(PluginKey gate) override { return wakes == gate; }
  GroupName group_of(const plimsoll_pod& pod) override {
    return plimsoll::group_of(pod, GroupKinds().set());
  }
  std::optional<PluginIndex> group_gate(const plimsoll_pod& pod) override {
    return group_of(pod) ? std::optional(kGroups) : std::nullopt;
  }
  GroupFacts group(const GroupName& name, const plimsoll_pod&) override {
    const auto known = groups.find(std::string(name.name));
    return known == groups.end() ? GroupFacts() : known->second;
  }
  SortKey sort_key(const plimsoll_pod& pod, int64_t queued_ms) override {
    SortKey key{};
    const uint64_t priority =
        ~static_cast<uint64_t>(static_cast<int64_t>(pod.priority) + (1LL << 32));
    const auto queued = static_cast<uint64_t>(queued_ms);
    for (size_t i = 0; i < 8; ++i) {
      key[i] = static_cast<uint8_t>(priority >> (56 - 8 * i));
      key[8 + i] = static_cast<uint8_t>(queued >> (56 - 8 * i));
    }
    return key;
  }
  std::vector<PluginKey> interested(const ClusterEvent& event) override {
    std::set<PluginKey> plugins;
    for (const auto& [plugin, interest] : registered) {
      if (matches(interest, event)) plugins.insert(plugin);
    }
    return {plugins.begin(), plugins.end()};
  }
  bool named_only(PluginKey plugin, const ClusterEvent& event) override {
    return event.new_object && by_name.contains(static_cast<PluginIndex>(plugin));
  }
  QueueHint hint(const plimsoll_pod& pod, PluginKey plugin, const ClusterEvent& event) override {
    asked.emplace_back(view(pod.meta.name), static_cast<PluginIndex>(plugin));
    if (named_only(plugin, event) && !names(pod, event)) return QueueHint::kSkip;
    const auto answer = says.find(static_cast<PluginIndex>(plugin));
    return answer == says.end() ? QueueHint::kQueue : answer->second;
  }

  static bool names(const plimsoll_pod& pod, const ClusterEvent& event) {
    const sdk::List<plimsoll_pod_claim> claims(pod.claims);
    return std::any_of(claims.begin(), claims.end(), [&](const auto& claim) {
      return view(claim.claim) == event.new_object->name;
    });
  }

  std::vector<std::pair<PluginKey, plimsoll_event_interest>> registered;
  std::map<PluginIndex, QueueHint> says;  // those that are not here say Queue
  std::set<PluginIndex> by_name;          // whose events of objects help only who names them
  std::set<std::string> closed_for;       // pods that plugin Closed holds back
  std::vector<std::pair<std::string, PluginIndex>> asked;
  std::map<std::string, GroupFacts> groups;
  std::optional<PluginKey> wakes;  // the plugin that wakes the pods that it gates
  int gates_run = 0;
};

class QueueTest : public ::testing::Test {
 protected:
  PodRef pod(const std::string& name, int priority = 0, const std::string& extra = "",
             const std::string& uid = "", const std::string& scheduler = "s") {
    const std::string json = R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" +
                             (uid.empty() ? "uid-" + name : uid) + R"("},"spec":{"priority":)" +
                             std::to_string(priority) + R"(,"schedulerName":")" + scheduler +
                             R"(","containers":[{"name":"c"}])" + extra + "}}";
    auto decoded = decode_pod(json, symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  static constexpr const char* kGated = R"(,"schedulingGates":[{"name":"wait"}])";

  std::string pop() {
    QueuedPod* popped = queue_.pop();
    return popped == nullptr ? "" : std::string(view(popped->pod->meta.name));
  }
  void reject(const std::string& name, std::set<PluginIndex> rejectors,
              std::set<PluginIndex> pending = {}) {
    queue_.reject("uid-" + name, rejectors, pending, now_);
  }
  void fail(const std::string& name) { queue_.fail("uid-" + name, now_); }
  // Added, popped and rejected.
  void rejected(const std::string& name, std::set<PluginIndex> rejectors,
                std::set<PluginIndex> pending = {}) {
    queue_.add(pod(name), now_);
    ASSERT_EQ(pop(), name);
    reject(name, std::move(rejectors), std::move(pending));
  }
  void add_node() { queue_.move_all(node_added(node()), now_); }
  void delete_node() { queue_.move_all(node_deleted(node()), now_); }
  void delete_pod() { queue_.move_all(assigned_pod_deleted(pod("placed")), now_); }

  std::string place(const std::string& name) {
    const QueuedPod* entry = queue_.entry("uid-" + name);
    if (entry == nullptr) return "gone";
    if (entry->group != nullptr) entry = &entry->group->entry;
    switch (entry->place) {
      case QueuePlace::kActive:
        return "active";
      case QueuePlace::kBackoff:
        return "backoff";
      case QueuePlace::kErrorBackoff:
        return "error-backoff";
      case QueuePlace::kUnschedulable:
        return entry->gated_by ? "gated" : "unschedulable";
      case QueuePlace::kInFlight:
        return "in-flight";
      case QueuePlace::kInGroup:
        break;
    }
    return "?";
  }
  NodeRef node() { return *decode_node(R"({"metadata":{"name":"n"}})", symbols_); }

  SymbolTable symbols_;
  FakePolicy policy_{symbols_};
  SchedulingQueue queue_{policy_, {}};
  int64_t now_ = kStart;
};

}  // namespace plimsoll
