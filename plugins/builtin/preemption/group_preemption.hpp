#pragma once
// Evictions for a pod that runs only together with others: nobody is evicted for it unless there is
// room for as many of its group as it needs, each without pods that they may evict. Which pods are
// a group is asked of the plugin that keeps groups (<plimsoll/pod_groups.h>). Loop only.

#include <plimsoll/pod_groups.h>

#include <memory>
#include <plimsoll/plugin.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "framework/runtime/group_dry_run.hpp"

namespace plimsoll::builtin {

// The members of a pod's group that need a place before the pod runs.
class WholeGroup {
 public:
  // Both are what find_service gave; null: there are no groups. They outlive it.
  WholeGroup(const plimsoll_pod_groups* groups, const GroupDryRun* dry_run, sdk::Pod pod);
  ~WholeGroup();  // tells the plugin what place() found last; nothing: no room
  WholeGroup(const WholeGroup&) = delete;
  WholeGroup& operator=(const WholeGroup&) = delete;

  // False: the pod needs nobody else.
  [[nodiscard]] bool counts() const { return needed_ >= 2; }
  // The node where the pod is, if all who are needed are placed; empty: not all have room (`why()`
  // says it, for a bounded set of texts). `node`: where it has to be; empty: anywhere.
  [[nodiscard]] std::string place(std::string_view node = {});
  [[nodiscard]] std::string_view why() const { return why_; }

 private:
  const plimsoll_pod_groups* groups_;
  const GroupDryRun* dry_run_;
  const plimsoll_pod* pod_;
  uint32_t needed_ = 0;
  bool has_room_ = false;
  std::vector<GroupDryRun::Member> members_;
  std::string_view why_;
};

}  // namespace plimsoll::builtin
