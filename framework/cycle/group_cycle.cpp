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
#include "framework/cycle/groups/group_conditions.hpp"
#include "framework/objects/object_store.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

// As the API server allows for a condition.
constexpr size_t kLongestMessage = 32'000;

// For so long at most others come between while what is watched waits.
constexpr std::chrono::seconds kLongestWait{1};

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
Routine<> GroupCycle::sort_by_kind() {
  std::map<std::string, size_t> known;
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  const std::vector<double> size_of = sizes_of(pods);
  std::vector<double> sizes;  // by kind
  for (Member& member : members_) {
    co_await slice_.pause();
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

// Whether Permit leaves enough of them. None is bound before all have been asked.
Routine<bool> GroupCycle::permit(const Order& order) {
  for (const size_t each : order) {
    Member& member = members_[each];
    if (member.attempt == nullptr) continue;
    co_await slice_.pause();
    if (is_over()) co_return false;
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
  if (placed_ > 0 && scheduled() >= needed_) co_return true;
  message_ = scheduled() < needed_ ? quorum_message(0) : "";
  co_return false;
}

// ---- the attempt

GroupCycle::GroupCycle(LoopState& state, Bindings& bindings, const ExtenderWaits* extenders,
                       QueuedGroup& group, int outdated)
    : state_(state),
      bindings_(bindings),
      extenders_(extenders),
      group_(group),
      outdated_(outdated),
      slice_(extenders == nullptr && outdated < kMostOutdated ? state.options.group_slice
                                                              : std::nullopt),
      nodes_changed_(state.nodes_changed),
      routine_(attempt()) {
  gather(group);
  state_.decided_on = group.id().key();
  if (outdated > 0) let_watch_wait();
}

// The scheduler stops, where a member has a place still.
GroupCycle::~GroupCycle() {
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->attempt != nullptr) state_.undo(*member->attempt);
  }
  state_.decided_on.clear();
}

GroupCycle::End GroupCycle::go_on() {
  const auto began = metrics::Clock::now();
  // What the search has seen may be gone.
  if (searched_ && *searched_ != state_.cluster.log_end()) {
    for (const Member& member : members_) give_back_nomination(member);
    return End::kOutdated;
  }
  if (const auto& since = state_.watch_waits_since;
      since && std::chrono::steady_clock::now() - *since > kLongestWait) {
    slice_.never_pause();
  }
  state_.requeues_held = holds_requeues_ ? &requeues_ : nullptr;
  state_.group_decision.is_under_way = true;
  const bool ended = slice_.go_on(routine_);
  state_.group_decision.is_under_way = false;
  state_.requeues_held = nullptr;
  if (state_.metrics) state_.metrics->group_slice_duration.observe(metrics::seconds_since(began));
  return ended ? end_ : End::kNotYet;
}

void GroupCycle::let_watch_wait() {
  if (!state_.watch_waits_since) state_.watch_waits_since = std::chrono::steady_clock::now();
}

void GroupCycle::hold_requeues(bool hold) {
  holds_requeues_ = hold;
  state_.requeues_held = hold ? &requeues_ : nullptr;
}

Routine<> GroupCycle::attempt() {
  QueuedGroup& group = group_;
  if (state_.metrics) start_ = metrics::Clock::now();
  object_ = describe_group(state_.environment.objects, group.id(), *group.entry.pod, own_object_);
  kind_ = group.kind;
  group_name_ = group.name;
  framework_ = state_.framework_for(*members_.front().pod);
  flushed_ = group.entry.flushed;
  first_attempt_ms_ = group.entry.initial_attempt_ms;
  needed_ = group.facts.least();
  placed_before_ = group.facts.placed;
  if (outdated_ == 0) state_.counters.attempts += members_.size();
  for (const Member& member : members_) {
    if (state_.options.on_attempt && outdated_ == 0) state_.options.on_attempt(member.uid);
  }
  if (std::string wrong = mismatch(group, *object_); !wrong.empty()) {
    error_ = error_status(wrong);
    message_ = std::move(wrong);
    co_return co_await fail(group);
  }
  message_ = unsupported(*object_);
  if (!message_.empty()) {
    refusals_.push_back(
        {members_.front().pod, {*state_.policy.group_gate(*members_.front().pod)}, {}});
    give_up_room();
    co_return co_await fail(group);
  }
  wish_ = wish_of(*object_, *members_.front().pod);
  std::vector<const plimsoll_pod*> pods;
  for (const Member& member : members_) pods.push_back(member.pod.get());
  const GroupDecision::Scope decision(state_.group_decision, group.id(), std::move(pods));
  co_await sort_by_kind();
  if (waits_for_kinds()) co_return co_await fail(group);

  hold_requeues(true);
  Order order = take_nominations();
  bool enough = false;
  if (wish_.any()) {
    enough = co_await find_places_in_domains(group, order);
  } else {
    enough = co_await find_places(order);
  }
  const bool has_room = enough;
  if (state_.metrics)
    state_.metrics->group_algorithm_duration.observe(metrics::seconds_since(start_));
  if (enough) enough = co_await permit(order);
  if (!enough || is_outdated()) co_await undo(order);
  hold_requeues(false);
  if (state_.environment.gave_up()) co_return;  // the loop ends
  if (is_outdated()) {
    for (const Member& member : members_) give_back_nomination(member);
    end_ = End::kOutdated;
    co_return;
  }
  if (!enough) co_return co_await fail(group, !has_room);
  for (ClusterEvent& event : requeues_) {
    state_.inbox.post(Task{[this_state = &state_, event = std::move(event)] {
      this_state->queue.move_all(event, this_state->now_ms());
    }});
  }
  co_await commit(group, order);
}

void GroupCycle::finish_binding() {
  if (!is_binding_) return;
  slice_.never_pause();
  static_cast<void>(go_on());
}

Routine<> GroupCycle::commit(QueuedGroup& group, const Order& order) {
  is_binding_ = true;
  if (state_.metrics) {
    state_.metrics->group_attempt("scheduled", framework_->scheduler_name(),
                                  metrics::seconds_since(start_));
  }
  for (const size_t each : order) {
    if (members_[each].attempt != nullptr) state_.queue.take_member(members_[each].uid);
  }
  write_condition(group, "True", "Scheduled", "");
  const bool may_evict =
      members_.front().pod->preemption_policy != PLIMSOLL_PREEMPT_NEVER && preemption() != nullptr;
  // Some were not reached, or the next attempt may evict others for those who are left.
  const bool again = std::ranges::any_of(members_, [&](const Member& member) {
    return member.attempt == nullptr && (may_evict || member.now.status.ok());
  });
  is_back_ = true;
  state_.queue.reject_group(group, std::move(refusals_), state_.now_ms(), again);
  for (const Member& member : members_) {
    if (member.attempt != nullptr) continue;
    co_await slice_.pause();
    if (member.now.status.ok()) {
      give_back_nomination(member);
    } else {
      tell(member, member.now, "");
    }
  }
  for (const size_t each : order) {
    Member& member = members_[each];
    if (member.attempt == nullptr) continue;
    co_await slice_.pause();
    const Attempt& attempt = *member.attempt;
    if (attempt.nominated_to != view(attempt.assumed->node_name)) {
      state_.nomination_ended(attempt.current(), attempt.nominated_to);
    }
    bindings_.begin(std::move(member.attempt));
  }
}

Routine<> GroupCycle::fail(QueuedGroup& group, bool for_want_of_room) {
  // Some may be gone, or the group: then nobody is to make room.
  const bool asks = for_want_of_room && error_.ok();
  const auto is_news = [this, counts = asks && !group.put_off] {
    return counts && state_.deferred.size() > state_.deferred_of_others;
  };
  group.put_off = is_news();
  // Whom to evict is seen once the claims bind nobody any more.
  group.gave_back = asks && !group.put_off && !group.gave_back && give_back_claims();
  if (!error_.ok()) give_up_room();
  Evictions evictions;
  if (asks && !group.put_off && !group.gave_back) evictions = co_await evict(group, is_news);
  co_await slice_.pause();
  if (state_.metrics) {
    state_.metrics->group_attempt(!error_.ok()     ? "error"
                                  : evictions.help ? "waiting_on_preemption"
                                                   : "unschedulable",
                                  framework_->scheduler_name(), metrics::seconds_since(start_));
  }
  if (!error_.ok()) message_ = error_.message(state_.environment.reasons);
  const std::string not_reached = message_;
  if (group.gave_back) message_ += ", deallocation of ResourceClaims completed";
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
  if (!error_.ok()) refusals_.clear();
  is_back_ = true;
  state_.queue.reject_group(group, std::move(refusals_), state_.now_ms(), group.put_off);
  for (const Member& member : members_) {
    co_await slice_.pause();
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
}

void GroupCycle::tell(const Member& member, const Verdict& verdict, std::string_view why) {
  Attempt attempt(member.pod, *framework_);
  attempt.start = start_;
  attempt.nominated_to = member.nominated_to;
  attempt.count(verdict.status.rejected() ? metrics::AttemptResult::kUnschedulable
                                          : metrics::AttemptResult::kError);
  state_.attempt_failed(attempt, member.pod, verdict.status, verdict.diagnosis, member.nominating,
                        why, view(group_.entry.pod->meta.uid));
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
  GroupConditions::Condition condition{group.ns, group.name, object_->uid, status == "True", {}};
  ApiRequest& request = condition.request;
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
  state_.group_conditions->write(std::move(condition));
}

}  // namespace plimsoll
