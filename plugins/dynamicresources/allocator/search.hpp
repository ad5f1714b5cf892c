#pragma once
// The search for one node's devices: depth first through claims, requests, alternatives and
// devices, the first solution wins (structured/internal/incubating, allocateOne). Most searches end
// in a few steps. One that does not is begun again with an outlook: dead ends are remembered, equal
// devices tried once, and a branch is left where too few devices remain. None of this changes which
// solution is found first. Where an error may lie on the way, only dead ends are remembered, so
// that the error is met as well.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/dynamicresources/allocator/allocator.hpp"

namespace plimsoll::dra {

class Search {
 public:
  Search(Inventory& inventory, const Allocated& allocated, const Plan& plan, uint64_t most_work);

  // At most so many devices that are away.
  struct Near {
    const Allocator::Away* is_away;  // null: none is
    uint32_t most;
  };
  [[nodiscard]] Outcome run(const NodePools& pools, bool with_picks, Near near = {nullptr, 0});
  // For people: how many devices each request finds, and what is against the others.
  [[nodiscard]] std::string why(const NodePools& pools);

 private:
  enum class End : uint8_t {
    kOpen,     // not over
    kDone,     // a solution
    kNone,     // there is none
    kTooMany,  // none, because a claim's result is full: other devices do not help
    kStop      // an error, no more work, or no more patience
  };
  enum class Placed : uint8_t { kYes, kNo, kError };

  // A device of the node. Devices are tried in the order of their positions, which count through
  // all pools: site() alone says which device is where.
  struct Site {
    const KnownDevice* device = nullptr;
    uint32_t entry = 0;  // of the node's pools
    uint32_t position = 0;
    const CounterTable::Draws* draws = nullptr;
    bool here = true;
  };
  struct Pick {
    uint32_t alternative = 0;
    uint32_t position = 0;
    uint32_t before = 0;  // 1 + the pick of the same device before it, or 0
    const KnownDevice* device = nullptr;
    const Consumption* consumption = nullptr;
    const CounterTable::Draws* charged = nullptr;
    uint32_t entry = 0;
    bool away = false;
  };
  // One choice on the way: an alternative of a request, or the device_index-th device of one.
  struct Frame {
    bool of_device = false;
    bool all_too_many = true;  // of the alternatives so far
    bool placed = false;
    uint32_t request = 0;
    uint32_t alternative = 0;
    int64_t device_index = 0;
    uint32_t next = 0;  // alternative, or place among the candidates
    size_t failed_begin = 0;
    std::string key;  // of the dead end, if it is to be remembered
  };
  // What a constraint has seen: a match's common values after each device, or all values seen.
  struct Seen {
    std::vector<uint32_t> values;
    std::vector<size_t> begins;
  };
  // One alternative, as seen before a search with an outlook.
  struct Outlook {
    std::vector<uint32_t> candidates;  // positions that may ever do; of All: those that it needs
    bool dead = false;                 // of All: one of them never does
    bool exclusive = true;             // no candidate is shared
    uint32_t group = 0;                // of alternatives with equal candidates
  };

  // search.cpp: the machine.
  [[nodiscard]] std::optional<Failure> check(const NodePools& pools);
  [[nodiscard]] std::optional<Failure> collect_all(uint32_t alternative);
  [[nodiscard]] End search();
  [[nodiscard]] End enter_request(uint32_t request);
  [[nodiscard]] End enter_device(uint32_t alternative, int64_t device_index, uint32_t next);
  [[nodiscard]] std::optional<End> choose(End& child);
  [[nodiscard]] std::optional<End> choose_device(End& child);
  [[nodiscard]] bool find_more(uint32_t alternative);
  [[nodiscard]] std::optional<End> hear(Frame& frame, End child);
  [[nodiscard]] int64_t count_of(uint32_t alternative) const;
  [[nodiscard]] bool is_out_of_work();

