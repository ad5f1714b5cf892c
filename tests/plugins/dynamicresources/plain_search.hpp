#pragma once
// The allocator's rules once more, as plainly as they can be written: no numbers, nothing kept,
// nothing pruned. For small inputs; and a check of any solution against the rules alone.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/dynamicresources/allocator/known_slice.hpp"
#include "plugins/dynamicresources/values/claim.hpp"
#include "plugins/dynamicresources/values/slice.hpp"

namespace plimsoll::dra::test {

struct World {
  std::vector<Slice> slices;  // names are unique
  std::vector<DeviceResult> allocated;
  std::map<std::string, DeviceClass> classes;
  std::vector<Claim> claims;
  Judge judge;
  bool lists = false;
  // Not more than so many of these devices, "driver/pool/device", but for admin access.
  std::set<std::string> away;
  uint32_t most_away = UINT32_MAX;
};

struct PlainAnswer {
  std::string outcome;             // "allocated", "none", or what kind of error
  std::vector<std::string> picks;  // "claim request driver/pool/device"
  uint64_t steps = 0;
  bool gave_up = false;  // more than 3,000 steps
};

[[nodiscard]] PlainAnswer plain_search(const World& world, const std::string& node);

// What is wrong with a solution; empty: nothing.
[[nodiscard]] std::string fault_in(const World& world, const std::string& node,
                                   const std::vector<Allocation>& solution);

}  // namespace plimsoll::dra::test
