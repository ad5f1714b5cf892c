// DefaultPreemption: where no node has room, pods of lower priority make way. Kubernetes:
// pkg/scheduler/framework/plugins/defaultpreemption.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/runtime/group_dry_run.hpp"
#include "framework/runtime/plugin/dry_run_keeper.hpp"
#include "framework/runtime/preemption_extenders.hpp"
#include "plugins/builtin/default_args.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/preemption/disruption_budgets.hpp"
#include "plugins/builtin/preemption/preemption_candidates.hpp"
#include "plugins/builtin/preemption/preemption_executor.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

// How many nodes are looked at: DefaultPreemptionArgs.
struct Candidates {
  int32_t percentage = 0;
  int32_t absolute = 0;
};

constexpr const char* kDefaults =
    R"({"minCandidateNodesPercentage":10,"minCandidateNodesAbsolute":100})";

Candidates read_candidates(const Host& host, std::string_view json) {
  Candidates out;
  read_over(kDefaults, host, json, {"DefaultPreemptionArgs"}, [&out](Args& args) {
    args.read("minCandidateNodesPercentage", out.percentage, 0, 100);
    args.read("minCandidateNodesAbsolute", out.absolute, 0);
    if (out.percentage == 0 && out.absolute == 0) {
      args.problem("minCandidateNodesPercentage",
                   "must not be 0 together with minCandidateNodesAbsolute");
    }
  });
  return out;
}

// Whether room on the node is about to be free for the pod: one of lower priority is being deleted
// by a preemption.
bool is_going(const plimsoll_pod& other, int32_t priority) {
  return other.priority < priority && other.meta.deletion_ms != 0 &&
         view(other.disruption_reason) == PreemptionExecutor::kReason;
}
bool victim_is_going(int32_t priority, Node node) {
  const auto on_node = node.pods();
  return std::any_of(on_node.begin(), on_node.end(),
                     [&](const plimsoll_pod* other) { return is_going(*other, priority); });
}

bool is_in_group(const plimsoll_pod& pod) {
  return PLIMSOLL_HAS(&pod, group) && pod.group.len != 0;
}

// For how long room that is about to be free is waited for, before other pods have to go: two
// reports of a node agent at its usual pace. And when that is forgotten; by then a pod that waited
// in vain was tried again, whatever wakes it.
constexpr int64_t kLongestWaitMs = GroupDryRun::kLongestWaitMs;
constexpr int64_t kForgetWaitMs = 60 * 60'000;

// When the last of those whom a group waits for on the node counts as one that stays.
int64_t victims_count_until(int32_t priority, Node node, int64_t now_ms) {
  int64_t until_ms = 0;
  for (const plimsoll_pod* other : node.pods()) {
    if (is_going(*other, priority) && GroupDryRun::makes_room(*other, now_ms))
      until_ms = std::max(until_ms, other->meta.deletion_ms + kLongestWaitMs);
  }
  return until_ms;
}

class DefaultPreemption : public GroupPreemption {
 public:
  static constexpr const char* kName = "DefaultPreemption";
  static constexpr const char* kDefaultArgs = kDefaults;

  DefaultPreemption(const Host& host, std::string_view args_json)
      : host_(host),
        candidates_(read_candidates(host, args_json)),
        executor_(host, kName),
        dry_run_(host_, budgets_),
        attempts_total_(host.counter("scheduler_preemption_attempts_total",
                                     "[STABLE] Attempts to make room for a pod by preemption.")),
        group_attempts_total_(host.counter(
            "scheduler_workload_preemption_attempts_total",
            "[ALPHA] Attempts to make room for a pod group by preemption.", {"result"})),
        evaluation_(host.histogram("scheduler_preemption_evaluation_duration_seconds",
                                   "[ALPHA] Time to find whom to evict.",
                                   {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256,
                                    0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768},
                                   {"preemptor", "result"})),
        held_(host.reason("waiting for the preemption for this pod to be finished")),
        group_held_(host.reason("waiting for the preemption for this pod group to be finished")) {
    host.watch(kDisruptionBudgets);
  }

