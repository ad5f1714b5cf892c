#include "tests/node/fake_machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace plimsoll::node::test {

namespace fs = std::filesystem;

FakeMachine::FakeMachine() {
  fs::create_directories(sys() / "bus/pci/devices");
  setenv("PLIMSOLL_FAKE_NVML", (folder_ / "cards").c_str(), 1);
  write_cards();
}

FakeMachine::~FakeMachine() {
  unsetenv("PLIMSOLL_FAKE_NVML");
}

FinderOptions FakeMachine::options() const {
  return {.sys = sys(), .nvml = PLIMSOLL_FAKE_NVML_LIBRARY, .others = {}};
}

fs::path FakeMachine::place_of(const std::string& address) const {
  return fs::canonical(sys() / "bus/pci/devices" / address);
}

void FakeMachine::set(const std::string& address, const std::string& file,
                      const std::string& text) {
  const fs::path path = place_of(address) / file;
  fs::create_directories(path.parent_path());
  if (text.starts_with("->")) {
    fs::remove(path);
    fs::create_symlink(text.substr(2), path);
  } else {
    std::ofstream(path) << text << "\n";
  }
}

void FakeMachine::add(const std::vector<std::string>& chain,
                      const std::map<std::string, std::string>& files) {
  fs::path place = "devices";
  for (const std::string& part : chain) {
    place /= part;
    if (part == chain.front()) continue;
    fs::create_directories(sys() / place);
    const fs::path link = sys() / "bus/pci/devices" / part;
    if (!fs::exists(link)) fs::create_symlink(fs::path("../../..") / place, link);
  }
  for (const auto& [file, text] : files) set(chain.back(), file, text);
}

void FakeMachine::remove(const std::string& address) {
  fs::remove_all(place_of(address));
  fs::remove(sys() / "bus/pci/devices" / address);
}

void FakeMachine::add_card(const std::vector<std::string>& chain, int zone,
                           std::map<std::string, std::string> facts) {
  add(chain, {{"vendor", "0x10de"}, {"class", "0x030200"}, {"numa_node", std::to_string(zone)}});
  facts["address"] = chain.back();
  facts.try_emplace("memory", "17179869184");
  facts.try_emplace("name", "NVIDIA_H100_80GB_HBM3");
  cards_.push_back(std::move(facts));
  write_cards();
}

void FakeMachine::set_card(const std::string& address, const std::string& fact,
                           const std::string& text) {
  for (auto& card : cards_) {
    if (card["address"] == address) card[fact] = text;
  }
  write_cards();
}

void FakeMachine::remove_card(const std::string& address) {
  std::erase_if(cards_, [&](auto& card) { return card["address"] == address; });
  write_cards();
  remove(address);
}

void FakeMachine::fault(const std::string& address, int xid) {
  const fs::path file = folder_ / "cards.xid";
  for (const int number : {xid, 13}) {  // when an application's is taken, the one before was heard
    std::ofstream(file.string() + ".new") << address << " " << number << "\n";
    fs::rename(file.string() + ".new", file);
    while (fs::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void FakeMachine::get_stuck(bool stuck) {
  const fs::path file = folder_ / "cards.stuck";
  stuck ? static_cast<void>(std::ofstream(file)) : static_cast<void>(fs::remove(file));
}

void FakeMachine::unload_driver() {
  fs::remove(folder_ / "cards");
}

void FakeMachine::write_cards() const {
  const fs::path file = folder_ / "cards";
  {
    std::ofstream out(file.string() + ".new");
    for (const auto& card : cards_) {
      for (const auto& [fact, text] : card) {
        if (!text.empty()) out << fact << "=" << text << " ";
      }
      out << "\n";
    }
  }
  fs::rename(file.string() + ".new", file);
}

void FakeMachine::make_dgx() {
  for (int i = 0; i < 4; ++i) {
    const std::string bus = std::to_string(i + 1);  // 0000:10:00.0 is the switch's port
    const std::string root = "pci0000:" + bus + "0";
    const std::string port = "0000:" + bus + "0:01.0";
    const std::string up = "0000:" + bus + "1:00.0";
    for (int d = 0; d < 3; ++d) {
      const std::string number = std::to_string(d);
      const std::string down = "0000:" + bus + "2:0" + number + ".0";
      const std::string address = "0000:" + bus + std::to_string(3 + d) + ":00.0";
      const std::vector<std::string> chain{root, port, up, down, address};
      if (d < 2) {
        const int minor = 7 - (2 * i + d);
        add_card(chain, i / 2,
                 {{"uuid", "GPU-" + std::to_string(minor)},
                  {"minor", std::to_string(minor)},
                  {"module", std::to_string(minor + 1)},
                  {"version", "4"},
                  {"links", "0000:05:00.0*9,0000:06:00.0*9"}});
      } else {
        add(chain, {{"vendor", "0x15b3"},
                    {"class", "0x020700"},
                    {"numa_node", std::to_string(i / 2)},
                    {"infiniband/mlx5_" + bus + "/ports/1/state", "4: ACTIVE"}});
      }
    }
  }
}

void FakeMachine::make_dgx_nodes() {
  const auto write = [](const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  };
  write(proc() / "devices", "Character devices:\n195 nvidia\n511 nvidia-uvm\n");
  write(sys() / "class/misc/rdma_cm/dev", "10:58\n");
  write(sys() / "class/misc/rdma_cm/uevent", "DEVNAME=infiniband/rdma_cm\n");
  for (int nic = 0; nic < 4; ++nic) {
    const std::string bus = std::to_string(nic + 1);
    const std::string address = "0000:" + bus + "5:00.";
    set(address + "0", "virtfn0", "->../" + address + "1");
    add({"pci0000:" + bus + "0", "0000:" + bus + "0:01.0", address + "1"},
        {{"physfn", "->../" + address + "0"}});
    for (int function = 0; function < 2; ++function) {
      const int number = nic + 4 * function;
      const std::string verbs = "infiniband_verbs/uverbs" + std::to_string(number);
      const std::string at = address + std::to_string(function);
      set(at, verbs + "/dev", "231:" + std::to_string(192 + number));
      set(at, verbs + "/uevent", "DEVNAME=infiniband/uverbs" + std::to_string(number));
    }
  }
}

}  // namespace plimsoll::node::test
