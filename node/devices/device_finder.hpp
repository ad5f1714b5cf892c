#pragma once
// Finds the devices of this machine: by the rules in /sys, and NVIDIA's GPUs by their library. What
// is wrong with one device costs that device and no other.
//
// One thread at a time, but for what it calls.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "node/devices/nvidia_library.hpp"
#include "node/devices/sys_tree.hpp"
#include "node/devices/type_rules.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::node {

// A device's label: it is what the CDI files of the node call KIND=ID ("amd.com/gpu").
inline constexpr const char* kCdiLabel = "plimsoll.io/cdi-kind";

// Why a device is not given: a word for programs, and a sentence.
struct DeviceFault {
  std::string reason;  // "Xid79"; empty: it is healthy
  std::string message;
};

struct FoundDevice {
  std::string type;
  std::string id;       // empty: not known now
  std::string address;  // on the PCI bus; empty: it is not there
  int minor = -1;       // -1: nobody numbers such devices; the report does
  int index = -1;       // the number by which NVIDIA's library knows it
  int module_id = -1;
  int zone = -1;  // -1: none is nearer than another
  int socket = -1;
  std::string pcie_id;
  DeviceFault fault;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> resources;  // quantities
  std::vector<std::string> functions;            // addresses of its virtual functions
};

struct FoundDevices {
  std::vector<FoundDevice> devices;  // by type and address
  // The text of plimsoll.io/device-links; empty: no two are linked. Not set: not known now.
  std::optional<std::string> links;
  std::vector<std::string> problems;  // what could not be read, for people
};

struct FinderOptions {
  std::filesystem::path sys = "/sys";
  std::string nvml = "libnvidia-ml.so.1";
  // A driver may be stuck; one without persistence mode starts each card first. The whole program
  // counts as stuck after a minute.
  std::chrono::milliseconds nvml_patience{30'000};
  std::vector<TypeRule> rules = {};  // before the standard ones
  // How long what no rule speaks of is not looked at again: a server has hundreds of such things on
  // its bus. What is new there is looked at.
  std::chrono::milliseconds others{60'000};
};

class DeviceFinder {
 public:
  // `changed`: a device has become unhealthy; look again. Any thread.
  DeviceFinder(FinderOptions options, std::function<void()> changed);

  // `hardware` says which socket a zone is of; null: not known.
  [[nodiscard]] FoundDevices find(const Hardware* hardware);

  // A fault that was seen before and that no call would show. It lasts until the card has left the
  // bus, the machine has started again, or all are forgotten.
  void remember_fault(const std::string& address, DeviceFault fault);
  void forget_faults();

 private:
  struct Search;
  void find_nvidia(Search& search);
  void add_card(const NvmlCard& card, const std::string& driver, Search& search);

  const FinderOptions options_;
  const std::function<void()> changed_;
  std::unordered_set<std::string> others_;  // folders
  std::chrono::steady_clock::time_point others_until_;
  std::mutex mutex_;
  std::map<std::string, DeviceFault> faults_;  // by address; guarded
  std::set<std::string> opened_for_;           // the cards that were there then
  std::unique_ptr<NvidiaLibrary> nvidia_;      // last: it may call; null: there was no card
};

}  // namespace plimsoll::node
