#pragma once
// The claims that more than one member of the group names that is decided on. Scheduler loop only.

#include <cstdint>
#include <plimsoll/views.hpp>
#include <set>
#include <string>

#include "plugins/builtin/volumes/pod_volumes.hpp"
#include "plugins/groups/current_decision.hpp"

namespace plimsoll::volumes {

class SharedClaims {
 public:
  void start(const sdk::Host& host) { groups_.look(host); }
  // The number of the decision on the pod's group; 0: it is not decided on.
  [[nodiscard]] uint64_t decision_on(sdk::Pod pod) const { return groups_.on(pod); }
  // By name, in the namespace of the group. Empty: the pod's group is not decided on.
  const std::set<std::string>& of(sdk::Pod pod) {
    static const std::set<std::string> kNone;
    const uint64_t decision = groups_.on(pod);
    if (decision == 0) return kNone;  // somebody asks about another pod while a decision pauses
    if (decision == decision_) return shared_;
    decision_ = decision;
    shared_.clear();
    std::set<std::string> once;
    groups_.each_member(pod, [&](sdk::Pod member) {
      std::set<std::string> own;  // a claim that two volumes name is one
      for (const plimsoll_volume& volume : volumes_of(member))
        if (auto name = claim_name(member, volume)) own.insert(*std::move(name));
      for (const std::string& name : own)
        if (!once.insert(name).second) shared_.insert(name);
    });
    return shared_;
  }

 private:
  groups::CurrentDecision groups_;
  uint64_t decision_ = 0;
  std::set<std::string> shared_;
};

}  // namespace plimsoll::volumes
