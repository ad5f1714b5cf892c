#pragma once
// Groups of pods that are placed together or not at all: who belongs to a group, who has a place,
// who waits for the rest, and which devices are held for those who have none yet.
//
// A group is complete when as many members as it needs (minMember) have a node: bound, whoever
// bound them, or reserved by this scheduler. Until then reserved members wait on Permit; then all
// go. If it cannot become complete (a member finds no place, somebody's wait is over, members or
// the PodGroup are deleted), all who wait are rejected, everything held is given back, and the
// group is left alone for a while: 1 s, doubled by each failure up to 10 s, and a little more that
// differs from group to group, so that two groups in one another's way do not meet again and again.
// So it is if bindings fail until too few are left; what they had is kept for them then.
//
// Where members with a node are gone (they have done their work, or come back), the others are not
// held back for ever: after 10 s without enough members the group needs no more than there are, as
// long as one of those who were bound is left.
//
// What is asked at every event costs the same however many members there are, and what is asked
// about a node as much as the group has there.
//
// One for the process; loop only, except that Filter, Score and explain read it while the loop
// waits. Nothing is kept over a restart: who is bound is told again, all others are tried again.

#include <map>
#include <optional>
#include <plimsoll/plugin.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/groups/pod_group.hpp"

namespace plimsoll::devices {

class GroupKeeper {
 public:
  // Both outlive it.
  GroupKeeper(sdk::Host host, Accounts& accounts) : host_(std::move(host)), accounts_(accounts) {}

  // ---- who there is
  // A pod without a node (PreEnqueue). The member that completes the number wakes the others. Pods
  // that are not told of here are left alone: their profile has no PreEnqueue, so no groups.
  void pod_waits(sdk::Pod pod);
  // A pod with a node, or a change of it; and its end.
  void pod_assigned(sdk::Pod pod);
  void pod_removed(std::string_view uid);
  // PodGroup objects; others are ignored. They are watched from the first pod on that needs them:
  // a cluster without the kind, or without groups, is not bothered.
  void object_event(const sdk::ObjectEvent& event);

  // ---- one attempt of a pod
  // The attempts before this one are over: what they found out counts.
  void attempts_ended();
  // Why a pod is not tried now; nothing: it belongs to no group, or its group has enough members.
  std::optional<std::string> refuses(sdk::Pod pod);
  // No node takes the pod. If the group cannot do without it, and no room is being made for it, all
  // who wait are rejected, and the group is left alone. `whole_group`: why no node takes the group,
  // which its other members need not find out again meanwhile; empty: it is about this pod only.
  void found_no_place(sdk::Pod pod, const std::string& whole_group = {});
  void reserved(sdk::Pod pod, std::string_view node);
  // Success, or Wait for the rest of the group.
  sdk::Status permit(sdk::Pod pod, int64_t& timeout_ms);
  // While room is looked for on behalf of a whole group, attempts of its members are no attempts:
  // those that ended before count afterwards.
  void decides(bool on) { deciding_ = on; }
  // Idempotent. To be called before the accounts forget what the pod had: if only its own binding
  // failed, its devices are held until it is tried again.
  void unreserved(sdk::Pod pod);

  // ---- what is held
  struct Hold {
    std::string node;
    int64_t until_ms = 0;  // 0: until the group is complete or given up
  };
  struct Member {
    enum class State { kPending, kReserved, kBound };
    State state = State::kPending;
    std::string node;          // unless pending
    bool waits = false;        // reserved: on Permit, for the rest of the group
    bool released = false;     // reserved, and let go: the group was complete
    bool rejected = false;     // reserved, and on its way back to the queue
    bool has_failed = false;   // pending: found no place since the group was last left alone
    std::optional<Hold> hold;  // pending: devices are held for it
  };
  using Members = std::map<std::string, Member, std::less<>>;  // by UID
  using Entry = Members::value_type;
  struct ByUid {
    bool operator()(const Entry* a, const Entry* b) const { return a->first < b->first; }
  };
  using Entries = std::set<const Entry*, ByUid>;
  struct Group {
    std::string key;
    Members members;
    std::array<std::optional<PodGroupSpec>, kPodGroupApis.size()> objects;
    std::optional<int> min_available;  // as a member says
    int64_t wait_ms = 0;               // the same
    int failures = 0;
    int64_t backoff_until_ms = 0;
    std::string refusal;         // until then, what every member is told; empty: nothing
    int excused = 0;             // of those it needs: they were there, and do not come back
    bool is_gathering = false;   // excuse() is going to be called
    int64_t next_search_ms = 0;  // not before, for members that were deleted

