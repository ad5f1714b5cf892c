#include "plugins/nodedevice/store/claim_book.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// Records of the accounts that are of claims, not of pods.
constexpr std::string_view kHolder = "claim/";

bool is_same(const std::string& a, const std::string& b) {
  return !a.empty() && a == b;
}

}  // namespace

ClaimBook::Identity ClaimBook::read(const plimsoll_device_identity& device) {
  return {std::string(sdk::view(device.uuid)), std::string(sdk::view(device.parent_uuid)),
          bus_key(sdk::view(device.bus_id))};
}

std::optional<ClaimBook::Match> ClaimBook::match(const NodeState& node,
                                                 const Identity& device) const {
  for (int type = 0; type < types_.count(); ++type) {
    for (const DeviceState& each : node.type(type).devices) {
      if (each.info == nullptr) continue;
      const DeviceInfo& info = *each.info;
      if (is_same(info.id, device.uuid) || is_same(info.id, device.parent) ||
          is_same(info.bus, device.bus)) {
        return Match{type, &each, nullptr};
      }
      for (const VirtualFunction& vf : info.vfs) {
        if (is_same(vf.bus, device.bus)) return Match{type, &each, &vf};
      }
    }
  }
  return std::nullopt;
}

// None of the devices that claims may be for is this one: each says what this one says.
bool ClaimBook::is_another(const NodeState& node, const Identity& device) const {
  for (int type = 0; type < types_.count(); ++type) {
    if ((claims_ >> type & 1U) == 0) continue;
    for (const DeviceState& each : node.type(type).devices) {
      if (each.info == nullptr) {
        if (each.in_use) return false;
        continue;
      }
      const bool by_bus = !device.bus.empty() && !each.info->bus.empty();
      const bool by_uuid =
          !device.uuid.empty() && !each.info->id.empty() && !is_bus_id(each.info->id);
      if (!by_bus && !by_uuid) return false;
    }
  }
  return true;
}

int ClaimBook::zone_of(std::string_view node_name, const plimsoll_device_identity& device) const {
  const NodeState* node = accounts_.find(node_name);
  if (node == nullptr) return -1;
  if (const auto found = match(*node, read(device))) return found->device->info->numa;
  const std::string_view root = sdk::view(device.pcie_root);
  int zone = -1;
  for (int type = 0; type < types_.count() && !root.empty(); ++type) {
    for (const DeviceState& each : node->type(type).devices) {
      if (each.info == nullptr || each.info->pcie_id != root) continue;
      if (each.info->numa < 0 || (zone >= 0 && zone != each.info->numa)) return -1;
      zone = each.info->numa;
    }
  }
  return zone;
}

void ClaimBook::join(void* ctx, void (*changed)(void* ctx, plimsoll_str node)) {
  ctx_ = ctx;
  changed_ = changed;
  claims_ = types_.claims_are_told();
}

bool ClaimBook::is_in_use(std::string_view node_name,
                          const plimsoll_device_identity& device) const {
  const NodeState* node = accounts_.find(node_name);
  if (node == nullptr) return false;
  const Identity identity = read(device);
  const auto found = match(*node, identity);
  if (!found && is_another(*node, identity)) return false;
  const auto concerns = [&](int type) {
    return found ? type == found->type : (claims_ >> type & 1U) != 0;
  };
  for (const auto& [uid, record] : accounts_.pods_on(*node)) {
    if (uid.starts_with(kHolder)) continue;
    for (int type = 0; type < types_.count(); ++type) {
      const bool any =
          record->unknown[static_cast<size_t>(type)] > 0 || (record->blocked >> type & 1U) != 0;
      if (any && concerns(type)) return true;
    }
    for (const DeviceShare& share : record->shares) {
      if (!concerns(share.type)) continue;
      if (!found) return true;
      if (share.minor != found->device->minor) continue;
      const bool other_function =
          found->vf != nullptr && !share.whole && !share.vfs.empty() &&
          std::none_of(share.vfs.begin(), share.vfs.end(),
                       [&](const VirtualFunction& vf) { return vf.bus_id == found->vf->bus_id; });
      if (!other_function) return true;
    }
  }
  return false;
}

bool ClaimBook::is_held(const std::string& node, const Identity& device) const {
  const auto holders = holders_.find(node);
  return holders != holders_.end() &&
         std::any_of(holders->second.begin(), holders->second.end(), [&](const auto& each) {
           const auto& devices = held_.at(each).devices;
           return std::find(devices.begin(), devices.end(), device) != devices.end();
         });
}

bool ClaimBook::hold(std::string_view holder, std::string_view node,
                     const sdk::List<plimsoll_device_identity>& devices) {
  const std::string key = std::string(kHolder) + std::string(holder);
  Held before;
  if (const auto known = held_.find(key); known != held_.end()) {
    accounts_.unreserve(key);
    auto at = holders_.find(known->second.node);
    at->second.erase(key);
    if (at->second.empty()) holders_.erase(at);
    before = std::move(known->second);
    held_.erase(known);
  }
  if (!devices.empty()) {
    Held& held = held_[key];
    held.node = node;
    for (const plimsoll_device_identity& each : devices) held.devices.push_back(read(each));
    holders_[held.node].insert(key);
    put(key, held);
  }
  return std::any_of(before.devices.begin(), before.devices.end(),
                     [&](const Identity& device) { return !is_held(before.node, device); });
}

void ClaimBook::put(const std::string& holder, const Held& held) {
  accounts_.unreserve(holder);
  const NodeState* node = accounts_.find(held.node);
  if (node == nullptr || node->object == nullptr) return;
  Allocation allocation;
  Elsewhere elsewhere{};
  for (const Identity& device : held.devices) {
    if (const auto found = match(*node, device)) {
      DeviceShare share;
      share.type = found->type;
      share.minor = found->device->minor;
      share.whole = found->vf == nullptr;
      if (found->vf != nullptr) share.vfs.push_back(*found->vf);
      const bool twice =
          std::any_of(allocation.begin(), allocation.end(), [&](const DeviceShare& other) {
            return other.type == share.type && other.minor == share.minor;
          });
      if (!twice) allocation.push_back(std::move(share));
    } else if (!is_another(*node, device)) {
      for (size_t type = 0; type < elsewhere.size(); ++type) {
        if ((claims_ >> type & 1U) != 0) elsewhere[type] = kAnyNumber;
      }
    }
  }
  std::sort(allocation.begin(), allocation.end(), [](const DeviceShare& a, const DeviceShare& b) {
    return std::pair(a.type, a.minor) < std::pair(b.type, b.minor);
  });
  accounts_.reserve(holder, held.node, std::move(allocation), holder, elsewhere);
}

void ClaimBook::accounts_changed(std::string_view node) const {
  if (changed_ != nullptr) changed_(ctx_, sdk::str(node));
}

void ClaimBook::object_changed(std::string_view node) {
  const auto holders = holders_.find(node);
  if (holders == holders_.end()) return;
  for (const std::string& each : holders->second) put(each, held_.at(each));
}

}  // namespace plimsoll::devices