  // place.cpp: one device.
  [[nodiscard]] Site site(uint32_t position) const;
  [[nodiscard]] Placed place(uint32_t alternative, const Site& site, bool must);
  void take_back();
  [[nodiscard]] bool in_use(const Plan::Alternative& alternative, const Site& site) const;
  [[nodiscard]] bool is_away(const Plan::Alternative& alternative, const Site& site) const;
  [[nodiscard]] Judgement::Kind selects(const Plan::Alternative& alternative, const Site& site,
                                        Failure* failure) const;
  [[nodiscard]] static bool tolerated(const Device& device, const DeviceRequest& asked);
  [[nodiscard]] const Consumption& consumption_of(uint32_t alternative, const KnownDevice& device);
  [[nodiscard]] bool has_room(const Consumption& consumption, const Site& site) const;
  [[nodiscard]] bool is_charged(const Site& site) const;
  [[nodiscard]] bool counters_allow(const Site& site) const;
  [[nodiscard]] bool add(uint32_t constraint, const KnownDevice& device);
  [[nodiscard]] bool agrees(uint32_t constraint, const KnownDevice& device) const;
  void undo(uint32_t constraint);

  // explanation.cpp
  [[nodiscard]] std::string why_not(uint32_t alternative, const Site& site);

  // outlook.cpp: what lies ahead.
  void look_ahead();
  void look_at(uint32_t alternative);
  void classify();
  void group();
  [[nodiscard]] bool is_hopeless(uint32_t alternative, int64_t device_index, uint32_t next);
  [[nodiscard]] bool has_enough(uint32_t alternative, int64_t need, uint32_t next, bool in_claim);
  [[nodiscard]] bool may_take(uint32_t alternative, uint32_t position, bool in_claim);
  [[nodiscard]] std::string state_at(uint32_t request) const;

  Inventory& inventory_;
  const Allocated& allocated_;
  const Plan& plan_;
  const uint64_t most_on_a_node_;
  uint64_t work_left_;            // of all nodes, beyond two looks at each device
  const uint64_t judged_before_;  // by expressions
  std::vector<std::unordered_map<const KnownDevice*, Consumption>> consumptions_;  // by alternative
  std::optional<Failure> static_failure_;  // of plans that ask for no "all": the same on each node
  bool checked_ = false;

  // Of one run.
  const NodePools* pools_ = nullptr;
  std::vector<uint32_t> offsets_;           // by pool: the first position
  uint32_t sites_ = 0;                      // positions
  std::vector<std::vector<uint32_t>> all_;  // by alternative: positions of "all"
  // By alternative: positions that no selector refuses, and how many were looked at.
  struct Selectable {
    std::vector<uint32_t> positions;
    uint32_t looked_at = 0;
  };
  std::vector<Selectable> selectable_;
  std::vector<Frame> frames_;
  std::vector<Pick> picks_;
  std::vector<uint32_t> last_pick_;                  // by position: 1 + pick, or 0
  std::vector<int64_t> results_;                     // by claim
  std::vector<Seen> seen_;                           // by constraint
  std::vector<std::vector<Quantity::Nanos>> drawn_;  // by pool and counter, in this attempt
  std::vector<uint32_t> chosen_;                     // by request
  std::vector<bool> away_;                           // by position; empty: none is
  uint32_t away_left_ = 0;                           // of those, how many may still be taken
  Failure failure_;
  uint64_t work_ = 0;
  uint64_t work_limit_ = 0;
  uint64_t steps_ = 0;
  uint64_t patience_ = 0;  // steps without an outlook
  bool impatient_ = false;

  bool ahead_ = false;                // there is an outlook
  bool may_fail_ = false;             // an error may be met
  std::vector<Outlook> outlooks_;     // by alternative
  std::vector<uint32_t> classes_;     // by position: equal devices have one class
  std::vector<int64_t> least_after_;  // by request: what the claim needs from it on
  std::vector<uint32_t> failed_;      // classes that the open frames have tried
  std::unordered_map<std::string, End> dead_ends_;
  size_t dead_end_bytes_ = 0;
};

}  // namespace plimsoll::dra
