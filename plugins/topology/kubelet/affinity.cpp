// Computes one affinity from the hints of all providers.
//
// The full method builds every provider's list of hints and merges the lists. Usually a shortcut is
// enough: an affinity that all providers prefer has as many zones as each of them needs at least,
// so only sets of that one size are tried. The lists are built only if the shortcut gives no answer
// (a best-effort node without a preferred affinity, devices that touch several zones,
// align-by-socket, several types of memory that need different numbers of zones).

#include <algorithm>
#include <array>
#include <optional>

#include "plugins/topology/kubelet/run.hpp"

namespace plimsoll::topology::kubelet {
namespace {

enum class Found : uint8_t { kMask, kNone, kUnsure };

class ShortWay {
 public:
  ShortWay(Run& run, const Request& request, bool reuse)
      : run_(run),
        model_(run.model),
        reusable_(run.work.reusable),
        request_(request),
        reuse_(reuse),
        single_(model_.managers.policy == Policy::kSingleNumaNode),
        by_distance_(model_.managers.prefer_closest && !single_),
        nodes_(model_.all) {}

  Found find(ZoneMask& best) {
    if (request_.cpu_impossible || request_.memory_impossible) return Found::kNone;
    Found found = add_cpus();
    if (found != Found::kMask) return found;
    for (const RowNeed& need : request_.devices) {
      found = add_devices(need);
      if (found != Found::kMask) return found;
    }
    return request_.memory.empty() ? search(best, false) : with_memory(best);
  }

 private:
  static constexpr uint32_t kMaxRows = 16;
  struct Row {
    const int64_t* free = nullptr;
    int64_t need = 0;
  };

  // kMask: go on.
  Found require(std::span<const int64_t> free, int64_t need, ZoneMask zones, uint32_t size) {
    if (rows_ == kMaxRows) return Found::kUnsure;
    row_[rows_++] = {free.data(), need};
    nodes_ &= zones;
    if (size_ != 0 && size_ != size) return Found::kNone;  // preferred sets differ in size
    size_ = size;
    return size == 0 ? Found::kNone : Found::kMask;
  }

  Found add_cpus() {
    if (request_.cpus <= 0) return Found::kMask;
    const Totals& totals = model_.cpu;
    const bool held = reuse_ && reusable_.cpu_count > 0;
    if (held) hold({reusable_.cpus.data(), reusable_.cpus.size()});
    return require(run_.state->cpu(model_), request_.cpus - (held ? reusable_.cpu_count : 0),
                   totals.zones, totals.fewest(request_.cpus, totals.count));
  }

  Found add_devices(const RowNeed& need) {
    const NodeModel::DeviceFacts& facts = model_.device_facts[need.row];
    if (!facts.any_topology) return Found::kMask;  // no preference
    if (!facts.single_zone) return Found::kUnsure;
    const auto free = run_.state->devices(model_, need.row);
    const bool held = reuse_ && reusable_.any_devices && reusable_.device_count[need.row] > 0;
    int64_t there = held ? reusable_.device_count[need.row] : 0;
    int64_t rest = need.amount;
    if (facts.words > 0) {
      for (uint64_t word : run_.state->device_ids(model_, need.row)) there += std::popcount(word);
    } else {
      for (int64_t each : free) there += each;
    }
    if (there < need.amount) return Found::kNone;  // impossible
    if (held) {
      const std::span<const int64_t> mine(reusable_.devices.data() + need.row * model_.zones(),
                                          model_.zones());
      hold(mine);
      rest -= sum_over(mine, model_.all);
    }
    return require(free, rest, facts.totals.zones,
                   facts.totals.fewest(need.amount, facts.totals.count));
  }

  // Reused resources tie the pod to their zones.
  void hold(std::span<const int64_t> by_column) {
    for (uint32_t column = 0; column < by_column.size(); ++column) {
      if (by_column[column] > 0) must_ |= column_bit(column);
    }
  }

