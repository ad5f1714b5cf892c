#include "tests/cycle/crowded_life.hpp"

#include "tests/cycle/random_storage.hpp"

namespace plimsoll::testing {
namespace {

constexpr size_t kShapes = 8;
constexpr int64_t kBirthMs = 1'790'000'000'000;  // in 2026

std::string node_name(size_t i) {
  return "n" + std::to_string(i);
}

}  // namespace

CrowdedLife::CrowdedLife(uint64_t seed, const Options& options)
    : options_(options),
      dice_(seed),
      living_(FullScheduler::Role::kLiving, cluster_, kBirthMs, {.pauses = options.groups_pause}) {
  for (size_t i = 0; i < options_.nodes; ++i) {
    cluster_.kubelet(node_name(i)).zoned = dice_.below(3) > 0;
    cluster_.put(Kind::kNodes, roomy(node_name(i)));
    cluster_.report(node_name(i));
    if (dice_.below(2) > 0) cluster_.put(Kind::kDevices, random_devices(dice_, node_name(i)));
  }
  put_first_storage(dice_, cluster_, options_.nodes);
  for (size_t i = 0; i < kShapes; ++i) shapes_.push_back(shape());
  deliver_all();
  living_.sync();
}

CrowdedLife::~CrowdedLife() {
  while (!cluster_.asked().empty()) cluster_.answer(0, Outcome::kRefused);
}

void CrowdedLife::step() {
  for (size_t events = 1 + dice_.below(4); events > 0; --events) happen();
  deliver_all();
  living_.pass(1'000);
  come_to_rest();
}

Json CrowdedLife::roomy(const std::string& name) {
  Json node = random_node(dice_, name);
  node["status"]["allocatable"]["pods"] = "20";
  return node;
}

Json CrowdedLife::shape() {
  Json pod = random_pod(dice_, "shape", options_.nodes);
  pod["spec"].erase("schedulingGates");
  pod["status"].erase("nominatedNodeName");
  pod["metadata"]["labels"].erase("wait");
  return pod;
}

void CrowdedLife::happen() {
  const std::string node = node_name(dice_.below(options_.nodes));
  const Json* known = cluster_.find(Kind::kNodes, node);
  switch (dice_.below(15)) {
    case 13:
    case 14:
      for (int i = 0; i < 4; ++i) change_storage(dice_, cluster_, options_.nodes);
      return;
    case 0:
      if (known == nullptr) break;
      {
        Json changed = *known;
        change_node(dice_, changed);
        cluster_.put(Kind::kNodes, changed);
      }
      return;
    case 1:
      if (!dice_.one_in(4)) break;
      if (known == nullptr) {
        cluster_.put(Kind::kNodes, roomy(node));
        cluster_.report(node);
      } else {
        cluster_.remove(Kind::kNodes, node);
      }
      return;
    case 2:
      if (dice_.one_in(3) && options_.devices_go) {
        cluster_.remove(Kind::kDevices, node);
      } else {
        cluster_.put(Kind::kDevices, random_devices(dice_, node));
      }
      return;
    case 3:
      shapes_[dice_.below(kShapes)] = shape();
      return;
    case 4:
      change_budgets();
      return;
    case 5:
    case 6:
    case 7:
      end_some();
      return;
    default:
      break;
  }
  const Json& like = shapes_[dice_.below(kShapes)];
  for (size_t copies = 1 + dice_.below(12);
       copies > 0 && cluster_.all(Kind::kPods).size() < options_.most_pods; --copies) {
    Json pod = like;
    pod["metadata"]["name"] = "p" + std::to_string(++names_);
    cluster_.put(Kind::kPods, std::move(pod));
  }
}

void CrowdedLife::change_budgets() {
  const std::string name = "b" + std::to_string(dice_.below(2));
  if (dice_.one_in(3)) {
    cluster_.remove(Kind::kBudgets, name);
  } else {
    cluster_.put(Kind::kBudgets, random_budget(dice_, name));
  }
}

void CrowdedLife::end_some() {
  std::vector<std::string> names;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods)) names.push_back(name);
  for (size_t left = 1 + dice_.below(15); left > 0 && !names.empty(); --left) {
    cluster_.remove(Kind::kPods, names[dice_.below(names.size())]);
  }
}

void CrowdedLife::settle() {
  stuck_ = stuck_ || !living_.settle([this] { return cluster_.asked(); });
}

void CrowdedLife::deliver_all() {
  for (const Kind kind : kAllKinds) {
    std::vector<Change> changes;
    while (auto change = cluster_.next(kind)) changes.push_back(std::move(*change));
    if (!changes.empty()) living_.deliver(changes);
  }
}

void CrowdedLife::come_to_rest() {
  for (int round = 0; round < 100 && !stuck_; ++round) {
    settle();
    bool moved = false;
    for (size_t left = cluster_.asked().size(); left > 0 && !cluster_.asked().empty(); --left) {
      moved = true;
      cluster_.answer(0, Outcome::kDone);
    }
    cluster_.end_terminating();
    for (const auto& [name, node] : cluster_.all(Kind::kNodes)) cluster_.report_if_changed(name);
    for (const Kind kind : kAllKinds) moved = moved || cluster_.undelivered(kind) != 0;
    if (!moved) return;
    deliver_all();
  }
}

void CrowdedLife::drop_waiting() {
  std::vector<std::string> names;
  for (const auto& [name, pod] : cluster_.all(Kind::kPods))
    if (pod["spec"].value("nodeName", "").empty()) names.push_back(name);
  remove_pods(names);
}

void CrowdedLife::add_pods(const std::vector<Json>& pods) {
  for (const Json& pod : pods) cluster_.put(Kind::kPods, pod);
  deliver_all();
  come_to_rest();
}

void CrowdedLife::remove_pods(const std::vector<std::string>& names) {
  for (const std::string& name : names) cluster_.remove(Kind::kPods, name);
  deliver_all();
  come_to_rest();
}

}  // namespace plimsoll::testing
