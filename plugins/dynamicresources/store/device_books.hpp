#pragma once
// One device, one book: what NodeDevice gives away of the same hardware is not given by a claim,
// and the reverse (<plimsoll/services/device_accounts.h>). Without NodeDevice nothing is asked.
// Loop only.

#include <plimsoll/services/device_accounts.h>
#include <plimsoll/plugin.hpp>

#include <map>
#include <set>
#include <string>
#include <string_view>
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
  // What is counted of a claim is this now; nothing: it has no devices. `node`: where they are, if
  // no slice says so.
  void claim_counted(const std::string& holder, const std::vector<DeviceResult>& results,
                     const std::string& node);
  // A slice of the pool came, changed or went.
  void pool_changed(const std::string& driver, const std::string& pool, std::string_view node);

 private:
  using PoolName = std::pair<std::string, std::string>;  // driver, pool
  struct Held {
    std::vector<DeviceResult> results;
    std::string node;
  };
  void tell(const std::string& holder, const Held& held) const;
  void node_changed(std::string_view node);

  sdk::Host host_;
  const Inventory& inventory_;
  Allocated& allocated_;
  const plimsoll_device_accounts* accounts_ = nullptr;
  std::map<std::string, Held> held_;                   // by holder
  std::map<PoolName, std::set<std::string>> holders_;  // by pool
  std::map<std::string, std::set<std::pair<PoolName, std::string>>, std::less<>>
      elsewhere_;  // devices in the other book, by node
};

}  // namespace plimsoll::dra
