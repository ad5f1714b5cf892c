// Places for all pods of a group: in which order they are put on nodes, and what is tried if that
// fails; of one that is to stay within one domain of the network, in which of them.

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/base/quote.hpp"
#include "framework/cycle/group_cycle.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

// What a decision costs beside looks at nodes, in such looks.
constexpr size_t kLooksPerDecision = 100;
// And what it costs to begin with all members anew, for so many of them.
constexpr size_t kMembersPerLook = 4;

constexpr std::string_view kFit = "NodeResourcesFit";

}  // namespace

std::optional<PluginIndex> GroupCycle::filter_of(std::string_view name) const {
  for (const Framework::Slot& slot : framework_->at(ExtensionPoint::kFilter)) {
    if (framework_->plugin_name(slot.plugin) == name) return slot.plugin;
  }
  return std::nullopt;
}

std::string GroupCycle::quorum_message(size_t remaining) const {
  const std::string counts = " (" + std::to_string(needed_) +
                             ") cannot be satisfied: " + std::to_string(scheduled()) +
                             " scheduled, " + std::to_string(remaining) + " remaining";
  if (kind_ == GroupKind::kPodGroup) return "minCount" + counts;
  const auto refused =
      std::ranges::find(members_, Member::Fate::kRefused, [](const Member& m) { return m.fate; });
  const Member& first = refused == members_.end() ? members_.front() : *refused;
  const plimsoll_meta& pod = first.pod->meta;
  return "PodGroup " + std::string(view(pod.ns)) + "/" + group_name_ +
         " gets rejected due to Pod " + std::string(view(pod.name)) +
         " is unschedulable even after PostFilter, minMember" + counts;
}

// False: it has none, or error_ is set.
bool GroupCycle::place(Member& member, Verdict& verdict) {
  const PodRef seen = member.nominated_to.empty() || member.pod->nominated_node_name.len != 0
                          ? member.pod
                          : nominated_copy(member.pod, member.nominated_to);
  if (!member.target.empty()) member.aimed = nominated_copy(seen, member.target);
  auto attempt = std::make_unique<Attempt>(seen, *framework_);
  attempt->start = start_;
  if (seen != member.pod) attempt->latest = member.pod;
  attempt->number = member.attempts;
  attempt->first_attempt_ms = first_attempt_ms_;
  attempt->flushed = flushed_;
  attempt->nominated_to = member.nominated_to;
  const ScopedPointer current(state_.current, attempt.get());
  const uint64_t known = state_.placer.class_stats().hits;
  const bool part = nodes_at_most() < state_.cluster.node_count();
  const NodeRows among = part ? domain_->nodes(state_.cluster) : NodeRows();
  Placement placement = state_.placer.decide({.framework = *framework_,
                                              .cycle = *attempt->cycle,
                                              .pod = *(member.aimed ? member.aimed : seen),
                                              .nominated_to = attempt->nominated_to,
                                              .post_filter = false,
                                              .among = part ? &among : nullptr});
  looks_ += kLooksPerDecision;
  if (state_.placer.class_stats().hits == known) looks_ += nodes_at_most();
  if (placement.node != nullptr) {
    std::optional<Status> reserved = state_.reserve(*attempt, placement.node);
    if (reserved && reserved->ok()) {
      member.attempt = std::move(attempt);
      return true;
    }
    state_.undo(*attempt);
    verdict.status = reserved ? std::move(*reserved) : error_status("the pod is on a node already");
    verdict.diagnosis = one_node_refused(verdict.status);
  } else {
    verdict.status = std::move(placement.status);
    verdict.diagnosis = std::move(placement.diagnosis);
    verdict.nowhere = true;
  }
  if (verdict.status.is_error()) error_ = verdict.status;
  return false;
}

// What wakes the group: of each kind and each set of plugins that refused it, once.
void GroupCycle::refuse(const Member& member, const Diagnosis& diagnosis) {
  if (diagnosis.rejectors.empty() && diagnosis.pending.empty()) return;
  std::string what = std::to_string(member.kind);
  for (const auto* plugins : {&diagnosis.rejectors, &diagnosis.pending}) {
    what += '/';
    for (const PluginIndex plugin : *plugins) what += std::to_string(plugin) + ",";
  }
  if (!refused_.insert(std::move(what)).second) return;
  if (refusals_.size() < kMostRefusals) {
    refusals_.push_back({member.pod, diagnosis.rejectors, diagnosis.pending});
    return;
  }
  GroupRefusal& last = refusals_.back();
  last.others = true;
  last.rejectors.insert(diagnosis.rejectors.begin(), diagnosis.rejectors.end());
  last.pending.insert(diagnosis.pending.begin(), diagnosis.pending.end());
}

