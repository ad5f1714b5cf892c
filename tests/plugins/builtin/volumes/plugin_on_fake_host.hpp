#pragma once
// One volume plugin on a fake host, called through its C functions.

#include <plimsoll/pod_groups.h>

#include <initializer_list>
#include <optional>
#include <plimsoll/fake_host.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/runtime/plugin/modules.hpp"
#include "tests/plugins/builtin/volumes/objects_of_host.hpp"

namespace plimsoll::volumes_test {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using sdk::str;

inline constexpr const char* kClaims = "persistentvolumeclaims";
inline constexpr const char* kVolumes = "persistentvolumes";

class PluginOnFakeHost {
 public:
  PluginOnFakeHost(FakeHost& host, const StaticModule& module, std::string_view args = "{}")
      : host_(host) {
    slots_.size = sizeof slots_;
    if (module.create(host.table(), str(args), &slots_) != PLIMSOLL_SUCCESS) {
      throw std::runtime_error(host.error);
    }
    slots_.start(slots_.self);
  }
  PluginOnFakeHost(const PluginOnFakeHost&) = delete;
  PluginOnFakeHost& operator=(const PluginOnFakeHost&) = delete;
  ~PluginOnFakeHost() { slots_.destroy(slots_.self); }

  [[nodiscard]] const plimsoll_plugin& slots() const { return slots_; }

  ObjectChange put(std::string_view resource, std::string_view ns, std::string_view name,
                   std::string_view json) {
    return objects_.change(resource, ns, name, json, [&] {
      slots_.object_event(slots_.self, PLIMSOLL_OBJECT_UPSERT, str(resource), str(name), str(ns),
                          str(json));
    });
  }
  void erase(std::string_view resource, std::string_view ns, std::string_view name) {
    objects_.change(resource, ns, name, "", [&] {
      slots_.object_event(slots_.self, PLIMSOLL_OBJECT_DELETE, str(resource), str(name), str(ns),
                          str(""));
    });
  }
  void assigned(FakePod& pod, std::string_view node) {
    slots_.pod_event(slots_.self, PLIMSOLL_POD_ASSIGNED, &pod.get(), str(node));
  }
  void removed(FakePod& pod, std::string_view node) {
    slots_.pod_event(slots_.self, PLIMSOLL_POD_REMOVED, &pod.get(), str(node));
  }
  void reserve(FakePod& pod, FakeNode& node) {
    FakeCycle cycle;
    uint32_t reason = 0;
    slots_.reserve(slots_.self, cycle.get(), &pod.get(), &node.get(), &reason);
  }
  void unreserve(FakePod& pod, std::string_view node) {
    FakeCycle cycle;
    slots_.unreserve(slots_.self, cycle.get(), &pod.get(), str(node));
  }

  // The text of PreFilter's rejection or error; "skip" where it skips, empty where it succeeds.
  std::string pre_filter(FakeCycle& cycle, FakePod& pod) {
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        slots_.pre_filter(slots_.self, cycle.get(), &pod.get(), &reason, &names, &narrowed);
    if (code == PLIMSOLL_SUCCESS) return "";
    if (code == PLIMSOLL_SKIP) return "skip";
    return reason == 0 ? host_.error : host_.reasons(reason);
  }
  // The text of Filter's rejection, or "error: " and its text; empty where the pod fits.
  std::string filter(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    const plimsoll_node_info* row = &node.get();
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    uint8_t code = PLIMSOLL_SUCCESS;
    uint32_t reason = 0;
    if (slots_.filter(slots_.self, cycle.get(), &pod.get(), &nodes, &code, &reason) !=
        PLIMSOLL_SUCCESS) {
      return "error: " + host_.error;
    }
    return code == PLIMSOLL_SUCCESS ? "" : host_.reasons(reason);
  }
  // The score of one node; nothing where PreScore skips.
  std::optional<int64_t> score(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    const plimsoll_node_info* row = &node.get();
    const plimsoll_nodes nodes{sizeof nodes, 1, &row, nullptr, nullptr};
    if (slots_.pre_score(slots_.self, cycle.get(), &pod.get(), &nodes) != PLIMSOLL_SUCCESS)
      return std::nullopt;
    int64_t score = -1;
    slots_.score(slots_.self, cycle.get(), &pod.get(), &nodes, &score);
    return score;
  }
  // A whole attempt: PreFilter, then Filter.
  std::string verdict(FakePod& pod, FakeNode& node) {
    FakeCycle cycle;
    const std::string refused = pre_filter(cycle, pod);
    return refused.empty() ? filter(cycle, pod, node) : refused;
  }
  std::optional<std::string> sign(FakePod& pod) {
    std::string bytes;
    const auto put = [](void* sink, const void* data, size_t len) {
      static_cast<std::string*>(sink)->append(static_cast<const char*>(data), len);
    };
    if (slots_.sign(slots_.self, &pod.get(), put, &bytes) != PLIMSOLL_SUCCESS) return std::nullopt;
    return bytes;
  }
  // Whether the pod is tried again because of this update.
  bool is_woken_by(FakePod& pod, const ObjectChange& update) {
    const auto decoded = [&](const std::string& json) {
      told_.push_back(decode_object(update.resource, update.ns, update.name, json));
      return told_.back().get();
    };
    plimsoll_event event{};
    event.size = sizeof event;
    event.actions = PLIMSOLL_ACTION_UPDATE;
    event.resource = str(update.resource);
    event.old_object = decoded(update.before);
    event.new_object = decoded(update.now);
    return slots_.hint(slots_.self, &pod.get(), &event) == PLIMSOLL_HINT_QUEUE;
  }
  bool rests_on(FakePod& pod, std::string_view resource) {
    return slots_.rests_on(slots_.self, &pod.get(), str(resource)) != 0;
  }
  // Registered events as "resource:actions".
  std::vector<std::string> events() {
    std::vector<std::string> all;
    const sdk::List<plimsoll_event_interest> interests = slots_.events(slots_.self);
    for (const plimsoll_event_interest& each : interests) {
      all.push_back(std::string(sdk::view(each.resource)) + ":" + std::to_string(each.actions));
    }
    return all;
  }

 private:
  FakeHost& host_;
  plimsoll_plugin slots_{};
  ObjectsOfHost objects_{host_};
  std::vector<ObjectRef> told_;  // by events, of which each keeps its own
};

// The group of these pods is decided on.
class DecidedGroup {
 public:
  DecidedGroup(std::initializer_list<FakePod*> members) : members_(members) {
    groups_.size = sizeof groups_;
    groups_.self = this;
    groups_.decision = [](void* self, const plimsoll_pod*, void* to, auto add) {
      const auto& group = *static_cast<DecidedGroup*>(self);
      for (FakePod* member : group.members_)
        if (add != nullptr && group.decision != 0) add(to, &member->get());
      return group.decision;
    };
  }
  // So that the plugin, which starts anew, knows of it.
  bool publish(FakeHost& host, const PluginOnFakeHost& plugin) {
    return host.handle().publish(PLIMSOLL_POD_GROUPS_SERVICE, PLIMSOLL_POD_GROUPS_VERSION,
                                 &groups_) &&
           plugin.slots().start(plugin.slots().self) == PLIMSOLL_SUCCESS;
  }

  uint64_t decision = 1;  // 0: none is decided on

 private:
  std::vector<FakePod*> members_;
  plimsoll_pod_groups groups_{};
};

}  // namespace plimsoll::volumes_test