  // A pod that waits for its victims is woken by the plugins that will find room then, and by
  // wake_nominated.
  const auto& events() const { return events_; }
  Hint hint(Pod, const plimsoll_event&) { return Hint::kSkip; }
  // The executor does. Otherwise each deletion of a victim would look at all preemptors that wait.
  static constexpr bool wakes_whom_it_gates = true;

  void object_event(const ObjectEvent& event) {
    if (event.resource != kDisruptionBudgets.resource) return;
    if (event.type == ObjectEvent::kSynced) return;
    const auto* budget = host_.object(kDisruptionBudgets, event.ns, event.name);
    if (budget == nullptr) return budgets_.remove(event.ns, event.name);
    budgets_.upsert(*budget);
    if (budget->object.unreadable.len != 0) {
      host_.warn("PodDisruptionBudget " + std::string(event.ns) + "/" + std::string(event.name) +
                 " cannot be read and protects all pods with labels in its namespace: " +
                 std::string(view(budget->object.unreadable)));
    }
  }

  // What not_eligible waits for may have been the victim of another pod, and nothing that the
  // filters of the pod go by: their hints let it sleep, though it may preempt again.
  void pod_event(PodEvent type, Pod, std::string_view node_name) {
    if (type == PodEvent::kRemoved) wake_nominated(node_name, false);
  }
  void node_event(NodeEvent type, Node node, uint32_t) {
    if (type == NodeEvent::kRemoved) wake_nominated(node.name(), true);
  }

  // Budgets bound whom others may evict; where a pod fits does not rest on them.
  bool rests_on(Pod, std::string_view) const { return false; }

  void start() {
    extenders_ = host_.find_service<PreemptionExtenders>(PreemptionExtenders::kService, 1);
    keeper_ = host_.find_service<DryRunKeeper>(DryRunKeeper::kService, 1);
    affinity_ = host_.find_service<AffinityBasis>(AffinityBasis::kService, 1);
    group_dry_run_ = host_.find_service<GroupDryRun>(GroupDryRun::kService, 1);
  }

  Status pre_enqueue(Pod pod) {
    if (!published_) {
      // Nothing else says whose plugin this is.
      const std::string profile(view(pod->scheduler_name));
      published_ =
          host_.publish(std::string(GroupPreemption::kService) + "/" + profile, 1, &as_published_);
    }
    if (!executor_.holds_back(pod.uid())) return Status::success();
    return Status::unresolvable(is_in_group(*pod) ? group_held_ : held_);
  }

  // PodGroupPostFilter.
  Routine<Decision> preempt(const Group& group, Slice& slice) override {
    const auto began = Clock::now();
    Decision decision;
    if (std::optional<Decision> known = decide_at_once(group)) {
      decision = std::move(*known);
    } else {
      const auto breaks = [this](const std::vector<const plimsoll_pod*>& pods) {
        return budgets_.violations({pods.begin(), pods.end()});
      };
      const GroupDryRun::EvictionQuery query{group.members, group.needed,   group.priority,
                                             group.domains, host_.now_ms(), breaks};
      GroupDryRun::Eviction found = co_await group_dry_run_->evict(query, slice);
      if (group.is_news()) co_return Decision{Decision::Outcome::kNews, {}, {}};
      decision = decide(group, std::move(found));
    }
    const char* result = decision.outcome == Decision::Outcome::kEvicts ||
                                 decision.outcome == Decision::Outcome::kWaits
                             ? "Success"
                             : "Unschedulable";
    group_attempts_total_.add(1, result);
    evaluation_.observe_value(seconds_since(began), "podgroup", result);
    co_return decision;
  }

  Status post_filter(plimsoll_cycle& cycle, Pod pod, Nodes nodes, std::span<const uint8_t> codes,
                     Nomination& nomination) {
    const auto began = Clock::now();
    const Status status = make_room(cycle, pod, nodes, codes, nomination);
    evaluation_.observe_value(seconds_since(began), "pod",
                              status.ok()                     ? "Success"
                              : status.code == PLIMSOLL_ERROR ? "Error"
                                                              : "Unschedulable");
    return status;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point began) {
    return std::chrono::duration<double>(Clock::now() - began).count();
  }

