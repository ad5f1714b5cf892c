#pragma once
// The /sys of a machine with PCI devices, and a libnvidia-ml that knows its NVIDIA cards, in a
// folder of the test.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "node/devices/device_finder.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::node::test {

class FakeMachine {
 public:
  FakeMachine();
  ~FakeMachine();

  // Paths below /sys, and the options that find the machine.
  [[nodiscard]] std::filesystem::path sys() const { return folder_ / "sys"; }
  [[nodiscard]] std::filesystem::path proc() const { return folder_ / "proc"; }
  [[nodiscard]] FinderOptions options() const;

  // A device and the bridges above it: {"pci0000:3a", "0000:3a:00.0", "0000:3b:00.0"}. Files by
  // path below its folder; a text that begins with "->" is a link.
  void add(const std::vector<std::string>& chain, const std::map<std::string, std::string>& files);
  void remove(const std::string& address);
  void set(const std::string& address, const std::string& file, const std::string& text);

  // An NVIDIA card. `facts`: words of fake_nvml.cpp.
  void add_card(const std::vector<std::string>& chain, int zone,
                std::map<std::string, std::string> facts);
  void set_card(const std::string& address, const std::string& fact, const std::string& text);
  void remove_card(const std::string& address);
  // The driver tells of a fault; returns when it was heard: somebody must listen.
  void fault(const std::string& address, int xid);
  // Whether calls of the library do not return.
  void get_stuck(bool stuck);
  // The library does not start any more.
  void unload_driver();

  // Eight cards in DGX form: below each of four switches two cards and a NIC, two switches in each
  // of two zones. The minors run against the order of the bus.
  void make_dgx();
  // What the kernel shows of it besides: the numbers of NVIDIA's driver (195, and 511 for
  // nvidia-uvm); uverbs0 to 3 (231:192 to 195) of the NICs; a function of each, 0000:15:00.1 and so
  // on, with uverbs4 to 7; rdma_cm (10:58).
  void make_dgx_nodes();

 private:
  [[nodiscard]] std::filesystem::path place_of(const std::string& address) const;
  void write_cards() const;

  plimsoll::test::TempDir folder_{"plimsoll-machine"};
  std::vector<std::map<std::string, std::string>> cards_;
};

}  // namespace plimsoll::node::test
