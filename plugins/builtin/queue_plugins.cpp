// PrioritySort, SchedulingGates and DefaultBinder: the two ends of a pod's way.
#include <string>

#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// Higher priority first, then who waited longer.
class PrioritySort {
 public:
  static constexpr const char* kName = "PrioritySort";
  explicit PrioritySort(const Host&) {}
  SortKey sort_key(Pod pod, int64_t queued_ms) {
    return SortKey().descending(pod->priority).ascending(queued_ms);
  }
};

// Holds a pod back until the last of its spec.schedulingGates is removed.
class SchedulingGates {
 public:
  static constexpr const char* kName = "SchedulingGates";
  explicit SchedulingGates(const Host& host) : host_(host) {}

  const auto& events() const { return events_; }
  Hint hint(Pod pod, const plimsoll_event& event) { return queue_if(is_about(event, pod)); }
  Status pre_enqueue(Pod pod) {
    const Strings gates = pod->scheduling_gates;
    if (gates.empty()) return Status::success();
    std::string names;
    for (const plimsoll_str& gate : gates) {
      names.append(names.empty() ? "" : " ").append(view(gate));
    }
    // Not a reason of the table: everybody may name gates as he likes.
    return host_.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE,
                        "waiting for scheduling gates: [" + names + "]");
  }

 private:
  Host host_;
  std::array<plimsoll_event_interest, 1> events_{
      on_pod(PLIMSOLL_ACTION_UPDATE_POD_GATES_ELIMINATED)};
};

// Posts the Binding.
class DefaultBinder {
 public:
  static constexpr const char* kName = "DefaultBinder";
  explicit DefaultBinder(const Host& host) : host_(host) {}
  Status bind(plimsoll_cycle& cycle, Pod pod, std::string_view node_name, Token token) {
    return host_.post_binding(cycle, pod, node_name, token);
  }

 private:
  Host host_;
};

}  // namespace

StaticModule priority_sort() {
  return linked_in<PrioritySort>();
}
StaticModule scheduling_gates() {
  return linked_in<SchedulingGates>();
}
StaticModule default_binder() {
  return linked_in<DefaultBinder>();
}

}  // namespace plimsoll::builtin
