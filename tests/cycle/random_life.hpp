#pragma once
// One random life of a small cluster with a living scheduler: what happens is drawn from a seed.
// The same seed draws the same numbers, but threads decide which of two writes is first asked for,
// so lives of one seed may part after a while; the journal of a failure says what happened.

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cycle/full_scheduler.hpp"
#include "tests/cycle/quiet_point.hpp"
#include "tests/cycle/random_cluster.hpp"
#include "tests/cycle/random_objects.hpp"

namespace plimsoll::testing {

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed);
  ~RandomLife();

  // One event, and the scheduler's reaction to it.
  void step();
  // Everything that is under way arrives and is answered; then the checks of QuietPoint.
  void rest();

  // Empty: nothing is wrong so far. Once something is, the life is over.
  [[nodiscard]] const std::vector<std::string>& wrongs() const { return wrongs_; }
  [[nodiscard]] const std::deque<std::string>& journal() const { return journal_; }
  [[nodiscard]] const QuietPoint::Totals& checked() const { return quiet_.totals(); }
  [[nodiscard]] const RandomCluster::Totals& totals() const { return cluster_.totals(); }
  [[nodiscard]] SchedulerStats stats() const { return living_.stats(); }

 private:
  using Draw = void (RandomLife::*)();
  void note(std::string line);
  void settle();
  void answer(size_t index, Outcome outcome, const char* word);
  void deliver_all(Kind kind);
  void come_to_rest();
  void deliver_all();
  [[nodiscard]] std::vector<std::string> pods_where(bool on_node) const;
  [[nodiscard]] std::string any(const std::vector<std::string>& names);
  [[nodiscard]] std::string any_node();

  void create_pod();
  void delete_pod();
  void vanish_pod();
  void recreate_pod();
  void bind_elsewhere();
  void finish_pod();
  void run_pod();
  void relabel_pod();
  void open_gate();
  void resize_pod();
  void add_node();
  void alter_node();
  void remove_node();
  void report_zones();
  void remove_zones();
  void put_devices();
  void remove_devices();
  void put_budget();
  void remove_budget();
  // A scheduler knows which reports and Device objects it has seen go. A fresh one cannot, so at a
  // quiet point there are new ones.
  void report_again();
  void alter_storage();
  void end_terminating();
  void deliver_some();
  void cut_watch();
  void answer_some();
  void allow_pod();

  Dice dice_;
  RandomCluster cluster_;
  FullScheduler living_;
  QuietPoint quiet_;
  std::set<std::pair<Kind, std::string>> removed_;  // since the last quiet point
  std::deque<std::string> journal_;
  std::vector<std::string> wrongs_;
  int names_ = 0;
};

}  // namespace plimsoll::testing