  Found with_memory(ZoneMask& best) {
    uint32_t least = 1;  // zones that one type alone needs at least
    uint32_t types = 0;
    for (const RowNeed& need : request_.memory) {
      if (need.amount <= 0) continue;
      ++types;
      const uint32_t zones =
          need.row == kNoResourceRow ? 0 : model_.memory_by_type[need.row].fewest(need.amount, 0);
      if (zones == 0) return search(best, false);  // no zones have enough: no preference
      least = std::max(least, zones);
    }
    const bool exact = types <= 1;
    const bool alone = size_ == 0;
    if (alone) size_ = least;
    if (least > size_ || (exact && least < size_)) return unless_memory_has_hints(best);
    if (least < size_) return Found::kUnsure;
    if (search(best, true) == Found::kMask) return Found::kMask;
    if (!alone) return unless_memory_has_hints(best);
    if (!exact) return Found::kUnsure;
    size_ = 0;
    return unless_memory_has_hints(best);
  }

  // Memory prefers none of the sets that the others prefer. If it has hints at all, the result is
  // final; without hints it does not matter.
  Found unless_memory_has_hints(ZoneMask& best) {
    ZoneMask mask = 0;
    if (search(mask, false) != Found::kMask || memory_has_hints()) return Found::kNone;
    best = mask;
    return Found::kMask;
  }

  [[nodiscard]] bool memory_has_hints() {
    if (!run_.state->knows_groups() && reusable_.memory.empty()) {
      // Then what fits somewhere fits in all zones together.
      for (const RowNeed& need : request_.memory) {
        if (need.row == kNoResourceRow ? need.amount > 0
                                       : !enough(run_.state->memory(model_, need.row), need) ||
                                             !enough(model_.memory[need.row].allocatable, need)) {
          return false;
        }
      }
      return true;
    }
    run_.work.memory_list.hints.clear();
    return memory_hints(run_, request_.memory, run_.work.memory_list);
  }
  [[nodiscard]] bool enough(std::span<const int64_t> by_column, const RowNeed& need) const {
    return sum_over(by_column, model_.all) >= need.amount;
  }

  [[nodiscard]] bool fits(ZoneMask mask, bool memory) const {
    if ((must_ & ~mask) != 0) return false;
    for (uint32_t i = 0; i < rows_; ++i) {
      if (sum_over({row_[i].free, model_.zones()}, mask) < row_[i].need) return false;
    }
    return !memory || memory_fits(mask);
  }
  [[nodiscard]] bool memory_fits(ZoneMask mask) const {
    const NodeState& state = *run_.state;
    for (const RowNeed& need : request_.memory) {
      if (need.row == kNoResourceRow) {
        if (need.amount > 0) return false;
        continue;
      }
      const int64_t reused =
          reusable_.memory.empty() ? 0 : reusable_.memory_in(mask, need.resource);
      if (sum_over(state.memory(model_, need.row), mask) + reused < need.amount) return false;
      // Usually every zone has the same total.
      const Totals& totals = model_.memory_by_type[need.row];
      if (totals.least >= need.amount && (totals.zones & mask) != 0) continue;
      if (sum_over(model_.memory[need.row].allocatable, mask) < need.amount) return false;
    }
    if (!state.knows_groups()) return true;
    if (!is_single(mask)) return !violates_groups(run_, mask);
    return is_single(state.group(model_, static_cast<uint32_t>(std::countr_zero(mask))));
  }

  // The best set of size_ zones that all providers accept.
  Found search(ZoneMask& best, bool memory) {
    if (size_ == 0) {
      best = model_.all;
      return Found::kMask;
    }
    if (single_ && size_ != 1) return Found::kNone;
    if (size_ == 1 && !by_distance_) return search_single(best, memory);
    if (choices(static_cast<uint32_t>(std::popcount(nodes_)), size_) > kMaxMasks) {
      return Found::kUnsure;
    }
    Found found = Found::kNone;
    for_each_mask_of(nodes_, size_, [&](ZoneMask mask) {
      if (!fits(mask, memory)) return;
      if (found == Found::kNone || is_fitter(model_, mask, best, by_distance_)) best = mask;
      found = Found::kMask;
    });
    return found;
  }

