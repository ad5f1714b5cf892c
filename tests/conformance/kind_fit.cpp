#include "tests/conformance/kinds.hpp"
#include "tests/conformance/plugin_bench.hpp"
#include "tests/conformance/requests_1_36.hpp"

namespace plimsoll::conformance {

void check_fit(const Json& given, Findings& findings) {
  // 1.37 counts pods that are resized otherwise (kind qos_requests). Here it is about the nodes.
  Json test_case = given;
  for (Json& pod : test_case["existingPods"]) pod = asking_for_what_1_36_counted(std::move(pod));
  PluginBench bench(test_case);
  const Json& expected = test_case.at("plugins");
  const Json& fit_args = member(test_case, "fitArgs");
  const Json& balanced_args = member(test_case, "balancedArgs");
  bench.check("NodeResourcesFit", fit_args.is_object() ? fit_args.dump() : "",
              expected.at("NodeResourcesFit"), findings);
  bench.check("NodeResourcesBalancedAllocation",
              balanced_args.is_object() ? balanced_args.dump() : "",
              expected.at("NodeResourcesBalancedAllocation"), findings);
}

}  // namespace plimsoll::conformance
