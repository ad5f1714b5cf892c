// Random lives of a cluster with groups: pods, groups and nodes come and go, bindings fail, time
// passes, the scheduler is restarted. Whenever everything has come to rest: no group runs in part
// unless it lost members, no device is given twice, and nobody waits.
//
//   PLIMSOLL_GROUP_LIVES=n  so many lives instead of the usual few

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <random>

#include "tests/plugins/nodedevice/group_cluster.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices::test {
namespace {

class Life {
 public:
  explicit Life(uint64_t seed) : dice_(seed), calm_(seed % 2 == 0) {
    for (int i = 0; i < 4; ++i) {
      const std::string zone = i % 2 == 0 ? "east" : "west";
      const Room room{2 + 2 * static_cast<int>(dice_() % 4), 4 + static_cast<int>(dice_() % 12)};
      nodes_.push_back(room);
      cluster_.add_node("n" + std::to_string(i), room.gpus, std::to_string(room.cpu), zone);
    }
  }

  void step() {
    switch (dice_() % 16) {
      case 0:
      case 1:
      case 2:
        return add_group();
      case 3:
      case 4:
        return add_single();
      case 5:
      case 6:
      case 7:
        return end_group();
      case 8:
        return lose_member();
      case 9:
        return late_member();
      case 10:
        if (calm_) return pass(1);
        note("bindings fail");
        cluster_.fail_bindings(true);
        failing_ = true;
        disturb_all();
        return;
      case 11:
        note("bindings work");
        cluster_.fail_bindings(false);
        failing_ = false;
        return;
      case 12:
        if (calm_) return pass(1);
        note("restart");
        cluster_.restart();
        disturb_all();
        return;
      default:
        return pass(static_cast<int>(dice_() % 5));
    }
  }

  // Everything that was begun ends: waits, backoffs, what is held for a failed binding.
  void rest() {
    cluster_.fail_bindings(false);
    failing_ = false;
    note("rest");
    pass(150);
    check();
  }

  // A group that one node has room for runs, once it is alone in the cluster.
  void leave_one_alone() {
    const auto one = std::find_if(groups_.begin(), groups_.end(), [&](const auto& entry) {
      const Group& group = entry.second;
      const bool has_room = std::any_of(nodes_.begin(), nodes_.end(), [&](const Room& node) {
        return group.asked.gpus <= node.gpus && group.asked.cpu <= node.cpu;
      });
      return has_room && !group.picky && static_cast<int>(group.pods.size()) >= group.min &&
             cluster_.bound(entry.first) == 0;
    });
    if (one == groups_.end()) return;
    const std::string name = one->first;
    for (const std::string& pod : singles_) cluster_.delete_pod(pod);
    singles_.clear();
    for (auto it = groups_.begin(); it != groups_.end();) {
      const auto next = std::next(it);
      if (it->first != name) end_group(it);
      it = next;
    }
    pass(15);
    if (cluster_.bound(name) < groups_.at(name).min) wrong_ = name + " could run and does not";
    ++left_alone;
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] std::string story() const {
    std::string text;
    for (const std::string& line : journal_) text += line + "\n";
    return text + cluster_.describe();
  }
  int complete = 0;  // groups that ran when everything was at rest
  int pending = 0;   // that had no pod on a node
  int left_alone = 0;
  int undisturbed = 0;  // groups that had a pod on a node and nothing that excuses a lack

 private:
  struct Room {
    int gpus = 0;
    int cpu = 0;
  };
  struct Group {
    int min = 0;
    Room asked;  // by all pods together
    bool picky = false;
    std::vector<std::string> pods;
    // Members went, or bindings failed or the scheduler ended after the group was let go: what it
    // had of a node is not all kept for it, and others may have taken it.
    bool disturbed = false;
  };

  void disturb_all() {
    for (auto& [name, group] : groups_) group.disturbed = true;
  }

