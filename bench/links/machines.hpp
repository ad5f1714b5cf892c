#pragma once
// Machines whose devices are linked unequally, as Device objects.

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace plimsoll::links_bench {

using Lanes = std::vector<std::tuple<int, int, int>>;  // two minors, lanes between them

struct Machine {
  std::string name;
  int cards = 0;
  int cards_at_a_switch = 0;  // PCIe id
  int cards_in_a_zone = 0;
  Lanes lanes;
};

// Eight V100 in a hybrid cube mesh: six NVLink lanes each.
inline Machine dgx1() {
  return {"DGX-1 V100",
          8,
          2,
          4,
          {{0, 1, 1},
           {0, 2, 1},
           {0, 3, 2},
           {0, 4, 2},
           {1, 2, 2},
           {1, 3, 1},
           {1, 5, 2},
           {2, 3, 2},
           {2, 6, 1},
           {3, 7, 1},
           {4, 5, 1},
           {4, 6, 1},
           {4, 7, 2},
           {5, 6, 2},
           {5, 7, 1},
           {6, 7, 2}}};
}

// Two pairs with an NVLink bridge each, which joins cards of different NUMA zones.
inline Machine rtx8000() {
  return {"4x RTX 8000", 4, 1, 2, {{0, 3, 2}, {1, 2, 2}}};
}

// What the Device object says about the machine.
enum class Told { kMinors, kTopology, kLinks };

// As plimsoll-node reports the machine.
[[nodiscard]] nlohmann::json device_object(const Machine& machine, Told told,
                                           const std::string& node = "node-1");
// What it says there of links.
[[nodiscard]] std::string links_annotation(const Machine& machine);

}  // namespace plimsoll::links_bench
