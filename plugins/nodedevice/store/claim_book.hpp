#pragma once
// Devices that are given away by resource claims, in the accounts of devices: one device is never
// in two books (<plimsoll/services/device_accounts.h>). Loop only; is_in_use() also while the loop
// waits.

#include <plimsoll/services/device_accounts.h>
#include <plimsoll/lists.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/accounts.hpp"

namespace plimsoll::devices {

class ClaimBook {
 public:
  // Both outlive it.
  ClaimBook(DeviceTypes& types, Accounts& accounts) : types_(types), accounts_(accounts) {}

  void join(void* ctx, void (*changed)(void* ctx, plimsoll_str node));
  [[nodiscard]] bool is_in_use(std::string_view node, const plimsoll_device_identity& device) const;
  // The NUMA zone of a device, by itself or by its PCI root complex; -1: not known.
  [[nodiscard]] int zone_of(std::string_view node, const plimsoll_device_identity& device) const;
  // True: a device that the holder had is no claim's now.
  [[nodiscard]] bool hold(std::string_view holder, std::string_view node,
                          const sdk::List<plimsoll_device_identity>& devices);

  // The accounts of a node changed; its Device object did.
  void accounts_changed(std::string_view node) const;
  void object_changed(std::string_view node);

 private:
  struct Identity {
    std::string uuid, parent, bus;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  struct Held {
    std::string node;
    std::vector<Identity> devices;
  };
  struct Match {
    int type = 0;
    const DeviceState* device = nullptr;
    const VirtualFunction* vf = nullptr;
  };
  [[nodiscard]] static Identity read(const plimsoll_device_identity& device);
  [[nodiscard]] std::optional<Match> match(const NodeState& node, const Identity& device) const;
  [[nodiscard]] bool is_another(const NodeState& node, const Identity& device) const;
  void put(const std::string& holder, const Held& held);
  [[nodiscard]] bool is_held(const std::string& node, const Identity& device) const;

  DeviceTypes& types_;
  Accounts& accounts_;
  uint32_t claims_ = 0;  // types that claims may be for
  void* ctx_ = nullptr;
  void (*changed_)(void* ctx, plimsoll_str node) = nullptr;
  std::map<std::string, Held, std::less<>> held_;                      // by holder
  std::map<std::string, std::set<std::string>, std::less<>> holders_;  // by node
};

}  // namespace plimsoll::devices
