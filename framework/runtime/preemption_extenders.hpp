#pragma once
// What DefaultPreemption asks of HTTP extenders (their preempt verb). The scheduler publishes it as
// a service if it has extenders. Loop only.

#include <plimsoll/objects.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace plimsoll {

// A node on which the pod would fit if these pods were gone.
struct PreemptionCandidate {
  std::string node;
  std::vector<const plimsoll_pod*> victims;  // never empty
  int64_t violations = 0;                    // of PodDisruptionBudgets
};

class PreemptionExtenders {
 public:
  static constexpr const char* kService = "plimsoll.preemption-extenders";

  virtual ~PreemptionExtenders() = default;
  enum class Outcome {
    kDone,  // go on with the candidates that are left
    kAsked  // extenders are going to be asked: the attempt is made again with their answers
  };
  virtual Outcome process(const plimsoll_pod& pod,
                          std::vector<PreemptionCandidate>& candidates) const = 0;
  // The nodes that the answers name, if this attempt is such a repetition: the others are out.
  [[nodiscard]] virtual std::optional<std::unordered_set<std::string_view>> answered() const = 0;
};

}  // namespace plimsoll
