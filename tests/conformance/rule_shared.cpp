// W1: which of several GPUs in use a share is given of.

#include <algorithm>
#include <optional>
#include <tuple>

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

namespace {

int64_t score_of(const DeviceStep& step, const dev::DeviceState& device, bool swapped) {
  const dev::DeviceType& kind = device_types().type(gpu_type());
  const dev::Amounts& asked = gpu_request(step)->per_device;
  int64_t sum = 0;
  int64_t weights = 0;
  for (const auto& [name, weight] : step.scene.weights) {
    const int dim = device_types().find_dim(gpu_type(), name);
    if (dim < 0 || static_cast<size_t>(dim) >= kind.dims.size()) continue;
    const int64_t capacity = (swapped ? device.free : device.total).get(dim);
    const int64_t left = (swapped ? device.total : device.free).get(dim);
    if (capacity == 0) continue;
    const int64_t used = capacity >= left ? capacity - left + asked.get(dim) : capacity;
    if (step.scene.most_allocated)
      sum += weight * (std::min(used, capacity) * 100 / capacity);
    else
      sum += weight * (used > capacity ? 0 : (capacity - used) * 100 / capacity);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

std::set<int> shared_card(const DeviceStep& step, bool swapped, Exclusive exclusive) {
  const auto& devices = step.scene.state.type(gpu_type()).devices;
  using Rank = std::tuple<int, int64_t, int, std::string, int>;
  std::optional<Rank> best;
  for (const dev::DeviceState& device : devices) {
    const dev::Amounts& asked = gpu_request(step)->per_device;
    if (!problem_with(step, gpu_type(), asked, device, exclusive).empty()) continue;
    int near = 0;  // PCIe id and zone, as far as they are in use
    const auto in_use = [&](auto&& is_near) {
      return std::any_of(devices.begin(), devices.end(), [&](const dev::DeviceState& other) {
        return other.in_use && other.info != nullptr && is_near(other);
      });
    };
    const auto same_zone = [&](const auto& other) { return other.info->numa == device.info->numa; };
    near += in_use(same_zone) ? 1 : 0;
    near += in_use([&](const auto& other) {
      return same_zone(other) && other.info->pcie_id == device.info->pcie_id;
    });
    // The smallest rank wins.
    const Rank rank{-near, -score_of(step, device, swapped), device.info->numa,
                    device.info->pcie_id, device.minor};
    if (!best || rank < *best) best = rank;
  }
  return best ? std::set<int>{std::get<4>(*best)} : std::set<int>();
}

}  // namespace

bool comes_under_shared(const DeviceStep& step) {
  const dev::TypeRequest* request = gpu_request(step);
  if (request == nullptr || !request->is_shared || request->count != 1) return false;
  const auto& devices = step.scene.state.type(gpu_type()).devices;
  return step.scene.scorer() != nullptr &&
         std::all_of(devices.begin(), devices.end(), [](const dev::DeviceState& device) {
           return device.info == nullptr || device.info->has_topology;
         });
}

bool shared_explains(const DeviceStep& step, std::set<std::string>& rules) {
  if (minors_in(step.allocation) != shared_card(step, true, Exclusive::kIgnored) ||
      !problem_of_ours(step).empty())
    return false;
  const bool is_right = minors_of(step) == shared_card(step, false, Exclusive::kHonoured);
  if (!is_right && !comes_under_joint(step)) return false;
  rules.insert(kShared);
  if (!is_right) rules.insert(kJoint);
  if (comes_under_exclusive(step)) rules.insert(kExclusive);
  return true;
}

}  // namespace plimsoll::conformance
