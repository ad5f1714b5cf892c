#pragma once
// The dry runs that are kept for one class of preemptors, by node slot. Loop only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "framework/runtime/plugin/dry_run_keeper.hpp"
#include "plugins/builtin/preemption/preemption_candidates.hpp"

namespace plimsoll::builtin {

class KeptTrials final : public KeptDryRuns {
 public:
  // What `keeper` has for pods of this priority; what it had for another one is forgotten. Null: it
  // keeps nothing.
  static KeptTrials* of(const DryRunKeeper* keeper, int32_t priority) {
    std::unique_ptr<KeptDryRuns>* place = keeper == nullptr ? nullptr : keeper->kept();
    if (place == nullptr) return nullptr;
    if (*place == nullptr) *place = std::make_unique<KeptTrials>();
    auto* kept = static_cast<KeptTrials*>(place->get());
    if (std::exchange(kept->priority_, priority) != priority) kept->trials_.clear();
    return kept;
  }

  [[nodiscard]] const Trial* find(uint32_t slot, const DisruptionBudgets& budgets,
                                  uint64_t basis) const {
    const Trial* trial = slot < trials_.size() ? trials_[slot].get() : nullptr;
    const bool holds = trial != nullptr && trial->basis == basis && budgets.holds(trial->budgets);
    return holds ? trial : nullptr;
  }
  const Trial* keep(std::unique_ptr<Trial> trial) {
    const size_t slot = trial->slot;
    if (slot >= trials_.size()) trials_.resize(slot + 1);
    trials_[slot] = std::move(trial);
    return trials_[slot].get();
  }

  void forget(uint32_t slot) override {
    if (slot < trials_.size()) trials_[slot].reset();
  }
  [[nodiscard]] size_t bytes() const override {
    // A trial of a few victims, each with the heap's own.
    return trials_.size() * (sizeof(Trial) + 64) + trials_.capacity() * sizeof trials_[0];
  }

 private:
  int32_t priority_ = 0;
  std::vector<std::unique_ptr<Trial>> trials_;
};

}  // namespace plimsoll::builtin
