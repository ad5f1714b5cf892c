#pragma once
// Clusters and pods for measuring decisions.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/decode.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::bench {

enum class Shape { kIdentical, kMixed, kDifferent };

inline constexpr int kZones = 8;
inline constexpr int kCpusOfZone = 8;
inline constexpr int kGpus = 8;

// 64 CPUs, 256 GiB, 110 pods, 8 GPUs.
[[nodiscard]] NodeRef make_node(size_t number, SymbolTable& symbols);
// Its 8 zones; every other node's policy is single-numa-node, the rest have restricted.
[[nodiscard]] RawRef make_topology(size_t number);
// Its 8 GPUs, two at each PCIe id.
[[nodiscard]] RawRef make_devices(size_t number);

// What a binding assigned to a pod.
struct Bound {
  std::string node;
  std::vector<std::pair<std::string, std::string>> annotations;
};

// A Guaranteed pod with whole CPUs. Mixed: a hundred kinds that differ in CPUs and memory; with
// `gpus` every tenth kind requests a GPU or a share of one. Different: each pod has its own amount
// of memory. `bound`: returns the pod as the watch shows it after the binding.
[[nodiscard]] PodRef make_pod(size_t number, Shape shape, bool gpus, SymbolTable& symbols,
                              const Bound& bound = {});

}  // namespace plimsoll::bench
