// A PodGroup that is to stay within one domain of the network: in which of them, and who goes where
// there.

#include <algorithm>
#include <map>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/quote.hpp"
#include "framework/cycle/group_cycle.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kFit = "NodeResourcesFit";

std::optional<PluginIndex> filter_of(const Framework& framework, std::string_view name) {
  for (const Framework::Slot& slot : framework.at(ExtensionPoint::kFilter)) {
    if (framework.plugin_name(slot.plugin) == name) return slot.plugin;
  }
  return std::nullopt;
}

}  // namespace

// As find_places: in the narrowest domain that takes all; if there is none, where the group has to
// be, in the domain that takes the most.
Routine<bool> GroupCycle::find_places_in_domains(const QueuedGroup& group, Order& order) {
  const bool has_to = !wish_.required.empty();
  const auto levels = levels_to_try(wish_, state_.policy.domain_args(*members_.front().pod).levels);
  const Order given = order;
  bool enough = false;
  for (const std::vector<std::string>& keys : levels) {
    const bool is_last = has_to && &keys == &levels.back();
    if (!find_domains(group, keys, is_last)) continue;
    judge_domains();
    if (!is_last) std::erase_if(domains_, [](const auto& domain) { return !domain.may_hold_all; });
    enough = co_await try_domains(order, !is_last);
    if (!enough) enough = co_await try_orders_in_domains(order, !is_last);
    if (!error_.ok() || is_over()) co_return false;
    if (enough) break;
    order = given;
  }
  if (!enough && !has_to) {
    domain_ = nullptr;
    co_return co_await find_places(order);
  }
  // A node may come into a domain, or out of one.
  if (!enough || placed_ < members_.size()) wait_for_labels();
  if (enough) enough = co_await put_in_rank_order(order);
  if (enough || is_over()) co_return enough;
  co_await undo(order);
  if (has_to && error_.ok() && !domains_.empty()) co_await say_why_none(order);
  co_return false;
}

// Those whose nodes carry the labels; where some of the group run already, it is theirs.
bool GroupCycle::find_domains(const QueuedGroup& group, const std::vector<std::string>& keys,
                              bool has_to) {
  std::vector<const plimsoll_pod*> placed;
  if (const PlacedMembers* known = state_.cluster.members(group.id()))
    placed = known->living_pods();
  // Those on a node that is gone run nowhere any more.
  std::erase_if(placed, [this](const plimsoll_pod* pod) {
    return state_.cluster.node(view(pod->node_name)) == nullptr;
  });
  domain_ = nullptr;
  domains_.clear();
  std::string theirs;
  if (!common_domain(state_.cluster, keys, placed, theirs)) {
    if (has_to) error_ = error_status(std::move(theirs));
    return false;
  }
  domains_ = domains_of(state_.cluster, keys);
  if (!placed.empty()) std::erase_if(domains_, [&](const auto& d) { return d.value != theirs; });
  if (domains_.empty() && has_to) message_ = "no feasible placements found";
  return !domains_.empty();
}

void GroupCycle::wait_for_labels() {
  Diagnosis diagnosis;
  diagnosis.rejectors.insert(*state_.policy.group_gate(*members_.front().pod));
  refuse(members_.front(), diagnosis);
}

// What certainly cannot hold the group is not looked at, if the profile's filters ask for room.
void GroupCycle::judge_domains() {
  const std::optional<PluginIndex> fit = filter_of(*framework_, kFit);
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  const bool ignores = state_.policy.domain_args(*members_.front().pod).fit_ignores;
  const DomainNeeds needs(pods, needed_ > placed_before_ ? needed_ - placed_before_ : 1, !ignores);
  bool skips = false;
  for (GroupDomain& domain : domains_) {
    needs.judge(domain);
    if (!fit) {
      domain.may_hold = domain.may_hold_all = true;
      domain.most_pods = members_.size();
    }
    skips = skips || !domain.may_hold;
  }
  std::ranges::stable_sort(domains_, is_tried_before);
  if (!skips) return;
  Diagnosis diagnosis;
  diagnosis.rejectors.insert(*fit);
  for (const Member& member : members_) refuse(member, diagnosis);
}

