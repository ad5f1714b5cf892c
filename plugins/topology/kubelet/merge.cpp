#include "plugins/topology/kubelet/merge.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// Above this limit, intersections of lists over many zones are not computed.
constexpr size_t kMaxPairs = size_t{1} << 18;

int64_t total_distance(const NodeModel& model, ZoneMask mask) {
  int64_t sum = 0;
  for (ZoneMask rows = mask; rows != 0; rows &= rows - 1) {
    const auto from = static_cast<uint32_t>(std::countr_zero(rows));
    for (ZoneMask rest = mask; rest != 0; rest &= rest - 1) {
      sum += model.distance(from, static_cast<uint32_t>(std::countr_zero(rest)));
    }
  }
  return sum;
}

// Hint lists with the single-numa-node policy's filter and the model's zones applied.
class Merger {
 public:
  Merger(const NodeModel& model, std::span<const HintList> lists, MergeScratch& scratch)
      : model_(model),
        lists_(lists),
        scratch_(scratch),
        single_(model.managers.policy == Policy::kSingleNumaNode),
        by_distance_(model.managers.prefer_closest && !single_) {
    for (const HintList& list : lists_) {
      for_each(list, [&](const Hint& hint) { named_ |= hint.any ? 0 : hint.mask; });
    }
    named_ &= model.all;
    identity_ = (named_ & (named_ + 1)) == 0;
  }

  [[nodiscard]] Hint best() {
    ZoneMask mask = 0;
    if (preferred(mask)) return {mask, false, true};
    // Under single-numa-node all hints are preferred and of one zone: what intersects is equal.
    if (!single_ && intersected(mask)) return {mask, false, false};
    return {model_.all, false, false};
  }

 private:
  // filterProvidersHints and, for single-numa-node, filterSingleNumaHints.
  template <typename Visit>
  void for_each(const HintList& list, Visit&& visit) const {
    if (list.no_preference) {
      visit(Hint::anywhere(true));
    } else if (list.hints.empty()) {
      if (!single_) visit(Hint::anywhere(false));
    }
    for (const Hint& hint : list.hints) {
      if (single_ && !(hint.preferred && (hint.any || is_single(hint.mask)))) continue;
      visit(hint);
    }
  }

  // The best mask that every list prefers; a preferred hint without affinity is compatible with any
  // mask.
  bool preferred(ZoneMask& best) {
    uint32_t choosy = 0;  // lists that are not compatible with every mask
    bool found = false;
    auto& masks = scratch_.masks;
    masks.clear();
    for (const HintList& list : lists_) {
      auto& mine = scratch_.other;
      mine.clear();
      bool wild = false;
      for_each(list, [&](const Hint& hint) {
        if (!hint.preferred) return;
        if (hint.any) wild = true;
        if (!hint.any && (hint.mask & model_.all) != 0) mine.push_back(hint.mask & model_.all);
      });
      if (wild) continue;
      std::sort(mine.begin(), mine.end());
      mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
      if (choosy++ == 0) {
        masks.swap(mine);
      } else {
        scratch_.next.clear();
        std::set_intersection(masks.begin(), masks.end(), mine.begin(), mine.end(),
                              std::back_inserter(scratch_.next));
        masks.swap(scratch_.next);
      }
      if (masks.empty()) return false;
    }
    if (choosy == 0) {
      masks.push_back(model_.all);
      for (const HintList& list : lists_) {
        for_each(list, [&](const Hint& hint) {
          if (hint.preferred && !hint.any && (hint.mask & model_.all) != 0) {
            masks.push_back(hint.mask & model_.all);
          }
        });
      }
    }
    for (ZoneMask mask : masks) {
      if (!found || is_fitter(model_, mask, best, by_distance_)) best = mask;
      found = true;
    }
    return found;
  }

  // Among masks that no list need prefer: the size that the list with the widest narrowest hint
  // has, then smaller ones from the largest on, then larger ones (HintMerger.compare).
  [[nodiscard]] bool is_better(ZoneMask a, ZoneMask b) const {
    const auto rank = [&](ZoneMask mask) {
      const int size = std::popcount(mask);
      const int group = size == wanted_ ? 0 : size < wanted_ ? 1 : 2;
      return std::pair(group, std::abs(size - wanted_));
    };
    const auto left = rank(a);
    const auto right = rank(b);
    return left != right ? left < right : is_fitter(model_, a, b, by_distance_);
  }

  bool intersected(ZoneMask& best) {
    wanted_ = 0;
    for (const HintList& list : lists_) {
      int narrowest = 0;
      for_each(list, [&](const Hint& hint) {
        const int size = std::popcount(hint.mask & model_.all);
        if (!hint.any && (narrowest == 0 || size < narrowest)) narrowest = size;
      });
      wanted_ = std::max(wanted_, narrowest);
    }
    found_ = false;
    if (std::popcount(named_) <= static_cast<int>(kExactZones)) {
      fold_dense();
    } else if (!fold_sparse()) {
      return false;
    }
    best = best_;
    return found_;
  }

