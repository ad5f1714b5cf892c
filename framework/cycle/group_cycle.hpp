#pragma once
// One attempt on a whole group of pods (docs/groups.md). Kubernetes:
// pkg/scheduler/schedule_one_podgroup.go.
//
// Its pods are put on nodes one after the other, each decided on as any other pod, assumed and
// reserved: so the ledgers of zones, devices, volumes and claims know of those before. If the group
// does not get as many places as it needs, all is undone in reverse. Otherwise those with a place
// are bound, each by itself.
//
// That happens on the live state, in slices (SchedulerOptions::group_slice): between them the loop
// hears messages, ends bindings and answers questions, but decides on no other pod. What is heard
// of the group and its pods waits for the end of the attempt. A node that comes, goes or changes
// ends it: all is undone, and it begins anew. From then on, and while it is looked for victims, all
// that is watched waits; what then still changes on nodes (a binding fails) ends the search.
//
// Where that order fails, others are tried: who had no place goes first, then the largest, then
// kinds of pods in other orders; some also for more places than the group needs. The work is
// bounded, see most_looks.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/routine.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/groups/group_domains.hpp"
#include "framework/cycle/groups/topology_wish.hpp"
#include "framework/objects/gang_terms.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/group_dry_run.hpp"

namespace plimsoll {

class ExtenderWaits;

class GroupCycle {
 public:
  // Looks at one node by all filters, of all orders but the first together; as of a dry run of a
  // group, and for as long. A pod of a class that is known costs few.
  [[nodiscard]] static constexpr size_t most_looks(size_t nodes) {
    return GroupTrial::most_looks(nodes);
  }
  // And of the first order: what is left is looked at in the next attempt. A thousand pods that are
  // all different, on 5,000 nodes.
  [[nodiscard]] static constexpr size_t most_first_looks(size_t nodes) {
    return 5'000'000 + 200 * nodes;
  }
  static constexpr size_t kMostOrders = 32;
  static constexpr size_t kOrdersForMore = 4;  // than the group needs
  static constexpr int kMostOutdated = 2;      // attempts; the next one does not pause
  static constexpr size_t kMostRefusals = 64;  // that are kept apart; see GroupRefusal

  // All outlive it. `extenders`: null: there are none. Where there are, which answer between turns
  // of the loop, an attempt never pauses. `group`: was popped. `outdated`: how often it has been.
  GroupCycle(LoopState& state, Bindings& bindings, const ExtenderWaits* extenders,
             QueuedGroup& group, int outdated);
  ~GroupCycle();
  GroupCycle(const GroupCycle&) = delete;
  GroupCycle& operator=(const GroupCycle&) = delete;

  enum class End {
    kNotYet,
    kInQueue,   // the group is there again, or nothing is left of it there
    kOutdated,  // all is as before, and another attempt is to follow
  };
  [[nodiscard]] End go_on();  // for a slice
  [[nodiscard]] QueuedGroup& group() const { return group_; }
  [[nodiscard]] int outdated() const { return outdated_; }
  // Once some are being bound, the others are not left alone: at a stop.
  void finish_binding();
  [[nodiscard]] size_t size() const { return members_.size(); }  // pods that are decided on
  // Of them, those that are not back in the queue, or beyond it.
  [[nodiscard]] size_t undecided() const { return is_back_ ? 0 : members_.size(); }

 private:
  struct Verdict {
    Status status;
    Diagnosis diagnosis;
    bool nowhere = false;  // no node takes a pod of this kind, and others only take room
  };
  struct Member {
    PodRef pod;
    std::string uid;
    int64_t queued_ms = 0;
    uint32_t attempts = 0;
    size_t kind = 0;
    std::string nominated_to;          // before the attempt
    Nominating nominating;             // after it
    std::unique_ptr<Attempt> attempt;  // of the order that is tried
    // In the first order: what kube-scheduler would say.
    enum class Fate { kNotReached, kPlaced, kRefused } fate = Fate::kNotReached;
    Verdict first;
    Verdict now;  // in the order that is tried
    // The node that it had in the best order so far, and the one that it is to have again; empty:
    // none, any.
    std::string best;
    std::string target;
    PodRef aimed;  // the pod, nominated to the target
  };
  using Order = std::vector<size_t>;  // of members_
  // Of what evictions would do for the group.
  struct Evictions {
    std::string said;   // empty: nobody was asked
    bool help = false;  // the group waits for their room
  };
  // Takes back what the group's claims have where it has no place, and has that wake it; returns
  // whether there was any.
  [[nodiscard]] bool give_back_claims();
  [[nodiscard]] std::optional<PluginIndex> filter_of(std::string_view name) const;

