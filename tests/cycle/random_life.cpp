#include "tests/cycle/random_life.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "tests/cycle/random_storage.hpp"

namespace plimsoll::testing {
namespace {

constexpr size_t kNodeNames = 5;
constexpr size_t kMostPods = 28;
constexpr size_t kJournal = 80;
constexpr int kMostRounds = 200;  // of deliveries and answers until all is quiet

constexpr int64_t kBirthMs = 1'790'000'000'000;  // in 2026
// Preemptions that failed are tried again within 10 s.
constexpr int64_t kRestMs = 11'000;

std::string node_name(size_t i) {
  return "n" + std::to_string(i);
}

}  // namespace

RandomLife::RandomLife(uint64_t seed)
    : dice_(seed),
      living_(FullScheduler::Role::kLiving, cluster_, kBirthMs),
      quiet_(cluster_, living_) {
  for (size_t i = 0; i < kNodeNames; ++i) cluster_.kubelet(node_name(i)).zoned = dice_.below(3) > 0;
  for (size_t i = 0; i < 3; ++i) {
    cluster_.put(Kind::kNodes, random_node(dice_, node_name(i)));
    cluster_.report(node_name(i));
    if (i < 2) cluster_.put(Kind::kDevices, random_devices(dice_, node_name(i)));
  }
  put_first_storage(dice_, cluster_, kNodeNames);
  for (int i = 0; i < 4; ++i) create_pod();
  deliver_all();
  living_.sync();
  settle();
  cluster_.all_is_told();  // before any pod was placed
}

RandomLife::~RandomLife() {
  // Binds in flight would hold the scheduler up when it stops.
  while (!cluster_.asked().empty()) cluster_.answer(0, Outcome::kRefused);
}

void RandomLife::note(std::string line) {
  if (std::getenv("PLIMSOLL_RANDOM_LOG") != nullptr) std::cerr << line << std::endl;
  journal_.push_back(std::move(line));
  if (journal_.size() > kJournal) journal_.pop_front();
}

void RandomLife::settle() {
  if (living_.settle([this] { return cluster_.asked(); })) return;
  const SchedulerStats now = living_.stats();
  wrongs_.push_back("it does not settle: active " + std::to_string(now.queue.active) +
                    ", backoff " + std::to_string(now.queue.backoff) + ", binding " +
                    std::to_string(now.binding) + ", writes to answer " +
                    std::to_string(cluster_.asked().size()));
}

// A binding that has written its volumes waits until it sees them bound: nothing else is under way
// then that settle() could wait for.
void RandomLife::answer(size_t index, Outcome outcome, const char* word) {
  const RandomCluster::Asked asked = cluster_.asked()[index];
  note("answer " + asked.what + ": " + word);
  cluster_.answer(index, outcome);
  if (asked.storage) {
    deliver_all(Kind::kVolumes);
    deliver_all(Kind::kClaims);
  }
  settle();
}

void RandomLife::deliver_all(Kind kind) {
  std::vector<Change> changes;
  while (auto change = cluster_.next(kind)) changes.push_back(std::move(*change));
  if (!changes.empty()) living_.deliver(changes);
}

void RandomLife::deliver_all() {
  for (const Kind kind : kAllKinds) {
    deliver_all(kind);
    settle();
  }
}

void RandomLife::come_to_rest() {
  for (int round = 0; round < kMostRounds && wrongs_.empty(); ++round) {
    settle();
    bool moved = false;
    // Once around: a pod that is gone without the scheduler's knowing would be bound for ever.
    for (size_t left = cluster_.asked().size(); left > 0 && !cluster_.asked().empty(); --left) {
      moved = true;
      answer(0, Outcome::kDone, "done");
    }
    for (const std::string& uid : living_.waiting()) {
      moved = true;
      living_.allow(uid);
      settle();
    }
    cluster_.end_terminating();
    for (const auto& [name, node] : cluster_.all(Kind::kNodes)) cluster_.report_if_changed(name);
    for (const Kind kind : kAllKinds) moved = moved || cluster_.undelivered(kind) != 0;
    if (!moved) return;
    deliver_all();
  }
  if (wrongs_.empty()) wrongs_.push_back("it never comes to rest");
}

void RandomLife::report_again() {
  for (const auto& [kind, name] : removed_) {
    if (cluster_.find(Kind::kNodes, name) == nullptr || cluster_.find(kind, name) != nullptr) {
      continue;
    }
    if (kind == Kind::kTopologies) {
      cluster_.report(name);
    } else {
      cluster_.put(kind, random_devices(dice_, name));
    }
  }
  removed_.clear();
}

void RandomLife::rest() {
  note("---- rest");
  report_again();
  come_to_rest();
  if (stats().classes.different != 0) {
    wrongs_.push_back("what is kept of a class of pods differs from what is found afresh");
    return;
  }
  living_.pass(kRestMs);
  // Exporters write every minute, whether anything has changed or not. Only a report that comes
  // after the pods that it counts is sure to be understood.
  for (const auto& [name, node] : cluster_.all(Kind::kNodes)) {
    if (cluster_.find(Kind::kTopologies, name) != nullptr) cluster_.report(name);
  }
  come_to_rest();
  if (!wrongs_.empty()) return;
  cluster_.all_is_told();
  wrongs_ = quiet_.check();
  if (!wrongs_.empty()) return;
  // Everything that waits is tried again: nothing may come of it but texts.
  note("---- all are tried again");
  const auto preempted = cluster_.totals().preempted;
  const auto binds = cluster_.totals().binds;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
    if (pod["spec"].value("nodeName", "").empty()) living_.activate(pod["metadata"]["uid"]);
    settle();
  }
  come_to_rest();
  // A budget that has changed wakes nobody, but those that are tried may preempt then.
  if (!wrongs_.empty() || cluster_.totals().preempted != preempted ||
      cluster_.totals().binds != binds) {
    return;
  }
  wrongs_ = quiet_.check_texts();
}

