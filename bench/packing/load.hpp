#pragma once
// A cluster of mixed machines and pods that come and go there, made from a seed.
//
// Machines have one to eight zones, one or two threads a core, GPUs and network functions, all four
// policies, both scopes, and the options of the three managers. Pods are of all QoS classes; most
// CPUs are asked for by Guaranteed pods: whole CPUs with memory, GPUs, huge pages, several
// containers, init containers and sidecars. One arrival in six is a controller's: up to 24 copies
// at once. First the cluster is filled within seconds, then pods come at a rate that asks for
// `load` times the CPUs that there are.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::packing {

struct LoadOptions {
  std::size_t nodes = 500;
  std::size_t pods = 20000;
  double load = 1.1;          // CPUs asked for at a time, of those that there are
  double mean_seconds = 150;  // that a pod runs
  std::uint64_t seed = 1;
  std::string scheduler_name;
};

// What was asked for, by pod ("namespace/name").
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
  double devices = 0;     // the same
  double full_since = 0;  // seconds: when the cluster has been filled
  double last_arrival = 0;
};

[[nodiscard]] Load make_load(const LoadOptions& options);

}  // namespace plimsoll::packing
