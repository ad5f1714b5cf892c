#pragma once
// A cluster of mixed machines and pods that arrive and leave, made from a seed.
//
// Machines have one to eight zones, one or two threads per core, GPUs and network functions, all
// four policies, both scopes, and the options of the three managers. Pods have all QoS classes.
// Guaranteed pods request most of the CPUs: whole CPUs with memory, GPUs, huge pages, several
// containers, init containers and sidecars. One arrival in six is from a controller: up to 24
// copies at once. First the cluster is filled within seconds. Then pods arrive at a rate that
// requests `load` times the available CPUs.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::packing {

struct LoadOptions {
  std::size_t nodes = 500;
  std::size_t pods = 20000;
  double load = 1.1;          // CPUs requested at a time, as a multiple of the available CPUs
  double mean_seconds = 150;  // how long a pod runs
  std::uint64_t seed = 1;
  std::string scheduler_name;
};

// What a pod requests; by pod ("namespace/name").
struct Offer {
  double arrives = 0;
  double runs = 0;
  double cpus = 0;
  double devices = 0;
  bool pins = false;  // Guaranteed with whole CPUs, or devices
};

struct Load {
  std::vector<std::string> cluster;  // JSON texts
  std::vector<std::string> pods;
  std::map<std::string, Offer> offers;
  double cpus = 0;        // allocatable of all nodes
  double devices = 0;     // allocatable of all nodes
  double full_since = 0;  // the time in seconds at which the cluster is full
  double last_arrival = 0;
};

[[nodiscard]] Load make_load(const LoadOptions& options);

}  // namespace plimsoll::packing
