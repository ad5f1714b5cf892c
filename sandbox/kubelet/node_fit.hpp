#pragma once
// The kubelet's predicate NodeResourcesFit: what comes after the topology manager's admission.

#include <cstddef>
#include <optional>
#include <string>

#include "sandbox/kubelet/pod_amounts.hpp"

namespace plimsoll::sandbox {

struct Misfit {
  std::string reason;  // "OutOfcpu"
  std::string message;
};

// What of the pod does not fit beside `used` by `pods` other pods; the first resource by name, pods
// before all.
[[nodiscard]] std::optional<Misfit> misfit_of(const PodAmounts& pod, const Amounts& allocatable,
                                              const Amounts& used, std::size_t pods);

}  // namespace plimsoll::sandbox
