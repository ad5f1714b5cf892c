#include "tests/conformance/device_limits.hpp"

#include <algorithm>
#include <memory>

#include "tests/conformance/device_rule.hpp"

namespace plimsoll::conformance {
namespace {

namespace dev = plimsoll::devices;

// Sets of minors are written as lists, or as objects whose keys they are.
std::set<int> minors_of(const Json& set) {
  std::set<int> minors;
  for (const auto& [key, value] : set.items())
    minors.insert(set.is_array() ? value.get<int>() : std::stoi(key));
  return minors;
}

// The percent's bytes are filled in, as the accounts have them.
dev::Amounts amounts_of(int type, const Json& resources, const dev::DeviceState& device) {
  dev::Amounts amounts;
  const Json values = amounts_json(resources);
  for (const auto& [name, value] : values.items()) {
    const int dim = device_types().find_dim(type, name);
    if (dim >= 0) amounts.set(dim, value.get<int64_t>());
  }
  return amounts_due(type, amounts, device);
}

// Calls `use` with the type, the device and the amounts of every entry of {type: {minor:
// resources}}.
template <typename Use>
void each_amount(const Json& by_type, const DeviceScene& scene, const Use& use) {
  for (const auto& [name, devices] : by_type.items()) {
    const int type = device_types().find_type(name);
    if (type < 0) continue;
    for (const auto& [minor, resources] : devices.items()) {
      const dev::DeviceState* device = scene.state.type(type).find(std::stoi(minor));
      if (device != nullptr) use(type, *device, amounts_of(type, resources, *device));
    }
  }
}

dev::Allocation one_share(int type, int32_t minor, const dev::Amounts& amounts) {
  dev::DeviceShare share;
  share.type = type;
  share.minor = minor;
  share.amounts = amounts;
  return {share};
}

// What is changed while devices are looked at would change them: first all is collected.
using Shares = std::vector<dev::Allocation>;

void free_preemptible(const Json& by_type, DeviceScene& scene) {
  Shares freed;
  each_amount(by_type, scene, [&](int type, const dev::DeviceState& device, dev::Amounts amounts) {
    for (int dim = 0; dim < dev::kMaxDims; ++dim)
      if (amounts.has(dim)) amounts.set(dim, std::min(amounts.get(dim), device.used.get(dim)));
    if (!amounts.is_zero()) freed.push_back(one_share(type, device.minor, amounts));
  });
  for (const dev::Allocation& shares : freed) scene.state.remove(shares);
}

void keep_what_remains(const Json& by_type, DeviceScene& scene) {
  Shares taken;
  each_amount(by_type, scene,
              [&](int type, const dev::DeviceState& device, const dev::Amounts& remains) {
                dev::Amounts amounts;
                for (int dim = 0; dim < dev::kMaxDims; ++dim)
                  if (remains.has(dim) && device.free.get(dim) > remains.get(dim))
                    amounts.set(dim, device.free.get(dim) - remains.get(dim));
                if (!amounts.is_zero()) taken.push_back(one_share(type, device.minor, amounts));
              });
  for (const dev::Allocation& shares : taken) scene.state.add(shares);
}

void keep_only(const Json& by_type, DeviceScene& scene) {
  dev::NodeDevices object = *scene.state.object;
  for (const auto& [name, set] : by_type.items()) {
    const int type = device_types().find_type(name);
    const std::set<int> minors = minors_of(set);
    if (type < 0 || minors.empty()) continue;
    for (dev::DeviceInfo& device : object.by_type[static_cast<size_t>(type)])
      if (!minors.contains(device.minor)) device.is_healthy = false;
  }
  scene.state.set_object(std::make_shared<const dev::NodeDevices>(std::move(object)));
}

}  // namespace

bool has_limits(const Json& test_case) {
  const char* parts[] = {"required", "preferred", "requiredDeviceResources",
                         "preemptibleDeviceResources"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return !member(test_case, part).empty(); });
}

void apply_limits(const Json& test_case, DeviceScene& scene) {
  free_preemptible(member(test_case, "preemptibleDeviceResources"), scene);
  keep_what_remains(member(test_case, "requiredDeviceResources"), scene);
  keep_only(member(test_case, "required"), scene);
}

std::set<std::string> judge_limited(const DeviceStep& step, Findings& findings) {
  Findings strict;
  const std::set<std::string> rules = judge_step("p", step, strict);
  if (strict.empty()) return rules;
  const bool gives = step.filter.at("code") == "Success";
  if (gives == step.verdict.fits() && problem_of_ours(step).empty()) return {kLimits};
  for (const std::string& text : strict.texts()) findings.add(text);
  return {};
}

}  // namespace plimsoll::conformance
