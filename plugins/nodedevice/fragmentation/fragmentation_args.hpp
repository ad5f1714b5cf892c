#pragma once
// scoringStrategy.fragmentation of the plugin's args. Pure.

#include <optional>
#include <vector>

#include "plugins/nodedevice/fragmentation/fragmentation.hpp"

namespace plimsoll::sdk {
class Args;
}

namespace plimsoll::devices {

struct FragmentationArgs {
  FragmentationMeasure measure = FragmentationMeasure::kLookahead;
  // Nothing: they are learned from the pods that there are.
  std::optional<std::vector<TypicalPod>> typical_pods;
};

//   measure: Lookahead                # or Published
//   typicalPods:                      # at most 512
//   - {cpu: 11908m, gpus: 1, gpuMilli: 470, models: [T4, P100], weight: 388}
//   - {cpu: "8", weight: 185}         # no GPU
//
// gpus: 0 if left out, at most 32; gpuMilli: of each, 1 to 1000 (the default); weight: 1 to
// 1,000,000, default 1.
[[nodiscard]] FragmentationArgs read_fragmentation(sdk::Args& args);

}  // namespace plimsoll::devices
