// Every decision from what is kept of a pod's class, made again without: in a cluster whose nodes
// change all the time, with pods that are copies of a few. Filters, reasons, scores and the node
// chosen must be the same each time.
//
//   PLIMSOLL_TEST_SEED=n        begins with this seed
//   PLIMSOLL_CLASS_DECISIONS=n  so many decisions instead of the usual number

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "framework/base/log.hpp"
#include "tests/cycle/full_scheduler.hpp"
#include "tests/cycle/random_cluster.hpp"
#include "tests/cycle/random_objects.hpp"
#include "tests/cycle/random_storage.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kDecisions = test::cases(30'000);
constexpr uint64_t kDecisionsInFull = 200'000;
constexpr uint32_t kSeed = 7;
constexpr size_t kNodeNames = 10;
constexpr size_t kShapes = 8;
constexpr size_t kMostPods = 150;
constexpr int64_t kBirthMs = 1'790'000'000'000;  // in 2026

std::string node_name(size_t i) {
  return "n" + std::to_string(i);
}

// A cluster in which all writes succeed at once.
class CrowdedLife {
 public:
  explicit CrowdedLife(uint64_t seed)
      : dice_(seed), living_(FullScheduler::Role::kLiving, cluster_, kBirthMs) {
    for (size_t i = 0; i < kNodeNames; ++i) {
      cluster_.kubelet(node_name(i)).zoned = dice_.below(3) > 0;
      cluster_.put(Kind::kNodes, roomy(node_name(i)));
      cluster_.report(node_name(i));
      if (dice_.below(2) > 0) cluster_.put(Kind::kDevices, random_devices(dice_, node_name(i)));
    }
    put_first_storage(dice_, cluster_, kNodeNames);
    for (size_t i = 0; i < kShapes; ++i) shapes_.push_back(shape());
    deliver_all();
    living_.sync();
  }
  ~CrowdedLife() {
    while (!cluster_.asked().empty()) cluster_.answer(0, Outcome::kRefused);
  }
  CrowdedLife(const CrowdedLife&) = delete;
  CrowdedLife& operator=(const CrowdedLife&) = delete;

  // Some events, and all that comes of them.
  void step() {
    for (size_t events = 1 + dice_.below(4); events > 0; --events) happen();
    deliver_all();
    living_.pass(1'000);
    come_to_rest();
  }
  [[nodiscard]] ClassCache::Stats classes() const { return living_.stats().classes; }
  [[nodiscard]] int storage_writes() const { return cluster_.totals().storage_writes; }
  [[nodiscard]] bool stuck() const { return stuck_; }

 private:
  Json roomy(const std::string& name) {
    Json node = random_node(dice_, name);
    node["status"]["allocatable"]["pods"] = "20";
    return node;
  }
  Json shape() {
    Json pod = random_pod(dice_, "shape", kNodeNames);
    pod["spec"].erase("schedulingGates");
    pod["status"].erase("nominatedNodeName");
    pod["metadata"]["labels"].erase("wait");
    return pod;
  }
  void happen() {
    const std::string node = node_name(dice_.below(kNodeNames));
    const Json* known = cluster_.find(Kind::kNodes, node);
    switch (dice_.below(15)) {
      case 13:
      case 14:
        for (int i = 0; i < 4; ++i) change_storage(dice_, cluster_, kNodeNames);
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
        if (dice_.one_in(3)) {
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
         copies > 0 && cluster_.all(Kind::kPods).size() < kMostPods; --copies) {
      Json pod = like;
      pod["metadata"]["name"] = "p" + std::to_string(++names_);
      cluster_.put(Kind::kPods, std::move(pod));
    }
  }
  void change_budgets() {
    const std::string name = "b" + std::to_string(dice_.below(2));
    if (dice_.one_in(3)) {
      cluster_.remove(Kind::kBudgets, name);
    } else {
      cluster_.put(Kind::kBudgets, random_budget(dice_, name));
    }
  }
  void end_some() {
    std::vector<std::string> names;
    for (const auto& [name, pod] : cluster_.all(Kind::kPods)) names.push_back(name);
    for (size_t left = 1 + dice_.below(15); left > 0 && !names.empty(); --left) {
      cluster_.remove(Kind::kPods, names[dice_.below(names.size())]);
    }
  }
  void settle() {
    stuck_ = stuck_ || !living_.settle([this] { return cluster_.asked(); });
  }
  void deliver_all() {
    for (const Kind kind : kAllKinds) {
      std::vector<Change> changes;
      while (auto change = cluster_.next(kind)) changes.push_back(std::move(*change));
      if (!changes.empty()) living_.deliver(changes);
    }
  }
  void come_to_rest() {
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

  Dice dice_;
  RandomCluster cluster_;
  FullScheduler living_;
  std::vector<Json> shapes_;
  int names_ = 0;
  bool stuck_ = false;
};

TEST(ClassDecisions, AreThoseOfAWalkOverAllNodes) {
  log_to_stderr(LogLevel::kError, LogFormat::kText);
  const uint64_t wanted = test::number_from_environment(
      "PLIMSOLL_CLASS_DECISIONS", test::in_full_length() ? kDecisionsInFull : kDecisions);
  uint64_t seed = test::test_seed(kSeed);
  ClassCache::Stats total;
  int storage_writes = 0;
  for (; total.checked < wanted; ++seed) {
    CrowdedLife life(seed);
    for (int steps = 0; steps < 200 && total.checked + life.classes().checked < wanted; ++steps) {
      life.step();
      ASSERT_FALSE(life.stuck()) << "seed " << seed << ": it does not settle";
      ASSERT_EQ(life.classes().different, 0U) << "seed " << seed << ", step " << steps;
    }
    const ClassCache::Stats seen = life.classes();
    total.hits += seen.hits;
    total.misses += seen.misses;
    total.checked += seen.checked;
    storage_writes += life.storage_writes();
  }
  std::cout << total.checked << " decisions made twice, " << total.hits
            << " attempts with a table, " << total.misses << " without; " << storage_writes
            << " writes to claims and volumes" << std::endl;
  EXPECT_GT(total.hits, total.misses);
  EXPECT_GT(storage_writes, 0);
}

}  // namespace
}  // namespace plimsoll::testing