void RandomLife::step() {
  static const std::vector<std::pair<size_t, Draw>> kDraws = {
      {14, &RandomLife::create_pod},    {3, &RandomLife::delete_pod},
      {1, &RandomLife::vanish_pod},     {2, &RandomLife::recreate_pod},
      {1, &RandomLife::bind_elsewhere}, {2, &RandomLife::finish_pod},
      {1, &RandomLife::run_pod},        {1, &RandomLife::relabel_pod},
      {2, &RandomLife::open_gate},      {1, &RandomLife::resize_pod},
      {1, &RandomLife::add_node},       {2, &RandomLife::alter_node},
      {1, &RandomLife::remove_node},    {3, &RandomLife::report_zones},
      {1, &RandomLife::remove_zones},   {1, &RandomLife::put_devices},
      {1, &RandomLife::remove_devices}, {1, &RandomLife::put_budget},
      {1, &RandomLife::remove_budget},  {2, &RandomLife::end_terminating},
      {3, &RandomLife::alter_storage},  {12, &RandomLife::deliver_some},
      {1, &RandomLife::cut_watch},      {10, &RandomLife::answer_some},
      {2, &RandomLife::allow_pod}};
  living_.pass(1 + static_cast<int64_t>(dice_.below(100)));
  size_t total = 0;
  for (const auto& [weight, draw] : kDraws) total += weight;
  size_t drawn = dice_.below(total);
  for (const auto& [weight, draw] : kDraws) {
    if (drawn < weight) {
      (this->*draw)();
      break;
    }
    drawn -= weight;
  }
  settle();
  if (wrongs_.empty()) wrongs_ = cluster_.wrongs();
}

// ---- pods

std::vector<std::string> RandomLife::pods_where(bool on_node) const {
  std::vector<std::string> names;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
    if (!finished(pod) && pod["spec"].value("nodeName", "").empty() != on_node) {
      names.push_back(name);
    }
  }
  return names;
}

std::string RandomLife::any(const std::vector<std::string>& names) {
  return names.empty() ? "" : names[dice_.below(names.size())];
}

