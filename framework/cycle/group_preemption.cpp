// What a group does with room that is its, or may become its: nominations, devices of its claims,
// and evictions.

#include <plimsoll/services/claimed_resources.h>

#include <algorithm>
#include <numeric>

#include "framework/api/decode/decode.hpp"
#include "framework/cycle/group_cycle.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {

// Members do not keep room from one another: those with a nomination are tried first, and there.
GroupCycle::Order GroupCycle::take_nominations() {
  for (Member& member : members_) {
    member.target = member.nominated_to;
    if (!member.nominated_to.empty()) state_.nominator.remove(member.uid);
  }
  Order order(members_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [this](size_t i) { return !members_[i].target.empty(); });
  return order;
}

void GroupCycle::give_back_nomination(const Member& member) {
  if (member.nominated_to.empty()) return;
  state_.nominator.add(member.pod, Nominating::to(member.nominated_to));
}

void GroupCycle::give_up_room() {
  for (Member& member : members_) member.nominating = Nominating::clear();
}

bool GroupCycle::give_back_claims() {
  const auto* claimed =
      static_cast<const plimsoll_claimed_resources*>(state_.environment.services.find(
          PLIMSOLL_CLAIMED_RESOURCES_SERVICE, PLIMSOLL_CLAIMED_RESOURCES_VERSION));
  if (claimed == nullptr || !PLIMSOLL_HAS(claimed, give_back) || claimed->give_back == nullptr)
    return false;
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  if (claimed->give_back(claimed->self, pods.data(), pods.size()) <= 0) return false;
  const auto has_claims = [](const Member& m) {
    return m.pod->claims.count != 0 || m.pod->extended_claim.len != 0;
  };
  const auto member = std::ranges::find_if(members_, has_claims);
  const std::optional<PluginIndex> plugin = filter_of("DynamicResources");
  if (member == members_.end() || !plugin) return true;
  Diagnosis diagnosis;
  diagnosis.rejectors.insert(*plugin);
  refuse(*member, diagnosis);
  return true;
}

// Null: the profile evicts nobody for groups.
GroupPreemption* GroupCycle::preemption() const {
  const std::string name =
      std::string(GroupPreemption::kService) + "/" + framework_->scheduler_name();
  const void* found = state_.environment.services.find(name, 1);
  return found == nullptr ? nullptr : *static_cast<GroupPreemption* const*>(found);
}

Routine<GroupCycle::Evictions> GroupCycle::evict(QueuedGroup& group,
                                                 std::function<bool()> is_news) {
  using Outcome = GroupPreemption::Decision::Outcome;
  GroupPreemption* evictor = preemption();
  if (evictor == nullptr) co_return Evictions();
  std::vector<PodRef> seen;
  std::vector<const plimsoll_pod*> pods;
  // In the order of the next attempt, in which those who get a nomination come first.
  for (const Member& member : members_) {
    const bool known = member.nominated_to.empty() || member.pod->nominated_node_name.len != 0;
    seen.push_back(known ? member.pod : nominated_copy(member.pod, member.nominated_to));
    pods.push_back(seen.back().get());
  }
  // Where the group has to stay in one of these.
  std::vector<std::span<const uint32_t>> domains;
  if (!wish_.required.empty()) {
    for (const GroupDomain& domain : domains_) domains.emplace_back(domain.slots);
    if (domains.empty()) co_return Evictions();
  }
  const size_t missing = needed_ > placed_before_ ? needed_ - placed_before_ : 1;
  // Where the group has no priority nobody of it evicts by that of another.
  int32_t priority = object_->priority;
  if (kind_ != GroupKind::kPodGroup) {
    priority = (*std::ranges::min_element(pods, {}, &plimsoll_pod::priority))->priority;
  }
  const GroupPreemption::Group asking{
      object_->uid,
      pods,
      missing,
      priority,
      domains,
      [&queue = state_.queue, kind = group.kind, ns = group.ns, name = group.name] {
        const QueuedGroup* waiting = queue.group({kind, ns, name});
        return waiting != nullptr && waiting->is_complete();
      },
      std::move(is_news)};
  let_watch_wait();
  searched_ = state_.cluster.log_end();
  const GroupPreemption::Decision decision = co_await evictor->preempt(asking, slice_);
  searched_.reset();
  Evictions evictions{decision.message, false};
  switch (decision.outcome) {
    case Outcome::kEvicts:
    case Outcome::kWaits:
      evictions.help = true;
      break;
    case Outcome::kNoRoom:
      placed_ = decision.placed;
      evictions.said = scheduled() < needed_ ? quorum_message(decision.remaining)
                                             : "there is no room without those who may go";
      if (!domains.empty()) evictions.said = no_domain_message(evictions.said);
      placed_ = 0;
      break;
    case Outcome::kNews:
      group.put_off = true;
      break;
    case Outcome::kIneligible:
    case Outcome::kRefused:
      break;
  }
  if ((decision.outcome == Outcome::kWaits && decision.places.empty()) ||
      decision.outcome == Outcome::kIneligible || decision.outcome == Outcome::kNews)
    co_return evictions;
  give_up_room();
  size_t at = 0;
  for (const GroupDryRun::Place& place : decision.places) {  // in the order of the members
    while (pods[at] != place.pod) ++at;
    members_[at].nominating = Nominating::to(place.node);
  }
  co_return evictions;
}

}  // namespace plimsoll
