#pragma once
// One ledger that takes events as they come, with all shortcuts, and one that replays everything
// that happened since the report at each of them. They must agree after every event.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "framework/api/decode/decode.hpp"
#include "plugins/topology/ledger/ledger.hpp"

namespace plimsoll::topology {

class TwoLedgers {
 public:
  explicit TwoLedgers(const ResourceIndex& index) : folded_(index), replayed_(index) {
    replayed_.use_shortcuts(false);
  }

  [[nodiscard]] const Questions& ask() const { return folded_.ask(); }
  [[nodiscard]] const LedgerStats& stats() const { return folded_.stats(); }

  void node_added(std::string_view name, uint32_t slot) {
    slot_ = slot;
    both("node_added", [&](Ledger& ledger) { ledger.node_added(name, slot); });
  }
  void report(const NrtObject& nrt, int64_t now_ms) {
    both("report", [&](Ledger& ledger) { ledger.report(nrt, now_ms); });
  }
  void report_deleted(std::string_view name) {
    both("report_deleted", [&](Ledger& ledger) { ledger.report_deleted(name); });
  }
  void pod_assigned(const plimsoll_pod& pod, std::string_view node, int64_t now_ms) {
    uids_.insert(uid_of(pod));
    both("pod_assigned " + uid_of(pod),
         [&](Ledger& ledger) { ledger.pod_assigned(pod, node, now_ms); });
  }
  void pod_removed(const plimsoll_pod& pod, int64_t now_ms) {
    both("pod_removed " + uid_of(pod), [&](Ledger& ledger) { ledger.pod_removed(pod, now_ms); });
    uids_.erase(uid_of(pod));
  }
  Placement reserve(const plimsoll_pod& pod, uint32_t slot, int64_t now_ms) {
    uids_.insert(uid_of(pod));
    Placement placement;
    both("reserve " + uid_of(pod),
         [&](Ledger& ledger) { placement = ledger.reserve(pod, slot, now_ms); });
    return placement;
  }
  void unreserve(const plimsoll_pod& pod) {
    both("unreserve " + uid_of(pod), [&](Ledger& ledger) { ledger.unreserve(pod); });
  }
  void hold(std::string_view holder, std::string_view node, std::string_view again,
            const std::vector<Charge>& charges) {
    both("hold " + std::string(holder), [&](Ledger& ledger) {
      ledger.hold({{holder, node, again, charges}}, 1);
    });
  }
  void pass_time(int64_t now_ms) {
    both("pass_time", [&](Ledger& ledger) {
      if (ledger.due_ms() <= now_ms) ledger.pass_time(now_ms);
    });
  }
  [[nodiscard]] Judgement judge(const plimsoll_pod& pod) const {
    Inquiry one(pod);
    Inquiry same(pod);
    const Judgement judgement = folded_.ask().judge(slot_, one);
    EXPECT_EQ(judgement.verdict, replayed_.ask().judge(slot_, same).verdict);
    return judgement;
  }

 private:
  static std::string uid_of(const plimsoll_pod& pod) {
    return std::string(sdk::view(pod.meta.uid));
  }
  template <typename Event>
  void both(const std::string& what, const Event& event) {
    SCOPED_TRACE("at event " + std::to_string(++events_) + ", " + what);
    event(replayed_);
    event(folded_);
    (void)folded_.take_changes();
    (void)replayed_.take_changes();
    compare();
  }
  void compare() const {
    const LikelyState is = folded_.ask().likely_state(slot_);
    const LikelyState should = replayed_.ask().likely_state(slot_);
    ASSERT_EQ(is.state == nullptr, should.state == nullptr);
    EXPECT_EQ(folded_.stats().promises, replayed_.stats().promises);
    EXPECT_EQ(folded_.due_ms(), replayed_.due_ms());
    if (is.state == nullptr) return;
    EXPECT_TRUE(*is.state == *should.state);
    EXPECT_EQ(is.unplaced, should.unplaced);
    EXPECT_EQ(is.under_way, should.under_way);
    EXPECT_EQ(is.grows, should.grows);
    EXPECT_EQ(is.stopped, should.stopped);
    EXPECT_EQ(is.away, should.away);
    const plimsoll_numa_node& view = *folded_.ask().node(slot_);
    const plimsoll_numa_node& other = *replayed_.ask().node(slot_);
    for (uint32_t cell = 0; cell < view.zone_count * view.resource_count; ++cell) {
      EXPECT_EQ(view.free[cell], other.free[cell]) << "cell " << cell;
    }
    for (const std::string& uid : uids_) {
      const std::vector<Charge>* charges = folded_.ask().charges_of(uid);
      const std::vector<Charge>* expected = replayed_.ask().charges_of(uid);
      ASSERT_EQ(charges == nullptr, expected == nullptr) << uid;
      if (charges == nullptr) continue;
      ASSERT_EQ(charges->size(), expected->size()) << uid;
      for (size_t i = 0; i < charges->size(); ++i) {
        EXPECT_EQ((*charges)[i].zone_id, (*expected)[i].zone_id) << uid;
        EXPECT_EQ((*charges)[i].amount, (*expected)[i].amount) << uid;
      }
    }
  }

  Ledger folded_;
  Ledger replayed_;
  uint32_t slot_ = 0;
  int events_ = 0;
  std::set<std::string> uids_;
};

}  // namespace plimsoll::topology