  void consider(ZoneMask mask) {
    if (mask == 0) return;
    if (!found_ || is_better(mask, best_)) best_ = mask;
    found_ = true;
  }

  // Masks over the zones that are named, as numbers below 2^zones.
  [[nodiscard]] uint32_t pack(ZoneMask mask) const {
    if (identity_) return static_cast<uint32_t>(mask);
    uint32_t out = 0;
    uint32_t bit = 0;
    for (ZoneMask rest = named_; rest != 0; rest &= rest - 1, ++bit) {
      if ((mask & rest & -rest) != 0) out |= uint32_t{1} << bit;
    }
    return out;
  }
  [[nodiscard]] ZoneMask unpack(uint32_t packed) const {
    if (identity_) return packed;
    ZoneMask out = 0;
    for (ZoneMask rest = named_; rest != 0 && packed != 0; rest &= rest - 1, packed >>= 1) {
      if ((packed & 1) != 0) out |= rest & -rest;
    }
    return out;
  }

  // [m] becomes the sum over m's supersets; and back.
  static void to_supersets(std::vector<int64_t>& cells, int64_t sign) {
    for (size_t bit = 1; bit < cells.size(); bit <<= 1) {
      for (size_t block = 0; block < cells.size(); block += 2 * bit) {
        for (size_t m = block; m < block + bit; ++m) cells[m] += sign * cells[m + bit];
      }
    }
  }

  // All intersections of one hint per list: for each further list the products of sums over
  // supersets are the sums over supersets of the number of pairs that intersect to a mask.
  void fold_dense() {
    const size_t size = size_t{1} << std::popcount(named_);
    auto& reached = scratch_.reached;
    auto& mine = scratch_.list;
    reached.assign(size, 0);
    bool everything = true;  // all zones of the node, reached by hints without affinity only
    for (const HintList& list : lists_) {
      mine.assign(size, 0);
      bool any = false;
      for_each(list, [&](const Hint& hint) {
        if (hint.any) {
          any = true;
        } else {
          mine[pack(hint.mask & model_.all)] = 1;
        }
      });
      scratch_.seen.assign(size, 0);
      for (size_t m = 0; m < size; ++m) {
        scratch_.seen[m] = (any && reached[m] != 0) || (everything && mine[m] != 0) ? 1 : 0;
      }
      to_supersets(reached, 1);
      to_supersets(mine, 1);
      for (size_t m = 0; m < size; ++m) reached[m] *= mine[m];
      to_supersets(reached, -1);
      for (size_t m = 0; m < size; ++m) {
        reached[m] = reached[m] != 0 || scratch_.seen[m] != 0 ? 1 : 0;
      }
      everything = everything && any;
    }
    if (everything) consider(model_.all);
    for (size_t m = 1; m < size; ++m) {
      if (reached[m] != 0) consider(unpack(static_cast<uint32_t>(m)));
    }
  }

  // For too many zones; returns false if there are too many masks.
  bool fold_sparse() {
    auto& reached = scratch_.masks;
    auto& next = scratch_.next;
    reached.assign(1, model_.all);
    for (const HintList& list : lists_) {
      next.clear();
      bool fits = true;
      for_each(list, [&](const Hint& hint) {
        fits = fits && next.size() + reached.size() <= kMaxPairs;
        if (!fits) return;
        for (ZoneMask mask : reached) {
          const ZoneMask both = hint.any ? mask : mask & hint.mask;
          if (both != 0) next.push_back(both);
        }
      });
      if (!fits) return false;
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      reached.swap(next);
    }
    for (ZoneMask mask : reached) consider(mask);
    return true;
  }

  const NodeModel& model_;
  std::span<const HintList> lists_;
  MergeScratch& scratch_;
  bool single_;
  bool by_distance_;
  ZoneMask named_ = 0;
  bool identity_ = true;
  int wanted_ = 0;
  bool found_ = false;
  ZoneMask best_ = 0;
};

}  // namespace

bool is_fitter(const NodeModel& model, ZoneMask a, ZoneMask b, bool by_distance) {
  const int left = std::popcount(a);
  const int right = std::popcount(b);
  if (left != right) return left < right;
  if (by_distance) {
    // Averages over equally many pairs compare as their sums.
    const int64_t near = total_distance(model, a);
    const int64_t far = total_distance(model, b);
    if (near != far) return near < far;
  }
  return a < b;
}

Affinity merge(const NodeModel& model, std::span<const HintList> lists, MergeScratch& scratch) {
  const Policy policy = model.managers.policy;
  if (policy == Policy::kNone) return {Hint::anywhere(false), true};
  Hint hint = Merger(model, lists, scratch).best();
  if (policy == Policy::kBestEffort) return {hint, true};
  if (policy == Policy::kSingleNumaNode && hint.mask == model.all) hint.any = true;
  return {hint, hint.preferred};
}

}  // namespace plimsoll::topology::kubelet
