#include "framework/cycle/extender_waits.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "framework/cycle/attempt.hpp"
#include "framework/extenders/round.hpp"

namespace plimsoll {
namespace {

constexpr size_t kAskedAtOnce = 16;  // pods

}  // namespace

struct ExtenderWaits::Link {
  explicit Link(ExtenderWaits* waits) : to(waits) {}
  // Runs it on the loop, unless that is over. Any thread.
  template <typename Run>
  void post(Run run) {
    const std::lock_guard lock(mutex);
    if (to != nullptr) {
      to->state_.inbox.post(Task{[waits = to, run = std::move(run)]() mutable { run(*waits); }});
    }
  }
  std::mutex mutex;
  ExtenderWaits* to;  // guarded by mutex
};

ExtenderWaits::ExtenderWaits(LoopState& state, GoOn go_on, Fail fail)
    : state_(state),
      go_on_(std::move(go_on)),
      fail_(std::move(fail)),
      link_(std::make_shared<Link>(this)) {
  const PreemptionExtenders* service = this;
  state_.environment.services.publish(PreemptionExtenders::kService, 1, service);
}

ExtenderWaits::~ExtenderWaits() {
  clear();
}

void ExtenderWaits::clear() {
  {
    const std::lock_guard lock(link_->mutex);
    link_->to = nullptr;
  }
  asked_.clear();
  queued_.clear();
}

bool ExtenderWaits::concern(const plimsoll_pod& pod) const {
  const auto& extenders = state_.options.extenders;
  return std::any_of(extenders.begin(), extenders.end(),
                     [&](const ExtenderSpec& extender) { return judges(extender, pod); });
}

bool ExtenderWaits::must_queue(std::unique_ptr<Attempt>& attempt) {
  if (asked_.size() < kAskedAtOnce) return false;
  queued_.push_back(std::move(attempt));
  return true;
}

template <typename Ask>
void ExtenderWaits::with_pod(std::unique_ptr<Attempt> attempt, Ask ask) {
  const uint64_t number = ++questions_;
  const plimsoll_pod& pod = *attempt->pod;
  ApiRequest read;
  read.method = "GET";
  read.path = "/api/v1/namespaces/" + std::string(view(pod.meta.ns)) + "/pods/" +
              std::string(view(pod.meta.name));
  asked_.emplace(number, std::move(attempt));
  state_.writer.request(std::move(read), [link = link_, number, ask = std::move(ask)](
                                             int status, std::string_view body) mutable {
    if (status == 200) return ask(number, std::string(body));
    std::string why = "the pod cannot be read from the API server for extenders: ";
    why += status == 0 ? std::string(body) : "HTTP " + std::to_string(status);
    link->post([number, error = Error{ErrorCode::kUnavailable, std::move(why)}](
                   ExtenderWaits& waits) { waits.take_asked(number, &error); });
  });
}

void ExtenderWaits::ask(std::unique_ptr<Attempt> attempt, std::vector<NodeRef> nodes) {
  ExtenderQuestion question{attempt->pod, {}, std::move(nodes)};
  with_pod(std::move(attempt),
           [link = link_, question = std::move(question), &options = state_.options](
               uint64_t number, std::string json) mutable {
             question.pod_json = std::move(json);
             ask_extenders(
                 options.extenders, *options.extender_client, std::move(question),
                 [link, number](Result<ExtenderAnswers> answers) {
                   link->post([number, answers = std::move(answers)](ExtenderWaits& waits) mutable {
                     waits.answered(number, std::move(answers));
                   });
                 });
           });
}

void ExtenderWaits::ask_about_victims(std::unique_ptr<Attempt> attempt) {
  PreemptionQuestion question{attempt->pod, {}, std::exchange(attempt->victims_to_ask, {}), {}};
  for (const ExtenderVictims& each : question.victims) {
    question.pods[each.node] = possible_victims(*attempt->pod, each.node);
  }
  with_pod(std::move(attempt),
           [link = link_, question = std::move(question), &options = state_.options](
               uint64_t number, std::string json) mutable {
             question.pod_json = std::move(json);
             plimsoll::ask_about_victims(
                 options.extenders, *options.extender_client, std::move(question),
                 [link, number](Result<std::vector<ExtenderVictims>> victims) {
                   link->post([number, victims = std::move(victims)](ExtenderWaits& waits) mutable {
                     waits.victims_answered(number, std::move(victims));
                   });
                 });
           });
}

std::unique_ptr<Attempt> ExtenderWaits::take_asked(uint64_t number, const Error* error) {
  const auto found = asked_.find(number);
  if (found == asked_.end()) return nullptr;
  std::unique_ptr<Attempt> attempt = std::move(found->second);
  asked_.erase(found);
  if (error == nullptr) return attempt;
  if (state_.queue.find(attempt->uid())) {
    attempt->nominated_to = state_.nominator.node_of(attempt->uid());  // it may have lost it since
    fail_(*attempt, error_status(error->message));
  }
  next_turn();
  return nullptr;
}

void ExtenderWaits::answered(uint64_t number, Result<ExtenderAnswers> answers) {
  std::unique_ptr<Attempt> attempt = take_asked(number, answers ? nullptr : &answers.error());
  if (attempt == nullptr) return;
  for (auto& [name, verdict] : answers->nodes) {
    attempt->answers->nodes.insert_or_assign(name, std::move(verdict));
  }
  take_up(std::move(attempt));
  next_turn();
}

void ExtenderWaits::victims_answered(uint64_t number,
                                     Result<std::vector<ExtenderVictims>> victims) {
  std::unique_ptr<Attempt> attempt = take_asked(number, victims ? nullptr : &victims.error());
  if (attempt == nullptr) return;
  attempt->victims = std::move(*victims);
  take_up(std::move(attempt));
  next_turn();
}

// With the pod as it is now: what was said of an older version does not count.
void ExtenderWaits::take_up(std::unique_ptr<Attempt> attempt) {
  const std::string uid = attempt->uid();
  const PodRef now = state_.queue.find(uid);
  if (!now) return;  // it is gone, or somebody else has bound it
  if (now->meta.deletion_ms != 0) return state_.skip(*now, &attempt->framework);
  const PodRef& before = attempt->current();
  if (!equal(before->meta.resource_version, now->meta.resource_version)) {
    if (attempt->answers) attempt->answers->nodes.clear();
    attempt->victims.reset();
  }
  attempt->pod = state_.as_nominated(now);
  attempt->latest = attempt->pod != now ? now : nullptr;
  attempt->nominated_to = state_.nominator.node_of(uid);
  // The second look at victims leaves out the nodes that were undecided in the first.
  PluginMask pending;
  if (attempt->victims && attempt->cycle) pending = attempt->cycle->pending_in_what_ifs;
  attempt->cycle = attempt->framework.new_cycle();
  attempt->cycle->pending_in_what_ifs = pending;
  go_on_(std::move(attempt));
}

void ExtenderWaits::next_turn() {
  while (!queued_.empty() && asked_.size() < kAskedAtOnce) {
    std::unique_ptr<Attempt> attempt = std::move(queued_.front());
    queued_.pop_front();
    take_up(std::move(attempt));
  }
}

// ---- PreemptionExtenders

// The pods on the node that have a lower priority.
StringMap<PodRef> ExtenderWaits::possible_victims(const plimsoll_pod& pod,
                                                  std::string_view node) const {
  StringMap<PodRef> pods;
  const NodeInfo* info = state_.cluster.node(node);
  if (info == nullptr) return pods;
  const plimsoll_node_info& row = *info->abi();
  for (uint32_t i = 0; i < row.pod_count; ++i) {
    if (row.pods[i]->priority >= pod.priority) continue;
    const std::string_view uid = view(row.pods[i]->meta.uid);
    if (PodRef found = state_.cluster.pod(uid)) pods.emplace(uid, std::move(found));
  }
  return pods;
}

std::optional<std::unordered_set<std::string_view>> ExtenderWaits::answered() const {
  if (state_.current == nullptr || !state_.current->victims) return std::nullopt;
  std::unordered_set<std::string_view> nodes;
  for (const ExtenderVictims& said : *state_.current->victims) nodes.insert(said.node);
  return nodes;
}

PreemptionExtenders::Outcome ExtenderWaits::process(
    const plimsoll_pod& pod, std::vector<PreemptionCandidate>& candidates) const {
  const auto& extenders = state_.options.extenders;
  const bool concerned =
      std::any_of(extenders.begin(), extenders.end(), [&](const ExtenderSpec& extender) {
        return !extender.preempt_verb.empty() && is_interested(extender, pod);
      });
  if (!concerned || state_.current == nullptr) return Outcome::kDone;
  if (!state_.current->victims) {
    for (const PreemptionCandidate& each : candidates) {
      ExtenderVictims victims{each.node, {}, each.violations};
      for (const plimsoll_pod* victim : each.victims) {
        victims.uids.emplace_back(view(victim->meta.uid));
      }
      state_.current->victims_to_ask.push_back(std::move(victims));
    }
    return Outcome::kAsked;
  }
  // Of what was said, what still holds: the node is a candidate now, and its victims are there.
  std::vector<PreemptionCandidate> left;
  for (const ExtenderVictims& said : *state_.current->victims) {
    const bool still = std::any_of(candidates.begin(), candidates.end(),
                                   [&](const auto& each) { return each.node == said.node; });
    const StringMap<PodRef> pods = possible_victims(pod, said.node);
    PreemptionCandidate candidate{said.node, {}, said.violations};
    for (const std::string& uid : said.uids) {
      const auto found = pods.find(uid);
      if (found != pods.end()) candidate.victims.push_back(found->second.get());
    }
    if (still && candidate.victims.size() == said.uids.size()) left.push_back(std::move(candidate));
  }
  candidates = std::move(left);
  return Outcome::kDone;
}

}  // namespace plimsoll
