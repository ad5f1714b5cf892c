#include "plugins/nodedevice/fragmentation/fragmentation.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::devices {
namespace {

constexpr int64_t kStep = 200;  // thousandths of a GPU

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace

int32_t free_milli(const DeviceState& device) {
  if (!device.available) return 0;
  int64_t least = kWholeGpu;
  for (int dim = 0; dim < kMaxDims; ++dim) {
    const int64_t total = device.total.get(dim);
    if (total <= 0) continue;
    const int64_t free = device.free.get(dim);
    if (free < total) least = std::min(least, free * kWholeGpu / total);
  }
  return device.total.is_zero() ? 0 : static_cast<int32_t>(least);
}

int32_t asked_milli(const Amounts& per_device, const DeviceState& device) {
  int64_t most = 0;
  for (int dim = 0; dim < kMaxDims; ++dim) {
    const int64_t total = device.total.get(dim);
    if (total <= 0 || !per_device.has(dim)) continue;
    const int64_t asked = std::min(per_device.get(dim), total);
    most = std::max(most, (asked * kWholeGpu + total - 1) / total);
  }
  return static_cast<int32_t>(most);
}

FreeGpus free_gpus(const TypeState& gpus) {
  FreeGpus free;
  for (const DeviceState& device : gpus.devices) free.add(free_milli(device));
  return free;
}

int64_t Fragmentation::rank(int64_t before, int64_t after) const {
  if (measure_ == FragmentationMeasure::kLookahead)
    return floor_div(before - after, kStep * GpuMix::kFutures);
  if (mix_.weight() == 0) return 0;
  const double fall = static_cast<double>(before - after) / static_cast<double>(mix_.weight());
  return static_cast<int64_t>(100 / (1 + std::exp(-fall / 1000)));
}

std::vector<Outcome> outcomes(const DeviceType& type, const TypeState& devices,
                              const FreeGpus& before, const TypeRequest* gpus, int64_t cpu_milli) {
  std::vector<Outcome> all;
  // Filter has seen to it that the CPU suffices, or nobody asked it to.
  Outcome outcome{before};
  outcome.left.cpu_milli -= cpu_milli;
  if (gpus == nullptr) return {outcome};
  if (!gpus->parts.empty()) {
    // One container after the other; which devices they share is not foreseen.
    for (const ContainerPart& part : gpus->parts) {
      if (!part.stays()) continue;
      const Want of_part{gpus->type, part.per_device, part.count, part.is_shared, nullptr};
      int32_t of_each = kWholeGpu;
      for (const DeviceState& device : devices.devices)
        if (fits(type, of_part, device))
          of_each = std::min({of_each, asked_milli(part.per_device, device), free_milli(device)});
      outcome.left.place(0, static_cast<int32_t>(std::min<int64_t>(part.count, FreeGpus::kMaxGpus)),
                         of_each);
    }
    return {outcome};
  }
  const Want want{gpus->type, gpus->per_device, gpus->count, gpus->is_shared, nullptr};
  const bool one_share = gpus->is_shared && gpus->count == 1;
  int32_t of_each = kWholeGpu;
  for (size_t i = 0; i < devices.devices.size(); ++i) {
    const DeviceState& device = devices.devices[i];
    if (!fits(type, want, device)) continue;
    const int32_t free = free_milli(device);
    // Bytes that fit may be more than is free by a fraction of a thousandth.
    const int32_t asked = std::min(asked_milli(want.per_device, device), free);
    of_each = std::min(of_each, asked);
    if (!one_share) continue;
    const int at = before.first_with(free);
    if (at == before.count() || before.at(at) != free) continue;  // beyond what is looked at
    outcome.left = before;
    outcome.left.cpu_milli -= cpu_milli;
    outcome.left.take(at, asked);
    outcome.device = static_cast<int>(i);
    const bool known = std::any_of(
        all.begin(), all.end(), [&](const Outcome& other) { return other.left == outcome.left; });
    if (!known) all.push_back(outcome);
  }
  if (!one_share && outcome.left.place(0, static_cast<int32_t>(gpus->count), of_each))
    all.push_back(outcome);
  return all;
}

}  // namespace plimsoll::devices
