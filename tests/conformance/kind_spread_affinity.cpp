#include "tests/conformance/kinds.hpp"
#include "tests/conformance/plugin_bench.hpp"

namespace plimsoll::conformance {

void check_spread_affinity(const Json& test_case, Findings& findings) {
  PluginBench bench(test_case);
  const auto args = [&](const std::string& plugin) {
    return member(test_case,
                  plugin == "PodTopologySpread" ? "podTopologySpreadArgs" : "interPodAffinityArgs");
  };
  for (const auto& [plugin, expected] : test_case.at("plugins").items()) {
    bench.check(plugin, args(plugin).dump(), expected, findings);
  }
}

}  // namespace plimsoll::conformance
