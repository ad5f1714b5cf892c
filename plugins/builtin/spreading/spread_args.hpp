#pragma once
// PodTopologySpreadArgs: what applies to pods without constraints of their own.

#include <plimsoll/host.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::builtin {

struct DefaultConstraint {
  std::string topology_key;
  int32_t max_skew = 0;
  int32_t min_domains = 1;
  bool do_not_schedule = false;
  bool honors_affinity = true;
  bool honors_taints = false;
};

struct SpreadArgs {
  static constexpr const char* kDefaults = R"({"defaultConstraints":[],"defaultingType":"System"})";
  bool system = false;  // defaultingType System: the defaults of kube-scheduler
  std::vector<DefaultConstraint> defaults;

  // Warns the host of what does not mean what it seems to. Throws std::runtime_error with all that
  // is wrong.
  [[nodiscard]] static SpreadArgs read(const sdk::Host& host, std::string_view json);
  [[nodiscard]] bool has_default(bool do_not_schedule) const;
};

}  // namespace plimsoll::builtin
