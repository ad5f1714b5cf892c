#include "plugins/builtin/preemption/preemption_executor.hpp"

#include <plimsoll/time_text.hpp>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

namespace plimsoll::builtin {
namespace {

using namespace sdk;
using Json = nlohmann::json;

constexpr std::string_view kStrategicMerge = "application/strategic-merge-patch+json";
constexpr int64_t kFirstRetryMs = 500;
constexpr int64_t kLongestRetryMs = 10'000;

std::string path_of(std::string_view ns, std::string_view name) {
  // Names and namespaces are DNS labels: nothing in them needs an escape.
  return "/api/v1/namespaces/" + std::string(ns) + "/pods/" + std::string(name);
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// The object is gone, or its name belongs to another one (a failed UID precondition).
bool is_gone(int status, std::string_view body) {
  if (status == 404) return true;
  const bool refused = status == 409 || status == 422;
  return refused && (body.find("UID") != body.npos || body.find("metadata.uid") != body.npos);
}

}  // namespace

PreemptionExecutor::PreemptionExecutor(const Host& host, std::string_view plugin_name)
    : host_(host),
      plugin_name_(plugin_name),
      victims_(host.histogram("scheduler_preemption_victims",
                              "[STABLE] Pods evicted by one preemption.",
                              {1, 2, 4, 8, 16, 32, 64})),
      group_victims_(host.histogram("scheduler_workload_preemption_victims",
                                    "[ALPHA] Pods evicted by one preemption for a pod group.",
                                    {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})),
      disruptions_(host.histogram("scheduler_preemption_workload_disruptions",
                                  "[ALPHA] Groups, or pods of groups that go one by one, evicted "
                                  "by one preemption for a pod group; if there are any.",
                                  {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, {"preemptor"})),
      violations_(host.counter("scheduler_preemption_pdb_violations_total",
                               "[ALPHA] Evicted pods whose eviction breaks a PodDisruptionBudget.",
                               {"preemptor"})),
      execution_(host.histogram("scheduler_preemption_execution_duration_seconds",
                                "[ALPHA] Time of a preemption's writes.",
                                {0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256,
                                 0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 32.768},
                                {"preemptor", "result"})),
      duration_(host.histogram(
          "scheduler_preemption_goroutines_duration_seconds",
          "[ALPHA] (Deprecated since 1.37.0) Time of a preemption's writes.",
          {0.01,  0.02,  0.04,  0.08,  0.16,   0.32,   0.64,   1.28,    2.56,    5.12,
           10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88},
          {"result"})),
      executions_(host.counter("scheduler_preemption_goroutines_execution_total",
                               "[ALPHA] Preemptions carried out.", {"result"})) {}

bool PreemptionExecutor::is_running(std::string_view preemptor_uid) const {
  const auto found = runs_.find(preemptor_uid);
  if (found == runs_.end()) return false;
  if (found->second->last_victim.empty()) return true;
  const Pod last = host_.pod_by_uid(found->second->last_victim);
  return last && !last.terminating();
}

bool PreemptionExecutor::holds_back(std::string_view preemptor_uid) {
  if (!is_running(preemptor_uid)) return false;
  runs_.find(preemptor_uid)->second->wake = true;
  return true;
}

void PreemptionExecutor::start(Pod preemptor, std::string_view node_name,
                               const std::vector<Pod>& victims, int64_t violations) {
  victims_.observe_value(static_cast<double>(victims.size()));
  const auto run = std::make_shared<Run>();
  run->type = "pod";
  run->uid = preemptor.uid();
  if (violations > 0) violations_.add(static_cast<double>(violations), run->type);
  start(run, {preemptor}, {std::string(node_name)}, victims);
}

void PreemptionExecutor::start(const std::vector<Pod>& group, std::string_view uid,
                               const std::vector<Pod>& victims, const Costs& costs,
                               std::function<bool()> is_there) {
  group_victims_.observe_value(static_cast<double>(victims.size()));
  const auto run = std::make_shared<Run>();
  run->type = "podgroup";
  if (costs.violations > 0) violations_.add(static_cast<double>(costs.violations), run->type);
  if (costs.disruptions > 0)
    disruptions_.observe_value(static_cast<double>(costs.disruptions), run->type);
  run->uid = uid;
  run->is_there = std::move(is_there);
  std::set<std::string> nodes;
  for (Pod victim : victims) nodes.emplace(victim.node_name());
  start(run, group, nodes, victims);
}

void PreemptionExecutor::start(const RunRef& run, const std::vector<Pod>& preemptors,
                               const std::set<std::string>& nodes,
                               const std::vector<Pod>& victims) {
  for (Pod victim : victims) {
    if (victim.terminating()) continue;  // it is on its way out
    const std::string node = nodes.size() == 1 ? *nodes.begin() : std::string(victim.node_name());
    run->victims.push_back({std::string(victim.ns()), std::string(victim.name()),
                            std::string(victim.uid()),
                            std::string(view(victim->meta.resource_version)), node,
                            victim->meta.generation, view(victim->disruption_reason) == kReason});
  }
  if (run->victims.empty()) return;
  run->scheduler_name = view(preemptors.front()->scheduler_name);
  run->since_ms = host_.now_ms();
  for (Pod preemptor : preemptors) {
    runs_[run->uids.emplace_back(preemptor.uid())] = run;
  }
  ++run->unanswered;  // until all that can be sent at once is sent
  for (const std::string& node : nodes) clear_nominations(run, preemptors.front(), node);
  if (run->victims.size() > 1) {
    const Uids waiting = waiting_on_permit();
    for (size_t i = 0; i + 1 < run->victims.size(); ++i) evict(run, run->victims[i], waiting);
  }
  answered(run, Outcome::kDone);
}

// They may not fit any more; without the nomination they look for another place at once.
void PreemptionExecutor::clear_nominations(const RunRef& run, Pod preemptor,
                                           std::string_view node_name) {
  for (Pod pod : host_.nominated_pods(node_name)) {
    if (pod->priority >= preemptor->priority || pod.uid() == preemptor.uid()) continue;
    const Json body = {{"metadata", {{"uid", pod.uid()}}},
                       {"status", {{"nominatedNodeName", nullptr}}}};
    const bool written = pod->nominated_node_name.len != 0;
    Host::ApiRequest request{"PATCH", path_of(pod.ns(), pod.name()) + "/status",
                             std::string(kStrategicMerge), dump(body)};
    host_.nominate(pod, "");
    if (!written) continue;
    ++run->unanswered;
    send(std::move(request), [this, run](int status, std::string_view text) {
      // Not critical: the victims go nevertheless.
      answered(run, is_success(status) || is_gone(status, text) ? Outcome::kDone : Outcome::kWake);
    });
  }
}

PreemptionExecutor::Uids PreemptionExecutor::waiting_on_permit() const {
  Uids uids;
  for (const Host::WaitingPod& waiting : host_.waiting_pods()) uids.emplace(waiting.pod.uid());
  return uids;
}

void PreemptionExecutor::evict(const RunRef& run, const Victim& victim, const Uids& waiting) {
  ++run->unanswered;
  if (evict_in_memory(*run, victim, waiting)) return answered(run, Outcome::kDone);
  victim.marked ? remove(run, victim) : mark(run, victim);
}

bool PreemptionExecutor::evict_in_memory(const Run& run, const Victim& victim,
                                         const Uids& waiting) {
  const bool waits = waiting.contains(victim.uid);
  if (!host_.cancel_binding(victim.uid, waits ? "preempted" : "preempted by " + plugin_name_)) {
    return false;
  }
  tell(run, victim, true);
  return true;
}

// The condition says to whoever watches why the pod is about to be deleted.
void PreemptionExecutor::mark(const RunRef& run, const Victim& victim) {
  const std::chrono::system_clock::time_point now{std::chrono::milliseconds(host_.now_ms())};
  Json condition = {{"type", "DisruptionTarget"},
                    {"status", "True"},
                    {"reason", kReason},
                    {"message", run->scheduler_name +
                                    ": preempting to accommodate a higher priority " + run->type},
                    {"lastProbeTime", nullptr},
                    {"lastTransitionTime", sdk::time_text(now, false)}};
  if (victim.generation != 0) condition["observedGeneration"] = victim.generation;
  const Json body = {{"metadata", {{"uid", victim.uid}}},
                     {"status", {{"conditions", Json::array({std::move(condition)})}}}};
  send({"PATCH", path_of(victim.ns, victim.name) + "/status", std::string(kStrategicMerge),
        dump(body)},
       [this, run, &victim](int status, std::string_view text) {
         if (is_success(status)) return remove(run, victim);
         answered(run, is_gone(status, text) ? Outcome::kWake : Outcome::kFailed);
       });
}

void PreemptionExecutor::remove(const RunRef& run, const Victim& victim) {
  const Json body = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", {{"uid", victim.uid}}}};
  send({"DELETE", path_of(victim.ns, victim.name), "application/json", dump(body)},
       [this, run, &victim](int status, std::string_view text) {
         if (is_success(status)) tell(*run, victim, false);
         answered(run, is_success(status)      ? Outcome::kDone
                       : is_gone(status, text) ? Outcome::kWake
                                               : Outcome::kFailed);
       });
}

void PreemptionExecutor::tell(const Run& run, const Victim& victim, bool in_memory) const {
  plimsoll_pod pod{};  // the victim itself may be gone
  pod.size = sizeof pod;
  pod.meta.size = sizeof pod.meta;
  pod.meta.ns = str(victim.ns);
  pod.meta.name = str(victim.name);
  pod.meta.uid = str(victim.uid);
  pod.meta.resource_version = str(victim.resource_version);
  std::string note = "Preempted by " + run.type + " " + run.uid + " on node " + victim.node;
  if (in_memory) note += " (in kube-scheduler memory).";
  host_.emit_event(Pod(&pod), false, "Preempted", "Preempting", note);
}

// After the attempt that is under way, which has failed by then: pods that it activates itself wait
// for its success.
void PreemptionExecutor::wake(const std::vector<std::string>& uids, int64_t delay_ms) {
  host_.run_on_loop(delay_ms, [host = host_, uids] {
    for (const std::string& uid : uids) host.activate(uid);
  });
}

template <typename Then>
void PreemptionExecutor::send(Host::ApiRequest request, Then then) {
  const std::string what = request.method + " " + request.path;
  host_.api_request(
      request, [host = host_, what, then = std::move(then)](int status, std::string_view body) {
        if (!is_success(status) && !is_gone(status, body)) {
          host.warn(what + ": " + std::to_string(status) + " " + std::string(body.substr(0, 500)));
        }
        host.run_on_loop(0, [then, status, text = std::string(body)] { then(status, text); });
      });
}

void PreemptionExecutor::answered(const RunRef& run, Outcome outcome) {
  if (outcome == Outcome::kFailed) run->failed = true;
  if (outcome == Outcome::kWake) run->wake = true;
  if (--run->unanswered == 0) proceed(run);
}

// With a victim that cannot be evicted the pod would not fit: the last one is spared then. So it is
// if the preemptor or its group is gone, or it has got a node, while the others were evicted.
void PreemptionExecutor::proceed(const RunRef& run) {
  const bool is_waiting = std::ranges::any_of(run->uids, [this](const std::string& uid) {
    const Pod preemptor = host_.pod_by_uid(uid);
    return preemptor && preemptor.node_name().empty() && !preemptor.terminating();
  });
  const bool is_there = is_waiting && (!run->is_there || run->is_there());
  if (run->failed || !run->last_victim.empty() || !is_there) return finish(run);
  run->last_victim = run->victims.back().uid;
  evict(run, run->victims.back(), waiting_on_permit());
}

void PreemptionExecutor::finish(const RunRef& run) {
  // A preemptor that was let go at the end of its last victim may have a newer one by now.
  for (const std::string& uid : run->uids) {
    if (const auto found = runs_.find(uid); found != runs_.end() && found->second == run) {
      runs_.erase(found);
    }
  }
  const std::string_view result = run->failed ? "error" : "success";
  const double seconds = static_cast<double>(host_.now_ms() - run->since_ms) / 1000;
  execution_.observe_value(seconds, run->type, result);
  duration_.observe_value(seconds, result);
  executions_.add(1, result);
  const std::string& uid = run->uids.front();
  if (!run->failed) {
    failures_.erase(uid);
    // What freed the room may have happened while the preemptor was held back.
    if (run->wake) wake(run->uids, 0);
    return;
  }
  // Nothing else would wake the preemptor. At once, but not over and over again without a break.
  const unsigned failures = ++failures_[uid];
  if (failures_.size() >= forget_at_) forget_who_is_gone();
  const int64_t delay =
      failures == 1 ? 0 : std::min(kLongestRetryMs, kFirstRetryMs << std::min(failures - 2, 10U));
  wake(run->uids, delay);
}

// Nobody says when a pod that waits in the queue is deleted. Looking through all of them whenever
// their number has doubled costs next to nothing, and keeps it in proportion to those there are.
void PreemptionExecutor::forget_who_is_gone() {
  std::erase_if(failures_, [this](const auto& failure) {
    const Pod pod = host_.pod_by_uid(failure.first);
    return !pod || !pod.node_name().empty();
  });
  forget_at_ = std::max<size_t>(64, 2 * failures_.size());
}

}  // namespace plimsoll::builtin
