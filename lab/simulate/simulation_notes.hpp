#pragma once
// What a simulation leaves out, or takes otherwise than a cluster would. It is said with the
// result: once, by name.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/sandbox/kubelet/machine_nodes.hpp"
#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::cli {

class SimulationNotes {
 public:
  // Nothing happens if the same was said before.
  void add(const std::string& note);
  void add(const std::vector<std::string>& notes);
  [[nodiscard]] const std::vector<std::string>& all() const { return notes_; }

 private:
  std::vector<std::string> notes_;  // in the order in which they came
  std::set<std::string> said_;
};

// The subject of a note: "pod a/b", "3 pods (a/b, ...)".
[[nodiscard]] std::string named(std::string_view what, const std::vector<std::string>& names);

// Machines that replace what Node.status said.
void note_hidden_amounts(const std::vector<sandbox::HiddenAmount>& hidden, SimulationNotes& notes);

// What of the objects nobody here took care of. To be called at the end, when `kubelets` are
// stopped. `scheduler_names`: of the profile file. `pessimistic`: KubeletOptions::pessimistic.
void note_what_is_left_out(const sandbox::ObjectStore& store,
                           const sandbox::SimulatedKubelets& kubelets,
                           const std::set<std::string>& scheduler_names, bool pessimistic,
                           SimulationNotes& notes);

}  // namespace plimsoll::cli
