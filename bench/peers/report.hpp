#pragma once
// The results of several rounds of contests: medians and their ratios.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/peers/contest.hpp"

namespace plimsoll::bench {

// All rounds of one load, by contestant.
struct Outcome {
  Load load;
  std::map<Contestant, std::vector<Measure>> rounds;
};

// The median of each figure separately.
[[nodiscard]] Measure median(const std::vector<Measure>& rounds);

// Tables in Markdown: first the loads whose pods exist before the start, then the loads with steady
// arrival. A load that no contestant ran has no row.
[[nodiscard]] std::string tables(const std::vector<Outcome>& outcomes);
// Every round's figures, and the medians.
[[nodiscard]] nlohmann::json as_json(const std::vector<Outcome>& outcomes);

}  // namespace plimsoll::bench
