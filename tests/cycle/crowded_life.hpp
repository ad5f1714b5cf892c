#pragma once
// A small cluster in which pods that are copies of a few come and go, nodes, devices, volumes and
// budgets change, and all writes succeed at once.

#include <string>
#include <vector>

#include "tests/cycle/full_scheduler.hpp"
#include "tests/cycle/random_cluster.hpp"
#include "tests/cycle/random_objects.hpp"

namespace plimsoll::testing {

class CrowdedLife {
 public:
  struct Options {
    size_t nodes = 10;
    size_t most_pods = 150;
    bool devices_go = true;     // Device objects are deleted: which a fresh scheduler does not know
    bool groups_pause = false;  // see FullScheduler::Setup
  };
  explicit CrowdedLife(uint64_t seed) : CrowdedLife(seed, Options()) {}
  CrowdedLife(uint64_t seed, const Options& options);
  ~CrowdedLife();
  CrowdedLife(const CrowdedLife&) = delete;
  CrowdedLife& operator=(const CrowdedLife&) = delete;

  // Some events, and all that comes of them.
  void step();
  // Nobody waits any more.
  void drop_waiting();
  void remove_pods(const std::vector<std::string>& names);
  // All of them at once, and all that comes of them.
  void add_pods(const std::vector<Json>& pods);
  // A pod, which has no name yet.
  [[nodiscard]] Json shape();

  [[nodiscard]] ClassCache::Stats classes() const { return living_.stats().classes; }
  [[nodiscard]] int storage_writes() const { return cluster_.totals().storage_writes; }
  [[nodiscard]] bool stuck() const { return stuck_; }
  [[nodiscard]] Dice& dice() { return dice_; }
  [[nodiscard]] const RandomCluster& cluster() const { return cluster_; }
  [[nodiscard]] FullScheduler& scheduler() { return living_; }
  void settle();
  // A second goes by.
  void rest() {
    living_.pass(1'000);
    come_to_rest();
  }

 private:
  [[nodiscard]] Json roomy(const std::string& name);
  void happen();
  void change_budgets();
  void end_some();
  void deliver_all();
  void come_to_rest();

  const Options options_;
  Dice dice_;
  RandomCluster cluster_;
  FullScheduler living_;
  std::vector<Json> shapes_;
  int names_ = 0;
  bool stuck_ = false;
};

}  // namespace plimsoll::testing