  Status make_room(plimsoll_cycle& cycle, Pod pod, Nodes nodes, std::span<const uint8_t> codes,
                   Nomination& nomination) {
    const auto answered = extenders_ == nullptr ? std::nullopt : extenders_->answered();
    if (!answered) attempts_total_.add(1);
    if (const std::string_view why = not_eligible(pod, nodes, codes); !why.empty()) {
      return refuse(why);
    }
    const auto slots = nodes.slots();
    potential_.clear();
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (codes[i] != PLIMSOLL_UNSCHEDULABLE) continue;
      if (answered && !answered->contains(nodes[i].name())) continue;
      potential_.push_back({nodes[i], slots.empty() ? nodes[i].slot() : slots[i]});
    }
    const size_t wanted = answered ? potential_.size()
                                   : wanted_candidates(potential_.size(), candidates_.percentage,
                                                       candidates_.absolute);
    DryRun found = dry_run_.run(
        cycle, pod, potential_,
        {next_offset(pod), wanted, nodes.columns(), keeper_, affinity_, group_dry_run_});
    if (found.candidates.empty() && found.failed) {
      return {PLIMSOLL_ERROR, 0};  // with the text of whoever failed
    }
    if (found.candidates.empty() && !answered) {
      nomination.clear();
      return refuse(not_helpful(found, nodes.size()));
    }
    if (extenders_ != nullptr && ask_extenders(pod, found)) {
      return refuse("extenders are asked which pods may be evicted");
    }
    // The pod's nomination stays, as with kube-scheduler (Evaluator.Preempt).
    if (found.candidates.empty()) return refuse("no candidate node for preemption");
    const Trial& best = pick_candidate(found.candidates, host_.now_ms());
    executor_.start(pod, best.node, best.victims, best.rank.violations);
    nomination.nominate(best.node);
    return Status::success();
  }

  // Those that have no victim to wait for any more, on a node that one was waited for on.
  void wake_nominated(std::string_view name, bool node_is_gone) {
    const auto found = awaited_.find(name);
    if (found == awaited_.end()) return;
    const Node node = node_is_gone ? Node(nullptr) : host_.node(name);
    bool still = false;
    for (Pod pod : host_.nominated_pods(name)) {
      if (node && victim_is_going(pod->priority, node)) {
        still = true;
      } else {
        host_.activate(pod.uid());
      }
    }
    if (!still) awaited_.erase(found);
  }

  Status refuse(std::string_view why) const {
    return host_.failed(PLIMSOLL_UNSCHEDULABLE, "preemption: " + std::string(why));
  }

  std::optional<Decision> decide_at_once(const Group& group) {
    using Outcome = Decision::Outcome;
    const auto never = [](const plimsoll_pod* pod) {
      return pod->preemption_policy == PLIMSOLL_PREEMPT_NEVER;
    };
    if (group_dry_run_ == nullptr || std::ranges::any_of(group.members, never)) {
      return Decision{Outcome::kIneligible, "not eligible due to preemptionPolicy=Never.", {}};
    }
    // The dry run does not know what one member takes of what another's claim could have.
    const auto has_claims = [](const plimsoll_pod* pod) { return pod->resource_claims.count != 0; };
    if (std::ranges::count_if(group.members, has_claims) > 1) {
      return Decision{
          Outcome::kRefused, "nobody is evicted for several pods with resource claims", {}};
    }
    for (const plimsoll_pod* pod : group.members) {
      const std::string_view nominated = view(pod->nominated_node_name);
      const Node node = nominated.empty() ? Node(nullptr) : host_.node(nominated);
      const int64_t until_ms = node ? victims_count_until(group.priority, node, host_.now_ms()) : 0;
      if (until_ms == 0) continue;
      awaited_.emplace(nominated);
      try_again(group, until_ms);
      return Decision{Outcome::kWaits, "ongoing preemption on nominated nodes", {}};
    }
    return std::nullopt;
  }

  Decision decide(const Group& group, GroupDryRun::Eviction found) {
    using Outcome = Decision::Outcome;
    switch (found.outcome) {
      case GroupDryRun::Eviction::Outcome::kNoVictims:
        return {Outcome::kRefused, "No preemption victims found for incoming preemptor", {}};
      case GroupDryRun::Eviction::Outcome::kWaits:
        try_again(group, found.until_ms);
        return {Outcome::kWaits, "pods that are being deleted make room for the pod group",
                std::move(found.places)};
      case GroupDryRun::Eviction::Outcome::kTooMuch:
        return {Outcome::kRefused,
                "victims were not found soon enough: the pod group has many kinds of pods",
                {}};
      case GroupDryRun::Eviction::Outcome::kNoRoom:
        return {Outcome::kNoRoom, {}, {}, found.placed, found.remaining};
      case GroupDryRun::Eviction::Outcome::kFound:
        break;
    }
    const bool is_known = std::ranges::all_of(found.places, [](const GroupDryRun::Place& place) {
      return view(place.pod->nominated_node_name) == place.node;
    });
    // Room that the attempt did not find; but not again and again.
    if (found.victims.empty() && is_known) return {Outcome::kNoRoom, {}, {}, 0, 0};
    if (found.victims.empty()) {
      host_.run_on_loop(0, [host = host_, uid = std::string(Pod(group.members.front()).uid())] {
        host.activate(uid);
      });
    }
    std::vector<Pod> victims;
    PreemptionExecutor::Costs costs;
    for (const VictimUnit& unit : found.victims) {
      add_pods(unit, victims);
      costs.disruptions += unit.of_group ? 1 : 0;
    }
    costs.violations = std::ranges::count(budgets_.violations(victims), true);
    std::vector<Pod> members;
    for (const plimsoll_pod* pod : group.members) members.emplace_back(pod);
    if (!victims.empty()) {
      executor_.start(members, group.uid, victims, costs, group.is_there);
      try_again(group, host_.now_ms() + kLongestWaitMs);
    }
    return {
        Outcome::kEvicts,
        "found a placement for podgroup, preempting " + std::to_string(victims.size()) + " victims",
        std::move(found.places)};
  }

  // No event tells that those who are to go do not.
  void try_again(const Group& group, int64_t at_ms) {
    std::string uid(group.uid);
    if (!waiting_groups_.insert(uid).second) return;
    std::vector<std::string> members;
    for (const plimsoll_pod* pod : group.members) members.emplace_back(Pod(pod).uid());
    host_.run_on_loop(std::min(at_ms - host_.now_ms(), kForgetWaitMs),
                      [this, uid = std::move(uid), members = std::move(members)] {
                        waiting_groups_.erase(uid);
                        for (const std::string& member : members) host_.activate(member);
                      });
  }

  // True: they do not know yet. Otherwise, what they left.
  bool ask_extenders(Pod pod, DryRun& found) const {
    std::vector<PreemptionCandidate> offered;
    for (const Trial* each : found.candidates) {
      PreemptionCandidate& made = offered.emplace_back();
      made.node = each->node;
      made.violations = each->rank.violations;
      for (Pod victim : each->victims) made.victims.push_back(&*victim);
    }
    if (extenders_->process(*pod, offered) == PreemptionExtenders::Outcome::kAsked) return true;
    found.candidates.clear();
    for (const PreemptionCandidate& each : offered) {
      std::vector<Pod> victims;
      for (const plimsoll_pod* victim : each.victims) victims.emplace_back(victim);
      std::stable_sort(victims.begin(), victims.end(), [now_ms = host_.now_ms()](Pod a, Pod b) {
        return more_important(a, b, now_ms);
      });
      found.own.push_back(std::make_unique<Trial>(each.node, host_.node(each.node).slot(),
                                                  std::move(victims), each.violations));
      found.candidates.push_back(found.own.back().get());
    }
    return false;
  }

  // PodEligibleToPreemptOthers: why not, or nothing. And beyond it: where a filter says Pending the
  // victims are gone, but not yet from what it goes by.
  std::string_view not_eligible(Pod pod, Nodes nodes, std::span<const uint8_t> codes) {
    if (pod->preemption_policy == PLIMSOLL_PREEMPT_NEVER) {
      return "not eligible due to preemptionPolicy=Never.";
    }
    const std::string_view nominated = view(pod->nominated_node_name);
    if (nominated.empty()) return {};
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].name() != nominated) continue;
      if (codes[i] == PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE) return {};
      if (codes[i] == PLIMSOLL_PENDING && waits_for_room(pod)) {
        return "not eligible due to room about to be free on the nominated node.";
      }
      if (!victim_is_going(pod->priority, nodes[i])) return {};
      awaited_.emplace(nominated);
      return "not eligible due to a terminating pod on the nominated node.";
    }
    return {};
  }

  // Not for ever: the node's agent may have died.
  bool waits_for_room(Pod pod) {
    const int64_t now_ms = host_.now_ms();
    std::erase_if(waiting_since_,
                  [&](const auto& wait) { return now_ms - wait.second >= kForgetWaitMs; });
    std::pair key(std::string(pod.uid()), std::string(view(pod->nominated_node_name)));
    const auto [wait, is_new] = waiting_since_.try_emplace(std::move(key), now_ms);
    if (is_new) {
      host_.run_on_loop(kLongestWaitMs, [this, uid = wait->first.first] { host_.activate(uid); });
    }
    return now_ms - wait->second < kLongestWaitMs;
  }

  // "0/5 nodes are available: ...", as the FitError of the dry run.
  std::string not_helpful(const DryRun& found, size_t node_count) const {
    std::map<uint32_t, size_t> nodes_by_list;
    for (const Trial* other : found.others) ++nodes_by_list[other->status.reason];
    if (found.passed_over != 0) nodes_by_list[dry_run_.no_victims()] += found.passed_over;
    std::map<std::string, size_t, std::less<>> nodes_by_reason;
    for (const auto& [reasons, nodes] : nodes_by_list) {
      for (std::string_view text : host_.reason_texts(reasons)) {
        nodes_by_reason.try_emplace(std::string(text), 0).first->second += nodes;
      }
    }
    const size_t looked_at = found.others.size() + found.passed_over;
    if (looked_at < node_count) {
      nodes_by_reason["Preemption is not helpful for scheduling"] += node_count - looked_at;
    }
    std::vector<std::string> parts;
    parts.reserve(nodes_by_reason.size());
    for (const auto& [text, count] : nodes_by_reason) {
      parts.push_back(std::to_string(count) + " " + text);
    }
    std::sort(parts.begin(), parts.end());
    std::string message = "0/" + std::to_string(node_count) + " nodes are available:";
    for (size_t i = 0; i < parts.size(); ++i) message += (i == 0 ? " " : ", ") + parts[i];
    return message + (parts.empty() ? "" : ".");
  }

  // Where to begin looking: another place for each pod and each attempt, yet the same whenever the
  // same happens again.
  size_t next_offset(Pod pod) { return std::hash<std::string_view>()(pod.uid()) + attempts_++; }

  Host host_;
  Candidates candidates_;
  PreemptionExecutor executor_;
  DisruptionBudgets budgets_;
  PreemptionDryRun dry_run_;
  std::vector<PotentialNode> potential_;            // of one call; its room is kept
  const PreemptionExtenders* extenders_ = nullptr;  // null: there are none
  const DryRunKeeper* keeper_ = nullptr;            // null: nothing is kept
  const AffinityBasis* affinity_ = nullptr;         // null: InterPodAffinity is not there
  const GroupDryRun* group_dry_run_ = nullptr;
  CounterMetric attempts_total_;
  CounterMetric group_attempts_total_;
  HistogramMetric evaluation_;
  uint32_t held_;
  uint32_t group_held_;
  GroupPreemption* as_published_ = this;
  bool published_ = false;
  size_t attempts_ = 0;
  std::map<std::pair<std::string, std::string>, int64_t> waiting_since_;  // by UID and node
  std::set<std::string> waiting_groups_;        // by UID: they are tried again in time
  std::set<std::string, std::less<>> awaited_;  // nodes: not_eligible waits for pods there to go
  std::array<plimsoll_event_interest, 1> events_{on_pod(PLIMSOLL_ACTION_DELETE)};
};

}  // namespace

StaticModule default_preemption() {
  return linked_in<DefaultPreemption>();
}

}  // namespace plimsoll::builtin
