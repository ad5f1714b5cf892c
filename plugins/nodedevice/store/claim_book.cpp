#include "plugins/nodedevice/store/claim_book.hpp"

#include <algorithm>
#include <cctype>

namespace plimsoll::devices {
namespace {

// Records of the accounts that are of claims, not of pods.
constexpr std::string_view kHolder = "claim/";

// "00000000:65:00.0" and "0000:65:00.0" are one place.
std::string bus_id(std::string_view text) {
  std::string id(text);
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (id.size() == 16 && id.starts_with("0000")) id.erase(0, 4);
  return id;
}

bool is_same(const std::string& a, const std::string& b) {
  return !a.empty() && a == b;
}

}  // namespace

ClaimBook::Identity ClaimBook::read(const plimsoll_device_identity& device) {
  return {std::string(sdk::view(device.uuid)), std::string(sdk::view(device.parent_uuid)),
          bus_id(sdk::view(device.bus_id))};
}

std::optional<ClaimBook::Match> ClaimBook::match(const NodeState& node,
                                                 const Identity& device) const {
  for (int type = 0; type < types_.count(); ++type) {
    for (const DeviceState& each : node.type(type).devices) {
      if (each.info == nullptr) continue;
      const DeviceInfo& info = *each.info;
      if (is_same(info.id, device.uuid) || is_same(info.id, device.parent) ||
          is_same(bus_id(info.bus_id), device.bus) || is_same(bus_id(info.id), device.bus)) {
        return Match{type, &each, nullptr};
      }
      for (const VirtualFunction& vf : info.vfs) {
        if (is_same(bus_id(vf.bus_id), device.bus)) return Match{type, &each, &vf};
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
      const bool by_bus = !device.bus.empty() && !each.info->bus_id.empty();
      const bool by_uuid = !device.uuid.empty() && !each.info->id.empty();
      if (!by_bus && !by_uuid) return false;
    }
  }
  return true;
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

void ClaimBook::hold(std::string_view holder, std::string_view node,
                     const sdk::List<plimsoll_device_identity>& devices) {
  const std::string key = std::string(kHolder) + std::string(holder);
  if (const auto known = held_.find(key); known != held_.end()) {
    accounts_.unreserve(key);
    auto at = holders_.find(known->second.node);
    at->second.erase(key);
    if (at->second.empty()) holders_.erase(at);
    held_.erase(known);
  }
  if (devices.empty()) return;
  Held& held = held_[key];
  held.node = node;
  for (const plimsoll_device_identity& each : devices) held.devices.push_back(read(each));
  holders_[held.node].insert(key);
  put(key, held);
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
