#pragma once
// Which pods a report counts, by its fingerprint. Internal to the ledger.

#include <optional>
#include <vector>

#include "plugins/topology/record/node_record.hpp"

namespace plimsoll::topology {

// Looks for a set of pods with the report's fingerprint. It contains the pods that earlier reports
// counted; the report decides about the others and those removed since. First the states that the
// node went through are tried, latest first. Then, if there are few changes, all combinations are
// tried, since the kubelet may have seen them in another order.
class Matcher {
 public:
  // One pod that the report may or may not count.
  struct Change {
    size_t at;  // in pods or gone
    bool gone;
    int64_t ms;
    uint64_t hash;
    bool counted = false;  // in the set
    // A removed pod and a new one have the same namespace and name: the fingerprint cannot show
    // which of them it counts.
    bool ambiguous = false;
  };

  // Tries both methods of fingerprints. Nothing: no set of pods explains it, or there is none.
  [[nodiscard]] static std::optional<std::vector<Change>> explain(const NodeRecord& node);

 private:
  Matcher(const NodeRecord& node, FingerprintMethod method, uint64_t sum);
  [[nodiscard]] bool matches();
  [[nodiscard]] bool find_state();
  [[nodiscard]] bool find_subset();
  void mark_ambiguous();

  uint64_t sum_;
  std::vector<uint64_t> base_;
  std::vector<Change> changes_;
  std::vector<uint64_t> hashes_;
};

}  // namespace plimsoll::topology
