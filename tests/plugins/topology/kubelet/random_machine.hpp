#pragma once
// Random machines, what is free on them, and the NodeResourceTopology object that tells of it.

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/report/facts.hpp"

namespace plimsoll::topology::kubelet {

[[nodiscard]] inline uint32_t pick(std::mt19937& random, uint32_t below) {
  return std::uniform_int_distribution<uint32_t>(0, below - 1)(random);
}
[[nodiscard]] inline bool chance(std::mt19937& random, uint32_t percent) {
  return pick(random, 100) < percent;
}

// Indices of resources, as a host hands them out.
class Resources {
 public:
  Resources();
  uint32_t index(std::string_view name);
  [[nodiscard]] std::string_view name(uint32_t index) const { return names_[index]; }
  [[nodiscard]] InternResource intern();
  [[nodiscard]] ResourceName name_of() const;

 private:
  std::vector<std::string> names_;
};

// How the numbers of a machine's CPUs lie over its cores.
enum class Numbering { kSiblingsLast, kSiblingsTogether, kShuffled };

struct MachineSpec {
  uint32_t zones = 2;
  uint32_t cores_per_zone = 4;
  uint32_t threads = 2;  // per core; with `hybrid` every other core has one
  bool hybrid = false;
  uint32_t devices = 4;  // of each of two resources
  bool id_gaps = false;
  Numbering numbering = Numbering::kSiblingsLast;
};
[[nodiscard]] MachineSpec random_spec(std::mt19937& random);

// A machine, some of it in use.
struct Machine {
  NodeModel model;  // prepared
  NodeState state;
  std::vector<NrtZone> zones;  // capacity, allocatable and available agree with the state
};
[[nodiscard]] Machine random_machine(const MachineSpec& spec, Resources& resources,
                                     std::mt19937& random);

// The object as an API server sends it, zones in random order.
struct Report {
  std::vector<NrtAttribute> attributes;
  std::string machine;
  std::string free;
  std::vector<NrtZone> zones;
};
[[nodiscard]] Report report_of(const Machine& machine, const Resources& resources);
[[nodiscard]] std::string report_json(const Report& report);
// The same through parse_nrt; fails the test if it does not parse.
[[nodiscard]] NrtObject parsed(const Report& report);

}  // namespace plimsoll::topology::kubelet
