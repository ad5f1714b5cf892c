#pragma once
// Reads a NodeResourceTopology object as the ledger sees it. Internal to the ledger.

#include <memory_resource>
#include <string>
#include <vector>

#include "plugins/topology/record/node_record.hpp"
#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::topology {

class ReportReader {
 public:
  explicit ReportReader(const ResourceIndex& index) : index_(index), facts_(index) {}

  // `before`: the node's report until now.
  [[nodiscard]] NodeReport read(const NrtObject& nrt, const NodeReport& before, int64_t now_ms);

  // What was noted since it was emptied: facts that reports got wrong, and problems that an
  // operator has to fix.
  std::vector<std::string> notes;
  std::vector<std::string> warnings;

 private:
  // Holds what queries read of every node, in few large blocks so that it lies close together.
  std::pmr::unsynchronized_pool_resource memory_{{0, size_t{16} << 10}};
  ResourceIndex index_;
  kubelet::FactsReader facts_;
};

}  // namespace plimsoll::topology