// In their first order. `all`: with less than all it is not done. False: enough have a place in
// none, and nobody has one.
Routine<bool> GroupCycle::try_domains(Order& order, bool all) {
  const GroupDomain* best = nullptr;
  size_t most = 0;
  const size_t most_looks = most_first_looks(state_.cluster.node_count());
  for (const GroupDomain& domain : domains_) {
    if (looks_ > most_looks) break;
    if (!domain.may_hold || domain.most_pods <= most) continue;
    domain_ = &domain;
    const bool enough = co_await place_in(order, true);
    if (enough && placed_ > most && !all) {
      most = placed_;
      best = domain_;
      if (placed_ < members_.size()) aim();
    }
    if (enough && placed_ == members_.size()) co_return true;
    co_await undo(order);
    if (!error_.ok() || is_over()) co_return false;
  }
  looks_ = 0;  // those of the first orders had to be
  if (best == nullptr) co_return false;
  domain_ = best;
  if (kinds_.size() > 1) co_return co_await find_places(order);
  for (Member& member : members_) member.target = member.best;
  co_return co_await place_in(order, true);
}

Routine<bool> GroupCycle::try_orders_in_domains(Order& order, bool all) {
  if (kinds_.size() < 2) co_return false;
  const Order given = order;
  const size_t most_looks = most_first_looks(state_.cluster.node_count());
  for (const GroupDomain& domain : domains_) {
    if (looks_ > most_looks || is_late()) break;
    if (!domain.may_hold || !error_.ok() || is_over()) continue;
    domain_ = &domain;
    order = given;
    const bool enough = co_await find_places(order);
    if (enough && (!all || placed_ == members_.size())) co_return true;
    co_await undo(order);
    for (Member& member : members_) {
      member.target.clear();
      member.aimed = nullptr;
    }
  }
  order = given;
  co_return false;
}

std::string GroupCycle::no_domain_message(const std::string& first) const {
  return "pod group is unschedulable, 0/" + std::to_string(domains_.size()) +
         " placements are available, first placement status: " + first;
}

// As kube-scheduler does, by what the first domain says, unless that was tried last.
Routine<> GroupCycle::say_why_none(const Order& order) {
  const GroupDomain* last = domain_;
  domain_ = &*std::ranges::min_element(domains_, {}, &GroupDomain::value);
  if (domain_ != last || kinds_.size() > 1) {
    looks_ = 0;
    static_cast<void>(co_await place_in(order, true));
    co_await undo(order);
  }
  if (message_.empty() || is_over()) co_return;
  const auto best = std::ranges::max_element(domains_, {}, &GroupDomain::most_pods);
  message_ = no_domain_message(message_);
  if (best->may_hold) co_return;
  most_room_ = "; the most that have room by what is free: " + std::to_string(best->most_pods) +
               " in " + go_quoted(best->value);
}

// Members that differ in nothing change places, so that neighbours in rank are neighbours.
Routine<bool> GroupCycle::put_in_rank_order(const Order& order) {
  std::map<size_t, std::vector<size_t>> alike;
  for (const size_t each : order) {
    if (members_[each].attempt != nullptr) alike[members_[each].kind].push_back(each);
  }
  aim();
  bool changed = false;
  for (auto& [kind, members] : alike) {
    std::vector<std::string> nodes;
    for (const size_t each : members) nodes.push_back(members_[each].best);
    std::ranges::sort(nodes, is_named_before);
    std::ranges::sort(members, [&](size_t a, size_t b) {
      return has_lower_index(*members_[a].pod, *members_[b].pod);
    });
    for (size_t i = 0; i < members.size(); ++i) {
      changed = changed || members_[members[i]].best != nodes[i];
      members_[members[i]].target = std::move(nodes[i]);
    }
  }
  if (!changed) co_return true;
  const size_t before = placed_;
  co_await undo(order);
  const bool enough = co_await place_in(order, true);
  if (is_over() || (enough && placed_ == before)) co_return enough;
  co_await undo(order);
  for (Member& member : members_) member.target = member.best;
  co_return co_await place_in(order, true);
}

}  // namespace plimsoll
