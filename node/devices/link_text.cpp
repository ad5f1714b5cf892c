#include "node/devices/link_text.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace plimsoll::node {
namespace {

using nlohmann::json;

constexpr int kPcieBandwidth = 12;  // GiB a second: what PCIe 3.0 x16 gives; NVLink's lanes give 20

// Of a lane, GiB a second in one direction. Versions: 1 is Pascal's, 2 to 4 Volta's to Hopper's.
int lane_bandwidth(unsigned version) {
  if (version == 1) return 20;
  return version >= 5 ? 50 : 25;
}

json entry(std::vector<int> minors, const char* type, int lanes, int bandwidth) {
  std::sort(minors.begin(), minors.end());
  return {{"minors", std::move(minors)},
          {"type", type},
          {"lanes", lanes},
          {"bandwidth", std::to_string(bandwidth) + "Gi"}};
}

}  // namespace

std::string link_text(const std::vector<NvmlCard>& cards, const PciTree& tree) {
  std::map<std::string, const NvmlCard*> known;
  std::set<std::string> all;
  for (const NvmlCard& card : cards) {
    all.insert(card.address);
    if (card.minor >= 0) known[card.address] = &card;
  }
  json links = json::array();
  std::vector<int> on_board;
  int fewest = 0;
  int slowest = 0;
  std::map<std::string, std::vector<int>> below;  // a PCIe switch
  for (const auto& [address, card] : known) {
    int to_switches = 0;
    for (const auto& [end, lanes] : card->lanes) {
      const auto other = known.find(end);
      if (!all.contains(end)) {
        to_switches += lanes;
      } else if (other != known.end() && address < end) {
        links.push_back(entry({card->minor, other->second->minor}, "NVLink", lanes,
                              lanes * lane_bandwidth(card->link_version)));
      }
    }
    if (to_switches > 0) {
      const int rate = to_switches * lane_bandwidth(card->link_version);
      fewest = on_board.empty() ? to_switches : std::min(fewest, to_switches);
      slowest = on_board.empty() ? rate : std::min(slowest, rate);
      on_board.push_back(card->minor);
    }
    const std::string switch_of = tree.pcie_id(address);
    if (!switch_of.empty() && !switch_of.starts_with("pci"))
      below[switch_of].push_back(card->minor);
  }
  if (on_board.size() > 1) links.push_back(entry(on_board, "NVSwitch", fewest, slowest));
  for (const auto& [name, minors] : below) {
    if (minors.size() > 1) links.push_back(entry(minors, "PCIe", 1, kPcieBandwidth));
  }
  return links.empty() ? "" : json{{"gpu", std::move(links)}}.dump();
}

}  // namespace plimsoll::node
