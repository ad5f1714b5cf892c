#pragma once
// The results of the runs: tables for people, CSV files for programs, a plot for each workload.

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
// Writes WORKLOAD.svg to the folder: the mean of all seeds.
[[nodiscard]] Result<void> draw(const std::string& folder, const std::string& workload,
                                const std::vector<std::string>& policies, const Outcomes& outcomes);

// Writes and reads a run's CSV file. It has one line for each 0.5 % of the capacity requested.
[[nodiscard]] Result<void> write_csv(const std::string& file, const Outcome& outcome);
[[nodiscard]] Result<Outcome> read_csv(const std::string& file);

}  // namespace plimsoll::openb
