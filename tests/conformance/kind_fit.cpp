#include "tests/conformance/kinds.hpp"
#include "tests/conformance/plugin_bench.hpp"

namespace plimsoll::conformance {

void check_fit(const Json& test_case, Findings& findings) {
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
