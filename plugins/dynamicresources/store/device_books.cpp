#include "plugins/dynamicresources/store/device_books.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "plugins/dynamicresources/footprint/footprint.hpp"

namespace plimsoll::dra {
namespace {

// What drivers call these attributes, whatever their domain.
constexpr std::array<std::string_view, 3> kBusNames{"pciBusID", "pciAddress", "pciAddr"};

plimsoll_device_identity identity_of(const Device& device) {
  plimsoll_device_identity identity{};
  for (const auto& [name, value] : device.attributes) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    const std::string_view id = std::string_view(name).substr(name.rfind('/') + 1);
    if (id == "uuid") identity.uuid = sdk::str(*text);
    if (id == "pcieRoot") identity.pcie_root = sdk::str(*text);
    if (id == "parentUUID") identity.parent_uuid = sdk::str(*text);
    if (std::find(kBusNames.begin(), kBusNames.end(), id) != kBusNames.end()) {
      identity.bus_id = sdk::str(*text);
    }
  }
  return identity;
}

std::string node_of_device(const KnownDevice& known) {
  const Slice& slice = known.slice->spec;
  if (slice.node_name && !slice.node_name->empty()) return *slice.node_name;
  return slice.per_device_nodes ? known.device->node_name.value_or("") : "";
}

DeviceResult named(const std::array<std::string, 3>& device) {
  DeviceResult result;
  result.driver = device[0];
  result.pool = device[1];
  result.device = device[2];
  return result;
}

}  // namespace

DeviceBooks::DeviceBooks(sdk::Host host, const Inventory& inventory, Allocated& allocated)
    : host_(std::move(host)), inventory_(inventory), allocated_(allocated) {}

DeviceBooks::~DeviceBooks() {
  if (accounts_ != nullptr) accounts_->join(accounts_->self, nullptr, nullptr);
  for (const auto& [holder, held] : held_) tell(holder, {});
}

void DeviceBooks::start() {
  accounts_ = host_.find_service<plimsoll_device_accounts>(PLIMSOLL_DEVICE_ACCOUNTS_SERVICE,
                                                           PLIMSOLL_DEVICE_ACCOUNTS_VERSION);
  ledger_ = host_.find_service<plimsoll_zone_forecast>(PLIMSOLL_ZONE_FORECAST_SERVICE,
                                                       PLIMSOLL_ZONE_FORECAST_VERSION);
  if (ledger_ != nullptr && (!PLIMSOLL_HAS(ledger_, hold) || ledger_->hold == nullptr))
    ledger_ = nullptr;
  if (accounts_ != nullptr) {
    accounts_->join(accounts_->self, this, [](void* ctx, plimsoll_str node) {
      static_cast<DeviceBooks*>(ctx)->node_changed(sdk::view(node));
    });
  }
  for (const auto& [holder, held] : held_) tell(holder, held);
}

void DeviceBooks::claim_counted(const std::string& holder, Held now) {
  const auto known = held_.find(holder);
  if (known == held_.end() && now.results.empty()) return;
  if (known != held_.end()) {
    for (const DeviceResult& each : known->second.results) {
      const auto at = holders_.find({each.driver, each.pool, each.device});
      if (at == holders_.end()) continue;
      at->second.erase(holder);
      if (at->second.empty()) holders_.erase(at);
    }
    held_.erase(known);
  }
  tell(holder, now);
  if (now.results.empty()) return;
  for (const DeviceResult& each : now.results) {
    holders_[{each.driver, each.pool, each.device}].insert(holder);
  }
  held_.emplace(holder, std::move(now));
}

void DeviceBooks::tell(const std::string& holder, const Held& held) const {
  if (accounts_ != nullptr) tell_accounts(holder, held);
  if (ledger_ != nullptr) tell_ledger(holder, held);
}

