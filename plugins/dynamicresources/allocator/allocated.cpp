#include "plugins/dynamicresources/allocator/allocated.hpp"

#include "plugins/dynamicresources/allocator/capacity.hpp"

namespace plimsoll::dra {
namespace {

std::string joined(std::string_view driver, std::string_view pool) {
  std::string name(driver);
  name += '\n';
  return name += pool;
}

}  // namespace

uint32_t DeviceNumbers::Names::take(std::string name) {
  const auto [at, is_new] = numbers_.try_emplace(std::move(name), 0);
  if (is_new) {
    if (free_.empty()) {
      at->second = static_cast<uint32_t>(held_.size());
      held_.emplace_back();
    } else {
      at->second = free_.back();
      free_.pop_back();
    }
    held_[at->second].name = at->first;
  }
  ++held_[at->second].holds;
  return at->second;
}

bool DeviceNumbers::Names::give_back(uint32_t number) {
  if (--held_[number].holds > 0) return false;
  numbers_.erase(held_[number].name);
  held_[number] = {};
  free_.push_back(number);
  return true;
}

std::optional<uint32_t> DeviceNumbers::Names::find(const std::string& name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> DeviceNumbers::find_device(std::string_view driver, std::string_view pool,
                                                   std::string_view device) const {
  std::string name = joined(driver, pool);
  name += '\n';
  return devices_.find(name += device);
}

uint32_t DeviceNumbers::take_pool(std::string_view driver, std::string_view pool) {
  return pools_.take(joined(driver, pool));
}

void DeviceNumbers::give_back_pool(uint32_t pool) {
  pools_.give_back(pool);
}

uint32_t DeviceNumbers::take_device(std::string_view driver, std::string_view pool,
                                    std::string_view device) {
  std::string name = joined(driver, pool);
  const uint32_t pool_number = pools_.take(name);
  name += '\n';
  const uint32_t number = devices_.take(name += device);
  if (number >= pools_of_devices_.size()) pools_of_devices_.resize(number + 1);
  pools_of_devices_[number] = pool_number;
  return number;
}

void DeviceNumbers::give_back_device(uint32_t device) {
  const uint32_t pool = pools_of_devices_[device];
  devices_.give_back(device);
  pools_.give_back(pool);
}

void Allocated::add(const DeviceResult& result) {
  if (result.admin_access) return;
  const uint32_t device = numbers_.take_device(result.driver, result.pool, result.device);
  if (device >= uses_.size()) uses_.resize(device + 1);
  Use& use = uses_[device];
  if (result.share_id.empty()) {
    ++use.exclusive;
  } else {
    ++use.shares;
    for (const auto& [name, amount] : result.consumed_capacity) {
      use.consumed[name] += countable(amount);
    }
  }
  changed(device);
}

void Allocated::remove(const DeviceResult& result) {
  if (result.admin_access) return;
  const uint32_t device = numbers_.take_device(result.driver, result.pool, result.device);
  Use& use = uses_[device];
  if (result.share_id.empty()) {
    --use.exclusive;
  } else {
    --use.shares;
    for (const auto& [name, amount] : result.consumed_capacity) {
      const auto sum = use.consumed.find(name);
      if (sum == use.consumed.end()) continue;
      sum->second -= countable(amount);
    }
    if (use.shares == 0) use.consumed.clear();
  }
  changed(device);
  numbers_.give_back_device(device);
  numbers_.give_back_device(device);
}

void Allocated::set_elsewhere(const DeviceResult& device, bool is_elsewhere) {
  const uint32_t number = numbers_.take_device(device.driver, device.pool, device.device);
  if (number >= uses_.size()) uses_.resize(number + 1);
  uses_[number].elsewhere = is_elsewhere;
  changed(number);
  if (is_elsewhere) return;  // the number is held until then
  numbers_.give_back_device(number);
  numbers_.give_back_device(number);
}

uint32_t Allocated::owners(const DeviceResult& result) const {
  const uint32_t device = numbers_.take_device(result.driver, result.pool, result.device);
  const Use* use = use_of(device);
  const uint32_t owners = use == nullptr ? 0 : use->exclusive + (use->elsewhere ? 1 : 0);
  numbers_.give_back_device(device);
  return owners;
}

void Allocated::changed(uint32_t device) {
  if (device >= taken_.size()) taken_.resize(uses_.size());
  taken_[device] = uses_[device].exclusive > 0 || uses_[device].elsewhere ? 1 : 0;
  const uint32_t pool = numbers_.pool_of(device);
  if (pool >= versions_.size()) versions_.resize(pool + 1);
  ++versions_[pool];
}

}  // namespace plimsoll::dra
