#include "framework/cycle/group_cycle.hpp"

#include <plimsoll/time_text.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <tuple>
#include <utility>

#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/base/log.hpp"
#include "framework/base/quote.hpp"
#include "framework/base/shown.hpp"
#include "framework/base/utf8.hpp"
#include "framework/cycle/extender_waits.hpp"
#include "framework/objects/object_store.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

// What a decision costs beside looks at nodes, in such looks.
constexpr size_t kLooksPerDecision = 100;
// And what it costs to begin with all members anew, for so many of them.
constexpr size_t kMembersPerLook = 4;
// As the API server allows for a condition.
constexpr size_t kLongestMessage = 32'000;

// What kube-scheduler says before a group's message to pods that had a place.
constexpr std::string_view kFailed = "pod group is unschedulable, ";

std::string_view policy_name(const plimsoll_pod& pod) {
  return pod.preemption_policy == PLIMSOLL_PREEMPT_NEVER ? "Never" : "PreemptLowerPriority";
}

// Whoever goes. What plugins may stand for, or may ignore, does not count.
bool is_larger_than_all_nodes(const plimsoll_pod& pod, const ClusterState& cluster) {
  const auto requests = items<plimsoll_resource>(pod.requests);
  const auto& nodes = cluster.rows();
  return !nodes.empty() && std::ranges::none_of(nodes, [&](const plimsoll_node_info* node) {
    return std::ranges::all_of(requests, [&](const plimsoll_resource& request) {
      const bool has = request.index < node->resource_count;
      return request.index >= PLIMSOLL_RESOURCE_PODS ||
             request.value <= (has ? node->allocatable[request.index] : 0);
    });
  });
}

bool spans_nodes(const plimsoll_pod& pod) {
  return pod.pod_affinity != nullptr || pod.pod_anti_affinity != nullptr ||
         pod.spread_constraints.count != 0;
}

}  // namespace

// ---- before the attempt

void GroupCycle::gather(const QueuedGroup& group) {
  for (const QueuedPod* queued : group.members) {
    Member& member = members_.emplace_back();
    member.pod = queued->pod;
    member.uid = view(queued->pod->meta.uid);
    member.nominated_to = state_.nominator.node_of(member.uid);
    member.queued_ms = queued->queued_ms;
    member.attempts = queued->attempts;
  }
  // Kubernetes: the order of the pods of a group in its queue.
  std::ranges::sort(members_, [](const Member& a, const Member& b) {
    return std::tuple(-int64_t{a.pod->priority}, -int64_t{a.attempts}, a.queued_ms,
                      view(a.pod->meta.name)) < std::tuple(-int64_t{b.pod->priority},
                                                           -int64_t{b.attempts}, b.queued_ms,
                                                           view(b.pod->meta.name));
  });
}

// All that belong to the group must agree, also those that run already. Of other groups than
// PodGroups of scheduling.k8s.io only those must that are placed together.
std::string GroupCycle::mismatch(const QueuedGroup& group, const PodGroup& object) const {
  const bool is_pod_group = group.kind == GroupKind::kPodGroup;
  const PlacedMembers* placed = state_.cluster.members(group.id());
  std::vector<const plimsoll_pod*> all;
  if (is_pod_group && placed != nullptr) all = placed->living_pods();
  for (const Member& member : members_) all.push_back(member.pod.get());
  const auto differ = [&](auto&& of) -> const plimsoll_pod* {
    for (const plimsoll_pod* pod : all) {
      if (of(*pod) != of(*all.front())) return pod;
    }
    return nullptr;
  };
  const std::string same = "all pods in a single pod group should have the same ";
  const auto name = [](const plimsoll_pod& pod) { return view(pod.scheduler_name); };
  const auto which = [](const plimsoll_pod& pod) { return " (pod " + full_name(pod) + ")"; };
  if (const plimsoll_pod* other = differ(name)) {
    return same + ".spec.schedulerName set, got: " + go_quoted(name(*all.front())) + " and " +
           go_quoted(name(*other)) + which(*other);
  }
  if (!is_pod_group) return {};
  for (const plimsoll_pod* pod : all) {
    if (pod->priority == object.priority) continue;
    return same + "priority as the pod group's priority, got " + std::to_string(pod->priority) +
           " and " + std::to_string(object.priority) + which(*pod);
  }
  const std::string& policy = object.preemption_policy;
  for (const plimsoll_pod* pod : all) {
    if (policy.empty() || policy_name(*pod) == policy) continue;
    return same + "preemption policy as the pod group's preemption policy, got " +
           std::string(policy_name(*pod)) + " and " + policy + which(*pod);
  }
  if (const plimsoll_pod* other = differ(policy_name)) {
    return same + "preemption policy, got " + std::string(policy_name(*other)) + " and " +
           std::string(policy_name(*all.front())) + which(*other);
  }
  return {};
}