  // The lowest zone that fits.
  Found search_single(ZoneMask& best, bool memory) const {
    ZoneMask fit = nodes_;
    if (must_ != 0) fit &= is_single(must_) ? must_ : 0;
    const uint32_t zones = model_.zones();
    for (uint32_t i = 0; i < rows_; ++i) {
      ZoneMask enough = 0;
      for (uint32_t column = 0; column < zones; ++column) {
        enough |= ZoneMask{row_[i].free[column] >= row_[i].need} << column;
      }
      fit &= enough;
    }
    for (; fit != 0; fit &= fit - 1) {
      const ZoneMask mask = fit & -fit;
      if (memory && !memory_fits(mask)) continue;
      best = mask;
      return Found::kMask;
    }
    return Found::kNone;
  }

  Run& run_;
  const NodeModel& model_;
  const Reusable& reusable_;
  const Request& request_;
  bool reuse_;
  bool single_;
  bool by_distance_;
  std::array<Row, kMaxRows> row_{};
  uint32_t rows_ = 0;
  ZoneMask nodes_;
  ZoneMask must_ = 0;
  uint32_t size_ = 0;  // 0: no provider has set it
};

Affinity long_way(Run& run, const Request& request, bool reuse, uint32_t container) {
  Scratch::Work& work = run.work;
  work.used = 0;
  HintRecord* record = nullptr;
  if (run.records != nullptr) {
    record = &run.records->emplace_back();
    record->container = container;
  }
  const auto say = [&](uint32_t resource, const HintList& list) {
    if (record != nullptr) record->entries.push_back({resource, list});
  };
  for (const RowNeed& need : request.devices) {
    HintList& list = work.next_list();
    device_hints(run, need, reuse, list);
    say(need.resource, list);
  }
  if (request.cpus > 0) {
    HintList& list = work.next_list();
    if (!request.cpu_impossible) cpu_hints(run, request.cpus, reuse, list);
    say(kCpuResource, list);
  }
  if (!request.memory.empty()) {
    HintList& found = work.memory_list;
    found.no_preference = false;
    found.hints.clear();
    if (request.memory_impossible || memory_hints(run, request.memory, found)) {
      // The same list for every type: two hints of it may meet in a third mask.
      for (const RowNeed& need : request.memory) {
        work.next_list().hints = found.hints;
        say(need.resource, found);
      }
    }
  }
  return merge(run.model, {work.lists.data(), work.used}, work.merge);
}

}  // namespace

Affinity affinity(Run& run, const Request& request, bool reuse, bool mask_matters,
                  uint32_t container) {
  const NodeModel& model = run.model;
  const Policy policy = model.managers.policy;
  if (policy == Policy::kNone) return {Hint::anywhere(false), true};
  const bool any_mask = policy == Policy::kBestEffort && !mask_matters;
  if (run.records != nullptr || run.work.full_lists) {
    return long_way(run, request, reuse, container);
  }
  if (any_mask) return {{model.all, false, false}, true};
  if (model.managers.cpu_options.align_by_socket && request.cpus > 0) {
    return long_way(run, request, reuse, container);
  }
  ZoneMask mask = 0;
  const Found found = ShortWay(run, request, reuse).find(mask);
  if (found == Found::kMask) {
    const bool nowhere = policy == Policy::kSingleNumaNode && mask == model.all;
    return {{mask, nowhere, true}, true};
  }
  if (found == Found::kNone && policy != Policy::kBestEffort) {
    return {{model.all, policy == Policy::kSingleNumaNode, false}, false};
  }
  return long_way(run, request, reuse, container);
}

}  // namespace plimsoll::topology::kubelet
