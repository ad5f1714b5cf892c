#include "tests/e2e/recount_replay.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "tests/e2e/recount_placement.hpp"

namespace plimsoll::test {
namespace {

constexpr std::size_t kNeverAnswered = std::numeric_limits<std::size_t>::max();

// When a pod was created and bound.
struct Course {
  std::size_t created = 0;                // the step
  std::optional<std::size_t> tried;       // the step
  std::size_t ordinal = 0;                // how many Bindings had arrived before its own,
  std::size_t answered = kNeverAnswered;  // and when its own was answered
  std::size_t life = 0;                   // of the scheduler
};

class Replay {
 public:
  Replay(const Placement& placement, const std::vector<Step>& steps, std::size_t in_flight)
      : placement_(placement), in_flight_(in_flight) {
    for (const PlacedPod& pod : placement.pods) by_name_[pod.facts.name] = &pod;
    for (std::size_t i = 0; i < steps.size(); ++i) take(steps[i], i);
  }

  Replayed run() {
    for (const std::string& name : order_) {
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        result_.faults.push_back(name + " was bound and is not there");
        continue;
      }
      judge(*found->second);
    }
    return std::move(result_);
  }

 private:
  enum class There { kNo, kMaybe, kYes };

  void take(const Step& step, std::size_t at) {
    switch (step.kind) {
      case Step::Kind::kCreated:
        courses_[step.pod].created = at;
        break;
      case Step::Kind::kTried: {
        Course& course = courses_[step.pod];
        course.tried = at;
        course.ordinal = order_.size();
        course.life = ends_.size();
        order_.push_back(step.pod);
        if (const auto pod = by_name_.find(step.pod); pod != by_name_.end()) {
          on_node_[pod->second->facts.node].push_back(step.pod);
        }
        break;
      }
      case Step::Kind::kAnswered:
        courses_[step.pod].answered = order_.size();
        break;
      case Step::Kind::kKilled:
        ends_.push_back(order_.size());
    }
  }

  void judge(const PlacedPod& pod) {
    const auto node = placement_.nodes.find(pod.facts.node);
    if (node == placement_.nodes.end() || (pod.spread.empty() && pod.affinity.empty())) return;
    if (!find_behind(courses_.at(pod.facts.name))) {
      ++result_.unsettled;
      return;
    }
    ++result_.judged;
    for (const SpreadRule& rule : pod.spread) judge_spread(pod, rule, node->second);
    for (const NeighbourRule& rule : pod.affinity) judge_affinity(pod, rule, node->second);
  }

  // Fills in behind_: the pods whose Bindings may have waited for their turn at this one. False: a
  // further one may have died waiting.
  bool find_behind(const Course& mine) {
    behind_.clear();
    const bool dies = mine.life < ends_.size();
    if (dies && mine.ordinal + in_flight_ >= ends_[mine.life]) return false;
    for (const auto& [node, pods] : on_node_) {
      // How many Bindings had arrived when the next of the node could be sent.
      std::size_t next = mine.ordinal;
      bool chained = false;
      for (const std::string& name : pods) {
        const Course& course = courses_.at(name);
        if (course.life != mine.life) continue;
        if (course.ordinal > next + in_flight_) break;
        if (course.ordinal > mine.ordinal) behind_.insert(name);
        chained = course.answered >= mine.ordinal;
        next = std::max(mine.ordinal, std::min(course.answered, order_.size()));
      }
      if (dies && chained && next + in_flight_ >= ends_[mine.life]) return false;
    }
    return true;
  }

  // Whether the other pod was placed for the scheduler when it placed this one.
  [[nodiscard]] There there(const PlacedPod& pod, const PlacedPod& other) const {
    const Course& mine = courses_.at(pod.facts.name);
    const auto found = courses_.find(other.facts.name);
    if (found == courses_.end() || found->second.created > *mine.tried) return There::kNo;
    const Course& its = found->second;
    if (its.tried && *its.tried < *mine.tried) return There::kYes;
    if (!other.claims.empty()) return There::kMaybe;
    return behind_.contains(other.facts.name) ? There::kMaybe : There::kNo;
  }

  // Calls `each` with every other pod that a selector takes.
  template <typename Each>
  void others(const PlacedPod& pod, const Labels& selector, const Each& each) const {
    for (const PlacedPod& other : placement_.pods) {
      if (&other == &pod || !selects(selector, other.labels)) continue;
      const There whether = there(pod, other);
      if (whether != There::kNo) each(other, whether);
    }
  }

