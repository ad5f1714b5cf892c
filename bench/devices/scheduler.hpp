#pragma once
// The framework's runtime with the builtin plugins and NodeDevice from its .so, on a cluster in
// memory. It makes the calls of a scheduling cycle on one thread and binds nothing.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll::bench {

// The decision on one pod. Times are CPU time of this thread in microseconds.
struct Decision {
  std::string node;       // empty: no node has room
  double device_us = 0;   // NodeDevice's Filter for every node and Score for nodes that fit
  double whole_us = 0;    // all plugins: PreFilter, Filter, PreScore, Score
  double reserve_us = 0;  // the choice of minors: Reserve of NodeDevice and of all other plugins
  size_t passed = 0;      // nodes that NodeDevice let pass
  std::string allocated;  // the annotation device-allocated
};

class BenchScheduler {
 public:
  // Throws std::runtime_error if the plugin cannot be loaded. `device_args`: JSON.
  BenchScheduler(const std::string& plugin_file, const std::string& device_args);
  ~BenchScheduler();

  void add_node(const NodeRef& node, std::string_view name, const std::string& device);
  // Schedules the pod and assigns its node and devices.
  Decision schedule(const PodRef& pod);

  [[nodiscard]] SymbolTable& symbols();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::bench
