// W4: percent of a GPU's memory that follow from bytes.

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

namespace {

// As the reference computes it.
int64_t percent_cut_off(int64_t bytes, int64_t total) {
  return static_cast<int64_t>(static_cast<double>(bytes) / static_cast<double>(total) * 100);
}

}  // namespace

size_t correct_percent(const DeviceStep& step, Json& allocation) {
  const dev::TypeRequest* request = gpu_request(step);
  const dev::DeviceType& kind = device_types().type(gpu_type());
  if (request == nullptr || !request->per_device.has(kind.memory_dim)) return 0;
  size_t corrected = 0;
  const auto found = allocation.find("gpu");
  if (found == allocation.end()) return 0;
  for (Json& entry : *found) {
    const auto& state = step.scene.state.type(gpu_type());
    const dev::DeviceState* device = state.find(entry.at("minor").get<int>());
    const int64_t total = device == nullptr ? 0 : device->total.get(kind.memory_dim);
    Json& percent = entry["resources"][kind.dims[static_cast<size_t>(kind.ratio_dim)]];
    if (total <= 0 || percent != percent_cut_off(request->per_device.get(kind.memory_dim), total))
      continue;
    const int64_t right = amounts_due(gpu_type(), request->per_device, *device).get(kind.ratio_dim);
    corrected += percent != right ? 1 : 0;
    percent = right;
  }
  return corrected;
}

bool is_overcommitted(const DeviceStep& step, const Json& allocation) {
  const dev::DeviceType& kind = device_types().type(gpu_type());
  for (const Json& entry : member(allocation, "gpu")) {
    const dev::DeviceState* device =
        step.scene.state.type(gpu_type()).find(entry.at("minor").get<int>());
    const auto memory = static_cast<size_t>(kind.memory_dim);
    if (device != nullptr &&
        entry.at("resources").value(kind.dims[memory], int64_t{0}) > device->free.value[memory])
      return true;
  }
  return false;
}

}  // namespace plimsoll::conformance
