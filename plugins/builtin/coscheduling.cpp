// Coscheduling of scheduler-plugins: pods with the label scheduling.x-k8s.io/pod-group are placed
// together. Where it is enabled, the scheduler's queue and cycle treat them so; the plugin follows
// their PodGroups, and stands for what the group as a whole waits for.
#include <array>
#include <bit>
#include <cstdint>
#include <string>

#include "framework/api/group_name.hpp"
#include "framework/runtime/coscheduling_args.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

class Coscheduling {
 public:
  static constexpr const char* kName = "Coscheduling";
  static constexpr const char* kDefaultArgs =
      R"({"permitWaitingTimeSeconds":60,"podGroupBackoffSeconds":0,"podGroupRejectPercentage":10})";

  Coscheduling(const Host& host, std::string_view args_json) {
    static_cast<void>(
        read_coscheduling_args(args_json, [&](std::string_view text) { host.warn(text); }));
    host.watch("scheduling.x-k8s.io", "v1alpha1", "podgroups");
  }

  // As for GangScheduling.
  static constexpr bool wakes_whom_it_gates = true;
  std::array<plimsoll_event_interest, 1> events() const {
    return {on_node(PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL)};
  }
  // Higher priority first, then who was created or last refused before, then by name, as far as
  // there is room for it. `since_ms`: of a group what the queue says of it.
  SortKey sort_key(Pod pod, int64_t since_ms) {
    const std::string name = std::string(pod.ns()) + "/" + std::string(pod.name());
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof first; ++i)
      first = first << 8 | (i < name.size() ? static_cast<uint8_t>(name[i]) : 0);
    return SortKey()
        .descending(pod->priority)
        .ascending(since_ms)
        .ascending(std::bit_cast<int64_t>(first ^ (uint64_t{1} << 63)));
  }
  Status pre_enqueue(Pod) { return Status::success(); }
  Status permit(plimsoll_cycle&, Pod, Node, int64_t&) { return Status::success(); }
  bool rests_on(Pod pod, std::string_view) const {
    return pod.label(kCoschedulingLabel).has_value();
  }
};

}  // namespace

StaticModule coscheduling() {
  return linked_in<Coscheduling>();
}

}  // namespace plimsoll::builtin
