#pragma once
// Kinds of machines (docs/simulation.md, "Machines"); a cluster has several nodes of each.

#include <string>
#include <vector>

#include "bench/packing/dice.hpp"

namespace plimsoll::packing {

struct MachineKind {
  std::string text;  // of the annotation
  double cpus = 0;   // allocatable
  double devices = 0;
};

[[nodiscard]] std::vector<MachineKind> make_machine_kinds(Dice& dice, std::size_t count);

}  // namespace plimsoll::packing
