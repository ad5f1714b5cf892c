// The merge against the kubelet's own way: every combination of one hint per list.

#include "plugins/topology/kubelet/merge.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "tests/plugins/topology/kubelet/random_machine.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::topology::kubelet {
namespace {

NodeModel random_model(std::mt19937& random, uint32_t zones) {
  NodeModel model;
  for (uint32_t zone = 0; zone < zones; ++zone) model.zone_ids.push_back(zone);
  for (uint32_t i = 0; i < zones * zones; ++i) {
    model.distances.push_back(10 + static_cast<int>(pick(random, 4)));
  }
  model.managers.policy = static_cast<Policy>(pick(random, 4));
  model.managers.prefer_closest = pick(random, 2) == 0;
  model.prepare();
  return model;
}

// With lists that real providers never send as well: preferences mixed with no affinity.
std::vector<HintList> random_lists(std::mt19937& random, const NodeModel& model) {
  std::vector<HintList> lists(pick(random, 5));
  for (HintList& list : lists) {
    list.no_preference = pick(random, 8) == 0;
    if (list.no_preference) continue;
    const uint32_t hints = pick(random, 6);
    for (uint32_t i = 0; i < hints; ++i) {
      const bool preferred = pick(random, 2) == 0;
      list.hints.push_back(pick(random, 10) == 0
                               ? Hint::anywhere(preferred)
                               : Hint{1 + random() % model.all, false, preferred});
    }
  }
  return lists;
}

// What the kubelet does, by its documentation and with no thought for speed.
class CrossProduct {
 public:
  CrossProduct(const NodeModel& model, const std::vector<HintList>& given) : model_(model) {
    for (const HintList& list : given) {
      std::vector<Hint> hints = list.hints;
      if (list.no_preference) hints = {Hint::anywhere(true)};
      if (!list.no_preference && hints.empty()) hints = {Hint::anywhere(false)};
      if (policy() == Policy::kSingleNumaNode) {
        std::erase_if(hints, [](const Hint& hint) {
          return !hint.preferred || (!hint.any && std::popcount(hint.mask) != 1);
        });
      }
      lists_.push_back(hints);
    }
    for (const auto& hints : lists_) {
      int narrowest = 0;
      for (const Hint& hint : hints) {
        const int size = std::popcount(hint.mask);
        if (!hint.any && (narrowest == 0 || size < narrowest)) narrowest = size;
      }
      wanted_ = std::max(wanted_, narrowest);
    }
  }

  Affinity best() {
    if (policy() == Policy::kNone) return {Hint::anywhere(false), true};
    best_ = {model_.all, false, false};
    found_ = false;
    std::vector<Hint> permutation;
    walk(permutation);
    Hint hint = best_;
    if (policy() == Policy::kBestEffort) return {hint, true};
    if (policy() == Policy::kSingleNumaNode && hint.mask == model_.all) {
      hint = Hint::anywhere(hint.preferred);
    }
    return {hint, hint.preferred};
  }

 private:
  [[nodiscard]] Policy policy() const { return model_.managers.policy; }

  void walk(std::vector<Hint>& permutation) {
    if (permutation.size() < lists_.size()) {
      for (const Hint& hint : lists_[permutation.size()]) {
        permutation.push_back(hint);
        walk(permutation);
        permutation.pop_back();
      }
      return;
    }
    Hint merged{model_.all, false, true};
    ZoneMask same = 0;
    for (const Hint& hint : permutation) {
      merged.preferred = merged.preferred && hint.preferred;
      if (hint.any) continue;
      merged.mask &= hint.mask;
      if (same != 0 && same != hint.mask) merged.preferred = false;
      same = hint.mask;
    }
    if (merged.mask == 0) return;
    if (!found_ || better(merged, best_)) best_ = merged;
    found_ = true;
  }

