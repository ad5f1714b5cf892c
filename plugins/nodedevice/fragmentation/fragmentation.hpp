#pragma once
// The strategy FragmentationGradient: which node, and which shared GPU of a node, loses least to
// fragmentation when a pod comes. gpu_mix.hpp defines the two measures of what a node loses.
//
// A node's rank for a pod is how far the measure falls when the pod is placed there, at the GPU
// where it falls furthest (for whole GPUs all choices are equal):
//
//   Published   int(100 * sigmoid((F_n before - F_n after) / 1000)), as FGD's authors scored it in
//               their experiments, F_n in thousandths of a GPU
//   Lookahead   floor((S_n before - S_n after) / 200): differences below a fifth of a GPU are
//   within
//               what the futures' chance may make, and count as none
//
// The highest rank wins, and among equals the node whose name is first in the order of bytes. That
// fills nodes one after the other, so that whole machines stay free for pods that need one.
//
// Immutable: any thread.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/allocation/device_choice.hpp"
#include "plugins/nodedevice/fragmentation/gpu_mix.hpp"

namespace plimsoll::devices {

enum class FragmentationMeasure { kLookahead, kPublished };

// Of the device, in thousandths of it: what may still be given of the scarcest of its resources;
// and what a request takes of the one that it takes most of. 1000 is all of it.
[[nodiscard]] int32_t free_milli(const DeviceState& device);
[[nodiscard]] int32_t asked_milli(const Amounts& per_device, const DeviceState& device);

// The GPUs of a node that may be given, with what is free on them; its CPU and model are left out.
[[nodiscard]] FreeGpus free_gpus(const TypeState& gpus);

class Fragmentation {
 public:
  Fragmentation(FragmentationMeasure measure, GpuMix mix)
      : measure_(measure), mix_(std::move(mix)) {}

  [[nodiscard]] const GpuMix& mix() const { return mix_; }
  // F_n or S_n, in units of its own.
  [[nodiscard]] int64_t of(const FreeGpus& node) const {
    return measure_ == FragmentationMeasure::kPublished ? mix_.fragmentation(node)
                                                        : mix_.stranded(node);
  }
  [[nodiscard]] int64_t rank(int64_t before, int64_t after) const;

 private:
  FragmentationMeasure measure_;
  GpuMix mix_;
};

// What would be free after the pod has come: one entry for each choice that differs, with the first
// device (by position) that stands for it. `gpus` null: it asks for CPU only. Empty: it does not
// fit.
struct Outcome {
  FreeGpus left;
  int device = -1;  // -1: no choice
};
[[nodiscard]] std::vector<Outcome> outcomes(const DeviceType& type, const TypeState& devices,
                                            const FreeGpus& before, const TypeRequest* gpus,
                                            int64_t cpu_milli);

}  // namespace plimsoll::devices