  Routine<> attempt();
  [[nodiscard]] bool is_outdated() const { return nodes_changed_ != state_.nodes_changed; }
  [[nodiscard]] bool is_over() const { return is_outdated() || state_.environment.gave_up(); }
  void hold_requeues(bool hold);
  void let_watch_wait();
  void gather(const QueuedGroup& group);
  [[nodiscard]] Order take_nominations();
  void give_back_nomination(const Member& member);
  void give_up_room();
  // Why no attempt is made: the first thing that is wrong about the group or a member.
  [[nodiscard]] std::string mismatch(const QueuedGroup& group, const PodGroup& object) const;
  [[nodiscard]] std::string unsupported(const PodGroup& object) const;
  [[nodiscard]] bool waits_for_kinds();
  Routine<> sort_by_kind();

  [[nodiscard]] Routine<bool> find_places(Order& order);
  [[nodiscard]] Routine<bool> place_in(const Order& order, bool first);
  [[nodiscard]] bool place(Member& member, Verdict& verdict);
  void refuse(const Member& member, const Diagnosis& diagnosis);
  Routine<> undo(const Order& order);
  [[nodiscard]] std::optional<Order> next_order(const Order& last);
  [[nodiscard]] bool is_new(const Order& order);
  [[nodiscard]] bool is_late() const {
    return looks_ > GroupTrial::kLooksInAnyCase && slice_.worked_ms() >= until_ms_;
  }
  void aim();
  [[nodiscard]] Routine<bool> permit(const Order& order);
  [[nodiscard]] size_t scheduled() const { return placed_before_ + placed_; }
  [[nodiscard]] std::string quorum_message(size_t remaining) const;

  // ---- within one domain of the network
  [[nodiscard]] Routine<bool> find_places_in_domains(const QueuedGroup& group, Order& order);
  [[nodiscard]] bool find_domains(const QueuedGroup& group, const std::vector<std::string>& keys,
                                  bool has_to);
  void judge_domains();
  void wait_for_labels();
  [[nodiscard]] Routine<bool> try_domains(Order& order, bool all);
  [[nodiscard]] Routine<bool> try_orders_in_domains(Order& order, bool all);
  [[nodiscard]] std::string no_domain_message(const std::string& first) const;
  Routine<> say_why_none(const Order& order);
  [[nodiscard]] Routine<bool> put_in_rank_order(const Order& order);
  [[nodiscard]] size_t nodes_at_most() const {
    return domain_ != nullptr ? domain_->rows.size() : state_.cluster.node_count();
  }

  Routine<> commit(QueuedGroup& group, const Order& order);
  Routine<> fail(QueuedGroup& group, bool for_want_of_room = false);
  [[nodiscard]] GroupPreemption* preemption() const;
  [[nodiscard]] Routine<Evictions> evict(QueuedGroup& group, std::function<bool()> is_news);
  void tell(const Member& member, const Verdict& verdict, std::string_view why);
  void write_condition(QueuedGroup& group, std::string_view status, std::string_view reason,
                       std::string_view message);

  LoopState& state_;
  Bindings& bindings_;
  const ExtenderWaits* extenders_;
  QueuedGroup& group_;
  const int outdated_;
  const PodGroup* object_ = nullptr;
  PodGroup own_object_;  // of a gang that has none
  GroupKind kind_ = GroupKind::kNone;
  std::string group_name_;
  Framework* framework_ = nullptr;
  metrics::Clock::time_point start_;
  bool flushed_ = false;
  int64_t first_attempt_ms_ = 0;
  std::vector<Member> members_;
  std::vector<std::string> kinds_;  // by Member::kind: the signature
  size_t needed_ = 1;
  size_t placed_before_ = 0;  // members that had a node already
  size_t placed_ = 0;         // in the order that is tried
  Status error_;              // ends the attempt
  std::string message_;       // of the group; empty: none
  std::string most_room_;     // for the condition: which domain has the most
  std::vector<GroupRefusal> refusals_;
  std::set<std::string> refused_;              // kinds and plugins of these
  std::set<std::vector<size_t>> tried_;        // orders, as kinds
  std::vector<size_t> by_size_, permutation_;  // of kinds
  size_t orders_ = 0;
  size_t not_tried_ = 0;  // domains that may hold enough, in the last round
  size_t looks_ = 0;
  int64_t until_ms_ = INT64_MAX;  // see Slice::worked_ms: then no further order is tried
  TopologyWish wish_;
  std::vector<GroupDomain> domains_;     // if the group asks for one; in the order of trying
  const GroupDomain* domain_ = nullptr;  // that is tried; null: all nodes

  Slice slice_;
  const uint64_t nodes_changed_;      // LoopState::nodes_changed when it began
  std::optional<uint64_t> searched_;  // while it is looked for victims: ClusterState::log_end()
  End end_ = End::kInQueue;
  bool is_back_ = false;
  bool is_binding_ = false;
  bool holds_requeues_ = false;  // what plugins wake because of pods that may all be undone
  std::vector<ClusterEvent> requeues_;
  Routine<> routine_;  // last: goes before what it works on
};

}  // namespace plimsoll
