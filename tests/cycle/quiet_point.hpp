#pragma once
// What must hold whenever nothing is under way: the living scheduler believes what a fresh one
// believes that was told of the same objects, and keeps no pod waiting that has a place.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/cycle/full_scheduler.hpp"
#include "tests/cycle/random_cluster.hpp"

namespace plimsoll::testing {

class QuietPoint {
 public:
  QuietPoint(RandomCluster& cluster, FullScheduler& living) : cluster_(cluster), living_(living) {}

  // Empty: all is well. Everything was delivered, reported and answered before.
  [[nodiscard]] std::vector<std::string> check();
  // After all waiting pods were tried again, and nothing but their conditions has changed since
  // check(): whether these say what the fresh scheduler said.
  [[nodiscard]] std::vector<std::string> check_texts();

  struct Totals {
    int points = 0, waiting = 0, verdicts = 0, texts = 0, nominated = 0, zones = 0;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  void add(std::string what) { found_.push_back(std::move(what)); }
  void check_nodes();
  void check_zones(const std::string& node, const NodeView& ours, const NodeView& fresh);
  void check_waiting();
  using Nominations = std::map<std::string, std::set<std::string>>;  // node -> UIDs
  [[nodiscard]] Nominations nominations() const;                     // as the API server has them
  [[nodiscard]] std::vector<std::string> nominations_differ(const ClusterView& ours);
  [[nodiscard]] std::vector<const Json*> pods_without_node() const;
  [[nodiscard]] std::vector<const Json*> waiting_pods() const;  // those that no gate holds

  RandomCluster& cluster_;
  FullScheduler& living_;
  std::unique_ptr<FullScheduler> fresh_;
  std::map<std::string, std::string> verdicts_;  // by UID, of this point
  std::map<std::string, uint64_t> generations_;  // by node, of the last point
  bool nominations_told_ = true;                 // the API server has heard of all of them
  Nominations nominations_;                      // at the time of check()
  std::vector<std::string> found_;
  Totals totals_;
};

}  // namespace plimsoll::testing