// A device without a zone is in none of the ledger's columns. While a driver has taken its slices
// away, what it gave away stays where it was.
void DeviceBooks::tell_ledger(const std::string& holder, const Held& held) const {
  std::map<int, Footprint> by_zone;
  std::string node;
  for (const DeviceResult& each : held.results) {
    const KnownDevice* known = inventory_.find(each.driver, each.pool, each.device);
    if (known == nullptr) return;
    if (each.admin_access || !is_mapped(*known->device)) continue;
    const int zone = zone_of(*known);
    const std::string at = node_of_device(*known);
    if (zone < 0 || at.empty()) continue;
    node = at;
    Footprint& there = by_zone[zone];
    there.resize(1);
    static_cast<void>(add_device(there[0], *known->device, each));  // Filter says what is wrong
  }
  std::vector<plimsoll_zone_amount> all;
  for (const auto& [zone, claims] : by_zone) {
    for (const plimsoll_claim_amount& each : amounts(claims)) {
      if (each.mapped > 0)
        all.push_back({each.resource, static_cast<uint32_t>(zone), 0, each.mapped});
    }
  }
  ledger_->hold(ledger_->self, sdk::str(holder), sdk::str(node), sdk::str(held.again),
                sdk::list_of<plimsoll_zone_amount>(all));
}

void DeviceBooks::tell_accounts(const std::string& holder, const Held& held) const {
  std::string node = held.node;
  std::vector<plimsoll_device_identity> devices;
  for (const DeviceResult& each : held.results) {
    if (each.admin_access) continue;
    const KnownDevice* known = inventory_.find(each.driver, each.pool, each.device);
    if (known == nullptr) {
      devices.push_back({});
      continue;
    }
    const std::string at = node_of_device(*known);
    if (at.empty()) continue;  // a device of no one node is none of its own
    node = at;
    devices.push_back(identity_of(*known->device));
  }
  accounts_->hold(accounts_->self, sdk::str(holder), sdk::str(node),
                  sdk::list_of<plimsoll_device_identity>(devices));
}

int DeviceBooks::zone_of(const KnownDevice& device) const {
  if (device.device->zone >= 0) return device.device->zone;
  if (accounts_ == nullptr) return -1;
  const std::string node = node_of_device(device);
  const plimsoll_device_identity identity = identity_of(*device.device);
  return node.empty() ? -1 : accounts_->zone_of(accounts_->self, sdk::str(node), &identity);
}

DeviceBooks::Concerned DeviceBooks::concerned_by(const std::string& slice) const {
  Concerned all;
  const KnownSlice* known = inventory_.slice(slice);
  if (known == nullptr || (accounts_ == nullptr && ledger_ == nullptr)) return all;
  for (const KnownDevice& device : known->devices) {
    const auto holders = holders_.find({known->spec.driver, known->spec.pool, device.device->name});
    if (holders != holders_.end()) {
      all.holders.insert(holders->second.begin(), holders->second.end());
    }
  }
  if (known->spec.node_name) all.nodes.insert(*known->spec.node_name);
  return all;
}

void DeviceBooks::slice_changed(const std::string& slice, Concerned before) {
  Concerned all = concerned_by(slice);
  all.holders.merge(before.holders);
  all.nodes.merge(before.nodes);
  for (const std::string& each : all.holders) tell(each, held_.at(each));
  if (accounts_ == nullptr) return;
  for (const std::string& each : all.nodes) node_changed(each);
}

void DeviceBooks::node_changed(std::string_view node) {
  std::set<DeviceName> now;
  std::set<std::string> moved;  // whose zones may be known only now
  inventory_.each_of(node, [&](const KnownDevice& known) {
    const auto* holders = is_mapped(*known.device) ? holders_of(known) : nullptr;
    if (holders != nullptr) moved.insert(holders->begin(), holders->end());
    const plimsoll_device_identity identity = identity_of(*known.device);
    if (accounts_->in_use(accounts_->self, sdk::str(node), &identity) == 0) return;
    const Slice& slice = known.slice->spec;
    now.insert({slice.driver, slice.pool, known.device->name});
  });
  auto& before = elsewhere_[std::string(node)];
  for (const DeviceName& device : before) {
    if (now.count(device) == 0) allocated_.set_elsewhere(named(device), false);
  }
  for (const DeviceName& device : now) {
    if (before.count(device) == 0) allocated_.set_elsewhere(named(device), true);
  }
  before = std::move(now);
  if (before.empty()) elsewhere_.erase(elsewhere_.find(node));
  if (ledger_ == nullptr) return;
  for (const std::string& each : moved) tell_ledger(each, held_.at(each));
}

}  // namespace plimsoll::dra