std::string RandomLife::any_node() {
  std::vector<std::string> names;
  for (const auto& [name, node] : cluster_.all(Kind::kNodes)) names.push_back(name);
  return any(names);
}

void RandomLife::create_pod() {
  if (cluster_.all(Kind::kPods).size() >= kMostPods) return delete_pod();
  const std::string name = "p" + std::to_string(++names_);
  Json pod = random_pod(dice_, name, kNodeNames);
  note("create " + name + " " + pod["spec"].dump() + pod["metadata"]["labels"].dump());
  cluster_.put(Kind::kPods, std::move(pod));
}

void RandomLife::delete_pod() {
  const std::string name = any(pods_where(dice_.below(3) > 0));
  if (name.empty()) return;
  note("delete " + name);
  cluster_.remove_pod_gently(name);
}

void RandomLife::vanish_pod() {
  std::vector<std::string> names;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) names.push_back(name);
  const std::string name = any(names);
  if (name.empty()) return;
  note("vanish " + name);
  cluster_.remove(Kind::kPods, name);
}

void RandomLife::recreate_pod() {
  const std::string name = any(pods_where(dice_.one_in(2)));
  if (name.empty()) return;
  note("recreate " + name);
  cluster_.remove(Kind::kPods, name);
  cluster_.put(Kind::kPods, random_pod(dice_, name, kNodeNames));
}

void RandomLife::bind_elsewhere() {
  const std::string node = any_node();
  std::string name = any(pods_where(false));
  if (dice_.one_in(2)) {
    name = "p" + std::to_string(++names_);
    Json pod = random_pod(dice_, name, kNodeNames);
    pod["spec"]["schedulerName"] = "other";
    cluster_.put(Kind::kPods, std::move(pod));
  }
  if (name.empty()) return;
  const Json& spec = (*cluster_.find(Kind::kPods, name))["spec"];
  if (spec.contains("schedulingGates")) return;
  // Whoever binds it says which devices it has, or it has none.
  if (spec["containers"][0]["resources"].dump().find("gpu") != std::string::npos) return;
  note("another scheduler binds " + name + " to " + node);
  cluster_.bind_by_other(name, node);
}

void RandomLife::finish_pod() {
  const std::string name = any(pods_where(true));
  if (name.empty()) return;
  note("finish " + name);
  cluster_.finish(name);
}

void RandomLife::run_pod() {
  const std::string name = any(pods_where(true));
  if (name.empty()) return;
  note("run " + name);
  cluster_.run(name);
}

void RandomLife::relabel_pod() {
  const std::string name = any(pods_where(dice_.one_in(2)));
  if (name.empty()) return;
  note("relabel " + name);
  Json pod = *cluster_.find(Kind::kPods, name);
  pod["metadata"]["labels"]["app"] = dice_.one_in(2) ? "web" : "batch";
  cluster_.put(Kind::kPods, std::move(pod));
}

void RandomLife::open_gate() {
  std::vector<std::string> gated;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) {
    if (pod["spec"].contains("schedulingGates")) gated.push_back(name);
  }
  const std::string name = any(gated);
  if (name.empty()) return;
  note("open the gate of " + name);
  Json pod = *cluster_.find(Kind::kPods, name);
  pod["spec"].erase("schedulingGates");
  cluster_.put(Kind::kPods, std::move(pod));
}

// In place, of a pod that shares its CPUs.
void RandomLife::resize_pod() {
  const std::string name = any(pods_where(true));
  if (name.empty()) return;
  Json pod = *cluster_.find(Kind::kPods, name);
  Json& resources = pod["spec"]["containers"][0]["resources"];
  if (!resources.contains("requests") || resources.contains("limits")) return;
  note("resize " + name);
  resources["requests"]["cpu"] = std::to_string(250 * (1 + dice_.below(12))) + "m";
  cluster_.disturb(pod["spec"]["nodeName"]);
  cluster_.put(Kind::kPods, std::move(pod));
}

// ---- nodes and what describes them

