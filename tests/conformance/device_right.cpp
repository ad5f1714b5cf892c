// What may be given to a pod, spelled out device by device: the second opinion of the device rules.

#include <algorithm>
#include <map>

#include "tests/conformance/device_right.hpp"

namespace plimsoll::conformance {

namespace dev = plimsoll::devices;

const dev::TypeHint* hint_of(const DeviceStep& step, int type) {
  return step.demand.hints.hint(type);
}

DeviceWant want_of(const DeviceStep& step, int type) {
  const dev::TypeRequest* request = step.demand.request.find(type);
  DeviceWant want{request->per_device, request->count};
  const dev::TypeHint* hint = hint_of(step, type);
  if (device_types().type(type).name == "gpu" || hint == nullptr || want.count > 1) return want;
  if (hint->strategy == dev::TypeHint::Strategy::kApplyForAll) {
    want.count = 0;
    for (const dev::DeviceState& device : step.scene.state.type(type).devices)
      if (device.info != nullptr &&
          (!hint->selector || hint->selector->matches(device.info->labels)))
        ++want.count;
  } else if (hint->strategy == dev::TypeHint::Strategy::kRequestsAsCount) {
    want.count = want.per_device.get(0);
    want.per_device.set(0, hint->exclusive == dev::TypeHint::Exclusive::kDevice ? 100 : 1);
  }
  return want;
}

dev::Amounts amounts_due(int type, const dev::Amounts& asked, const dev::DeviceState& device) {
  dev::Amounts due = asked;
  const dev::DeviceType& kind = device_types().type(type);
  if (kind.memory_dim < 0) return due;
  const int64_t total = device.total.get(kind.memory_dim);
  if (total <= 0) return due;
  if (!asked.has(kind.memory_dim) && asked.has(kind.ratio_dim))
    due.set(kind.memory_dim, total * asked.get(kind.ratio_dim) / 100);
  if (asked.has(kind.memory_dim) && !asked.has(kind.ratio_dim)) {
    const int64_t bytes = asked.get(kind.memory_dim);
    const int64_t points = (bytes * 100 + total - 1) / total;
    const int64_t left = device.total.get(kind.ratio_dim) - device.used.get(kind.ratio_dim);
    due.set(kind.ratio_dim, std::max<int64_t>(0, std::min(points, left)));
  }
  return due;
}

std::string problem_with(const DeviceStep& step, int type, const dev::Amounts& asked,
                         const dev::DeviceState& device, Exclusive exclusive) {
  const std::string name = "minor " + std::to_string(device.minor);
  if (device.info == nullptr || !device.info->is_healthy) return name + " is not healthy";
  const dev::Amounts due = amounts_due(type, asked, device);
  for (int dim = 0; dim < dev::kMaxDims; ++dim) {
    if (!due.has(dim)) continue;
    if (!device.total.has(dim)) return name + " does not report a resource";
    if (device.used.get(dim) + due.get(dim) > device.total.get(dim))
      return name + " has not enough";
  }
  const dev::TypeHint* hint = hint_of(step, type);
  if (hint == nullptr) return {};
  if (hint->selector && !hint->selector->matches(device.info->labels))
    return name + " is not selected";
  if (exclusive == Exclusive::kHonoured && hint->exclusive == dev::TypeHint::Exclusive::kPcie &&
      device.info->has_topology)
    for (const dev::DeviceState& other : step.scene.state.type(type).devices)
      if (other.in_use && other.info != nullptr && other.info->pcie_id == device.info->pcie_id)
        return name + " is at a PCIe id in use";
  if (!hint->vf_selector) return {};
  const bool has_vf = std::any_of(
      device.info->vfs.begin(), device.info->vfs.end(), [&](const dev::VirtualFunction& vf) {
        const auto& taken = device.vfs_in_use;
        return hint->vf_selector->matches(device.info->vf_groups[vf.group]) &&
               std::find(taken.begin(), taken.end(), vf.bus_id) == taken.end();
      });
  return has_vf ? "" : name + " has no virtual function left";
}

namespace {

// The part of the node that a required scope binds a GPU to; equal texts: the same part.
std::string part_of(dev::Scope scope, const dev::DeviceState& device) {
  if (scope == dev::Scope::kDevice) return std::to_string(device.minor);
  if (scope == dev::Scope::kPcie)
    return std::to_string(device.info->numa) + "/" + device.info->pcie_id;
  if (scope == dev::Scope::kNuma) return std::to_string(device.info->numa);
  return "";
}

dev::Scope scope_of(const DeviceStep& step, int type) {
  const dev::TypeHint* hint = hint_of(step, type);
  const bool is_gpu = device_types().type(type).name == "gpu";
  return hint == nullptr || !is_gpu ? dev::Scope::kUnset : hint->required_scope;
}

std::set<std::string> pcie_ids(const DeviceStep& step, int type) {
  std::set<std::string> ids;
  for (const dev::DeviceShare& share : step.given) {
    if (share.type != type) continue;
    const dev::DeviceState* device = step.scene.state.type(type).find(share.minor);
    if (device->info->has_topology) ids.insert(device->info->pcie_id);
  }
  return ids;
}

std::string problem_of_type(const DeviceStep& step, int type) {
  const DeviceWant want = want_of(step, type);
  const bool is_joint = step.demand.hints.joint.has_value();
  std::set<std::string> parts;
  int64_t count = 0;
  for (const dev::DeviceShare& share : step.given) {
    if (share.type != type) continue;
    ++count;
    const dev::DeviceState* device = step.scene.state.type(type).find(share.minor);
    if (device == nullptr) return "minor " + std::to_string(share.minor) + " does not exist";
    if (std::string problem = problem_with(step, type, want.per_device, *device); !problem.empty())
      return problem;
    if (!(share.amounts == amounts_due(type, want.per_device, *device)))
      return "minor " + std::to_string(share.minor) + " is not given in what is due";
    parts.insert(part_of(scope_of(step, type), *device));
  }
  if (count < want.count || (count > want.count && !is_joint)) return "the number is wrong";
  return parts.size() > 1 ? "they are further apart than required" : "";
}

}  // namespace

bool is_possible(const DeviceStep& step, int type) {
  const DeviceWant want = want_of(step, type);
  std::map<std::string, int64_t> by_part;
  int64_t most = 0;
  for (const dev::DeviceState& device : step.scene.state.type(type).devices)
    if (problem_with(step, type, want.per_device, device).empty())
      most = std::max(most, ++by_part[part_of(scope_of(step, type), device)]);
  return most >= want.count;
}

std::string problem_of_ours(const DeviceStep& step) {
  const auto& asked = step.demand.request.types;
  if (!step.verdict.fits()) {
    const bool possible = std::all_of(asked.begin(), asked.end(), [&](const auto& request) {
      return is_possible(step, request.type);
    });
    return possible ? "refused, though there seem to be enough devices" : "";
  }
  for (const dev::TypeRequest& request : asked)
    if (std::string problem = problem_of_type(step, request.type); !problem.empty())
      return device_types().type(request.type).name + ": " + problem;
  const auto& joint = step.demand.hints.joint;
  if (!joint || !joint->same_pcie) return {};
  std::set<std::string> first;
  bool any = false;
  for (int type : joint->types) {
    const dev::TypeHint* hint = hint_of(step, type);
    const bool for_all = hint != nullptr && hint->strategy == dev::TypeHint::Strategy::kApplyForAll;
    if (step.demand.request.find(type) == nullptr || for_all) continue;
    const std::set<std::string> ids = pcie_ids(step, type);
    if (any && ids != first) return "the types are not at the same PCIe ids";
    first = ids;
    any = true;
  }
  return {};
}

}  // namespace plimsoll::conformance