// False: too few have a place; those that have one keep it until undo().
Routine<bool> GroupCycle::place_in(const Order& order, bool first) {
  placed_ = 0;
  size_t remaining = order.size();
  const size_t nodes = state_.cluster.node_count();
  bool too_much = false;
  looks_ += order.size() / kMembersPerLook;
  for (Member& member : members_) {
    member.now = {};
    if (first) member.fate = Member::Fate::kNotReached;
  }
  std::vector<const Verdict*> nowhere(kinds_.size());
  for (const size_t each : order) {
    if (scheduled() + remaining < needed_) break;
    if (looks_ > (first ? most_first_looks(nodes) : most_looks(nodes)) || (!first && is_late())) {
      too_much = first;
      break;
    }
    co_await slice_.pause();
    if (is_over()) co_return false;
    Member& member = members_[each];
    --remaining;
    const Verdict*& known = nowhere[member.kind];
    if (known != nullptr) member.now = *known;
    const bool has_place = known == nullptr && place(member, member.now);
    if (is_over()) co_return false;
    if (member.now.nowhere) known = &member.now;
    if (has_place) ++placed_;
    if (!has_place) refuse(member, member.now.diagnosis);
    if (first) {
      member.fate = has_place ? Member::Fate::kPlaced : Member::Fate::kRefused;
      member.first = member.now;
    }
    if (!error_.ok()) break;
  }
  const bool enough = error_.ok() && placed_ > 0 && scheduled() >= needed_;
  if (first && !enough && error_.ok() && scheduled() < needed_) {
    message_ = quorum_message(remaining);
    if (too_much) message_ += "; to look at all of them would take too long";
  }
  co_return enough;
}

Routine<> GroupCycle::undo(const Order& order) {
  for (auto each = order.rbegin(); each != order.rend(); ++each) {
    Member& member = members_[*each];
    if (member.attempt == nullptr) continue;
    co_await slice_.pause();
    state_.undo(*member.attempt);
    member.attempt = nullptr;
  }
  placed_ = 0;
}

bool GroupCycle::is_new(const Order& order) {
  std::vector<size_t> kinds;
  kinds.reserve(order.size());
  for (const size_t each : order) kinds.push_back(members_[each].kind);
  return tried_.insert(std::move(kinds)).second;
}

// An order of kinds that was not tried; nothing: there is none, or enough has been done. `last`:
// the order before, whose places are still there.
std::optional<GroupCycle::Order> GroupCycle::next_order(const Order& last) {
  const auto by_kinds = [this, &last](const std::vector<size_t>& kinds) {
    std::vector<size_t> rank(kinds.size());
    for (size_t i = 0; i < kinds.size(); ++i) rank[kinds[i]] = i;
    Order order = last;
    std::ranges::stable_sort(order, {}, [&](size_t each) { return rank[members_[each].kind]; });
    return order;
  };
  if (kinds_.size() < 2) return std::nullopt;
  // Others have taken the only place that was its.
  Order order = last;
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t each) { return members_[each].attempt == nullptr; });
  while (orders_ < kMostOrders && looks_ < most_looks(state_.cluster.node_count()) && !is_late()) {
    if (is_new(order)) {
      ++orders_;
      return order;
    }
    if (is_new(by_kinds(by_size_))) {
      ++orders_;
      return by_kinds(by_size_);
    }
    if (!std::ranges::next_permutation(permutation_).found) break;
    order = by_kinds(permutation_);
    looks_ += kLooksPerDecision;
  }
  return std::nullopt;
}

// Remembers where the members are, so that they can be put there again.
void GroupCycle::aim() {
  for (Member& member : members_) {
    member.best = member.attempt == nullptr ? "" : view(member.attempt->assumed->node_name);
  }
}

// The order in which enough find a place, the most of those that are tried. False: there is none,
// and what the last of them placed is still there.
Routine<bool> GroupCycle::find_places(Order& order) {
  tried_.clear();
  orders_ = 0;
  std::ranges::sort(permutation_);
  static_cast<void>(is_new(order));
  bool enough = co_await place_in(order, true);
  if (domain_ == nullptr) looks_ = 0;  // those of the first order had to be
  if (until_ms_ == INT64_MAX) until_ms_ = slice_.worked_ms() + state_.options.group_search_ms;
  Order best;  // enough have a place, but not all
  size_t most = 0;
  while (placed_ < members_.size() && error_.ok() && !is_over()) {
    if (enough && placed_ > most) {
      most = placed_;
      best = order;
      aim();
    }
    if (most > 0 && orders_ >= kOrdersForMore) break;
    auto next = next_order(order);
    if (!next) break;
    co_await undo(order);
    order = std::move(*next);
    enough = co_await place_in(order, false);
  }
  if (most > 0 && placed_ <= most && order != best && error_.ok() && !is_over()) {
    co_await undo(order);
    order = std::move(best);
    for (Member& member : members_) member.target = member.best;
    enough = co_await place_in(order, true);
  }
  co_return enough;
}

// ---- within one domain of the network

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
    if (state_.metrics) {
      state_.metrics->generated_placements.with({framework_->scheduler_name()})
          .add(static_cast<double>(domains_.size()));
    }
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
  const std::optional<PluginIndex> fit = filter_of(kFit);
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
  not_tried_ = 0;
  for (const GroupDomain& domain : domains_) {
    if (!domain.may_hold || domain.most_pods <= most) continue;
    if (looks_ > most_looks) {
      ++not_tried_;
      continue;
    }
    domain_ = &domain;
    const auto began = metrics::Clock::now();
    const bool enough = co_await place_in(order, true);
    if (state_.metrics && error_.ok() && !is_over()) {
      state_.metrics->placement_evaluated(enough, framework_->scheduler_name(),
                                          metrics::seconds_since(began));
    }
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
  if (not_tried_ != 0) {
    message_ += "; to look at " + std::to_string(not_tried_) + " of them would take too long";
  }
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
