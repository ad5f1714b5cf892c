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
  const std::set<std::string> all = all_holders();
  held_.clear();
  told_.clear();
  tell(all);
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
  tell(all_holders());
}

std::set<std::string> DeviceBooks::all_holders() const {
  std::set<std::string> all;
  for (const auto& [holder, held] : held_) all.insert(holder);
  return all;
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
  if (now.results.empty()) {
    told_.erase(holder);
    return tell({holder});
  }
  for (const DeviceResult& each : now.results) {
    holders_[{each.driver, each.pool, each.device}].insert(holder);
  }
  held_.emplace(holder, std::move(now));
  tell({holder});
}

void DeviceBooks::tell(const std::set<std::string>& holders) {
  static const Held nothing;
  for (const std::string& each : holders) {
    const auto held = held_.find(each);
    if (held != held_.end() && ledger_ != nullptr) look(each, held->second);
    if (accounts_ != nullptr) tell_accounts(each, held == held_.end() ? nothing : held->second);
  }
  tell_ledger(holders);
}

// A device without a zone is in none of the ledger's columns. While a driver has taken its slice
// away, what it gave away of a device stays where it was.
bool DeviceBooks::look(const std::string& holder, const Held& held) {
  std::map<DeviceName, Told> now;
  std::map<DeviceName, Footprint> taken;
  auto& before = told_[holder];
  for (const DeviceResult& each : held.results) {
    if (each.admin_access) continue;
    const DeviceName name{each.driver, each.pool, each.device};
    const KnownDevice* known = inventory_.find(each.driver, each.pool, each.device);
    if (known == nullptr) {
      if (const auto was = before.find(name); was != before.end()) now.insert(*was);
      continue;
    }
    if (!is_mapped(*known->device)) continue;
    const int zone = zone_of(*known);
    std::string node = node_of_device(*known);
    if (zone < 0 || node.empty()) continue;
    now[name] = {std::move(node), static_cast<uint32_t>(zone), {}};
    Footprint& all = taken[name];
    all.resize(1);
    static_cast<void>(add_device(all[0], *known->device, each));  // Filter says what is wrong
  }
  for (const auto& [name, all] : taken) {
    for (const plimsoll_claim_amount& each : amounts(all)) {
      const std::string_view resource = sdk::view(each.resource);
      // The others' names are anything that somebody wrote into a slice.
      const bool counts =
          resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
      if (counts && each.mapped > 0) now[name].amounts.emplace_back(resource, each.mapped);
    }
  }
  const bool is_news = before != now;
  if (now.empty()) {
    told_.erase(holder);
  } else {
    before = std::move(now);
  }
  return is_news;
}

void DeviceBooks::tell_ledger(const std::set<std::string>& holders) const {
  if (ledger_ == nullptr || holders.empty()) return;
  std::vector<plimsoll_zone_holding> all;
  std::vector<std::vector<plimsoll_zone_amount>> parts;
  parts.reserve(holders.size());
  for (const std::string& holder : holders) {
    plimsoll_zone_holding& now = all.emplace_back();
    now.holder = sdk::str(holder);
    const auto told = told_.find(holder);
    if (told == told_.end()) continue;
    now.node = sdk::str(told->second.begin()->second.node);
    now.pod_uid = sdk::str(held_.at(holder).again);
    auto& amounts = parts.emplace_back();
    for (const auto& [name, device] : told->second) {
      for (const auto& [resource, amount] : device.amounts)
        amounts.push_back({sdk::str(resource), device.zone, 0, amount});
    }
    now.amounts = sdk::list_of<plimsoll_zone_amount>(amounts);
  }
  ledger_->hold(ledger_->self, sdk::list_of<plimsoll_zone_holding>(all));
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
  tell(all.holders);
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
  bool frees = false;  // one that is still there
  for (const DeviceName& device : before) {
    if (now.count(device) != 0) continue;
    allocated_.set_elsewhere(named(device), false);
    frees = frees || inventory_.find(device[0], device[1], device[2]) != nullptr;
  }
  if (frees) host_.requeue_rejected();  // nothing that these pods wait for happens
  for (const DeviceName& device : now) {
    if (before.count(device) == 0) allocated_.set_elsewhere(named(device), true);
  }
  before = std::move(now);
  if (before.empty()) elsewhere_.erase(elsewhere_.find(node));
  if (ledger_ == nullptr) return;
  std::erase_if(moved, [this](const std::string& each) { return !look(each, held_.at(each)); });
  tell_ledger(moved);
}

}  // namespace plimsoll::dra
