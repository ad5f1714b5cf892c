#pragma once
// The kubelet's predicate NodeResourcesFit, which follows the topology manager's admission.

#include <cstddef>
#include <optional>
#include <string>

#include "lab/sandbox/admission/pod_amounts.hpp"

namespace plimsoll::sandbox {

struct Misfit {
  std::string reason;  // "OutOfcpu"
  std::string message;
};

// Returns the first resource of the pod that does not fit beside `used`, the resources of `pods`
// other pods; the number of pods is checked first, then the resources by name.
[[nodiscard]] std::optional<Misfit> misfit_of(const PodAmounts& pod,
                                              const node::Amounts& allocatable,
                                              const node::Amounts& used, std::size_t pods);

}  // namespace plimsoll::sandbox
