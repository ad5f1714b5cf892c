#pragma once
// The policies that are compared, as profile files.

#include <string>
#include <vector>

#include "bench/openb/trace.hpp"

namespace plimsoll::openb {

struct Policy {
  std::string name;
  std::string meaning;  // for the tables
};

//   Lookahead      FragmentationGradient, configured with the trace's typical pods
//   Learned        FragmentationGradient without configured pods
//   Published      FragmentationGradient as FGD's authors published it, with the typical pods
//   LeastAllocated, MostAllocated: NodeResourcesFit and NodeDevice with that strategy, 1:1
[[nodiscard]] const std::vector<Policy>& all_policies();

// The text of a profile file (JSON, which is YAML too).
[[nodiscard]] std::string profile_of(const std::string& policy, const Trace& trace);

}  // namespace plimsoll::openb
