// DefaultPreemption: where no node has room, pods of lower priority make way. Kubernetes:
// pkg/scheduler/framework/plugins/defaultpreemption.
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "plugins/builtin/disruption_budgets.hpp"
#include "plugins/builtin/events.hpp"
#include "plugins/builtin/plugins.hpp"
#include "plugins/builtin/preemption_candidates.hpp"
#include "plugins/builtin/preemption_executor.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

struct Args {
  int64_t percentage = 10;
  int64_t absolute = 100;
};

Args read_args(std::string_view json) {
  Args args;
  if (json.empty()) return args;
  const auto object = nlohmann::json::parse(json);
  const auto read = [&object](const char* key, int64_t most, int64_t& out) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) return;
    if (!found->is_number_integer()) {
      throw std::invalid_argument(std::string(key) + ": expected a whole number");
    }
    out = found->get<int64_t>();
    if (out < 0 || out > most) {
      throw std::invalid_argument(std::string(key) + ": must be from 0 to " + std::to_string(most));
    }
  };
  read("minCandidateNodesPercentage", 100, args.percentage);
  read("minCandidateNodesAbsolute", INT32_MAX, args.absolute);
  if (args.percentage == 0 && args.absolute == 0) {
    throw std::invalid_argument(
        "minCandidateNodesPercentage: must not be 0 together with minCandidateNodesAbsolute");
  }
  return args;
}

// Deleted, and by a preemption: its room is about to be free.
bool terminates_by_preemption(const plimsoll_pod& pod) {
  return pod.meta.deletion_ms != 0 && view(pod.disruption_reason) == "PreemptionByScheduler";
}

// For how long room that is about to be free is waited for, before other pods have to go: two
// reports of a node agent at its usual pace. And when that is forgotten; by then a pod that waited
// in vain was tried again, whatever wakes it.
constexpr int64_t kLongestWaitMs = 2 * 60'000;
constexpr int64_t kForgetWaitMs = 60 * 60'000;

class DefaultPreemption {
 public:
  static constexpr const char* kName = "DefaultPreemption";
  static constexpr std::string_view kBudgets = "poddisruptionbudgets.v1.policy";

  DefaultPreemption(Host host, std::string_view args_json)
      : host_(host),
        args_(read_args(args_json)),
        executor_(host, kName),
        dry_run_(host_, budgets_),
        attempts_total_(host.counter("scheduler_preemption_attempts_total",
                                     "[STABLE] Attempts to make room for a pod by preemption.")),
        held_(host.reason("waiting for the preemption for this pod to be finished")) {
    host.watch("policy", "v1", "poddisruptionbudgets");
  }

  // A pod that waits for its victims is woken by the plugins that will find room then.
  const auto& events() const { return events_; }
  Hint hint(Pod, const plimsoll_event&) { return Hint::kSkip; }

  void object_event(const ObjectEvent& event) {
    if (event.resource != kBudgets) return;
    if (event.type == ObjectEvent::kDelete) budgets_.remove(event.ns, event.name);
    if (event.type != ObjectEvent::kUpsert) return;
    if (const auto read = budgets_.upsert(event.ns, event.name, event.json); !read) {
      host_.warn("PodDisruptionBudget " + std::string(event.ns) + "/" + std::string(event.name) +
                 " cannot be read and protects nothing: " + read.error().message);
    }
  }

  // Budgets bound whom others may evict; where a pod fits does not rest on them.
  bool rests_on(Pod, std::string_view) const { return false; }

  Status pre_enqueue(Pod pod) {
    return executor_.holds_back(pod.uid()) ? Status::unresolvable(held_) : Status::success();
  }

  Status post_filter(plimsoll_cycle& cycle, Pod pod, Nodes nodes, std::span<const uint8_t> codes,
                     Nomination& nomination) {
    attempts_total_.add(1);
    if (const std::string_view why = not_eligible(pod, nodes, codes); !why.empty()) {
      return refuse(why);
    }
    std::vector<Node> potential;
    potential.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (codes[i] == PLIMSOLL_UNSCHEDULABLE) potential.push_back(nodes[i]);
    }
    const size_t wanted = wanted_candidates(potential.size(), args_.percentage, args_.absolute);
    const DryRun found =
        dry_run_.run(cycle, pod, potential, next_offset(pod), wanted, nodes.columns());
    if (found.candidates.empty()) {
      if (found.failed) return {PLIMSOLL_ERROR, 0};  // with the text of whoever failed
      nomination.clear();
      return refuse(not_helpful(found, nodes.size()));
    }
    const Candidate& best = pick_candidate(found.candidates, host_.now_ms());
    executor_.start(pod, best.node, best.victims);
    nomination.nominate(best.node);
    return Status::success();
  }

 private:
  Status refuse(std::string_view why) const {
    return host_.failed(PLIMSOLL_UNSCHEDULABLE, "preemption: " + std::string(why));
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
      const auto on_node = nodes[i].pods();
      const bool going =
          std::any_of(on_node.begin(), on_node.end(), [&](const plimsoll_pod* other) {
            return other->priority < pod->priority && terminates_by_preemption(*other);
          });
      return going ? "not eligible due to a terminating pod on the nominated node."
                   : std::string_view();
    }
    return {};
  }

  // Not for ever: the node's agent may have died.
  bool waits_for_room(Pod pod) {
    const int64_t now_ms = host_.now_ms();
    std::erase_if(waiting_since_,
                  [&](const auto& wait) { return now_ms - wait.second >= kForgetWaitMs; });
    std::pair key(std::string(pod.uid()), std::string(view(pod->nominated_node_name)));
    const int64_t since_ms = waiting_since_.try_emplace(std::move(key), now_ms).first->second;
    return now_ms - since_ms < kLongestWaitMs;
  }

  // "0/5 nodes are available: ...", as the FitError of the dry run.
  std::string not_helpful(const DryRun& found, size_t node_count) const {
    std::map<uint32_t, size_t> nodes_by_list;
    for (const NotCandidate& other : found.others) ++nodes_by_list[other.status.reason];
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
  Args args_;
  PreemptionExecutor executor_;
  DisruptionBudgets budgets_;
  PreemptionDryRun dry_run_;
  CounterMetric attempts_total_;
  uint32_t held_;
  size_t attempts_ = 0;
  std::map<std::pair<std::string, std::string>, int64_t> waiting_since_;  // by UID and node
  std::array<plimsoll_event_interest, 1> events_{on_pod(PLIMSOLL_ACTION_DELETE)};
};

}  // namespace

StaticModule default_preemption() {
  return linked_in<DefaultPreemption>();
}

}  // namespace plimsoll::builtin