  [[nodiscard]] bool better(const Hint& a, const Hint& b) const {
    if (a.preferred != b.preferred) return a.preferred;
    const int left = std::popcount(a.mask);
    const int right = std::popcount(b.mask);
    if (!a.preferred && left != right) {
      if (left == wanted_ || right == wanted_) return left == wanted_;
      if ((left < wanted_) != (right < wanted_)) return left < wanted_;
      return left < wanted_ ? left > right : left < right;
    }
    if (left != right) return left < right;
    if (model_.managers.prefer_closest && policy() != Policy::kSingleNumaNode) {
      const double near = average(a.mask);
      const double far = average(b.mask);
      if (near != far) return near < far;
    }
    return a.mask < b.mask;
  }
  [[nodiscard]] double average(ZoneMask mask) const {
    double sum = 0;
    int pairs = 0;
    for (uint32_t i = 0; i < model_.zones(); ++i) {
      for (uint32_t j = 0; j < model_.zones(); ++j) {
        if ((mask >> i & 1) == 0 || (mask >> j & 1) == 0) continue;
        sum += model_.distance(i, j);
        ++pairs;
      }
    }
    return sum / pairs;
  }

  const NodeModel& model_;
  std::vector<std::vector<Hint>> lists_;
  int wanted_ = 0;
  Hint best_;
  bool found_ = false;
};

TEST(Merge, IsWhatTheCrossProductGives) {
  MergeScratch scratch;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + 20'000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeModel model = random_model(random, 1 + pick(random, 6));
    const std::vector<HintList> lists = random_lists(random, model);
    const Affinity want = CrossProduct(model, lists).best();
    const Affinity have = merge(model, lists, scratch);
    EXPECT_EQ(want.admit, have.admit);
    EXPECT_EQ(want.hint.any, have.hint.any);
    EXPECT_EQ(want.hint.preferred, have.hint.preferred);
    if (!want.hint.any) {
      EXPECT_EQ(want.hint.mask, have.hint.mask);
    }
  }
}

// The lists name few of many zones: what counts is what is named.
TEST(Merge, LooksOnlyAtZonesThatAreNamed) {
  std::mt19937 random(test::test_seed());
  NodeModel model = random_model(random, 64);
  model.managers.policy = Policy::kBestEffort;
  model.managers.prefer_closest = false;
  const ZoneMask high = ZoneMask{1} << 63;
  const std::vector<HintList> lists{{false, {{high | 1, false, true}, {high, false, false}}},
                                    {false, {{high | 2, false, true}}},
                                    {true, {}}};
  MergeScratch scratch;
  const Affinity merged = merge(model, lists, scratch);
  EXPECT_EQ(merged.hint.mask, high);
  EXPECT_FALSE(merged.hint.preferred);
}

// Far more zones than a kubelet starts with: nothing grows with 2^zones.
TEST(Merge, StaysAffordableWithManyZones) {
  std::mt19937 random(test::test_seed());
  NodeModel model = random_model(random, 64);
  model.managers.policy = Policy::kRestricted;
  MergeScratch scratch;
  std::vector<HintList> lists(4);
  for (HintList& list : lists) {
    for (int i = 0; i < 40'000; ++i) {
      list.hints.push_back({uint64_t{random()} << 32 | random() | 1, false, i % 3 == 0});
    }
    list.hints.push_back({ZoneMask{5}, false, true});
  }
  EXPECT_TRUE(merge(model, lists, scratch).admit);
  EXPECT_EQ(merge(model, lists, scratch).hint.mask, ZoneMask{5});
  lists[0].hints = {{ZoneMask{9}, false, true}};
  EXPECT_FALSE(merge(model, lists, scratch).admit);
}

TEST(Merge, WithoutZonesThereIsNothingToAlign) {
  NodeModel model;
  MergeScratch scratch;
  for (const Policy policy :
       {Policy::kNone, Policy::kBestEffort, Policy::kRestricted, Policy::kSingleNumaNode}) {
    model.managers.policy = policy;
    model.prepare();
    EXPECT_TRUE(merge(model, {}, scratch).admit);
    const HintList impossible;
    EXPECT_EQ(merge(model, {&impossible, 1}, scratch).admit,
              policy == Policy::kNone || policy == Policy::kBestEffort);
  }
}

}  // namespace
}  // namespace plimsoll::topology::kubelet
