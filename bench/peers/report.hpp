#pragma once
// What several rounds of contests say: medians, and their ratios.

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

// Each figure's median, on its own.
[[nodiscard]] Measure median(const std::vector<Measure>& rounds);

// Tables in Markdown: loads whose pods were there first, then those of a steady arrival. A load
// that nobody ran has no row.
[[nodiscard]] std::string tables(const std::vector<Outcome>& outcomes);
// Every round's figures, and the medians.
[[nodiscard]] nlohmann::json as_json(const std::vector<Outcome>& outcomes);

}  // namespace plimsoll::bench