void RandomLife::add_node() {
  const std::string name = node_name(dice_.below(kNodeNames));
  if (cluster_.find(Kind::kNodes, name) != nullptr) return;
  note("add node " + name);
  cluster_.disturb(name);
  cluster_.put(Kind::kNodes, random_node(dice_, name));
}

void RandomLife::alter_node() {
  const std::string name = any_node();
  note("alter node " + name);
  Json node = *cluster_.find(Kind::kNodes, name);
  change_node(dice_, node);
  cluster_.disturb(name);
  cluster_.put(Kind::kNodes, std::move(node));
}

// Its pods remain, and so does what the kubelet holds for them.
void RandomLife::remove_node() {
  if (cluster_.all(Kind::kNodes).size() < 3) return;
  const std::string name = any_node();
  note("remove node " + name);
  cluster_.remove(Kind::kNodes, name);
}

void RandomLife::report_zones() {
  const std::string name = any_node();
  note("report " + name);
  cluster_.report(name);
}

void RandomLife::remove_zones() {
  const std::string name = any_node();
  if (!dice_.one_in(2)) return;
  note("remove the report of " + name);
  cluster_.remove(Kind::kTopologies, name);
  removed_.emplace(Kind::kTopologies, name);
}

void RandomLife::put_devices() {
  const std::string name = node_name(dice_.below(kNodeNames));
  note("devices of " + name);
  cluster_.put(Kind::kDevices, random_devices(dice_, name));
}

void RandomLife::remove_devices() {
  const std::string name = any_node();
  if (!dice_.one_in(2)) return;
  note("no devices of " + name);
  cluster_.remove(Kind::kDevices, name);
  removed_.emplace(Kind::kDevices, name);
}

void RandomLife::put_budget() {
  const std::string name = "b" + std::to_string(dice_.below(2));
  note("budget " + name);
  cluster_.put(Kind::kBudgets, random_budget(dice_, name));
}

void RandomLife::remove_budget() {
  cluster_.remove(Kind::kBudgets, "b" + std::to_string(dice_.below(2)));
}

void RandomLife::alter_storage() {
  note(change_storage(dice_, cluster_, kNodeNames));
}

void RandomLife::end_terminating() {
  note("kubelets end what is terminating");
  cluster_.end_terminating();
}

// ---- the watch and the writes

void RandomLife::deliver_some() {
  const Kind kind = kAllKinds.at(dice_.below(kAllKinds.size()));
  std::vector<Change> changes;
  const size_t most = 1 + dice_.below(6);
  while (changes.size() < most) {
    auto change = cluster_.next(kind);
    if (!change) break;
    const std::string name = change->object["metadata"]["name"];
    note(std::string("deliver ") + name_of(kind) + " " + name + (change->deleted ? " gone" : ""));
    changes.push_back(std::move(*change));
  }
  if (!changes.empty()) living_.deliver(changes);
}

void RandomLife::cut_watch() {
  const Kind kind = kAllKinds.at(dice_.below(kAllKinds.size()));
  note(std::string("the watch is cut: ") + name_of(kind));
  cluster_.cut(kind);
}

void RandomLife::answer_some() {
  for (size_t count = 1 + dice_.below(3); count > 0; --count) {
    const auto asked = cluster_.asked();
    if (asked.empty()) return;
    const size_t index = dice_.below(asked.size());
    constexpr std::array kOutcomes = {Outcome::kRefused, Outcome::kConflict, Outcome::kLost};
    const size_t drawn = dice_.below(12);
    const Outcome outcome = drawn < kOutcomes.size() ? kOutcomes.at(drawn) : Outcome::kDone;
    constexpr std::array kWords = {"done", "refused", "conflict", "lost"};
    answer(index, outcome, kWords.at(static_cast<size_t>(outcome)));
  }
}

void RandomLife::allow_pod() {
  const std::string uid = any(living_.waiting());
  if (uid.empty()) return;
  note("allow " + uid);
  living_.allow(uid);
}

}  // namespace plimsoll::testing
