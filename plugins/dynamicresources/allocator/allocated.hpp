#pragma once
// Which devices are given away, and how much of those that are shared: the sum of what claims'
// statuses say, kept up to date claim by claim (structured/schedulerapi, AllocatedState). A device
// may be counted before its slice is known and after its slice is gone. For one thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

// Dense numbers of devices and pools by their names. A number is kept while anybody holds it.
class DeviceNumbers {
 public:
  uint32_t take_pool(std::string_view driver, std::string_view pool);
  void give_back_pool(uint32_t pool);
  uint32_t take_device(std::string_view driver, std::string_view pool, std::string_view device);
  void give_back_device(uint32_t device);
  // Nothing: nobody holds its number.
  [[nodiscard]] std::optional<uint32_t> find_device(std::string_view driver, std::string_view pool,
                                                    std::string_view device) const;

  [[nodiscard]] uint32_t pool_of(uint32_t device) const { return pools_of_devices_[device]; }
  [[nodiscard]] size_t devices() const { return devices_.size(); }

 private:
  class Names {
   public:
    uint32_t take(std::string name);
    bool give_back(uint32_t number);  // true: it was the last hold
    [[nodiscard]] std::optional<uint32_t> find(const std::string& name) const;
    [[nodiscard]] size_t size() const { return numbers_.size(); }

   private:
    struct Held {
      std::string name;
      size_t holds = 0;
    };
    std::unordered_map<std::string, uint32_t> numbers_;
    std::vector<Held> held_;
    std::vector<uint32_t> free_;
  };
  Names pools_, devices_;
  std::vector<uint32_t> pools_of_devices_;
};

class Allocated {
 public:
  struct Use {                                        // of one device
    uint32_t exclusive = 0;                           // results that have it for themselves
    uint32_t shares = 0;                              // results that share it
    std::map<std::string, Quantity::Nanos> consumed;  // by the shares together
    bool elsewhere = false;                           // given away by other means than claims
    [[nodiscard]] bool any() const { return exclusive + shares > 0 || elsewhere; }
  };

  explicit Allocated(DeviceNumbers& numbers) : numbers_(numbers) {}

  // One result of a claim's status. Results with adminAccess take nothing.
  void add(const DeviceResult& result);
  void remove(const DeviceResult& result);  // as it was added

  // The device is given away by other means than claims, or not any more. Each call is a change.
  void set_elsewhere(const DeviceResult& device, bool is_elsewhere);

  // Nullptr: nobody has the device.
  [[nodiscard]] const Use* use_of(uint32_t device) const {
    return device < uses_.size() && uses_[device].any() ? &uses_[device] : nullptr;
  }
  // Somebody has the device for himself, here or elsewhere.
  [[nodiscard]] bool is_taken(uint32_t device) const {
    return device < taken_.size() && taken_[device] != 0;
  }
  // How many have the device of this result for themselves, here or elsewhere.
  [[nodiscard]] uint32_t owners(const DeviceResult& result) const;
  // Grows with every change in the pool.
  [[nodiscard]] uint64_t version_of(uint32_t pool) const {
    return pool < versions_.size() ? versions_[pool] : 0;
  }

 private:
  void changed(uint32_t device);

  DeviceNumbers& numbers_;
  std::vector<Use> uses_;           // by device number
  std::vector<uint8_t> taken_;      // by device number; apart, as it is asked most
  std::vector<uint64_t> versions_;  // by pool number
};

}  // namespace plimsoll::dra