std::string GroupCycle::unsupported(const PodGroup& object) const {
  if (!object.not_honoured.empty()) {
    return "the pod group has spec." + object.not_honoured +
           ", which this scheduler does not support yet";
  }
  const plimsoll_pod& first_pod = *members_.front().pod;
  const GangTerms first = kind_ == GroupKind::kGang ? gang_terms(first_pod) : GangTerms();
  for (const Member& member : members_) {
    if (kind_ != GroupKind::kGang) break;
    const GangTerms terms = gang_terms(*member.pod);
    if (!terms.problem.empty()) return "pod " + full_name(*member.pod) + ": " + terms.problem;
    if (terms.match != first.match ||
        (object_ == &own_object_ && terms.min_available != first.min_available)) {
      return "pods " + full_name(first_pod) + " and " + full_name(*member.pod) +
             " of one gang differ in min-available or match-policy";
    }
  }
  if (extenders_ == nullptr) return {};
  for (const Member& member : members_) {
    if (extenders_->concern(*member.pod))
      return "HTTP extenders, which are not asked about pods of groups, judge pod " +
             full_name(*member.pod);
  }
  return {};
}

// One that rests on a kind that is not followed holds all.
bool GroupCycle::waits_for_kinds() {
  if (state_.lost_kinds.none()) return false;
  for (Member& member : members_) {
    auto missing = state_.missing_kinds(Attempt(member.pod, *framework_));
    if (!missing) continue;
    member.fate = Member::Fate::kRefused;
    member.first = {std::move(missing->status), std::move(missing->diagnosis)};
    message_ = full_name(*member.pod) + ": " +
               fit_error_message(member.first.diagnosis, state_.environment.reasons);
    refuse(member, member.first.diagnosis);
    // Whichever of them is still there then is woken for all.
    for (const Member& other : members_) state_.lost_kinds.waits(other.uid);
    return true;
  }
  return false;
}

