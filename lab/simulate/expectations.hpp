#pragma once
// The expected result of a simulation: `plimsoll simulate --expect FILE`.
//
//   kubeletRejections: 0          # pods rejected by their simulated kubelet
//   placed:
//   - pod: default/wide-20        # namespace/name
//     nodes: [gpu-a1, gpu-a2]     # optional: one of these
//   unplaced:
//   - pod: default/too-large
//     reason: Insufficient cpu    # optional: part of the PodScheduled condition's message
//   spread:
//   - pods: [default/a, default/b, default/c]
//     over: [[n1, n2], [n3]]      # optional: groups of nodes; absent: each node is a group
//     counts: [2, 1]              # how many pods each group has, in any order, without empty
//     groups
//
// Pods of the simulation that the file does not mention may have any result.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "lab/simulate/placements.hpp"

namespace plimsoll::cli {

struct ExpectedPod {
  std::string pod;
  bool placed = true;
  std::vector<std::string> nodes;  // empty: any
  std::string reason;              // empty: any
};

struct ExpectedSpread {
  std::vector<std::string> pods;
  std::vector<std::vector<std::string>> over;
  std::vector<int64_t> counts;
};

struct Expectations {
  std::vector<ExpectedPod> pods;
  std::vector<ExpectedSpread> spreads;
  std::optional<int64_t> kubelet_rejections;
  [[nodiscard]] size_t size() const {
    return pods.size() + spreads.size() + (kubelet_rejections ? 1 : 0);
  }
};

// Blocks on the file. One error lists every problem of the file with file, line and field.
[[nodiscard]] Result<Expectations> load_expectations(const std::string& path);

// One sentence for each expectation that is not met.
[[nodiscard]] std::vector<std::string> check_expectations(const Expectations& expectations,
                                                          const std::vector<Placement>& placements,
                                                          uint64_t kubelet_rejections);

}  // namespace plimsoll::cli
