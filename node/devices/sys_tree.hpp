#pragma once
// What the kernel says of devices in /sys: files as texts, and where a device sits on the PCI bus.
// The tree may be below any folder. Any thread.

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::node {

// What a driver says, as a text that an object may hold: what is not printable ASCII becomes "?".
[[nodiscard]] std::string plain_text(std::string text);
// The first line of a file; of a folder its name, of a link the name of what it leads to. Nothing:
// there is no such thing, or it cannot be read.
[[nodiscard]] std::optional<std::string> sys_text(const std::filesystem::path& path);
// Everything below `folder` that a shell pattern ("ports/*/state") matches, ascending. A path
// without wildcards is itself, whether or not it is there.
[[nodiscard]] std::vector<std::filesystem::path> sys_paths(const std::filesystem::path& folder,
                                                           const std::string& pattern);
// Whether a text matches one of the shell patterns that "|" separates.
[[nodiscard]] bool matches_any(std::string_view patterns, const std::string& text);
// "00000000:3B:00.0", as NVIDIA's library writes it, is the kernel's "0000:3b:00.0".
[[nodiscard]] std::string pci_address(std::string text);
[[nodiscard]] bool is_pci_address(const std::string& name);

class PciTree {
 public:
  // Reads sys/bus/pci/devices. Without it the tree is empty.
  explicit PciTree(const std::filesystem::path& sys);

  // The switch that a device is connected to, or its root complex ("pci0000:3a"); empty: it is not
  // on the bus. Of switches above one another the outermost counts, and one that leads to a single
  // device (a bridge on the card itself) is none.
  [[nodiscard]] std::string pcie_id(const std::string& address) const;

 private:
  std::map<std::string, std::vector<std::string>> chains_;  // from the root complex to the device
  std::map<std::string, std::set<std::string>> ports_;      // of a bridge, that lead to something
};

}  // namespace plimsoll::node