// Pods of one kind get the same answers.
void GroupCycle::sort_by_kind() {
  std::map<std::string, size_t> known;
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  const std::vector<double> size_of = sizes_of(pods);
  std::vector<double> sizes;  // by kind
  for (Member& member : members_) {
    std::string signature = std::to_string(member.pod->priority) + "/";
    const PluginMask unsigned_by = framework_->run_sign(*member.pod, signature);
    if (unsigned_by.any() || spans_nodes(*member.pod)) signature += "/" + member.uid;
    const auto [at, is_new] = known.try_emplace(signature, kinds_.size());
    member.kind = at->second;
    if (!is_new) continue;
    kinds_.push_back(std::move(signature));
    sizes.push_back(size_of[static_cast<size_t>(&member - members_.data())]);
  }
  by_size_.resize(kinds_.size());
  std::iota(by_size_.begin(), by_size_.end(), 0);
  permutation_ = by_size_;
  std::ranges::stable_sort(by_size_, [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
}

// ---- places

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
bool GroupCycle::place_in(const Order& order, bool first) {
  placed_ = 0;
  size_t remaining = order.size();
  const size_t nodes = state_.cluster.node_count();
  bool too_much = false;
  looks_ += order.size() / kMembersPerLook;
  for (Member& member : members_) {
    member.now = {};
    if (first) member.fate = Member::Fate::kNotReached;
  }
  for (const size_t each : order) {
    if (scheduled() + remaining < needed_) break;
    if (looks_ > (first ? most_first_looks(nodes) : most_looks(nodes)) || (!first && is_late())) {
      too_much = first;
      break;
    }
    Member& member = members_[each];
    --remaining;
    const bool has_place = place(member, member.now);
    if (state_.environment.gave_up()) return false;
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
  return enough;
}

void GroupCycle::undo(const Order& order) {
  for (auto each = order.rbegin(); each != order.rend(); ++each) {
    Member& member = members_[*each];
    if (member.attempt == nullptr) continue;
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

// Whether Permit leaves enough of them. None is bound before all have been asked.
bool GroupCycle::permit(const Order& order) {
  for (const size_t each : order) {
    Member& member = members_[each];
    if (member.attempt == nullptr) continue;
    const std::string_view name = view(member.attempt->assumed->node_name);
    const NodeInfo* node = state_.cluster.node(name, member.attempt->slot);
    const ScopedPointer current(state_.current, member.attempt.get());
    Status status = state_.permit(*member.attempt, node->abi());
    if (status.ok() || status.code == Code::kWait) continue;
    state_.undo(*member.attempt);
    member.attempt = nullptr;
    --placed_;
    member.fate = Member::Fate::kRefused;
    member.first = member.now = {status, one_node_refused(status)};
    refuse(member, member.now.diagnosis);
    if (status.is_error()) error_ = status;
  }
  if (placed_ > 0 && scheduled() >= needed_) return true;
  message_ = scheduled() < needed_ ? quorum_message(0) : "";
  return false;
}

// ---- the attempt

size_t GroupCycle::run(QueuedGroup& group) {
  gather(group);
  attempt(group);
  return members_.size();
}

void GroupCycle::attempt(QueuedGroup& group) {
  if (state_.metrics) start_ = metrics::Clock::now();
  object_ = describe_group(state_.environment.objects, group.id(), *group.entry.pod, own_object_);
  kind_ = group.kind;
  group_name_ = group.name;
  framework_ = state_.framework_for(*members_.front().pod);
  flushed_ = group.entry.flushed;
  first_attempt_ms_ = group.entry.initial_attempt_ms;
  needed_ = group.facts.least();
  placed_before_ = group.facts.placed;
  state_.counters.attempts += members_.size();
  for (const Member& member : members_) {
    if (state_.options.on_attempt) state_.options.on_attempt(member.uid);
  }
  if (std::string wrong = mismatch(group, *object_); !wrong.empty()) {
    error_ = error_status(wrong);
    message_ = std::move(wrong);
    return fail(group);
  }
  message_ = unsupported(*object_);
  if (!message_.empty()) {
    refusals_.push_back(
        {members_.front().pod, {*state_.policy.group_gate(*members_.front().pod)}, {}});
    return fail(group);
  }
  wish_ = wish_of(*object_, *members_.front().pod);
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  const GroupDecision::Scope decision(state_.group_decision, group.id(), std::move(pods));
  sort_by_kind();
  if (waits_for_kinds()) return fail(group);

  std::vector<ClusterEvent> requeues;
  state_.requeues_held = &requeues;
  Order order = take_nominations();
  bool enough = wish_.any() ? find_places_in_domains(group, order) : find_places(order);
  const bool has_room = enough;
  if (enough) enough = permit(order);
  if (!enough) undo(order);
  state_.requeues_held = nullptr;
  if (state_.environment.gave_up()) return;  // the loop ends
  if (!enough) return fail(group, !has_room);
  for (ClusterEvent& event : requeues) {
    state_.inbox.post(Task{[this_state = &state_, event = std::move(event)] {
      this_state->queue.move_all(event, this_state->now_ms());
    }});
  }
  commit(group, order);
}

// The order in which enough find a place, the most of those that are tried. False: there is none,
// and what the last of them placed is still there.
bool GroupCycle::find_places(Order& order) {
  tried_.clear();
  orders_ = 0;
  std::ranges::sort(permutation_);
  static_cast<void>(is_new(order));
  bool enough = place_in(order, true);
  if (domain_ == nullptr) looks_ = 0;  // those of the first order had to be
  if (until_ms_ == INT64_MAX) until_ms_ = thread_time_ms() + state_.options.group_search_ms;
  Order best;  // enough have a place, but not all
  size_t most = 0;
  while (placed_ < members_.size() && error_.ok() && !state_.environment.gave_up()) {
    if (enough && placed_ > most) {
      most = placed_;
      best = order;
      aim();
    }
    if (most > 0 && orders_ >= kOrdersForMore) break;
    auto next = next_order(order);
    if (!next) break;
    undo(order);
    order = std::move(*next);
    enough = place_in(order, false);
  }
  if (most > 0 && placed_ <= most && order != best && error_.ok()) {
    undo(order);
    order = std::move(best);
    for (Member& member : members_) member.target = member.best;
    enough = place_in(order, true);
  }
  return enough;
}

void GroupCycle::commit(QueuedGroup& group, const Order& order) {
  if (state_.metrics) {
    state_.metrics->group_attempt("scheduled", framework_->scheduler_name(),
                                  metrics::seconds_since(start_));
  }
  for (const size_t each : order) {
    if (members_[each].attempt != nullptr) state_.queue.take_member(members_[each].uid);
  }
  write_condition(group, "True", "Scheduled", "");
  bool again = false;  // some were not reached
  const bool may_evict =
      members_.front().pod->preemption_policy != PLIMSOLL_PREEMPT_NEVER && preemption() != nullptr;
  for (const Member& member : members_) {
    if (member.attempt != nullptr) continue;
    // The next attempt may evict others for those who are left.
    again = again || member.now.status.ok() || may_evict;
    if (member.now.status.ok()) {
      give_back_nomination(member);
    } else {
      tell(member, member.now, "");
    }
  }
  state_.queue.reject_group(group, std::move(refusals_), state_.now_ms(), again);
  for (const size_t each : order) {
    Member& member = members_[each];
    if (member.attempt == nullptr) continue;
    const Attempt& attempt = *member.attempt;
    if (attempt.nominated_to != view(attempt.assumed->node_name)) {
      state_.nomination_ended(attempt.current(), attempt.nominated_to);
    }
    bindings_.begin(std::move(member.attempt));
  }
}

void GroupCycle::fail(QueuedGroup& group, bool for_want_of_room) {
  const bool asks = for_want_of_room && error_.ok();
  const Evictions evictions = asks ? evict(group) : Evictions();
  if (state_.metrics) {
    state_.metrics->group_attempt(!error_.ok()     ? "error"
                                  : evictions.help ? "waiting_on_preemption"
                                                   : "unschedulable",
                                  framework_->scheduler_name(), metrics::seconds_since(start_));
  }
  if (!error_.ok()) message_ = error_.message(state_.environment.reasons);
  const std::string not_reached = message_;
  if (!evictions.said.empty()) message_ += ", pod group preemption: " + evictions.said;
  std::string condition = message_ + most_room_;
  // Which pod stands in the way, and why.
  for (const Member& member : members_) {
    if (!error_.ok() || member.fate != Member::Fate::kRefused || refusals_.empty()) continue;
    if (!condition.starts_with(full_name(*member.pod))) {
      condition.append("; ").append(view(member.pod->meta.name)).append(": ");
      condition += fit_error_message(member.first.diagnosis, state_.environment.reasons);
    }
    break;
  }
  // The first of each kind; and not so many that it takes long.
  for (size_t i = 0, kind = 0; i < members_.size() && kind < kMostRefusals && error_.ok(); ++i) {
    if (members_[i].kind != kind) continue;
    ++kind;
    if (!is_larger_than_all_nodes(*members_[i].pod, state_.cluster)) continue;
    condition.append("; ").append(view(members_[i].pod->meta.name));
    condition += " is larger than any node, even an empty one";
    break;
  }
  write_condition(group, "False", error_.ok() ? "Unschedulable" : "SchedulerError", condition);
  const bool is_pod_group = kind_ == GroupKind::kPodGroup;
  Verdict unschedulable;
  unschedulable.status.code = Code::kUnschedulable;
  const bool reached = std::ranges::any_of(
      members_, [](const Member& m) { return m.fate != Member::Fate::kNotReached; });
  for (const Member& member : members_) {
    switch (member.fate) {
      case Member::Fate::kRefused:
        tell(member, member.first, "");
        break;
      case Member::Fate::kPlaced:
        tell(member, unschedulable,
             std::string(
                 evictions.help || message_.starts_with(kFailed) || !is_pod_group ? "" : kFailed) +
                 message_);
        break;
      case Member::Fate::kNotReached:
        tell(member, reached || error_.ok() ? unschedulable : Verdict{error_, {}}, not_reached);
        break;
    }
  }
  if (!error_.ok()) refusals_.clear();
  state_.queue.reject_group(group, std::move(refusals_), state_.now_ms());
}

void GroupCycle::tell(const Member& member, const Verdict& verdict, std::string_view why) {
  Attempt attempt(member.pod, *framework_);
  attempt.start = start_;
  attempt.nominated_to = member.nominated_to;
  attempt.count(verdict.status.rejected() ? metrics::AttemptResult::kUnschedulable
                                          : metrics::AttemptResult::kError);
  state_.attempt_failed(attempt, member.pod, verdict.status, verdict.diagnosis, member.nominating,
                        why);
}

// PodGroupInitiallyScheduled. What has been scheduled once is never said not to be. Other groups
// than PodGroups of scheduling.k8s.io have no such condition: `explain` tells it.
void GroupCycle::write_condition(QueuedGroup& group, std::string_view status,
                                 std::string_view reason, std::string_view message) {
  std::string text = shown(message);
  if (text.size() > kLongestMessage) {
    text.resize(kLongestMessage);
    while (!text.empty() && (text.back() & 0x80) != 0) text.pop_back();
  }
  std::string said = std::string(reason) + ": " + text;
  group.said = said;
  if (object_->status == "True" || (reason == "Unschedulable" && placed_before_ >= needed_)) return;
  // Another object of this name has not been told.
  if (group.told_to != object_->uid) group.told.clear();
  constexpr std::string_view kScheduled = "Scheduled: ";
  if (group.told == kScheduled) return;
  if (group.told == said || (group.told.empty() && object_->status == status &&
                             object_->reason == reason && object_->message == text)) {
    return;
  }
  group.told = std::move(said);
  group.told_to = object_->uid;
  if (kind_ != GroupKind::kPodGroup) return;
  const bool stays = object_->status == status && !object_->transition_time.empty();
  const std::chrono::system_clock::time_point now{std::chrono::milliseconds(state_.now_ms())};
  ApiRequest request;
  request.method = "PATCH";
  request.path = "/apis/scheduling.k8s.io/" + object_->version + "/namespaces/" + group.ns +
                 "/podgroups/" + group.name + "/status";
  request.content_type = "application/strategic-merge-patch+json";
  const auto add = [&body = request.body](std::string_view key, std::string_view value) {
    body.append(",\"").append(key).append("\":");
    append_json_string(body, value);
  };
  request.body = R"({"metadata":{"uid":)";
  append_json_string(request.body, object_->uid);
  request.body += R"(},"status":{"conditions":[{"type":"PodGroupInitiallyScheduled")";
  add("status", status);
  add("reason", reason);
  add("message", text);
  add("lastTransitionTime", stays ? object_->transition_time : sdk::time_text(now, false));
  request.body += ",\"observedGeneration\":" + std::to_string(object_->object.meta.generation);
  request.body += "}]}}";
  state_.writer.request(
      std::move(request), [name = group.ns + "/" + group.name](int answer, std::string_view body) {
        if ((answer >= 200 && answer < 300) || answer == 404) return;
        log_warn("the condition of a PodGroup could not be written",
                 {{"podGroup", name}, {"status", answer}, {"error", shown(body.substr(0, 300))}});
      });
}

}  // namespace plimsoll
