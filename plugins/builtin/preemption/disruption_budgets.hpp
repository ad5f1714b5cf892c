#pragma once
// The PodDisruptionBudgets of the cluster, and which victims would break one. Kubernetes:
// FilterVictimsWithPDBViolation in pkg/scheduler/framework/preemption. Loop only.

#include <plimsoll/kinds.h>
#include <plimsoll/views.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/builtin/census/match_index.hpp"

namespace plimsoll::builtin {

class DisruptionBudgets {
 public:
  // A budget whose selector is null or empty protects nothing. One that cannot be read, or whose
  // selector is not valid, protects every pod of its namespace that has labels, and allows no
  // disruption: which pods it was to select is not known.
  // The object stays until the next call for its name.
  void upsert(const plimsoll_disruption_budget& object);
  void remove(std::string_view ns, std::string_view name);

  // For each pod, whether evicting it, after those before it, breaks a budget. Pods that a budget
  // counts as disrupted already (status.disruptedPods) do not count again. Budgets are asked by
  // name and up to the first that breaks; as since Kubernetes 1.37, those behind it are not
  // charged.
  [[nodiscard]] std::vector<bool> violations(const std::vector<sdk::Pod>& pods) const;

  // How long an answer about some pods holds. Every eviction changes the status of the budgets that
  // select its pod; that is nothing to pods that no budget selects.
  struct Mark {
    uint64_t selectors = 0;  // 0: it does not rest on them
    uint64_t statuses = 0;   // the same
  };
  [[nodiscard]] Mark mark(const std::vector<sdk::Pod>& pods) const;
  [[nodiscard]] bool holds(Mark mark) const {
    return (mark.selectors == 0 || mark.selectors == selectors_) &&
           (mark.statuses == 0 || mark.statuses == statuses_);
  }

 private:
  enum class Protects { kNobody, kSelected, kAll };
  struct Budget : Indexed {
    const plimsoll_disruption_budget* object = nullptr;
    Protects protects = Protects::kNobody;
    SelectionSpec selection;  // the pods that it protects, in the words of the object

    [[nodiscard]] const SelectionSpec& spec() const { return selection; }
    // Not if the pod counts as disrupted already.
    [[nodiscard]] bool charges(sdk::Pod pod) const;
  };
  [[nodiscard]] static Protects protects(const plimsoll_disruption_budget& budget);
  // Those that protect the pod, by name.
  [[nodiscard]] std::vector<const Budget*> protecting(sdk::Pod pod) const;

  std::map<std::pair<std::string, std::string>, Budget, std::less<>>
      budgets_;               // by namespace, name
  MatchIndex<Budget> index_;  // of those that protect somebody
  Namespaces no_namespaces_;
  // How often the selectors changed, and anything at all; from 1 on.
  uint64_t selectors_ = 1, statuses_ = 1;
};

}  // namespace plimsoll::builtin
