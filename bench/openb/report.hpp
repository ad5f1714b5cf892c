#pragma once
// What the runs came to: tables for people, CSV files for programs, a plot for each workload.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/openb/one_run.hpp"

namespace plimsoll::openb {

// By workload, then policy; one outcome for each seed.
using Outcomes = std::map<std::pair<std::string, std::string>, std::vector<Outcome>>;

// Markdown on standard output.
void print_tables(const std::vector<std::string>& workloads,
                  const std::vector<std::string>& policies, const Outcomes& outcomes);
// WORKLOAD.svg in the folder: the mean of all seeds.
[[nodiscard]] Result<void> draw(const std::string& folder, const std::string& workload,
                                const std::vector<std::string>& policies, const Outcomes& outcomes);

// A run's CSV file, and back: what asks for 0.5 % of the capacity is one line.
[[nodiscard]] Result<void> write_csv(const std::string& file, const Outcome& outcome);
[[nodiscard]] Result<Outcome> read_csv(const std::string& file);

}  // namespace plimsoll::openb