    // How many members have a node, those on their way back left out.
    [[nodiscard]] int placed() const { return counts_.placed; }
    [[nodiscard]] int waiting() const { return counts_.waiting; }  // of them, on Permit
    [[nodiscard]] int bound() const { return counts_.bound; }      // of them, for good
    [[nodiscard]] int failed() const { return counts_.failed; }    // pending, without a place
    [[nodiscard]] int known() const { return static_cast<int>(members.size()); }
    [[nodiscard]] std::optional<int> wanted() const;  // as somebody says; nothing: nobody does
    [[nodiscard]] std::optional<int> needed() const;  // of them, those that are not excused
    [[nodiscard]] bool complete() const { return needed() && placed() >= *needed(); }

    // Those that have a place on that node, or devices held for them there.
    [[nodiscard]] const Entries& on(std::string_view node) const;
    [[nodiscard]] const auto& by_node() const { return by_node_; }

    // Members come, change and go by these only: they are counted, and found by their node.
    Entry& add(std::string_view uid) {
      const auto [entry, is_new] = members.try_emplace(std::string(uid));
      if (is_new) count(*entry, 1);
      return *entry;
    }
    template <typename Change>
    void change(Entry& entry, const Change& how) {
      count(entry, -1);
      how(entry.second);
      count(entry, 1);
    }
    auto erase(Members::iterator entry) {
      count(*entry, -1);
      return members.erase(entry);
    }

   private:
    void count(const Entry& entry, int by);
    std::map<std::string, Entries, std::less<>> by_node_;
    struct Counts {
      int placed = 0;
      int waiting = 0;
      int bound = 0;
      int failed = 0;
    } counts_;
  };
  // The pod's group; null: none.
  [[nodiscard]] const Group* of(sdk::Pod pod) const;
  // The group of this name; null: none.
  [[nodiscard]] const Group* find(std::string_view key) const;

  // Members that wait for a place, and are not being deleted.
  [[nodiscard]] std::vector<sdk::Pod> without_place(const Group& group) const;

  // Keeps devices for a member that has no place yet; replaces what was held for it.
  void hold(std::string_view key, std::string_view uid, std::string_view node,
            Allocation allocation);
  bool drop_hold(std::string_view key, std::string_view uid);  // whether there was one
  // What is held for a member; null: nothing.
  [[nodiscard]] const Allocation* held(std::string_view uid) const {
    return accounts_.allocation_of(hold_id(uid));
  }
  // Takes what is held for the group's members on that node out of a copy of it.
  void take_holds(std::string_view key, NodeState& node) const;
  // What is held on the node, a line for each group; empty: nothing.
  [[nodiscard]] std::string explain(std::string_view node) const;

 private:
  static constexpr size_t kFewKnown = 64;
  [[nodiscard]] size_t known() const { return groups_.size() + by_pod_.size(); }
  [[nodiscard]] static std::string hold_id(std::string_view uid) {
    return "held for " + std::string(uid);
  }
  Group& note(const GroupRef& ref);
  Group* find_mutable(std::string_view key);
  void watch(size_t api);
  void forget_missing(Group& group);
  void forget_missing_at_times(Group& group);
  void excuse(const std::string& key);
  bool forget_hold(Group& group, Entry& entry);  // whether there was one
  bool forget_holds(Group& group);
  void let_go_if_complete(Group& group);
  void back_off(Group& group, const std::string& refusal = {});  // and tries it again afterwards
  void give_up(Group& group, const std::string& why, const std::string& refusal = {});
  void wake(const std::string& key);
  void try_one(const Group& group);
  struct Ended {
    std::string key;
    std::string uid;
    std::string whole_group;
  };
  void attempt_ended(const Ended& attempt);
  [[nodiscard]] bool is_nominated(std::string_view uid) const;
  void watch_over();
  void look_round();
  void drop_if_empty(const std::string& key);
  void drop_empty_groups();

  sdk::Host host_;
  Accounts& accounts_;
  std::map<std::string, Group, std::less<>> groups_;        // by key
  std::map<std::string, std::string, std::less<>> by_pod_;  // UID -> key
  struct Kind {
    bool watched = false;
    bool listed = false;
  };
  std::array<Kind, kPodGroupApis.size()> kinds_{};
  std::vector<Ended> ended_;  // attempts that found no place
  size_t next_clean_up_ = kFewKnown;
  bool looking_round_ = false;
  bool deciding_ = false;
};

}  // namespace plimsoll::devices
