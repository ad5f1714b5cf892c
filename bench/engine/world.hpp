#pragma once
// Clusters and pods for measuring decisions.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::bench {

enum class Shape {
  kIdentical,
  kMixed,
  kDifferent,
  kVolumes,
  kLocalVolumes,
  kSpread,    // a hard constraint by zone, a soft one by node
  kAffinity,  // required by zone, and a preference for nodes without such pods
};
inline constexpr std::array<std::string_view, 7> kShapes = {
    "identical", "mixed", "different", "volumes", "local", "spread", "affinity"};
// Whether each pod has a claim of its own: bound to a CSI volume that every node can use, or to one
// that lies on a node.
[[nodiscard]] constexpr bool has_volumes(Shape shape) {
  return shape == Shape::kVolumes || shape == Shape::kLocalVolumes;
}

inline constexpr int kZones = 8;
inline constexpr int kCpusOfZone = 8;
inline constexpr int kGpus = 8;

[[nodiscard]] std::string node_name(size_t number);
// 64 CPUs, 256 GiB, 110 pods, 8 GPUs.
[[nodiscard]] NodeRef make_node(size_t number, SymbolTable& symbols);
// Its 8 zones; every other node's policy is single-numa-node, the rest have restricted.
[[nodiscard]] RawRef make_topology(size_t number);
// Its 8 GPUs, two at each PCIe id.
[[nodiscard]] RawRef make_devices(size_t number);

// The volume and the claim of a pod with volumes, among so many nodes.
[[nodiscard]] RawRef make_volume(size_t pod, Shape shape, size_t nodes);
[[nodiscard]] RawRef make_claim(size_t pod);

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
