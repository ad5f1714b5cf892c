#pragma once
// Random zones of a node's report, and random requests of containers, for the property tests of
// scores.

#include <random>
#include <string>

#include "tests/plugins/topology/kubelet/random_machine.hpp"
#include "tests/plugins/topology/topology_scene.hpp"

namespace plimsoll::topology {

// CPUs and memory, and what else the machine has; what is left out of it by `lacks` in a hundred is
// the last.
inline ZoneSpec random_zone(std::mt19937& random, int id, bool pages, bool devices,
                            uint32_t lacks) {
  using kubelet::chance;
  using kubelet::pick;
  ZoneSpec zone;
  zone.id = id;
  zone.available = {{"cpu", std::to_string(500 * pick(random, 40)) + "m"},
                    {"memory", std::to_string(pick(random, 40'000'000)) + "Ki"}};
  if (pages) zone.available.emplace_back("hugepages-2Mi", std::to_string(pick(random, 9)) + "Gi");
  if (devices) zone.available.emplace_back("example.com/gpu", std::to_string(pick(random, 5)));
  if (chance(random, lacks)) zone.available.pop_back();
  return zone;
}

// As JSON; more memory than there is anywhere by `too_much` in a hundred.
inline std::string random_requests(std::mt19937& random, uint32_t too_much = 0) {
  using kubelet::chance;
  using kubelet::pick;
  std::string json = R"({"cpu":")" + std::to_string(1 + pick(random, 8)) + R"(","memory":")" +
                     std::to_string(1 + pick(random, 9'000'000)) + "Ki\"";
  if (chance(random, 15)) json = R"({"cpu":"1500m","memory":"1Gi")";
  if (too_much != 0 && chance(random, too_much)) json = R"({"cpu":"2","memory":"900Ti")";
  if (chance(random, 20)) json += R"(,"hugepages-2Mi":"1Gi")";
  if (chance(random, 20)) json += R"(,"example.com/gpu":"1")";
  return json + "}";
}

}  // namespace plimsoll::topology
