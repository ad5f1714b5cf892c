#pragma once
// One device, one book: what NodeDevice gives away of the same hardware is not given by a claim,
// and the reverse (<plimsoll/services/device_accounts.h>). CPUs and memory that a claim has are in
// the NUMA ledger's zones where the claim says (<plimsoll/services/zone_forecast.h>). Of plugins
// that are not there nothing is asked. Loop only.

#include <plimsoll/services/device_accounts.h>
#include <plimsoll/services/zone_forecast.h>
#include <plimsoll/plugin.hpp>

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/dynamicresources/allocator/allocated.hpp"
#include "plugins/dynamicresources/allocator/inventory.hpp"

namespace plimsoll::dra {

class DeviceBooks {
 public:
  // Both outlive it.
  DeviceBooks(sdk::Host host, const Inventory& inventory, Allocated& allocated);
  ~DeviceBooks();
  DeviceBooks(const DeviceBooks&) = delete;
  DeviceBooks& operator=(const DeviceBooks&) = delete;

  // Once all plugins are there.
  void start();
  struct Held {
    std::vector<DeviceResult> results;
    std::string node;  // where they are, if no slice says so
    // The pod whose own requests name the CPUs and memory of the devices again; empty: none.
    std::string again;
  };
  // What is counted of a claim is this now; no results: it has no devices.
  void claim_counted(const std::string& holder, Held now);
  // The NUMA zone of a device, by its driver or else by Device objects; -1: nobody tells.
  [[nodiscard]] int zone_of(const KnownDevice& device) const;
  // Whom a slice concerns as the inventory has it: to be asked before it changes, and told after.
  struct Concerned {
    std::set<std::string> holders, nodes;
  };
  [[nodiscard]] Concerned concerned_by(const std::string& slice) const;
  void slice_changed(const std::string& slice, Concerned before);
  // Whom claim_counted has named with the device; null: nobody.
  [[nodiscard]] const std::set<std::string>* holders_of(const KnownDevice& device) const {
    const Slice& slice = device.slice->spec;
    const auto found = holders_.find({slice.driver, slice.pool, device.device->name});
    return found == holders_.end() ? nullptr : &found->second;
  }

 private:
  using DeviceName = std::array<std::string, 3>;  // driver, pool, device
  // What a holder has of one device, in base units.
  struct Told {
    std::string node;
    uint32_t zone = 0;
    std::vector<std::pair<std::string, int64_t>> amounts;  // by resource
    friend bool operator==(const Told&, const Told&) = default;
  };
  [[nodiscard]] std::set<std::string> all_holders() const;
  void tell(const std::set<std::string>& holders);
  void tell_accounts(const std::string& holder, const Held& held) const;
  // Sets what the ledger is to be told. False: that is what it was told.
  bool look(const std::string& holder, const Held& held);
  void tell_ledger(const std::set<std::string>& holders) const;
  void node_changed(std::string_view node);

  sdk::Host host_;
  const Inventory& inventory_;
  Allocated& allocated_;
  const plimsoll_device_accounts* accounts_ = nullptr;  // null: there are none
  const plimsoll_zone_forecast* ledger_ = nullptr;      // the same
  std::map<std::string, Held> held_;                    // by holder
  std::map<DeviceName, std::set<std::string>> holders_;
  std::map<std::string, std::map<DeviceName, Told>> told_;  // by holder
  // Devices in the other book, by node.
  std::map<std::string, std::set<DeviceName>, std::less<>> elsewhere_;
};

}  // namespace plimsoll::dra
