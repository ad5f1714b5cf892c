#pragma once
// Where the pods of a group would be if pods of lower priority made room for them, and which of
// these would have to go. The cycle publishes it as a service, DefaultPreemption asks. Loop only;
// it changes nothing. Both pause: should anything change on the nodes then, the routine is not
// resumed, but destroyed.

#include <plimsoll/plugin_abi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "framework/base/routine.hpp"

namespace plimsoll {

// Who goes together: a pod, or all pods of a PodGroup whose disruptionMode is `all`.
struct VictimUnit {
  std::vector<const plimsoll_pod*> pods;  // on nodes, and none of them terminates; never none
  int32_t priority = 0;                   // of a pod of a PodGroup: the group's
  bool of_group = false;
  bool is_whole_group = false;  // by its disruptionMode; who else belongs to it may change

  // The most important has the lowest. Kubernetes: MoreImportantVictim. A pod that has not started
  // counts as started now.
  [[nodiscard]] auto rank(int64_t now_ms) const {
    int64_t start = INT64_MAX;
    for (const plimsoll_pod* pod : pods)
      start = std::min(start, pod->start_ms != 0 ? pod->start_ms : now_ms);
    return std::tuple(-int64_t{priority}, !of_group, -static_cast<int64_t>(pods.size()), start);
  }
  [[nodiscard]] bool more_important_than(const VictimUnit& other, int64_t now_ms) const {
    return rank(now_ms) < other.rank(now_ms);
  }
};

class GroupDryRun {
 public:
  static constexpr const char* kService = "plimsoll.group-dry-run";
  // A pod that is being deleted is waited for until so long after its grace period has ended: its
  // node's agent may have died.
  static constexpr int64_t kLongestWaitMs = 2 * 60'000;
  // One whose grace period has longer to go counts as one that stays: whoever makes pods chooses
  // it.
  static constexpr int64_t kLongestGraceMs = 10 * 60'000;
  [[nodiscard]] static bool makes_room(const plimsoll_pod& pod, int64_t now_ms) {
    const int64_t left = pod.meta.deletion_ms - now_ms;
    return pod.meta.deletion_ms != 0 && left > -kLongestWaitMs && left <= kLongestGraceMs;
  }

  struct Place {
    const plimsoll_pod* pod;
    std::string node;
  };

  // For each pod, whether its eviction, after those before it, breaks a budget.
  using Breaks = std::function<std::vector<bool>(const std::vector<const plimsoll_pod*>&)>;
  struct EvictionQuery {
    std::span<const plimsoll_pod* const> members;  // without a place; all may evict
    size_t needed = 1;     // so many of them at least, and more if it can be
    int32_t priority = 0;  // of the group: whose is lower may go
    // Slots of nodes, rising: all members go to one of these sets. Empty: to any nodes.
    std::span<const std::span<const uint32_t>> domains = {};
    int64_t now_ms = 0;
    Breaks breaks = {};
  };
  struct Eviction {
    enum class Outcome {
      kFound,
      kNoVictims,  // there is nobody who may go
      kNoRoom,     // there is none without all of these
      kWaits,      // pods that are being deleted make room enough
      kTooMuch,    // too many kinds of members, or it would have taken too long
    } outcome = Outcome::kNoRoom;
    // kFound: with only the victims gone all of these fit at once; kWaits: with those gone who go.
    std::vector<Place> places;
    std::vector<VictimUnit> victims;  // the most important first; none: others found less room
    // kNoRoom: of the members in their order, when it was known that too few fit.
    size_t placed = 0, remaining = 0;
    int64_t until_ms = 0;  // kWaits: then one of them counts as one that stays
  };

  virtual ~GroupDryRun() = default;
  // Whom to evict for the whole group: first those who break no budget, of the lowest
  // priorities, and of these the fewest.
  // `query` and what is in it outlive the routine.
  [[nodiscard]] virtual Routine<Eviction> evict(const EvictionQuery& query, Slice& slice) const = 0;
  // Who goes with this pod, which has a node.
  [[nodiscard]] virtual VictimUnit unit_of(const plimsoll_pod& pod) const = 0;
};

// Whom a whole group evicts: what DefaultPreemption decides. It publishes a pointer to it under
// this name, "/" and the schedulerName of its profile.
class GroupPreemption {
 public:
  static constexpr std::string_view kService = "plimsoll.group-preemption";

  struct Group {
    std::string_view uid;
    std::span<const plimsoll_pod* const> members;  // without a place, as they are nominated
    size_t needed = 1;
    int32_t priority = 0;
    std::span<const std::span<const uint32_t>> domains = {};  // as in GroupDryRun::EvictionQuery
    std::function<bool()> is_there = {};  // it is not gone, or going; asked later, too
    std::function<bool()> is_news = {};   // it may have changed meanwhile; asked before the end
  };
  struct Decision {
    enum class Outcome {
      kEvicts,      // places: where the members are nominated to
      kWaits,       // for pods that go already; places as above; none: nominations stay
      kIneligible,  // it must not evict; nominations stay
      kRefused,     // nobody is evicted
      kNoRoom,      // the same; placed, remaining: see GroupDryRun::Eviction
      kNews,        // nobody is evicted before the news is heard
    } outcome = Outcome::kRefused;
    std::string message;
    std::vector<GroupDryRun::Place> places;
    size_t placed = 0, remaining = 0;
  };

  virtual ~GroupPreemption() = default;
  // `group` and what is in it outlive the routine.
  virtual Routine<Decision> preempt(const Group& group, Slice& slice) = 0;
};

}  // namespace plimsoll