  void note(std::string line) {
    journal_.push_back(std::move(line));
    if (journal_.size() > 60) journal_.pop_front();
  }
  void pass(int seconds) {
    note("pass " + std::to_string(seconds));
    if (!cluster_.pass(seconds)) wrong_ = "it does not settle";
  }
  std::string add_member(const std::string& name_of_group, int gpus) {
    const std::string name = name_of_group + "-" + std::to_string(++names_);
    const bool picky = dice_() % 6 == 0;
    const int cpu = 1 + static_cast<int>(dice_() % 2);
    Group& group = groups_[name_of_group];
    group.asked.gpus += gpus;
    group.asked.cpu += cpu;
    group.picky = group.picky || picky;
    cluster_.add_pod({.name = name,
                      .group = name_of_group,
                      .gpus = gpus,
                      .cpu = std::to_string(cpu),
                      .zone = picky ? (dice_() % 2 == 0 ? "east" : "west") : ""});
    return name;
  }
  void add_group() {
    const std::string name = "g" + std::to_string(++names_);
    Group& group = groups_[name];
    group.disturbed = failing_;
    group.min = 2 + static_cast<int>(dice_() % 4);
    const int pods = group.min + static_cast<int>(dice_() % 3) - 1;
    const int gpus = static_cast<int>(dice_() % 4);
    const bool mixed = dice_() % 3 == 0;
    note("group " + name + " of " + std::to_string(group.min) + ", " + std::to_string(pods) +
         " pods with " + std::to_string(gpus) + (mixed ? " GPUs, mixed" : " GPUs"));
    const bool object_first = dice_() % 2 == 0;
    if (object_first) cluster_.add_pod_group(name, group.min);
    for (int i = 0; i < pods; ++i)
      group.pods.push_back(add_member(name, mixed ? static_cast<int>(dice_() % 4) : gpus));
    if (!object_first) cluster_.add_pod_group(name, group.min);
  }
  void add_single() {
    const std::string name = "s" + std::to_string(++names_);
    note("single " + name);
    cluster_.add_pod({.name = name, .gpus = 1 + static_cast<int>(dice_() % 3)});
    singles_.push_back(name);
    if (singles_.size() > 5) {
      cluster_.delete_pod(singles_.front());
      singles_.erase(singles_.begin());
    }
  }
  std::map<std::string, Group>::iterator any_group() {
    auto it = groups_.begin();
    if (!groups_.empty()) std::advance(it, static_cast<long>(dice_() % groups_.size()));
    return it;
  }
  void end_group() {
    const auto it = any_group();
    if (it == groups_.end()) return;
    end_group(it);
  }
  void end_group(std::map<std::string, Group>::iterator it) {
    note("end " + it->first);
    for (const std::string& pod : it->second.pods) cluster_.delete_pod(pod);
    cluster_.delete_pod_group(it->first);
    groups_.erase(it);
  }
  void lose_member() {
    const auto it = any_group();
    if (it == groups_.end() || it->second.pods.empty()) return;
    note("lose " + it->second.pods.back());
    cluster_.delete_pod(it->second.pods.back());
    it->second.pods.pop_back();
    it->second.disturbed = true;
  }
  void late_member() {
    const auto it = any_group();
    if (it == groups_.end()) return;
    it->second.pods.push_back(add_member(it->first, static_cast<int>(dice_() % 3)));
    note("late " + it->second.pods.back());
  }
  void check() {
    if (std::string twice = cluster_.given_twice(); !twice.empty()) wrong_ = twice;
    if (cluster_.waiting() != 0) wrong_ = "somebody still waits";
    for (const auto& [name, group] : groups_) {
      const int bound = cluster_.bound(name);
      complete += bound >= group.min ? 1 : 0;
      pending += bound == 0 ? 1 : 0;
      if (group.disturbed) continue;
      undisturbed += bound > 0 ? 1 : 0;
      if (bound > 0 && bound < group.min)
        wrong_ =
            name + " runs in part: " + std::to_string(bound) + " of " + std::to_string(group.min);
    }
  }

  std::mt19937_64 dice_;
  GroupCluster cluster_;
  std::map<std::string, Group> groups_;
  std::vector<std::string> singles_;
  std::vector<Room> nodes_;
  std::deque<std::string> journal_;
  std::string wrong_;
  bool calm_;  // no binding fails, and the scheduler goes on: every group is whole or not there
  bool failing_ = false;
  int names_ = 0;
};

constexpr uint32_t kFirstSeed = 900;
constexpr uint64_t kLives = 12;

TEST(GroupRandom, NeverInPartNeverTwice) {
  const uint64_t first = plimsoll::test::test_seed(kFirstSeed);
  const uint64_t wanted = plimsoll::test::number_from_environment("PLIMSOLL_GROUP_LIVES", 0);
  const uint64_t most = wanted > 0 ? wanted : kLives;
  // The usual ones are fewer on a slow machine.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(12);
  uint64_t lives = 0;
  int complete = 0;
  int pending = 0;
  int left_alone = 0;
  int undisturbed = 0;
  for (uint64_t seed = first;
       lives < most && (wanted > 0 || std::chrono::steady_clock::now() < until); ++seed) {
    Life life(seed);
    for (int round = 0; round < 3 && life.wrong().empty(); ++round) {
      for (int i = 0; i < 25 && life.wrong().empty(); ++i) life.step();
      if (life.wrong().empty()) life.rest();
    }
    if (life.wrong().empty()) life.leave_one_alone();
    ++lives;
    left_alone += life.left_alone;
    complete += life.complete;
    undisturbed += life.undisturbed;
    pending += life.pending;
    ASSERT_EQ(life.wrong(), "") << "PLIMSOLL_TEST_SEED=" << seed << "\n" << life.story();
  }
  std::cout << lives << " lives from seed " << first << ": " << complete << " groups ran, "
            << pending << " were left pending, " << left_alone
            << " ran when they were left alone\n";
  if (lives < kLives) return;  // in a few there may be none
  EXPECT_GT(complete, 0);
  EXPECT_GT(undisturbed, 0);
}

}  // namespace
}  // namespace plimsoll::devices::test