  void judge_spread(const PlacedPod& pod, const SpreadRule& rule, const PlacedNode& node) {
    auto surely = empty_domains(pod, rule, placement_);
    auto perhaps = surely;
    std::int64_t anywhere = 0;  // pods that still wait: they may have been placed in any domain
    others(pod, rule.selector, [&](const PlacedPod& other, There whether) {
      const auto at = placement_.nodes.find(other.facts.node);
      if (at == placement_.nodes.end()) {
        ++anywhere;
        return;
      }
      const std::string domain = counted_domain(pod, rule, at->second);
      if (domain.empty()) return;
      ++perhaps[domain];
      if (whether == There::kYes) ++surely[domain];
    });
    const std::string mine = counted_domain(pod, rule, node);
    if (mine.empty()) return;
    // It is most lenient to count here only what was there, and elsewhere what may have been.
    std::int64_t least = perhaps.at(mine);
    for (const auto& [domain, count] : perhaps) least = std::min(least, count);
    const std::int64_t after = surely.at(mine) + (selects(rule.selector, pod.labels) ? 1 : 0);
    if (after - least - anywhere <= rule.max_skew) return;
    result_.faults.push_back(pod.facts.name + " was bound as number " + std::to_string(after) +
                             " in " + mine + " when another domain by " + rule.key + " had " +
                             std::to_string(least) + " at most");
  }

  void judge_affinity(const PlacedPod& pod, const NeighbourRule& rule, const PlacedNode& node) {
    const std::string domain = domain_of(node, rule.key);
    bool here = false;
    bool anywhere = false;
    others(pod, rule.selector, [&](const PlacedPod& other, There whether) {
      const auto at = placement_.nodes.find(other.facts.node);
      if (at == placement_.nodes.end()) return;
      here = here || (!domain.empty() && domain_of(at->second, rule.key) == domain);
      anywhere = anywhere || whether == There::kYes;
    });
    const bool first = !anywhere && selects(rule.selector, pod.labels);
    if (here || first) return;
    result_.faults.push_back(pod.facts.name + " was bound to " + node.facts.name +
                             " when no neighbour by " + rule.key + " was there");
  }

  const Placement& placement_;
  std::size_t in_flight_;
  std::map<std::string, const PlacedPod*> by_name_;
  std::map<std::string, Course> courses_;
  std::vector<std::string> order_;                           // of the Bindings
  std::map<std::string, std::vector<std::string>> on_node_;  // the same, by node
  std::vector<std::size_t> ends_;  // of each life that ended: how many Bindings had arrived
  std::set<std::string> behind_;   // of the Binding at hand
  Replayed result_;
};

// Which life of the scheduler it was; 0: none yet.
std::size_t life_at(const std::vector<PodTimes::Time>& lives, PodTimes::Time time) {
  return static_cast<std::size_t>(std::ranges::upper_bound(lives, time) - lives.begin());
}

// The first try in the life in which the pod was bound, out of all its tries.
const BindingRecord* first_try(const std::vector<const BindingRecord*>& tries,
                               const std::vector<PodTimes::Time>& lives) {
  const BindingRecord* bound = nullptr;
  for (const BindingRecord* each : tries) {
    if (each->end == BindingRecord::End::kLost) bound = each;
    if (each->end != BindingRecord::End::kDone) continue;
    bound = each;
    break;
  }
  if (bound == nullptr) return nullptr;
  const std::size_t life = life_at(lives, bound->received);
  return *std::ranges::find_if(
      tries, [&](const BindingRecord* each) { return life_at(lives, each->received) == life; });
}

}  // namespace

std::vector<Step> steps_of(const std::map<std::string, PodTimes>& pods,
                           const std::vector<BindingRecord>& bindings,
                           const std::vector<PodTimes::Time>& lives) {
  std::vector<std::pair<PodTimes::Time, Step>> all;
  for (const auto& [pod, times] : pods) {
    if (times.create) all.push_back({*times.create, {Step::Kind::kCreated, pod}});
  }
  std::map<std::string, std::vector<const BindingRecord*>> tries;
  for (const BindingRecord& record : bindings) tries[record.pod].push_back(&record);
  for (const auto& [pod, records] : tries) {
    const BindingRecord* first = first_try(records, lives);
    if (first == nullptr) continue;
    all.push_back({first->received, {Step::Kind::kTried, pod}});
    all.push_back({first->answered, {Step::Kind::kAnswered, pod}});
  }
  for (std::size_t i = 1; i < lives.size(); ++i) {
    all.push_back({lives[i], {Step::Kind::kKilled, ""}});
  }
  std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first; });
  std::vector<Step> steps;
  steps.reserve(all.size());
  for (auto& [time, step] : all) steps.push_back(std::move(step));
  return steps;
}

Replayed replay(const Placement& placement, const std::vector<Step>& steps, std::size_t in_flight) {
  return Replay(placement, steps, in_flight).run();
}

}  // namespace plimsoll::test
