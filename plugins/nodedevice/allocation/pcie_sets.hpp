#pragma once
// Which sets of PCIe ids have enough devices of several types (private to the allocator).

#include <cstdint>
#include <functional>
#include <vector>

namespace plimsoll::devices {

// A PCIe id at which there is a device of every type.
struct PcieSupply {
  int pcie = 0;
  int numa = -1;
  std::vector<int64_t> devices;  // how many, by type
};

// Calls `use` with every set of at most `largest` of these whose devices add up to `needed` by
// type, until it returns true; returns whether it did. The smallest sets come first, among these
// the ones within one NUMA zone, then the lowest ids. Sets are positions in `supply`, ascending.
//
// Exact, unless more than kMaxPcieSets sets have to be looked at: then the rest is not tried. A
// node with 16 PCIe ids has 65,535 sets.
inline constexpr int64_t kMaxPcieSets = 200'000;
bool for_each_pcie_set(const std::vector<PcieSupply>& supply, const std::vector<int64_t>& needed,
                       size_t largest, const std::function<bool(const std::vector<int>&)>& use);

}  // namespace plimsoll::devices
